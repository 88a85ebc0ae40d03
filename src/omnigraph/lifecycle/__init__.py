"""Creation and cloning of graphs.

Modules in reading order:

- ``create``: creates a graph.
- ``clone``: copies a graph while others write to it.
"""
