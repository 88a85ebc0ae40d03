"""Mutations of the query language.

Modules in reading order:

* ``mutate``: runs a mutation query as one commit.
* ``statements``: accumulates the changes of the statements.
* ``predicates``: finds the stored rows that a ``where`` matches.
* ``assignments``: converts assigned values to the types of their properties.
"""
