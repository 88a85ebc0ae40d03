"""A power cut tore the newest manifest of a table: it heals, and never at the cost of data.
Guards INV-5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.api.status import RecoveryOutcome
from omnigraph.errors import StorageFault
from omnigraph.runtime import faults
from omnigraph.testing.kit import add, history, ids_of, new_engine, open_engine, table_of
from omnigraph.testing.kit_steps import Here, play
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

TEARS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda body: body[: len(body) // 2],
    "empty": lambda _: b"",
    "zeros": lambda body: bytes(len(body)),
}


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = new_engine(tmp_path / "graph")
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    return tmp_path / "graph"


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


def tear(path: Path, table: str, version: int, how: str = "cut") -> None:
    manifest = path / table / "_versions" / manifest_name(version)
    manifest.write_bytes(TEARS[how](manifest.read_bytes()))


def die_at(crew: ProcessGroup, path: Path, point: str, branch: str = "main") -> None:
    """Somebody adds `lost` and dies."""
    steps = (step("open"), step("arm"), step("add", ids={"Person": ["lost"]}, branch=branch))
    child = crew.start(Script(str(path), steps, f"{point}=kill"))
    child.join()
    assert child.was_killed


def quarantined(engine: Engine) -> list[str]:
    rows = engine.recovery.audit.rows()
    return [row.tables[0]["path"] for row in rows if row.outcome is RecoveryOutcome.QUARANTINED]


@pytest.mark.parametrize("how", TEARS)
def test_a_torn_table_version_that_no_commit_pins_harms_nobody(
    how: str, path: Path, crew: ProcessGroup
) -> None:
    table = table_of(open_engine(path, read_only=True)).pin
    versions = path / table.path / "_versions"
    before = {file.name for file in versions.iterdir()}
    die_at(crew, path, "attempt.tables_committed")
    (left,) = (file for file in versions.iterdir() if file.name not in before)
    left.write_bytes(TEARS[how](left.read_bytes()))
    engine = open_engine(path)
    assert ids_of(engine) == ["old"]
    add(engine, ["new"])
    assert ids_of(engine) == ["new", "old"]
    assert quarantined(engine) == []
    add(engine, ["newer"], branch="dev")
    require_whole(open_engine(path))


def test_a_torn_table_version_that_a_commit_pins_is_left_for_people_and_blocks_nobody_else(
    path: Path,
) -> None:
    """Its data is lost; to reuse its number would hide that."""
    pin = table_of(open_engine(path)).pin
    tear(path, pin.path, pin.version)
    engine = open_engine(path)
    for attempt in (lambda: ids_of(engine), lambda: add(engine, ["new"])):
        with pytest.raises(StorageFault) as told:
            attempt()
        assert told.value.code == "table.torn"
    assert quarantined(engine) == []
    add(engine, ["somewhere"], to="Place")
    assert ids_of(engine, of="Place") == ["somewhere"]


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("how", TEARS)
def test_a_torn_table_version_that_another_branch_pins_does_not_stop_a_write(
    how: str, deleted: bool, path: Path
) -> None:
    engine = open_engine(path)
    add(engine, ["side"], branch="dev")
    pin = table_of(engine, "dev").pin
    manifest = path / pin.path / "_versions" / manifest_name(pin.version)
    whole = manifest.read_bytes()
    if deleted:
        play(str(path), (step("unbranch", name="dev"),), Here(), open_engine(path))
    tear(path, pin.path, pin.version, how)
    engine = open_engine(path)
    add(engine, ["new"])
    assert ids_of(engine) == ["new", "old"]
    assert quarantined(engine) == []
    if not deleted:
        with pytest.raises(StorageFault) as caught:
            ids_of(open_engine(path), "dev")
        assert caught.value.code == "table.torn"
        manifest.write_bytes(whole)
        engine = open_engine(path)
        assert ids_of(engine, "dev") == ["old", "side"]
        add(engine, ["more"], branch="dev")
        add(engine, ["newer"])
        require_whole(open_engine(path))


@pytest.mark.parametrize("how", TEARS)
def test_a_torn_lineage_stops_nothing(how: str, path: Path) -> None:
    engine = open_engine(path)
    engine.lineage.refresh()
    engine.lineage.archive()
    table = layout.LINEAGE_TABLE
    tear(path, table, engine.root.tables.latest_version(table), how)
    engine = open_engine(path)
    told = [commit.id for commit in history(engine)]
    add(engine, ["new"])
    assert [commit.id for commit in history(engine)][1:] == told
    engine.lineage.refresh()
    engine.lineage.archive()
    assert table in quarantined(engine)
    require_whole(open_engine(path))


def test_a_table_manifest_cut_at_any_length_is_torn_and_nothing_worse(path: Path) -> None:
    """Lance answers some cuts with an error of its own kind and some with a panic."""
    pin = table_of(open_engine(path)).pin
    manifest = path / pin.path / "_versions" / manifest_name(pin.version)
    whole = manifest.read_bytes()
    for length in range(0, len(whole), 7):
        manifest.write_bytes(whole[:length])
        with pytest.raises(StorageFault) as raised:
            table_of(open_engine(path, read_only=True))
        assert raised.value.code == "table.torn", length


def torn_lineage(path: Path) -> None:
    """The newest version of the lineage is torn, and it lacks a commit."""
    engine = open_engine(path)
    engine.lineage.refresh()
    engine.lineage.archive()
    newest = engine.root.tables.latest_version(layout.LINEAGE_TABLE)
    add(engine, ["later"])
    tear(path, layout.LINEAGE_TABLE, newest)


ARCHIVE = (step("open"), step("arm"), step("archive"))


@pytest.mark.parametrize("point", ["recovery.torn_copied", "recovery.torn_set_aside"])
@pytest.mark.parametrize("kind", ["kill", "raise"])
def test_a_healer_that_dies_is_followed_by_another_and_audited_once(
    kind: str, point: str, path: Path, crew: ProcessGroup
) -> None:
    torn_lineage(path)
    child = crew.start(Script(str(path), ARCHIVE, f"{point}={kind}"))
    child.join()
    assert child.was_killed == (kind == "kill")
    engine = open_engine(path)
    engine.lineage.refresh()
    engine.lineage.archive()
    add(engine, ["new"])
    assert ids_of(engine) == ["later", "new", "old"]
    assert len(quarantined(engine)) == 1
    require_whole(engine)


def test_the_claim_of_a_dead_healer_stops_nobody(path: Path, crew: ProcessGroup) -> None:
    torn_lineage(path)
    child = crew.start(Script(str(path), ARCHIVE, "recovery.torn_copied=kill"))
    child.join()
    assert child.was_killed
    assert list((path / layout.HEAL_CLAIMS).iterdir())
    engine = open_engine(path)
    engine.lineage.refresh()
    engine.lineage.archive()
    assert not list((path / layout.HEAL_CLAIMS).iterdir())
