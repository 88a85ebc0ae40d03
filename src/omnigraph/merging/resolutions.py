"""Parsing of conflict resolutions: one strategy for all, or a choice for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.api.conflicts import Choice, Choices, Take, Values
from omnigraph.errors import InvalidInput

__all__ = ["parse_choices"]


def parse_choices(strategy: str | None, resolutions: Any) -> Choices:
    """Parse choices from a strategy and a list of resolutions.

    A resolution is ``{"conflict_id": …, "take": "ours" | "theirs" | {"value": …}}``."""
    if strategy is not None and strategy not in tuple(Take):
        raise InvalidInput(
            "merge.bad_strategy",
            f"there is no strategy {strategy!r}",
            remedy="choose ours or theirs, or leave it out",
        )
    if isinstance(resolutions, str) or not isinstance(resolutions, Sequence | None):
        raise _bad_resolution("resolutions must be a list")
    by_id: dict[str, Choice] = {}
    for number, item in enumerate(resolutions or (), 1):
        name, choice = _parse_one(item, number)
        if name in by_id:
            raise _bad_resolution(f"number {number} resolves {name} a second time")
        by_id[name] = choice
    return Choices(Take(strategy) if strategy else None, by_id)


def _parse_one(item: Any, number: int) -> tuple[str, Choice]:
    if not isinstance(item, Mapping) or set(item) != {"conflict_id", "take"}:
        raise _bad_resolution(f"number {number} must be an object with conflict_id and take")
    name, take = item["conflict_id"], item["take"]
    if not isinstance(name, str):
        raise _bad_resolution(f"number {number}: a conflict_id must be a string")
    if take in tuple(Take):
        return name, Take(take)
    if isinstance(take, Mapping) and set(take) == {"value"}:
        value = take["value"]
        if value is None or isinstance(value, Mapping):
            return name, Values(value)
        raise _bad_resolution(f"number {number}: a value must be an object of properties, or null")
    raise _bad_resolution(f'number {number}: take "ours", "theirs" or {{"value": …}}')


def _bad_resolution(why: str) -> InvalidInput:
    return InvalidInput(
        "merge.bad_resolution",
        why,
        remedy='a resolution is {"conflict_id": …, "take": "ours" | "theirs" | {"value": {…}}}',
    )
