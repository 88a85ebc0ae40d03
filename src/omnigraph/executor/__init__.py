"""Execution of query plans over Arrow and numpy arrays.

Modules in reading order:

* ``execute``: runs a plan, from bound parameters to the result.
* ``run``: one run of a plan: its row spaces, adjacencies and measurements.
* ``operators``: one function per operator of a plan.
* ``expressions``: evaluates expressions over many rows.
* ``functions``: evaluates functions over many rows.
* ``rows``: binding tables, keys and orders of rows.
* ``columns``: columns of pinned tables, row numbers of entities, predicate pushdown.
* ``traversal``: adjacency of edge types, and kernels that follow edges.
* ``scoring``: the protocol of search.
* ``search``: text predicates, relevance, nearest vectors, rank fusion.
* ``paging``: offset and limit.
* ``output``: builds the typed result from a binding table.
* ``context``: parameters, time, budget and cache of one run.
* ``cache``: the cache of decoded columns and adjacencies of the process.
* ``profile``: rows, time and bytes of each operator.

``omnigraph.semantics`` defines the values that operators compute.
"""
