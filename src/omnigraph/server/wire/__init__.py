"""The types of request and response bodies.

Requests are decoded into these types, and the OpenAPI document is built from them; unknown fields
are refused.

Modules in reading order:

- ``base``: base classes.
- ``problems``: unsuccessful responses.
- ``graphs``: the server, its graphs, and the status of a graph.
- ``queries``: queries, mutations and stored queries.
- ``data``: loads, exports, blobs and schema changes.
- ``history``: branches, tags, commits and changes.
"""
