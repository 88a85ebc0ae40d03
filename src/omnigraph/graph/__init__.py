"""The embedded graph. Modules in reading order:

- ``open``: creates, opens and clones graphs; the only module that selects adapters.
- ``location``: checks paths and URIs.
- ``facade``: ``EmbeddedGraph``, the embedded ``Graph``.
- ``at``: its reads, at one target.
- ``namespaces``: ``graph.branches``, ``graph.tags``, ``graph.commits`` and others.
- ``changes``: ``graph.changes``.
- ``authorize``: the authorisation check before every call.
- ``redact``: removes names of hidden types from conflicts.
"""
