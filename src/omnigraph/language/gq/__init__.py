"""The query language.

Modules in reading order:

* ``ast``: the syntax tree.
* ``problems``: codes of syntax errors, and limits of the parser.
* ``cursor``: reads tokens, fails and recovers.
* ``literals``: numbers, dates and variables.
* ``values``: operands, functions and aggregates.
* ``functions``: names of the functions.
* ``expressions``: operators, calls, casts and ``case``.
* ``patterns``: blocks, clauses and conditions.
* ``parser``: a file of queries.
* ``layout``: a pretty printer of documents.
* ``printer``: the canonical text of a tree.
* ``formatter``: the canonical text of a file, with its comments.
* ``walk``: traverses a tree.
"""
