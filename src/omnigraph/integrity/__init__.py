"""Integrity: one definition of every rule of a schema, one evaluator for every writer.

``rules`` derives the rules of a type from the catalog, as data; ``changes`` describes the change of
a writer, ``violations`` the violations in it. ``evaluate`` applies every rule, as set operations on
Arrow columns and scoped to the change: ``columns`` checks single values, ``lookup`` finds stored
rows, ``unnamed`` marks the properties that a row leaves out, ``upsert`` completes such rows from
stored ones, and ``keys``, ``uniqueness``, ``endpoints`` and ``cardinality`` check both sides. The
Spark pipeline applies the same ``rules`` to distributed rows.
"""
