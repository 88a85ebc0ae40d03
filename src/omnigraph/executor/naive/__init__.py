"""The naive evaluator: slow, obviously right, free of indexes; the oracle of all query tests.

``evaluate`` runs the phases in order: ``match`` finds the rows of the pattern (``hops`` are its
relations, ``tables`` its entities), ``predicates`` gives expressions their values, ``search``
scores and ranks, ``aggregates`` folds, ``output`` makes the typed result. ``values`` says what is
equal to and what comes before what; ``walk`` looks into the IR.
"""
