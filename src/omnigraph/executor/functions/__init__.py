"""Functions over many rows.

Modules in reading order:

* ``kernels``: arithmetic, dates and lengths over numpy and Arrow.
* ``calls``: any function, by a kernel or value by value.
* ``branches``: ``case``, ``coalesce`` and conditions on the items of lists.
"""
