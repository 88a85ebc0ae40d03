"""Semantics of values: the one definition that queries, mutations and search share.

Modules in reading order:

* ``values``: canonical form, order, equality, comparison and three-valued logic.
* ``aggregates``: count, sum, avg, min and max.
* ``text``: tokens, text predicates and the statistics of BM25.
* ``predicates``: expressions of the IR on a single row.
* ``search``: query vectors, distances, ranks and their fusion.

The executor evaluates the same definitions over columns. The reference evaluator of the tests
shares none of this code.
"""
