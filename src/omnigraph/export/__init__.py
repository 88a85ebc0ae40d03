"""Export of entities and blobs.

Modules in reading order:

- ``export``: writes a target as JSON lines or as a table per type.
- ``json_lines``: converts rows to JSON text, by column.
- ``entities``: returns entities as tables or as a NetworkX graph.
- ``blob``: reads one blob.
"""
