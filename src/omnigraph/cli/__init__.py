"""The command line.

``main`` answers ``--version`` and ``--help`` by itself, from ``verbs``, and hands everything else
to ``program``, which loads one module of ``commands`` per verb. ``invocation`` holds the flags that
all verbs share; ``scope`` finds the graph, with ``config`` and ``credentials``, and ``address``
opens it, embedded or on a server; ``targets`` finds the point of its history, and ``inputs`` reads
what else the user points at. ``render``, ``commits`` and ``commit_graph`` lay out answers for what
``terminal`` can show; ``failures`` and ``exits`` say what went wrong.
"""
