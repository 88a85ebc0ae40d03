"""Recovery of unfinished writes.

A writer puts an *intent* before its first table commit, and removes it after its publish. Recovery
finds the table commits of an abandoned write and rolls it forward (it publishes under the original
commit id) or back (a commit that moves no pin declares the operation void). It deletes no data, and
an intent that cannot be resolved blocks nobody.

In reading order:

- ``intents``: intents, confirmations and heartbeats.
- ``completion``: finds the table commits of an operation and confirms them.
- ``fence``: voids an operation.
- ``audit``: keeps one row per recovered operation.
- ``quarantine``: sets torn versions aside.
- ``sweep``: finds abandoned intents and resolves them.
"""
