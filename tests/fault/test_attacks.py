"""Attacks on tables from outside and from other branches. Guards INV-2, INV-3 and INV-8.

Schema changes on a branch are played by changing the table itself: that is what another branch's
commit looks like from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.api.commits import Counts, WriterKind
from omnigraph.changeset.rows import to_arrow
from omnigraph.errors import Conflict, GraphError, StorageFault
from omnigraph.runtime import faults
from omnigraph.testing.kit import add, ids_of, new_engine, open_engine, table_of
from omnigraph.testing.verify import require_whole
from omnigraph.versioning.branches import create_branch
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest, WriteSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    add(new_engine(tmp_path / "graph"), ["old"])
    return tmp_path / "graph"


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


def test_a_staged_file_that_is_deleted_before_the_commit_is_noticed(path: Path) -> None:
    engine = open_engine(path)
    data = path / table_of(engine).pin.path / "data"
    kept = set(data.iterdir())

    def delete_staged() -> None:
        for file in set(data.iterdir()) - kept:
            file.unlink()

    faults.arm("attempt.before_table_commit", delete_staged)
    with pytest.raises(Conflict) as told:
        add(engine, ["lost"])
    assert told.value.code == "table.staged_missing"
    assert ids_of(engine) == ["old"]
    add(engine, ["new"])
    require_whole(open_engine(path))


def test_a_staged_file_that_is_cut_short_before_the_commit_is_noticed(path: Path) -> None:
    engine = open_engine(path)
    data = path / table_of(engine).pin.path / "data"
    kept = set(data.iterdir())

    def cut_staged() -> None:
        for file in set(data.iterdir()) - kept:
            file.write_bytes(file.read_bytes()[:-1])

    faults.arm("attempt.before_table_commit", cut_staged)
    with pytest.raises(Conflict) as told:
        add(engine, ["lost"])
    assert told.value.code == "table.staged_missing"
    require_whole(open_engine(path))


def test_a_pin_that_names_another_version_is_refused(path: Path) -> None:
    engine = open_engine(path)
    other = table_of(engine).pin
    add(engine, ["newer"])
    pin = table_of(engine).pin
    versions = path / pin.path / "_versions"
    (versions / manifest_name(pin.version)).write_bytes(
        (versions / manifest_name(other.version)).read_bytes()
    )
    engine = open_engine(path)
    for act in (lambda: ids_of(engine), lambda: add(engine, ["new"])):
        with pytest.raises(StorageFault) as told:
            act()
        assert told.value.code in {"table.pin_mismatch", "table.torn"}
    add(engine, ["elsewhere"], to="Place")


def test_a_head_above_the_pin_is_an_ordinary_sight(path: Path) -> None:
    """An orphan of anybody on top of a table: its rows never leak into a commit."""
    engine = open_engine(path)
    pin = table_of(engine).pin
    for number in range(3):
        top = lance.dataset(str(path / pin.path))
        lance.write_dataset(full_rows(top, [f"ghost{number}"]), str(path / pin.path), mode="append")
        add(engine, [f"real{number}"])
    assert ids_of(engine) == ["old", "real0", "real1", "real2"]
    require_whole(open_engine(path))


def full_rows(dataset: Any, ids: list[str]) -> pa.Table:
    return pa.table(
        {
            field.name: ids if field.name == "id" else pa.nulls(len(ids), field.type)
            for field in dataset.schema
        },
        schema=dataset.schema,
    )


# --- another branch's columns --------------------------------------------------------------------

LETTERS = """
node Letter {
    name: String @key
    left: String?
    right: String?
}
"""


class AddLetters:
    """Adds letters whose columns can be told apart."""

    kind = WriterKind.MUTATION
    reprepares = False

    def __init__(self, *names: str) -> None:
        self._names = names

    def prepare(self, view: WriteSnapshot) -> PreparedWrite:
        entity = view.snapshot.catalog.node("Letter")
        assert entity is not None
        prop = {name: entity.by_name[name].id for name in ("name", "left", "right")}
        rows = [
            {
                "@id": name,
                prop["name"]: name,
                prop["left"]: f"{name}-left",
                prop["right"]: f"{name}-right",
            }
            for name in self._names
        ]
        table = view.snapshot.table(entity.id)
        staged = table.stage_append(to_arrow(entity, rows))
        counts = Counts(nodes_inserted=len(rows))
        return PreparedWrite((TableEffect(entity.id, table.pin, staged),), counts=counts)


def columns_of(engine: Engine) -> tuple[str, str]:
    entity = engine.snapshot().catalog.node("Letter")
    assert entity is not None
    return entity.by_name["left"].column, entity.by_name["right"].column


def drop(dataset: Any, left: str, right: str) -> None:
    dataset.drop_columns([left])


def drop_and_add(dataset: Any, left: str, right: str) -> None:
    dataset.drop_columns([left])
    lance.dataset(dataset.uri).add_columns({left: "'impostor'"})


def rename(dataset: Any, left: str, right: str) -> None:
    dataset.alter_columns({"path": left, "name": "other"})


def swap(dataset: Any, left: str, right: str) -> None:
    for old, new in ((left, "tmp"), (right, left), ("tmp", right)):
        lance.dataset(dataset.uri).alter_columns({"path": old, "name": new})


def drop_both_and_add_swapped(dataset: Any, left: str, right: str) -> None:
    dataset.drop_columns([left, right])
    lance.dataset(dataset.uri).add_columns({right: "'r'"})
    lance.dataset(dataset.uri).add_columns({left: "'l'"})


def retype(dataset: Any, left: str, right: str) -> None:
    dataset.drop_columns([left])
    lance.dataset(dataset.uri).add_columns({left: "42"})


CHANGES = (drop, drop_and_add, rename, swap, drop_both_and_add_swapped, retype)
MOMENTS = ("attempt.captured", "attempt.prepared", "attempt.armed", "attempt.before_table_commit")


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("moment", ["before", *MOMENTS])
def test_what_another_branch_does_to_the_columns_does_not_touch_this_one(
    moment: str, change: Callable[[Any, str, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "graph"
    engine = new_engine(path, schema=LETTERS)
    engine.transactions.run(WriteRequest("main"), AddLetters("a"))
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    left, right = columns_of(engine)
    table = path / table_of(engine, of="Letter").pin.path

    def on_the_other_branch() -> None:
        change(lance.dataset(str(table)), left, right)

    if moment == "before":
        on_the_other_branch()
    else:
        faults.arm(moment, on_the_other_branch)
    engine.transactions.run(WriteRequest("main"), AddLetters("b"))
    faults.clear()
    engine = open_engine(path)
    engine.transactions.run(WriteRequest("dev"), AddLetters("c"))
    for branch, names in (("main", "ab"), ("dev", "ac")):
        found = table_of(engine, branch, of="Letter").scan(["id", left, right]).to_pylist()
        assert sorted(tuple(row.values()) for row in found) == [
            (name, f"{name}-left", f"{name}-right") for name in names
        ]
    require_whole(engine)


def test_rows_staged_for_another_schema_are_refused(tmp_path: Path) -> None:
    """Should staged rows ever meet a base with other columns, the commit is refused."""
    path = tmp_path / "graph"
    engine = new_engine(path, schema=LETTERS)
    engine.transactions.run(WriteRequest("main"), AddLetters("a"))
    left, right = columns_of(engine)
    table = table_of(engine, of="Letter")
    staged = table.stage_append(table.scan())
    drop_and_add(lance.dataset(str(path / table.pin.path)), left, right)
    changed = engine.root.tables.latest(table.pin.path)
    with pytest.raises(GraphError) as told:
        engine.root.tables.commit(changed, staged, operation_id="x")
    assert told.value.code == "table.schema_moved"
