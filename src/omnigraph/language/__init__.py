"""From text to syntax trees: the schema language ``.pg`` and the query language ``.gq``.

Modules in reading order:

* ``source``: texts and positions in them.
* ``diagnostics``: errors in a text, with code, place and remedy.
* ``lexer``: the tokens of both languages.
* ``pg``: the schema language.
* ``gq``: the query language.
"""
