"""The query language.

``ast`` is the syntax tree; ``parser`` reads it, on top of ``patterns`` (blocks and conditions),
``values``, ``literals`` and ``cursor``, with the codes and limits of ``problems``; ``printer``
writes it back through ``layout``, and ``formatter`` does so for a file with its comments.
"""
