"""Render rows as HTML and types and commits as SVG for notebooks, with all data escaped.

Modules in reading order:

- ``markup``: escapes text.
- ``row_table``: renders rows as a table.
- ``schema_graph``: renders node and edge types as a graph.
- ``commit_graph``: renders the commit graph.
"""
