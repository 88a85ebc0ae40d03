"""Recovery of unfinished writes.

A writer puts an *intent* before it touches a table, and a *confirmation* when all tables have
reached their new versions. Recovery rolls an abandoned write forward (it publishes under the
original commit id) or back (a commit that moves no pin declares the operation void). It deletes no
data, and an intent that cannot be resolved blocks nobody.

In reading order: ``intents`` stores intents, confirmations and heartbeats; ``fence`` voids an
operation; ``audit`` keeps one row per recovered operation; ``quarantine`` sets torn versions aside;
``sweep`` finds abandoned intents and resolves them.
"""
