"""The schema language.

``parser`` reads it into the tree of ``ast`` with the help of ``cursor`` (tokens), ``types`` and
``annotations`` (rules of the grammar); ``printer`` writes it back, ``formatter`` with its
comments; ``problems`` has the codes.
"""
