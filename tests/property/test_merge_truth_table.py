"""Every pair of histories of one entity, merged, against an oracle that says it in words.

Each pair is an entity of its own; all pairs of a table are merged at once. The oracle knows states
and nothing of rows, files or the code that decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.merges import MergeRequest
from omnigraph.errors import MergeConflict
from omnigraph.merging.merge import merge_branches
from omnigraph.merging.resolutions import parse_choices
from omnigraph.testing.histories import branch_off, state_of, write
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine

SCHEMA = """
node Person {
    name: String @key
    p: I64?
    q: I64?
}

edge Knows: Person -> Person {
    p: I64?
    q: I64?
}
"""

DELETED = None
START = {"p": 0, "q": 0}
# A history is what happens to the entity, step by step: a new state, or its deletion.
EXISTING: dict[str, list[dict[str, int] | None]] = {
    "kept": [],
    "p set to 1": [{"p": 1, "q": 0}],
    "p set to 2": [{"p": 2, "q": 0}],
    "q set to 1": [{"p": 0, "q": 1}],
    "p and q set to 1": [{"p": 1, "q": 1}],
    "p set and set back": [{"p": 1, "q": 0}, START],
    "p cleared": [{"q": 0}],
    "deleted": [DELETED],
    "deleted and inserted as it was": [DELETED, START],
    "deleted and inserted with p 1": [DELETED, {"p": 1, "q": 0}],
    "deleted and inserted with p 2": [DELETED, {"p": 2, "q": 0}],
    "updated, then deleted": [{"p": 1, "q": 0}, DELETED],
}
ABSENT: dict[str, list[dict[str, int] | None]] = {
    "never there": [],
    "inserted": [{"p": 1, "q": 1}],
    "inserted with another p": [{"p": 2, "q": 1}],
    "inserted without q": [{"p": 1}],
    "inserted in two steps": [{"p": 7}, {"p": 1, "q": 1}],
    "inserted and deleted": [{"p": 1, "q": 1}, DELETED],
}


@dataclass(frozen=True)
class Verdict:
    """The merged state, or the conflict and the properties that are disputed."""

    state: dict[str, int] | None = None
    conflict: str | None = None
    disputed: frozenset[str] = frozenset()


def oracle(
    base: dict[str, int] | None, left: dict[str, int] | None, right: dict[str, int] | None
) -> Verdict:
    """What a person would say about the last states of the two sides."""
    if left == right:
        return Verdict(left)
    if left == base:
        return Verdict(right)
    if right == base:
        return Verdict(left)
    # From here on both sides changed it, and differently.
    if base is None:
        return Verdict(conflict="divergent_insert", disputed=differing(left, right))
    if left is None or right is None:
        return Verdict(conflict="delete_vs_update", disputed=differing(base, left or right))
    return by_property(base, left, right)


def by_property(base: dict[str, int], left: dict[str, int], right: dict[str, int]) -> Verdict:
    """A property that only one side changed has that side's value."""
    merged: dict[str, int | None] = {}
    disputed = set()
    for name in ("p", "q"):
        before, one, other = base.get(name), left.get(name), right.get(name)
        if other in (one, before):
            merged[name] = one
        elif one == before:
            merged[name] = other
        else:
            disputed.add(name)
    if disputed:
        return Verdict(conflict="divergent_update", disputed=frozenset(disputed))
    return Verdict({name: value for name, value in merged.items() if value is not None})


def differing(one: dict[str, int] | None, other: dict[str, int] | None) -> frozenset[str]:
    names = {"p", "q"}
    return frozenset(name for name in names if (one or {}).get(name) != (other or {}).get(name))


@dataclass(frozen=True)
class Case:
    name: str
    base: dict[str, int] | None
    left: list[dict[str, int] | None]
    right: list[dict[str, int] | None]

    @property
    def ends(self) -> tuple[dict[str, int] | None, dict[str, int] | None]:
        start = [self.base]
        return [*start, *self.left][-1], [*start, *self.right][-1]

    @property
    def verdict(self) -> Verdict:
        return oracle(self.base, *self.ends)


