"""Semantics of values: the one definition that queries, mutations and search share.

Modules in reading order:

* ``values``: canonical form, order, comparison and three-valued logic of single values.
* ``domain``: mirrored and negated comparison operators, and literals outside an integer type.
* ``text``: tokens, text predicates and BM25 of single texts.
* ``functions``: functions of values.
* ``predicates``: expressions on a single row.
* ``search``: query vectors, distances, ranks and their fusion.
* ``columns``: the same over columns: comparison, three-valued logic and aggregates.

The reference evaluator of the tests shares none of this code.
"""
