"""The typed intermediate representation of queries: ids for names, slots for variables.

Modules in reading order:

- ``functions``: functions of values.
- ``expressions``: expressions and their types.
- ``queries``: patterns, reads and mutations.
- ``walk``: traverses the tree.
- ``printer``: formats the IR as text.
"""
