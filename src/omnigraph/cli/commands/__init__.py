"""One module per verb, each with a ``command``; ``cli.verbs`` lists them.

Modules by subject:

- ``init``, ``new``, ``clone``: creation of graphs.
- ``schema``, ``lint``, ``fmt``: schemas.
- ``load``, ``mutate``, ``embed``: writes.
- ``query``, ``queries``, ``explain``, ``profile``, ``alias``: queries.
- ``export``, ``blob``, ``snapshot``: reading of data.
- ``branch``, ``tag``: branches and tags.
- ``commit``, ``log``, ``show``, ``diff``, ``changes``, ``blame``: history.
- ``cherry_pick``, ``revert``: single commits.
- ``index``, ``recovery``, ``doctor``, ``status``: maintenance.
- ``serve``, ``login``, ``logout``, ``profiles``, ``graphs``, ``policy``: servers.
- ``cluster``: declared clusters.
- ``shell``, ``completion``, ``version``: the command line itself.
"""
