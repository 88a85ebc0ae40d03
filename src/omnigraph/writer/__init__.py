"""Transactions: one path from a change to a commit, for every kind of writer.

Nothing correct depends on locks and leases; they only save wasted work. Modules in reading order:

- ``plan``: requests and prepared writes.
- ``attempt``: runs the phases in order.
- ``advance``: moves the tables to their new versions.
- ``table_conflicts``: decides whether concurrent changes of a table conflict.
"""
