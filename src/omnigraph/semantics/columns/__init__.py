"""Semantics of values over columns, in numpy and Arrow.

Modules in reading order:

* ``codes``: integer codes with the order and equality of values.
* ``column``: a decoded column, and a selection of its rows.
* ``truth``: three-valued logic of many rows.
* ``comparison``: comparisons and membership.
* ``multiplicities``: exact products of row counts.
* ``aggregates``: count, sum, avg, min and max of groups.
* ``row_aggregates``: collected lists, extremes by a key, percentiles, deviations.
"""
