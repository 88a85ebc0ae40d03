"""A graph with a short history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.testing.histories import branch_off, write
from omnigraph.testing.kit import SCHEMA, new_engine

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Three commits on main after the first; ``dev`` begins at the second."""
    made = new_engine(tmp_path / "g", schema=SCHEMA)
    write(
        made,
        {
            "Person": {name: {"name": name, "age": age} for name, age in (("ada", 36), ("bob", 1))},
            "Knows": {"k1": {"from": "ada", "to": "bob", "since": 1}},
        },
    )
    branch_off(made, "dev")
    write(made, {"Person": {"ada": {"name": "ada", "age": 37}, "cyd": {"name": "cyd"}}})
    write(made, {}, {"Person": ["bob"]})
    return made


@pytest.fixture
def graph(engine: Engine) -> EmbeddedGraph:
    return EmbeddedGraph(engine)
