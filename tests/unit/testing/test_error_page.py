"""The page of error codes says what the source says."""

from __future__ import annotations

import re
from pathlib import Path

from omnigraph.testing.error_page import error_page, raised_codes

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_of_error_codes_is_up_to_date() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert page == error_page(), "run `make errors` and commit docs/errors.md"


def test_codes_are_words_with_a_dot() -> None:
    codes = [each.code for each in raised_codes()]
    assert len(codes) > 150
    assert not [code for code in codes if not re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_]+", code)]


def test_well_known_codes_are_among_them() -> None:
    found = {each.code: each for each in raised_codes()}
    assert found["graph.missing"].remedy == "create one with `omnigraph init URI --schema FILE`"
    assert found["usage.two_addresses"].kind == "InvalidInput"
