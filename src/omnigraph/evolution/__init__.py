"""Schema evolution: a new schema for a branch, with the rewrites that it needs, as one commit.

Modules in reading order:

* ``plan``: compares the accepted schema with the desired one.
* ``expressions``: parses backfill expressions.
* ``backfill``: determines the values of a new property in existing rows.
* ``row_migration``: converts rows of one state of a type to another.
* ``checks``: validates existing rows against the new schema.
* ``apply``: runs all steps in one transaction.
"""
