"""The schema language.

Modules in reading order:

* ``ast``: the syntax tree.
* ``problems``: codes of syntax errors.
* ``cursor``: reads tokens and fails.
* ``types``: types of properties.
* ``annotations``: constraints, cardinality and annotations.
* ``parser``: a schema.
* ``printer``: the canonical text of a tree.
* ``formatter``: the canonical text of a file, with its comments.
"""
