"""Validation of a distributed load.

Modules in reading order:

* ``exchange``: groups rows by key across tasks.
* ``exchange_inputs``: the inputs of an exchange.
* ``findings``: violations before formatting.
* ``load_change``: the change of a load by type.
* ``completion``: values that upserted rows inherit.
* ``uniqueness``, ``existence``: the rules between entities.
* ``violation_formatter``: converts findings to violations with messages.
* ``quarantine``: finds and stores bad records.
"""
