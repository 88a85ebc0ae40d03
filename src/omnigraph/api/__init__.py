"""The interface of a graph: the ``Graph`` protocol, its requests, results and JSON forms.

Every interface (Python, HTTP, Spark, command line) uses them, embedded or remote. The package needs
neither the engine nor storage; Arrow is imported on first use. Modules in reading order:

- ``names``: names of branches and tags.
- ``commits``: a commit, and its JSON form.
- ``refs``: branches and tags as listings return them.
- ``targets``: the values that name a point of history.
- ``commit_listing``: filters, pages and graphs of commits.
- ``queries``: requests of reads, plans of explain and profile.
- ``wire_values``: the JSON form of values.
- ``results``: the result of a read.
- ``arrow_stream``: the result of a read as an Arrow stream.
- ``entities``: blobs and exports.
- ``networkx``: entities as a NetworkX graph.
- ``writes``: mutations and loads.
- ``schemas``: schema changes.
- ``conflicts``: conflicts of a merge, and the choices that resolve them.
- ``merges``: merge, cherry-pick, revert and reset.
- ``changes``: changes of entities and definitions.
- ``change_json``: their JSON form.
- ``change_pages``: diff, feed, baseline and blame.
- ``indexes``: declared indexes and their maintenance.
- ``status``: the status of a graph, unfinished writes, the audit of recovery.
- ``namespaces``: the protocols of ``graph.branches``, ``graph.tags``, …
- ``graph``: the ``Graph`` protocol.
"""
