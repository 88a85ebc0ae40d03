"""Render rows as HTML and types and commits as SVG for notebooks, with all data escaped.

Modules in reading order:

- ``markup``: escapes text.
- ``rows``: renders rows as a table.
- ``types``: renders node and edge types as a graph.
- ``history``: renders the commit graph.
"""
