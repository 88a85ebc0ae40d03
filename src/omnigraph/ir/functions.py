"""Name the functions of values."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Function"]


class Function(StrEnum):
    """Functions of values; ``omnigraph.semantics.functions`` defines them.

    With a NULL among the arguments the result is NULL, except for ``least`` and ``greatest``, which
    skip NULLs, and ``nullif``. An operation without a result (division by zero, the root of a
    negative number, an index beyond a list) is NULL; an integer or date out of range is an error.
    """

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    NEGATE = "negate"
    CONCATENATE = "||"
    INDEX = "index"
    SLICE = "slice"
    # A date or an instant, moved by months, days and microseconds.
    SHIFT = "shift"
    CAST = "cast"
    TRY_CAST = "try_cast"
    LOWER = "lower"
    UPPER = "upper"
    TRIM = "trim"
    TRIM_START = "trim_start"
    TRIM_END = "trim_end"
    SUBSTRING = "substring"
    LEFT = "left"
    RIGHT = "right"
    REPLACE = "replace"
    SPLIT = "split"
    JOIN = "join"
    LENGTH = "length"
    REVERSE = "reverse"
    REGEX_REPLACE = "regex_replace"
    HASH = "hash"
    ABS = "abs"
    SIGN = "sign"
    ROUND = "round"
    FLOOR = "floor"
    CEIL = "ceil"
    SQRT = "sqrt"
    POWER = "power"
    LN = "ln"
    LOG10 = "log10"
    EXP = "exp"
    DIV = "div"
    LEAST = "least"
    GREATEST = "greatest"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"
    WEEKDAY = "weekday"
    DAY_OF_YEAR = "day_of_year"
    TRUNCATE = "truncate"
    DIFFERENCE = "difference"
    SIZE = "size"
    LIST_DISTINCT = "list_distinct"
    LIST_SORT = "list_sort"
    RANGE = "range"
    NULLIF = "nullif"
