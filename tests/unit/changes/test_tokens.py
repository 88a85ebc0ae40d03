"""Tokens come back as they were, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from omnigraph.api.changes import ChangeOp, ChangePosition
from omnigraph.catalog.model import EntityKind, TypeId
from omnigraph.changes.model import ChangeFilter
from omnigraph.changes.tokens import (
    TOKEN_BYTES_MAX,
    CommitToken,
    FeedCursor,
    FeedToken,
    filter_digest,
)
from omnigraph.errors import InvalidInput

NO_TYPE: dict[str, Any] = {"type_id": None}
CURSOR = FeedCursor("graph", "line", "scope", "commit")
PAGE = FeedToken("graph", "line", "scope", None, "cut", 3, ChangePosition(True, "t", 12))
COMMIT = CommitToken("graph", "commit", "scope", ChangePosition(False, "t", 0))


@pytest.mark.parametrize("token", [CURSOR, PAGE, COMMIT])
def test_a_token_is_read_as_it_was_written(token: FeedCursor | FeedToken | CommitToken) -> None:
    text = token.encode()
    assert type(token).decode(text) == token
    assert len(text) < TOKEN_BYTES_MAX
    assert text.replace("-", "").replace("_", "").isalnum()


NO_TOKENS = ["", "a", "=", "not a token", "é", "A" * 5000]
NO_TOKENS += [CURSOR.encode()[:-1], CURSOR.encode() + "A"]


@pytest.mark.parametrize("text", NO_TOKENS)
def test_what_is_no_token_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="change cursor rejected") as raised:
        FeedCursor.decode(text)
    assert raised.value.code == "change_cursor.rejected"


def test_a_changed_token_is_rejected() -> None:
    text = CURSOR.encode()
    for place in range(len(text)):
        other = "A" if text[place] != "A" else "B"
        with pytest.raises(InvalidInput):
            FeedCursor.decode(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize(
    ("token", "forged"),
    [
        (CURSOR, {"commit": None}),
        (CURSOR, {"scope": ["scope"]}),
        (PAGE, {"commits": "many"}),
        (PAGE, {"commits": -1}),
        (PAGE, {"cut": 5}),
        (PAGE, {"after": ChangePosition(True, "t", -1)}),
        (COMMIT, {"after": ChangePosition(False, "t", 10**30)}),
        (COMMIT, {"after": replace(ChangePosition(False, "", 0), **NO_TYPE)}),
    ],
)
def test_a_token_that_somebody_made_up_is_rejected(token: Any, forged: dict[str, Any]) -> None:
    forged_token = replace(token, **forged)
    with pytest.raises(InvalidInput, match="it is incomplete"):
        type(token).decode(forged_token.encode())


@pytest.mark.parametrize(
    ("text", "story"),
    [(PAGE.encode(), "next page of one poll"), (COMMIT.encode(), "next page of one commit")],
)
def test_a_token_for_something_else_is_rejected_with_what_it_is(text: str, story: str) -> None:
    with pytest.raises(InvalidInput, match=story):
        FeedCursor.decode(text)


def test_a_filter_is_bound_by_what_it_wants_and_not_by_its_order() -> None:
    one = ChangeFilter(
        types=frozenset({TypeId("a"), TypeId("b")}), ops=frozenset({ChangeOp.INSERT})
    )
    other = ChangeFilter(
        types=frozenset({TypeId("b"), TypeId("a")}), ops=frozenset({ChangeOp.INSERT})
    )
    assert filter_digest(one) == filter_digest(other)
    different = [
        ChangeFilter(),
        ChangeFilter(kinds=frozenset({EntityKind.NODE})),
        ChangeFilter(ops=frozenset({ChangeOp.INSERT})),
        one,
    ]
    assert len({filter_digest(each) for each in different}) == len(different)
