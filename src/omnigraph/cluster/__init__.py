"""Clusters as code: graphs, schemas, stored queries, policies and providers as declared state.

Modules in reading order:

- ``codes``: the codes of diagnostics.
- ``reporting``: diagnostics of a command.
- ``yaml_nodes``: YAML nodes with positions.
- ``declaration``: parses ``cluster.yaml``.
- ``source_files``: the files that it names.
- ``resources``: addresses, digests and dependencies.
- ``validation``: checks a cluster directory.
- ``commands``: the commands.
"""
