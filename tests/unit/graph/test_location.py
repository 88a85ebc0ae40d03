"""Where a graph may be made, and what is refused before anything is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.errors import InvalidInput
from omnigraph.testing.kit import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("uri", [None, 5, b"graph", ["graph"], True])
def test_what_is_no_path_is_no_directory_name_either(
    uri: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verbs: list[Callable[[], object]] = [
        lambda: omnigraph.init(uri, SCHEMA),
        lambda: omnigraph.open(uri),
    ]
    for verb in verbs:
        with pytest.raises(InvalidInput) as told:
            verb()
        assert told.value.code == "uri.unsupported"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", ["region", {"aws_region": 5}, {5: "x"}, [("a", "b")]])
def test_storage_options_are_texts(options: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as told:
        omnigraph.init(tmp_path / "graph", SCHEMA, storage_options=options)
    assert told.value.code == "uri.bad_options"


@pytest.mark.parametrize("schema", [None, 5, b"node"])
def test_what_is_no_schema_is_refused_and_leaves_nothing(schema: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as told:
        omnigraph.init(tmp_path / "graph", schema)
    assert told.value.code == "schema.unreadable"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["inner", "nodes", "nodes/x/y"])
def test_a_graph_is_not_made_inside_another_one(below: str, tmp_path: Path) -> None:
    omnigraph.init(tmp_path / "graph", SCHEMA)
    with pytest.raises(InvalidInput) as told:
        omnigraph.init(tmp_path / "graph" / below, SCHEMA)
    assert told.value.code == "graph.nested"
    assert not (tmp_path / "graph" / below / "_graph.json").exists()
    assert not (tmp_path / "graph" / "inner").exists()


def test_the_actor_of_a_creation_is_checked_before_a_directory_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        omnigraph.init(tmp_path / "graph", SCHEMA, actor="a" * 300)
    assert list(tmp_path.iterdir()) == []
