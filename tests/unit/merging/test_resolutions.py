"""What somebody decided about conflicts, read and held against the conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from omnigraph.api.conflicts import ConflictKind, EntityConflict, Take, Values
from omnigraph.errors import Conflict as StaleConflict
from omnigraph.errors import InvalidInput
from omnigraph.merging.resolutions import parse_choices
from omnigraph.testing.kit import SCHEMA, catalog_of

PERSON = catalog_of(SCHEMA).nodes[0]
CONFLICT = EntityConflict(
    ConflictKind.DIVERGENT_UPDATE, PERSON, "a", "story", ("p",), {"p": 1}, {"p": 2}, {"p": 3}
)


def test_choices_are_read() -> None:
    given = [
        {"conflict_id": "a", "take": "ours"},
        {"conflict_id": "b", "take": "theirs"},
        {"conflict_id": "c", "take": {"value": {"age": 1}}},
        {"conflict_id": "d", "take": {"value": None}},
    ]
    choices = parse_choices("theirs", given)
    assert choices.strategy is Take.THEIRS
    assert choices.by_id == {
        "a": Take.OURS,
        "b": Take.THEIRS,
        "c": Values({"age": 1}),
        "d": Values(None),
    }


@pytest.mark.parametrize(
    "given",
    [
        "ours",
        {"conflict_id": "a", "take": "ours"},
        [["a", "ours"]],
        [{"conflict_id": "a"}],
        [{"conflict_id": 1, "take": "ours"}],
        [{"conflict_id": "a", "take": "mine"}],
        [{"conflict_id": "a", "take": {"value": 3}}],
        [{"conflict_id": "a", "take": {"values": {}}}],
        [{"conflict_id": "a", "take": "ours", "why": "because"}],
        [{"conflict_id": "a", "take": "ours"}, {"conflict_id": "a", "take": "theirs"}],
    ],
)
def test_what_is_no_choice_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_choices(None, given)
    assert raised.value.code == "merge.bad_resolution"


def test_a_strategy_is_ours_or_theirs() -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_choices("mine", None)
    assert raised.value.code == "merge.bad_strategy"


def test_a_choice_goes_before_the_strategy() -> None:
    choices = parse_choices("ours", [{"conflict_id": CONFLICT.conflict_id, "take": "theirs"}])
    assert choices.of(CONFLICT) is Take.THEIRS
    assert choices.of(replace(CONFLICT, id="b")) is Take.OURS
    assert parse_choices(None, None).of(CONFLICT) is None


def test_the_name_of_a_conflict_changes_with_its_states_and_its_place_does_not() -> None:
    changed = replace(CONFLICT, theirs={"p": 4})
    assert changed.identity == CONFLICT.identity
    assert changed.conflict_id != CONFLICT.conflict_id
    assert replace(CONFLICT, message="told otherwise").conflict_id == CONFLICT.conflict_id
    assert replace(CONFLICT, id="b").identity != CONFLICT.identity


def test_a_choice_about_states_that_are_gone_is_stale() -> None:
    choices = parse_choices(None, [{"conflict_id": CONFLICT.conflict_id, "take": "ours"}])
    choices.require_known([CONFLICT])
    with pytest.raises(StaleConflict) as raised:
        choices.require_known([replace(CONFLICT, theirs={"p": 4})])
    assert raised.value.code == "merge.resolution_stale"
    with pytest.raises(InvalidInput) as unknown:
        choices.require_known([])
    assert unknown.value.code == "merge.resolution_unknown"
