"""Maintenance: indexes, on demand and in the background.

Modules in reading order:

* ``index_plan``: derives the indexes of a schema, and the steps that a table needs.
* ``indexes``: builds and extends indexes.
* ``background``: a bounded slice of maintenance after a command.
"""
