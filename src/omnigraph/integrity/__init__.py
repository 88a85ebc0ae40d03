"""Integrity: one definition of every rule of a schema, one evaluator for every writer.

``rules`` derives the rules of a type from the catalog, as data; ``changes`` is what a writer wants
to do; ``violations`` is what is wrong with it. ``evaluate`` runs every rule, as set operations on
Arrow columns and scoped to the change: ``columns`` looks at values alone, ``lookup`` finds what the
branch already holds, ``unnamed`` marks the properties that a row leaves out, ``upsert`` completes
such rows from what the branch holds, and ``keys``, ``uniqueness``, ``endpoints`` and
``cardinality`` look at both. The Spark pipeline executes the same ``rules`` on data frames.
"""
