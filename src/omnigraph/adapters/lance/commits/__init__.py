"""Commits of staged changes.

In reading order:

- ``transactions``: Lance transactions;
- ``committer``: one version on top of another;
- ``sync``: durability of versions on a local disk;
- ``quarantine``: torn manifests.
"""
