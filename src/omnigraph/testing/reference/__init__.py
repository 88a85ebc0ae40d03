"""Reference evaluator: the definition of a read, over plain Python values.

An oracle for tests. It reads the nodes of the IR and the catalog as data and shares no evaluation
code with the engine: no comparison, NULL logic, aggregate, text or order of it, no Arrow, no numpy.
An import contract guards that. It favours the shortest correct formulation over speed.

Modules in reading order:

* ``graph``: the rows of a graph, and the entities that variables are bound to.
* ``values``: order, equality and three-valued logic of values.
* ``aggregates``: aggregates of a list of values.
* ``functions``: functions of values.
* ``words``: tokens, text predicates and BM25.
* ``scope``: the surroundings of an expression: parameters, time, graph.
* ``expressions``: a table from the class of a node to the function that evaluates it.
* ``hops``: nodes by distance.
* ``patterns``: the binding table of a block.
* ``ranking``: distances, ranks and their fusion.
* ``query``: a whole read.

A new node of the IR needs one function with ``@evaluates(Node)`` in ``expressions`` or a module
beside it.
"""

from __future__ import annotations

from omnigraph.testing.reference.graph import Entity, Graph, Refused, graph_of
from omnigraph.testing.reference.query import evaluate

__all__ = ["Entity", "Graph", "Refused", "evaluate", "graph_of"]
