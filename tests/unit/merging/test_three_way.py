"""Three states of one entity."""

from __future__ import annotations

import pytest

from omnigraph.api.conflicts import ConflictKind
from omnigraph.merging.three_way import (
    Disagreement,
    Resolved,
    Row,
    Verdict,
    decide,
    differing,
    reconsider,
    same,
)

A: Row = {"p": 1, "q": 1}


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (None, None, None, None),
        (A, A, A, A),
        (A, None, None, None),
        (A, None, A, None),
        (A, A, None, None),
        (None, A, None, A),
        (None, None, A, A),
        (None, A, A, A),
        (A, {"p": 2, "q": 1}, A, {"p": 2, "q": 1}),
        (A, A, {"p": 2, "q": 1}, {"p": 2, "q": 1}),
        (A, {"p": 2, "q": 1}, {"p": 1, "q": 2}, {"p": 2, "q": 2}),
        (A, {"p": 2, "q": 1}, {"p": 2, "q": 3}, {"p": 2, "q": 3}),
        (A, {"p": None, "q": 1}, {"p": 1, "q": 2}, {"p": None, "q": 2}),
    ],
)
def test_a_change_of_one_side_is_taken(
    base: Row | None, ours: Row | None, theirs: Row | None, result: Row | None
) -> None:
    assert decide(base, ours, theirs) == Resolved(result)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "kind", "properties"),
    [
        (None, {"p": 1}, {"p": 2}, ConflictKind.DIVERGENT_INSERT, ("p",)),
        (A, {"p": 2, "q": 1}, {"p": 3, "q": 1}, ConflictKind.DIVERGENT_UPDATE, ("p",)),
        (A, {"p": 2, "q": 2}, {"p": 3, "q": 3}, ConflictKind.DIVERGENT_UPDATE, ("p", "q")),
        (A, None, {"p": 1, "q": 2}, ConflictKind.DELETE_VS_UPDATE, ("q",)),
        (A, {"p": 1, "q": 2}, None, ConflictKind.DELETE_VS_UPDATE, ("q",)),
    ],
)
def test_two_different_changes_are_a_disagreement(
    base: Row | None,
    ours: Row | None,
    theirs: Row | None,
    kind: ConflictKind,
    properties: tuple[str, ...],
) -> None:
    verdict = decide(base, ours, theirs)
    assert isinstance(verdict, Disagreement)
    assert (verdict.kind, verdict.properties) == (kind, properties)


def test_what_is_not_disputed_is_merged_all_the_same() -> None:
    verdict = decide(A, {"p": 2, "q": 1}, {"p": 3, "q": 5})
    assert isinstance(verdict, Disagreement)
    assert verdict.merged == {"p": 2, "q": 5}


def test_a_property_that_is_missing_has_no_value() -> None:
    assert same({"p": 1}, {"p": 1, "q": None})
    assert not same(None, {})
    assert differing({"p": 1}, {"q": 2}) == ("p", "q")


def reconsidered(bases: list[Row | None], ours: Row | None, theirs: Row | None) -> Verdict:
    """Against the first base they disagree; then the others are asked."""
    verdict = decide(bases[0], ours, theirs)
    assert isinstance(verdict, Disagreement)
    return reconsider(verdict, bases[1:], ours, theirs)


def test_another_base_tells_who_really_changed_a_property() -> None:
    bases: list[Row | None] = [{"p": 0}, {"p": 1}]
    assert reconsidered(bases, {"p": 3}, {"p": 1}) == Resolved({"p": 3})
    assert reconsidered(bases, {"p": 1}, {"p": 3}) == Resolved({"p": 3})


def test_bases_that_contradict_each_other_leave_it_disputed() -> None:
    bases: list[Row | None] = [{"p": 0}, {"p": 1}, {"p": 3}]
    assert isinstance(reconsidered(bases, {"p": 3}, {"p": 1}), Disagreement)
    assert isinstance(reconsidered([{"p": 0}, {"p": 7}], {"p": 3}, {"p": 1}), Disagreement)


def test_another_base_tells_who_inserted_or_deleted() -> None:
    assert reconsidered([None, {"p": 1}], {"p": 2}, {"p": 1}) == Resolved({"p": 2})
    assert reconsidered([{"p": 0}, {"p": 1}], None, {"p": 1}) == Resolved(None)


def test_only_what_stays_disputed_is_told() -> None:
    bases: list[Row | None] = [{"p": 0, "q": 0}, {"p": 1, "q": 0}]
    verdict = reconsidered(bases, {"p": 3, "q": 3}, {"p": 1, "q": 4})
    assert isinstance(verdict, Disagreement)
    assert verdict.properties == ("q",)
    assert verdict.merged == {"p": 3, "q": 3}
