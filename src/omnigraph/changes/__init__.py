"""Comparison of tables and snapshots.

Modules in reading order:

* ``row_digests``: reduces rows to comparable digests.
* ``compare``: finds the differing entities of one type.
* ``model``: filters of changes.
* ``schema``: compares definitions.
* ``comparison``: streams all changes between two snapshots.
* ``tokens``: opaque positions of a reader.
"""
