"""Who may do what: the words, the question, the bundle and the guard that asks.

``actions`` names what can be asked about, ``questions`` is the question and its answer, ``bundle``
what an operator writes down, ``reading`` how it is read from YAML with positions, ``presets`` the
bundles that come along, ``cases`` the tests of a bundle, ``guard`` what a facade holds. Nothing in
here decides: that is left to an adapter behind ``guard.Decider``.
"""
