"""The verbs of an open graph, one module each.

``engine`` bundles what they work on; ``create`` makes a graph; ``query`` reads; ``mutate`` writes
entities (``rows`` turns values into table rows); ``evolve`` changes the schema; ``clone`` copies a
graph; ``history`` tells of commits; ``describe`` of the state of things.
"""
