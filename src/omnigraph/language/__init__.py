"""From text to syntax trees: the schema language ``.pg`` and the query language ``.gq``.

``source`` holds texts and positions, ``diagnostics`` what is wrong with them, ``lexer`` the tokens
that both languages share; ``pg`` and ``gq`` have a syntax tree, a parser and a printer each.
"""
