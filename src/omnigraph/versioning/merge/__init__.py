"""The core of every merge, free of effects.

``decide`` holds three states of one entity against each other, property by property; ``conflicts``
says what a disagreement looks like and how it is named; ``choices`` reads what a person decided.
Merging branches, reverting a commit and picking one all come down to these. Who reads and writes is
``merging``.
"""
