"""Clusters as code: graphs, schemas, stored queries, policies and providers as declared state.

Modules in reading order:

- ``codes``: the codes of diagnostics.
- ``reporting``: diagnostics of a command.
- ``yaml_nodes``: YAML nodes with positions.
- ``declaration``: parses ``cluster.yaml``.
- ``source_files``: the files that it names.
- ``resources``: addresses, digests and dependencies.
- ``validation``: checks a cluster directory.
- ``root``: the storage of a cluster.
- ``ledger``: the applied state, by compare-and-swap.
- ``lock``: the lease of writing commands.
- ``catalogue``: payloads by content.
- ``records``: intents and approvals.
- ``observation``: the live state of graphs.
- ``drift``: differences between the ledger and what it describes.
- ``planning``: changes and their dispositions.
- ``working_ledger``: the ledger while a command changes it.
- ``sweep``: intents of an interrupted apply.
- ``stages``: the effects of an apply, in order.
- ``applying``: runs the stages and writes the ledger.
- ``commands``: the commands.
- ``serving``: the applied state as a server reads it.
"""
