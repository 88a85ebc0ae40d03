"""The newest manifest of a branch is unreadable or missing. Guards INV-5: a commit that may have
been acknowledged is never discarded by a program; the damage stays on that branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.api.merges import MergeRequest, ResetRequest
from omnigraph.api.schemas import DesiredSchema, SchemaRequest
from omnigraph.errors import StorageFault
from omnigraph.evolution.apply import apply_schema
from omnigraph.maintenance.indexes import ensure_indices
from omnigraph.merging.merge import merge_branches
from omnigraph.merging.reset import reset_branch
from omnigraph.recovery.fence import publish_without_effect
from omnigraph.session.status import describe_status
from omnigraph.testing.kit import SCHEMA, add, history, ids_of, new_engine, open_engine
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, list_branches
from omnigraph.versioning.tags import create_tag

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.runtime.ids import CommitId
    from omnigraph.session.engine import Engine
    from omnigraph.testing.s3 import S3Endpoint

    Damage = Callable[[bytes], bytes | None]


def tear(body: bytes) -> bytes | None:
    return body[: len(body) // 2]


def empty(_: bytes) -> bytes | None:
    return b""


def remove(_: bytes) -> bytes | None:
    return None


def damage_head(path: Path, engine: Engine, branch: str, how: Damage) -> Path:
    head = engine.resolver.resolve(branch)
    file = path / layout.manifest(head.incarnation, head.version)
    body = how(file.read_bytes())
    if body is None:
        file.unlink()
    else:
        file.write_bytes(body)
    return file


def make(path: Path, durability: str) -> tuple[Engine, CommitId, CommitId]:
    """A graph with the branch ``dev``, and the last two commits of that branch."""
    engine = new_engine(path, durability=durability)
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    before = add(engine, ["kept"], branch="dev")
    last = add(engine, ["last"], branch="dev")
    return engine, before, last


def require_damaged(engine: Engine, branch: str = "dev") -> StorageFault:
    """Reading and writing the branch fail alike, and say what to do."""
    acts: list[Callable[[], object]] = [
        lambda: ids_of(engine, branch),
        lambda: add(engine, ["more"], branch=branch),
        lambda: history(engine, branch),
    ]
    faults = []
    for act in acts:
        with pytest.raises(StorageFault) as caught:
            act()
        assert caught.value.code == "branch.damaged"
        assert caught.value.details["branch"] == branch
        assert "copy" in (caught.value.remedy or "")
        faults.append(caught.value)
    return faults[-1]


@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize("how", [tear, empty])
def test_an_unreadable_head_makes_its_branch_read_only(
    how: Damage, durability: str, tmp_path: Path
) -> None:
    engine, before, last = make(tmp_path / "graph", durability)
    file = damage_head(tmp_path / "graph", engine, "dev", how)
    damaged = file.read_bytes()
    engine = open_engine(tmp_path / "graph")
    fault = require_damaged(engine)
    assert fault.details["last_readable_commit"] == before
    # Older commits of the branch stay readable, and a new branch continues from them.
    assert ids_of(engine, before) == ["kept", "old"]
    create_branch(engine.root, engine.heads, "rescue", engine.resolver.resolve(before))
    add(engine, ["more"], branch="rescue")
    # Other branches are unaffected.
    add(engine, ["new"])
    assert ids_of(engine) == ["new", "old"]
    found = list_branches(engine.root, engine.heads)
    assert [info.ref.name for info in found] == ["main", "rescue"]
    assert [(entry.name, entry.fault.code) for entry in found.damaged] == [
        ("dev", "branch.damaged")
    ]
    assert [entry.name for entry in describe_status(engine).damaged] == ["dev"]
    # Nothing was discarded: the commit itself is reported as damaged, and comes back from a copy.
    assert file.read_bytes() == damaged
    assert engine.recovery.audit.rows() == []
    with pytest.raises(StorageFault):
        ids_of(engine, last)


def test_at_power_a_head_that_comes_back_from_a_copy_is_as_before(tmp_path: Path) -> None:
    engine, _, last = make(tmp_path / "graph", "power")
    head = engine.resolver.resolve("dev")
    file = tmp_path / "graph" / layout.manifest(head.incarnation, head.version)
    whole = file.read_bytes()
    damage_head(tmp_path / "graph", engine, "dev", tear)
    require_damaged(open_engine(tmp_path / "graph"))
    file.write_bytes(whole)
    engine = open_engine(tmp_path / "graph")
    assert history(engine, "dev")[0].id == last
    add(engine, ["more"], branch="dev")
    require_whole(engine)


def name_by_tag(engine: Engine) -> None:
    create_tag(engine.root, "v1", engine.resolver.resolve("dev"))


def name_by_fork(engine: Engine) -> None:
    create_branch(engine.root, engine.heads, "child", engine.resolver.resolve("dev"))


def name_by_lineage(engine: Engine) -> None:
    engine.lineage.refresh()
    engine.lineage.archive()


def name_by_merge(engine: Engine) -> None:
    add(engine, ["apart"])
    merge_branches(engine, MergeRequest("dev", "main"))


NAMES = [name_by_tag, name_by_fork, name_by_lineage, name_by_merge]


def write(engine: Engine) -> None:
    add(engine, ["more"], branch="dev")


def delete(engine: Engine) -> None:
    delete_branch(engine.root, engine.heads, "dev", force=True)


def reset(engine: Engine) -> None:
    reset_branch(engine, ResetRequest("dev", "main"))


def merge_into(engine: Engine) -> None:
    merge_branches(engine, MergeRequest("main", "dev"))


def index(engine: Engine) -> None:
    ensure_indices(engine, "dev", force=True)


def change_schema(engine: Engine) -> None:
    schema = SCHEMA + "\nnode Extra { name: String @key }"
    apply_schema(engine, SchemaRequest(DesiredSchema(schema), "dev"))


def recover(engine: Engine) -> None:
    """What recovery publishes for the intent of a dead writer."""
    head = engine.resolver.resolve("dev")
    publish_without_effect(engine.root, engine.heads, head, "void", branch="dev")


WRITES = [write, delete, reset, merge_into, index, change_schema, recover]


@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("act", WRITES)
def test_a_missing_head_that_something_names_is_not_replaced(
    act: Callable[[Engine], None], name: Callable[[Engine], None], durability: str, tmp_path: Path
) -> None:
    engine, before, _ = make(tmp_path / "graph", durability)
    name(engine)
    file = damage_head(tmp_path / "graph", engine, "dev", remove)
    engine = open_engine(tmp_path / "graph")
    with pytest.raises(StorageFault) as caught:
        act(engine)
    assert caught.value.code == "branch.damaged"
    assert not file.exists(), "its number is free for a copy"
    assert ids_of(engine, before) == ["kept", "old"]
    add(engine, ["new"])
    # This process knows now: reads of the branch fail as well.
    require_damaged(engine)


@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize("name", NAMES)
def test_listing_and_status_report_a_missing_head(
    name: Callable[[Engine], None], durability: str, tmp_path: Path
) -> None:
    engine, _, _ = make(tmp_path / "graph", durability)
    name(engine)
    file = damage_head(tmp_path / "graph", engine, "dev", remove)
    for read_only in (True, False):
        engine = open_engine(tmp_path / "graph", read_only=read_only)
        found = list_branches(engine.root, engine.heads)
        assert [(ref.name, ref.fault.code) for ref in found.damaged] == [("dev", "branch.damaged")]
        engine = open_engine(tmp_path / "graph", read_only=read_only)
        assert [entry.name for entry in describe_status(engine).damaged] == ["dev"]
        with pytest.raises(StorageFault):
            ids_of(engine, "dev")
    assert not file.exists()


@pytest.mark.parametrize("durability", ["power", "process"])
def test_a_missing_head_that_comes_back_is_as_before_in_the_same_process(
    durability: str, tmp_path: Path
) -> None:
    engine, _, _ = make(tmp_path / "graph", durability)
    name_by_merge(engine)
    head = engine.resolver.resolve("dev")
    whole = (tmp_path / "graph" / layout.manifest(head.incarnation, head.version)).read_bytes()
    file = damage_head(tmp_path / "graph", engine, "dev", remove)
    engine = open_engine(tmp_path / "graph")
    with pytest.raises(StorageFault):
        write(engine)
    file.write_bytes(whole)
    assert ids_of(engine, "dev") == ["kept", "last", "old"]
    write(engine)
    require_whole(open_engine(tmp_path / "graph"))


def test_reading_a_merge_reports_the_missing_head_that_it_names(tmp_path: Path) -> None:
    """Without a request: the commit that names the missing one was read for another reason."""
    engine, _, _ = make(tmp_path / "graph", "process")
    name_by_merge(engine)
    damage_head(tmp_path / "graph", engine, "dev", remove)
    engine = open_engine(tmp_path / "graph", read_only=True)
    assert ids_of(engine) == ["apart", "kept", "last", "old"]
    with pytest.raises(StorageFault) as caught:
        ids_of(engine, "dev")
    assert caught.value.code == "branch.damaged"


def without_hint(path: Path) -> None:
    """Remove the hints: a process that was killed behind its publish has written none."""
    for hint in path.glob(f"{layout.MANIFESTS}/*/hint"):
        hint.unlink()


@pytest.mark.parametrize("name", [name_by_tag, name_by_fork])
def test_a_ref_names_a_missing_head_without_a_hint(
    name: Callable[[Engine], None], tmp_path: Path
) -> None:
    engine, _, _ = make(tmp_path / "graph", "process")
    name(engine)
    damage_head(tmp_path / "graph", engine, "dev", remove)
    without_hint(tmp_path / "graph")
    engine = open_engine(tmp_path / "graph")
    with pytest.raises(StorageFault) as caught:
        write(engine)
    assert caught.value.code == "branch.damaged"
    require_damaged(engine)


def test_a_missing_head_that_only_a_hint_names_fails_the_first_read(tmp_path: Path) -> None:
    engine, before, _ = make(tmp_path / "graph", "process")
    damage_head(tmp_path / "graph", engine, "dev", remove)
    for read_only in (True, False):
        with pytest.raises(StorageFault) as caught:
            ids_of(open_engine(tmp_path / "graph", read_only=read_only), "dev")
        assert caught.value.code == "branch.damaged"
        assert caught.value.details["last_readable_commit"] == before


@pytest.mark.parametrize("hint", [b"", b"x", b"-1", b"9" * 40, b"2", b"9", b"9 00000000", b"\xb2"])
def test_a_hint_that_lags_or_is_damaged_changes_nothing(hint: bytes, tmp_path: Path) -> None:
    engine, _, last = make(tmp_path / "graph", "process")
    incarnation = engine.resolver.resolve("dev").incarnation
    (tmp_path / "graph" / layout.manifest_hint(incarnation)).write_bytes(hint)
    engine = open_engine(tmp_path / "graph")
    assert engine.snapshot("dev").commit_id == last
    write(engine)
    require_whole(open_engine(tmp_path / "graph"))


def spoil_tag(path: Path) -> None:
    file = path / "_refs/tags/v1.json"
    file.write_bytes(file.read_bytes()[:20])


def spoil_fork(path: Path) -> None:
    file = path / "_refs/branches/child/00000001.json"
    file.write_bytes(file.read_bytes()[:20])


@pytest.mark.parametrize("how", [tear, remove])
@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize(
    ("name", "spoil"), [(name_by_tag, spoil_tag), (name_by_fork, spoil_fork)], ids=["tag", "fork"]
)
def test_a_ref_that_cannot_be_read_may_name_the_damaged_head(
    name: Callable[[Engine], None],
    spoil: Callable[[Path], None],
    durability: str,
    how: Damage,
    tmp_path: Path,
) -> None:
    engine, _, _ = make(tmp_path / "graph", durability)
    name(engine)
    file = damage_head(tmp_path / "graph", engine, "dev", how)
    spoil(tmp_path / "graph")
    left = file.exists()
    engine = open_engine(tmp_path / "graph")
    with pytest.raises(StorageFault) as caught:
        write(engine)
    assert caught.value.code == "branch.damaged"
    assert file.exists() is left
    # An unreadable ref alone stops no branch.
    add(engine, ["new"])


@pytest.mark.parametrize("how", [tear, remove])
@pytest.mark.parametrize("durability", ["power", "process"])
def test_a_tag_on_a_damaged_head_reports_the_damage(
    durability: str, how: Damage, tmp_path: Path
) -> None:
    engine, before, last = make(tmp_path / "graph", durability)
    name_by_tag(engine)
    name_by_lineage(engine)
    damage_head(tmp_path / "graph", engine, "dev", how)
    for read_only in (True, False):
        engine = open_engine(tmp_path / "graph", read_only=read_only)
        for target in ("v1", last):
            with pytest.raises(StorageFault) as caught:
                ids_of(engine, target)
            assert caught.value.code == "branch.damaged"
            assert "copy" in (caught.value.remedy or "")
        assert ids_of(engine, before) == ["kept", "old"]


@pytest.mark.parametrize("how", [tear, remove])
def test_a_tag_on_a_damaged_older_commit_reports_the_damage(how: Damage, tmp_path: Path) -> None:
    engine, _, _ = make(tmp_path / "graph", "power")
    name_by_tag(engine)
    file = damage_head(tmp_path / "graph", engine, "dev", lambda body: body)
    add(engine, ["newest"], branch="dev")
    whole = file.read_bytes()
    body = how(whole)
    file.unlink() if body is None else file.write_bytes(body)
    engine = open_engine(tmp_path / "graph")
    with pytest.raises(StorageFault) as caught:
        ids_of(engine, "v1")
    assert caught.value.code == "commit.damaged"
    assert "copy" in (caught.value.remedy or "")
    assert ids_of(engine, "dev") == ["kept", "last", "newest", "old"]
    file.write_bytes(whole)
    assert ids_of(open_engine(tmp_path / "graph"), "v1") == ["kept", "last", "old"]


def test_at_power_a_head_that_vanishes_under_a_process_is_noticed(tmp_path: Path) -> None:
    engine, _, _ = make(tmp_path / "graph", "power")
    head = engine.resolver.resolve("dev")
    damage_head(tmp_path / "graph", engine, "dev", remove)
    engine.heads.forget(head.incarnation)
    require_damaged(engine)


def test_a_branch_without_any_manifest_is_damaged(tmp_path: Path) -> None:
    engine, _, _ = make(tmp_path / "graph", "process")
    incarnation = engine.resolver.resolve("dev").incarnation
    for file in (tmp_path / "graph" / layout.manifest_path(incarnation)).iterdir():
        file.unlink()
    engine = open_engine(tmp_path / "graph")
    require_damaged(engine)
    add(engine, ["new"])
    assert [entry.name for entry in list_branches(engine.root, engine.heads).damaged] == ["dev"]


def test_two_branches_can_be_damaged_at_once(tmp_path: Path) -> None:
    engine, _, _ = make(tmp_path / "graph", "power")
    create_branch(engine.root, engine.heads, "other", engine.resolver.resolve("main"))
    add(engine, ["there"], branch="other")
    for branch in ("dev", "other"):
        damage_head(tmp_path / "graph", engine, branch, tear)
    engine = open_engine(tmp_path / "graph")
    add(engine, ["new"])
    found = list_branches(engine.root, engine.heads)
    assert [entry.name for entry in found.damaged] == ["dev", "other"]


@pytest.mark.s3
def test_in_a_bucket_an_unreadable_head_makes_its_branch_read_only(
    s3_endpoint: S3Endpoint, s3_uri: str
) -> None:
    """Whatever the durability level: a bucket is durable as it is."""
    uri, options = s3_uri, s3_endpoint.storage_options
    engine = new_engine(uri, durability="process", storage_options=options)
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    before = add(engine, ["kept"], branch="dev")
    add(engine, ["last"], branch="dev")
    head = engine.resolver.resolve("dev")
    key = layout.manifest(head.incarnation, head.version)
    engine.root.objects.put(key, engine.root.objects.get(key)[:100])
    engine = open_engine(uri, storage_options=options)
    require_damaged(engine)
    assert ids_of(engine, before) == ["kept", "old"]
    add(engine, ["new"])
    assert ids_of(engine) == ["new", "old"]
