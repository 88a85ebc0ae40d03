"""The Spark data source ``omnigraph``.

Modules in reading order:

* ``source``: reads nodes, edges or rows of a query.
* ``conditions``: compiles the option ``where`` to a filter.
* ``partitions``: distributes the parts of a table to tasks.
* ``sink``: writes the rows of a frame as one commit.
"""
