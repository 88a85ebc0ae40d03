"""An open graph. Modules in reading order:

- ``engine``: the components of an open graph.
- ``query``: runs a read query on one snapshot.
- ``prepared_queries``: caches compiled and planned queries.
- ``explain``: explains and profiles queries.
- ``running_operations``: lists and cancels running operations.
- ``idempotency``: idempotency keys of requests.
- ``status``: describes the state of a graph.
"""
