"""The typed, self-contained form of a query: ids instead of names, slots instead of variables.

``expressions`` and ``queries`` are the nodes; ``printer`` shows them to people.
"""
