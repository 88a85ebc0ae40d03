"""The command line.

``main`` answers ``--version`` and ``--help`` by itself, from ``verbs``, and hands everything else
to ``program``, which loads one module of ``commands`` per verb. ``invocation`` holds the flags that
all verbs share; ``address`` finds the graph, ``targets`` the point of its history, and ``inputs``
reads what else the user points at. ``render``, ``commits`` and ``commit_graph`` lay out answers for
what ``terminal`` can show; ``failures`` and ``exits`` say what went wrong.
"""
