"""Regular expressions: RE2 takes linear time, whatever the pattern."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InvalidInput
from omnigraph.semantics.functions.limits import TEXT_MAX, fit_length

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType

__all__ = ["check_pattern", "matches", "regex_replace", "whole"]

_PATTERN_MAX = 1_000


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that RE2 does not understand."""
    _checked(pattern)


@lru_cache(maxsize=256)
def _checked(pattern: str) -> None:
    reason = f"it has more than {_PATTERN_MAX:,} characters" if len(pattern) > _PATTERN_MAX else ""
    if not reason:
        try:
            pc.match_substring_regex(pa.array([""]), pattern)
        except pa.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid regular expression: ")
    if reason:
        raise InvalidInput(
            "query.bad_pattern",
            f"the regular expression cannot be used: {reason}",
            remedy="use the syntax of RE2, without lookaround and backreferences",
        )


def whole(pattern: str) -> str:
    """The pattern that matches a text from its beginning to its end."""
    check_pattern(pattern)
    return rf"\A(?:{pattern})\z"


def matches(text: str, pattern: str) -> bool:
    """Whether the whole text matches a pattern."""
    found: bool = pc.match_substring_regex(pa.array([text]), whole(pattern))[0].as_py()
    return found


def regex_replace(_dtype: DataType, text: str, pattern: str, new: str) -> str:
    r"""Every match replaced; ``\1`` in the new text is the first group."""
    check_pattern(pattern)
    fit_length((len(text) + 1) * (len(new) + 1), TEXT_MAX, "characters")
    try:
        found: str = pc.replace_substring_regex(pa.array([text]), pattern, new)[0].as_py()
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            "query.bad_pattern",
            f"the replacement cannot be used: {error}",
            remedy="refer to groups that the pattern has, as `\\\\1`",
        ) from None
    return found
