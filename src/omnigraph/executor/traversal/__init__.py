"""Traversal of edges.

Modules in reading order:

* ``topology``: the adjacency of an edge type as CSR arrays, cached by pin.
* ``adjacency``: neighbours from memory, or by lookup of edges.
* ``hops``: kernels that turn nodes into their neighbours.
"""
