"""Catalogs printed back as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.canonical import digest
from omnigraph.catalog.source import print_catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

    Build = Callable[..., Catalog]

CORPUS = sorted((Path(__file__).parents[2] / "corpus" / "pg" / "valid").glob("*.pg"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_is_printed_builds_the_same_catalog(build: Build, path: Path) -> None:
    catalog = build(path.read_text(encoding="utf-8"))
    printed = print_catalog(catalog)
    again = build(printed, catalog)
    assert again == catalog
    assert digest(again) == digest(catalog)
    assert print_catalog(again) == printed


def test_a_node_does_not_repeat_what_its_interfaces_say(build: Build) -> None:
    text = """interface Named {
    name: String @key @description("a")
    nick: String?

    @unique(name, nick)
    @range(age, 0..9)
}
""".replace("    @range(age, 0..9)\n", "")
    text += """
node Person implements Named {
    name: String @description("b")
    age: I32 @index

    @index(nick)
    @range(age, 0..9)
}
"""
    assert print_catalog(build(text)) == text


def test_a_rename_is_not_printed(build: Build) -> None:
    first = build("node A { x: I32 }")
    second = build('node B @rename_from("A") { y: I32 @rename_from("x") }', first)
    assert print_catalog(second) == "node B {\n    y: I32\n}\n"
    assert build(print_catalog(second), second) == second
