"""Changes to small real graphs, judged by the evaluator."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.writes import LoadRequest, Mode
from omnigraph.catalog.model import DST, ID, SRC
from omnigraph.changeset.rows import entity_id, fill_defaults, to_arrow
from omnigraph.integrity.changes import ChangeSet, TypeChange
from omnigraph.integrity.evaluate import evaluate_changes
from omnigraph.loading import load
from omnigraph.testing.kit import new_engine

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.integrity.evaluate import Evaluation
    from omnigraph.session.engine import Engine

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Judge:
    """A graph, and what the evaluator says of changes to it."""

    engine: Engine

    def add(self, *records: Values) -> None:
        """Put entities into the graph."""
        load(self.engine, LoadRequest(records, Mode.MERGE))

    def change(
        self,
        type_name: str,
        rows: Iterable[Values] = (),
        *,
        mode: str = "merge",
        deletes: Iterable[str] = (),
    ) -> TypeChange:
        """A change of one type; rows by property name, with ``from`` and ``to`` for edges."""
        entity = self.engine.snapshot().catalog.entity(type_name)
        assert entity is not None
        typed = []
        for row in rows:
            given: dict[str, Any] = {
                entity.by_name[key].id: row[key] for key in row if key in entity.by_name
            }
            given |= {end.id: row[key] for key, end in (("from", SRC), ("to", DST)) if key in row}
            filled = fill_defaults(entity, given)
            filled[ID.id] = row.get("id") or entity_id(entity, filled)
            typed.append(filled)
        return TypeChange(
            entity,
            Mode(mode),
            to_arrow(entity, typed),
            pa.array(list(deletes), pa.string()),
            np.arange(1, len(typed) + 1),
        )

    def evaluate(self, *changes: TypeChange, partial: bool = False) -> Evaluation:
        by_type = {change.entity.id: change for change in changes}
        return evaluate_changes(ChangeSet(by_type, partial=partial), self.engine.snapshot())

    def broken(self, *changes: TypeChange, partial: bool = False) -> list[tuple[Any, ...]]:
        """What is wrong: rule, record, property and value of each violation."""
        report = self.evaluate(*changes, partial=partial).report
        assert report.total == len(report.violations)
        return [
            (found.rule, found.record, found.property, found.value) for found in report.violations
        ]


@pytest.fixture
def judge_of(tmp_path: Path) -> Callable[[str], Judge]:
    numbers = itertools.count()

    def make(schema: str) -> Judge:
        return Judge(new_engine(tmp_path / f"{next(numbers)}.omni", schema=schema))

    return make
