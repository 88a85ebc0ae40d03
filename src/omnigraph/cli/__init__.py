"""The command line. Modules in reading order:

- ``main``: the entry point; prints version and help without loading click.
- ``verbs``: the table of verbs and the help text.
- ``program``: the click program, which imports a verb on demand.
- ``invocation``: the shared flags, and the declaration of a verb.
- ``config``: the configuration file.
- ``credentials``: tokens for servers.
- ``scope``: resolves the addressed graph.
- ``address``: opens the graph, embedded or on a server.
- ``targets``: the flags that select a point in history.
- ``inputs``: reads files, queries and parameters.
- ``request_options``: the flags of queries and writes.
- ``engines``: the flags that select an engine, and progress output.
- ``commands``: one module per verb.
- ``stored``: runs stored queries of a server.
- ``changes``: flags and output of changes, merges and conflicts.
- ``single_commits``: applies a single commit, for ``revert`` and ``cherry-pick``.
- ``shell``: the interactive shell.
- ``machine_checks``: the checks of ``doctor``.
- ``background_maintenance``: a slice of maintenance after a write.
- ``atomic_files``: writes files atomically and durably.
- ``render``: formats tables, CSV and JSON.
- ``commits``: formats commits.
- ``commit_graph``: draws the commit graph.
- ``terminal``: encoding, width and colours of the output.
- ``failures``: reports errors.
- ``exits``: exit codes.
- ``submit``: the script for ``spark-submit``.
"""
