"""The number of examples of generated tests."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["examples"]

_WHOLE = 10


def examples(few: int) -> int:
    """Return the number of examples of a test: ten times as many in a whole run."""
    return few * _WHOLE if settings.get_current_profile_name() == "whole" else few
