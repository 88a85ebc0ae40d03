"""What branches and tags may be called, and how names lie on a disk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.api.names import parse_branch_name, parse_tag_name
from omnigraph.errors import InvalidInput
from omnigraph.versioning.names import decode_name, encode_name

NAMES = st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_-]{0,10}(/[A-Za-z0-9_][A-Za-z0-9_-]{0,10}){0,2}\Z")


@pytest.mark.parametrize("name", ["main", "dev", "a/b/c", "v1.2", "UPPER", "_x", "9", "a" * 80])
def test_ordinary_names_are_allowed(name: str) -> None:
    assert parse_branch_name(name) == name
    assert parse_tag_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".a",
        "-a",
        "a b",
        "a@b",
        "ä",
        "a..b",
        "a.",
        "a.lock",
        "a\n",
        "a" * 81,
        "../x",
        "01JABCDEFGHJKMNPQRSTVWXYZ0",
        "01jabcdefghjkmnpqrstvwxyz0",
    ],
)
def test_names_that_would_confuse_paths_targets_or_people_are_refused(name: str) -> None:
    for parse, code in ((parse_branch_name, "branch.bad_name"), (parse_tag_name, "tag.bad_name")):
        with pytest.raises(InvalidInput) as refused:
            parse(name)
        assert refused.value.code == code


@settings(deadline=None)
@given(NAMES)
def test_a_name_is_one_path_segment_and_comes_back(name: str) -> None:
    encoded = encode_name(name)
    assert "/" not in encoded
    assert decode_name(encoded) == name
    assert len(encoded) <= 255


@settings(deadline=None)
@given(NAMES, NAMES)
def test_two_names_never_share_a_segment_even_where_case_is_ignored(left: str, right: str) -> None:
    same = encode_name(left).casefold() == encode_name(right).casefold()
    assert same == (left == right)
