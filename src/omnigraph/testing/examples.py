"""How many examples a generated test tries."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["examples"]

_WHOLE = 10


def examples(few: int) -> int:
    """So many in every run, and ten times as many where the sweeps are run whole."""
    return few * _WHOLE if settings.get_current_profile_name() == "whole" else few
