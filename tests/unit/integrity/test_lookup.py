"""Finding rows by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.integrity.lookup import locate
from omnigraph.testing.kit import add, new_engine

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_found_nowhere_has_the_columns_of_what_is_found(tmp_path: Path) -> None:
    """A caller puts the answers of several questions together."""
    engine = new_engine(tmp_path / "graph")
    add(engine, ["old"])
    person = engine.snapshot().catalog.nodes[0]
    table = engine.snapshot().table(person.id)
    answers = [locate(table, pa.array(ids, pa.string())) for ids in (["old"], ["new"], [])]
    assert pa.concat_tables(answers).num_rows == 1