def cases() -> list[Case]:
    found = [
        Case(f"{one} | {other}", dict(START), EXISTING[one], EXISTING[other])
        for one, other in product(EXISTING, repeat=2)
    ]
    found += [
        Case(f"{one} | {other}", None, ABSENT[one], ABSENT[other])
        for one, other in product(ABSENT, repeat=2)
    ]
    return found


CASES = cases()


def entity(kind: str, case: Case, state: dict[str, int]) -> dict[str, Any]:
    if kind == "Person":
        return {"name": case.name, **state}
    return {"from": "a", "to": "b", **state}


def play(engine: Engine, kind: str, chosen: list[Case]) -> None:
    """The base on main, then both histories, each step a commit of its own."""
    ends = {"Person": {"a": {"name": "a"}, "b": {"name": "b"}}}
    write(engine, ends)
    there = {case.name: entity(kind, case, case.base) for case in chosen if case.base is not None}
    write(engine, {kind: there})
    branch_off(engine, "left")
    branch_off(engine, "right")
    for branch in ("left", "right"):
        for number in range(2):
            steps = [(case, getattr(case, branch)[number : number + 1]) for case in chosen]
            upserts = {case.name: entity(kind, case, step[0]) for case, step in steps if any(step)}
            deletes = [case.name for case, step in steps if step == [DELETED]]
            write(engine, {kind: upserts}, {kind: deletes}, branch=branch)


@pytest.mark.parametrize("kind", ["Person", "Knows"])
@pytest.mark.parametrize(("source", "target"), [("left", "right"), ("right", "left")])
def test_histories_that_agree_are_merged_as_the_oracle_says(
    tmp_path: Path, kind: str, source: str, target: str
) -> None:
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    chosen = [case for case in CASES if case.verdict.conflict is None]
    play(engine, kind, chosen)
    merge_branches(engine, MergeRequest(source, target))
    merged = state_of(engine, target)[kind]
    for case in chosen:
        expected = case.verdict.state
        found = merged.get(case.name)
        assert (found is None) == (expected is None), case.name
        if found is not None:
            assert {k: v for k, v in found.items() if k in ("p", "q")} == expected, case.name
    require_whole(engine)


@pytest.mark.parametrize("kind", ["Person", "Knows"])
@pytest.mark.parametrize(("source", "target"), [("left", "right"), ("right", "left")])
@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_histories_that_disagree_are_conflicts_and_follow_the_choice(
    tmp_path: Path, kind: str, source: str, target: str, strategy: str
) -> None:
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    play(engine, kind, CASES)
    before = engine.snapshot(target).commit_id
    with pytest.raises(MergeConflict) as raised:
        merge_branches(engine, MergeRequest(source, target))
    told = {
        found["entity_id"]: (found["kind"], frozenset(found.get("properties", ())))
        for found in raised.value.details["merge_conflicts"]
    }
    expected = {
        case.name: (case.verdict.conflict, case.verdict.disputed)
        for case in CASES
        if case.verdict.conflict is not None
    }
    assert told == expected
    assert engine.snapshot(target).commit_id == before

    merge_branches(engine, MergeRequest(source, target, parse_choices(strategy, None)))
    merged = state_of(engine, target)[kind]
    for case in CASES:
        left, right = case.ends
        ours, theirs = (left, right) if target == "left" else (right, left)
        winner, loser = (ours, theirs) if strategy == "ours" else (theirs, ours)
        wanted = case.verdict.state
        if case.verdict.conflict == "divergent_update":
            # Only what is disputed follows the choice; the rest is merged.
            wanted = chosen_by_property(case.base or {}, winner or {}, loser or {})
        elif case.verdict.conflict is not None:
            wanted = winner
        found = merged.get(case.name)
        shown = None if found is None else {k: v for k, v in found.items() if k in ("p", "q")}
        assert shown == wanted, case.name
    require_whole(engine)


def chosen_by_property(
    base: dict[str, int], winner: dict[str, int], loser: dict[str, int]
) -> dict[str, int]:
    chosen = {
        name: loser.get(name) if winner.get(name) == base.get(name) else winner.get(name)
        for name in ("p", "q")
    }
    return {name: value for name, value in chosen.items() if value is not None}
