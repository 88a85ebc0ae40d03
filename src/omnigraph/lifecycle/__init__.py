"""Creation, deletion and cloning of graphs.

Modules in reading order:

- ``create``: creates a graph.
- ``delete``: deletes a graph, reversibly.
- ``clone``: copies a graph while others write to it.
"""
