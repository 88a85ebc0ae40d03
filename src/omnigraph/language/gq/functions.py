"""The names of the functions; ``omnigraph.compiler.functions`` has their types."""

from __future__ import annotations

__all__ = ["FUNCTIONS"]

FUNCTIONS = (
    # text
    *("lower", "upper", "trim", "trim_start", "trim_end", "substring", "left", "right", "replace"),
    *("split", "join", "length", "reverse", "regex_replace", "hash"),
    # numbers
    *("abs", "sign", "round", "floor", "ceil", "sqrt", "power", "ln", "log10", "exp", "div"),
    *("least", "greatest"),
    # dates
    *("year", "month", "day", "hour", "minute", "second", "weekday", "day_of_year"),
    *("truncate", "difference"),
    # lists
    *("size", "list_distinct", "list_sort", "range"),
    # any value
    *("coalesce", "nullif", "id", "type"),
)
