"""Rows of a pattern during execution.

Modules in reading order:

* ``bindings``: the binding table: a row number per slot.
* ``keys``: composite keys, distinct rows, matching rows.
* ``ordering``: sort keys, and the first rows of an order.
"""
