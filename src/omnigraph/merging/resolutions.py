"""What somebody decided about conflicts: one strategy for all, or a choice for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.errors import Conflict as StaleConflict
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.merging.conflicts import EntityConflict

__all__ = ["NO_CHOICES", "Choices", "Take", "Values", "parse_choices"]


class Take(StrEnum):
    """Whose state counts. ``ours`` is the branch that is written, whatever is done."""

    OURS = "ours"
    THEIRS = "theirs"

    @property
    def other(self) -> Take:
        return Take.THEIRS if self is Take.OURS else Take.OURS


@frozen
class Values:
    """Values of one's own, by property name; None: the entity shall not exist."""

    by_name: Mapping[str, Any] | None


Choice = Take | Values


@dataclass(frozen=True)
class Choices:
    """A strategy, choices by conflict id, both, or neither. A choice goes before the strategy."""

    strategy: Take | None = None
    by_id: Mapping[str, Choice] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.strategy is not None or bool(self.by_id)

    def of(self, conflict: EntityConflict) -> Choice | None:
        """What was decided about a conflict; None: nothing."""
        return self.by_id.get(conflict.conflict_id, self.strategy)

    def require_known(self, met: Iterable[EntityConflict]) -> None:
        """Every choice is about a conflict that was met, as it was previewed."""
        conflicts = list(met)
        known = {conflict.conflict_id for conflict in conflicts}
        strange = [name for name in self.by_id if name not in known]
        if not strange:
            return
        places = {conflict.place for conflict in conflicts}
        stale = [name for name in strange if name.partition("-")[0] in places]
        if stale:
            raise StaleConflict(
                "merge.resolution_stale",
                f"{len(stale)} choice(s) are about conflicts that have changed since: "
                f"{', '.join(stale[:5])}",
                remedy="preview again and decide again; nothing was changed",
                details={"stale": stale},
            )
        raise InvalidInput(
            "merge.resolution_unknown",
            f"there is no conflict {', '.join(strange[:5])}",
            remedy="take the conflict ids from a preview of this merge; nothing was changed",
            details={"unknown": strange},
        )


NO_CHOICES = Choices()


def parse_choices(strategy: str | None, resolutions: Any) -> Choices:
    """Choices from what a caller gave: a strategy, and a list of
    ``{"conflict_id": …, "take": "ours" | "theirs" | {"value": …}}``."""
    if strategy is not None and strategy not in tuple(Take):
        raise InvalidInput(
            "merge.bad_strategy",
            f"there is no strategy {strategy!r}",
            remedy="choose ours or theirs, or leave it out",
        )
    if isinstance(resolutions, str) or not isinstance(resolutions, Sequence | None):
        raise _bad_resolution("resolutions are a list")
    by_id: dict[str, Choice] = {}
    for number, item in enumerate(resolutions or (), 1):
        name, choice = _parse_one(item, number)
        if name in by_id:
            raise _bad_resolution(f"number {number} decides {name} once more")
        by_id[name] = choice
    return Choices(Take(strategy) if strategy else None, by_id)


def _parse_one(item: Any, number: int) -> tuple[str, Choice]:
    if not isinstance(item, Mapping) or set(item) != {"conflict_id", "take"}:
        raise _bad_resolution(f"number {number} is not an object of conflict_id and take")
    name, take = item["conflict_id"], item["take"]
    if not isinstance(name, str):
        raise _bad_resolution(f"number {number}: a conflict_id is a string")
    if take in tuple(Take):
        return name, Take(take)
    if isinstance(take, Mapping) and set(take) == {"value"}:
        value = take["value"]
        if value is None or isinstance(value, Mapping):
            return name, Values(value)
        raise _bad_resolution(f"number {number}: a value is an object of properties, or null")
    raise _bad_resolution(f'number {number}: take "ours", "theirs" or {{"value": …}}')


def _bad_resolution(why: str) -> InvalidInput:
    return InvalidInput(
        "merge.bad_resolution",
        why,
        remedy='a resolution is {"conflict_id": …, "take": "ours" | "theirs" | {"value": {…}}}',
    )
