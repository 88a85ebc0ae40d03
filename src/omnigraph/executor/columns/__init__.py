"""Columns of tables at a pin, and row numbers of their entities.

Modules in reading order:

* ``pinned_columns``: loads whole columns or takes a few rows of them.
* ``id_index``: finds entities by id.
* ``pushdown``: the part of a predicate that a table scan evaluates.
* ``row_spaces``: numbers the entities of a type, by position or by id.
"""
