"""Functions of values, one value at a time.

Modules in reading order:

* ``limits``: refusals of results that are too large.
* ``numbers``: arithmetic and rounding.
* ``text``: functions of texts.
* ``patterns``: regular expressions.
* ``dates``: parts, truncation and differences of dates.
* ``lists``: functions of lists.
* ``casts``: conversions between types.
* ``apply``: one table of all functions.
"""
