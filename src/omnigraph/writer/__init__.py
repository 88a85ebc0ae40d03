"""Write transactions: one path from a change to a commit, for every kind of writer.

Nothing correct depends on locks and leases; they only save wasted work. Modules in reading order:

- ``plan``: requests and prepared writes.
- ``transaction``: the state of one transaction.
- ``phases``: the phases of a transaction, one module each.
- ``run``: retries, locks, and the end of a failed transaction.
- ``table_conflicts``: conflicts of tables in terms of the schema.
"""
