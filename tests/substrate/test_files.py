"""What lies where, what cleanup takes, and what a tear or a move does."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.testing.s3 import S3Endpoint  # noqa: TC001 - a fixture's type, read by nobody else

if TYPE_CHECKING:
    from pathlib import Path

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema([("id", pa.string())])
EIGHT_DAYS = 8 * 24 * 3600


def append(dataset: Any, *ids: str) -> Any:
    fragments = lance.fragment.write_fragments(pa.table({"id": list(ids)}, schema=SCHEMA), dataset)
    return commit(dataset, Op.Append(fragments))


def commit(dataset: Any, operation: Any) -> Any:
    return lance.LanceDataset.commit(
        dataset, operation, read_version=dataset.version, max_retries=0
    )


def ids(dataset: Any) -> list[str]:
    return list(dataset.to_table()["id"].to_pylist())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "t"


@pytest.fixture
def table(root: Path) -> Any:
    """Four versions: empty, a, b, c."""
    dataset = lance.LanceDataset.commit(
        str(root), Op.Overwrite(SCHEMA, []), read_version=0, enable_stable_row_ids=True
    )
    for name in "abc":
        dataset = append(dataset, name)
    return dataset


def manifest(root: Path, version: int) -> Path:
    return root / "_versions" / manifest_name(version)


# --- names ---


def test_manifests_are_named_by_the_inverted_version(table: Any, root: Path) -> None:
    found = sorted(path.name for path in (root / "_versions").iterdir())
    assert found == sorted(manifest_name(version) for version in (1, 2, 3, 4))


def test_a_manifest_is_the_only_thing_that_makes_a_version(table: Any, root: Path) -> None:
    manifest(root, 4).unlink()
    assert lance.dataset(str(root)).version == 3
    assert ids(lance.dataset(str(root))) == ["a", "b"]


def test_the_number_of_a_manifest_that_is_gone_is_given_again(table: Any, root: Path) -> None:
    manifest(root, 4).rename(manifest(root, 4).with_suffix(".manifest.torn-1"))
    again = append(lance.dataset(str(root)), "other")
    assert again.version == 4
    assert ids(again) == ["a", "b", "other"]


def test_a_manifest_carries_its_transaction(table: Any, root: Path) -> None:
    """Why transaction files need no sync: torn ones change nothing."""
    uuids = [table.read_transaction(version).uuid for version in (2, 3, 4)]
    for file in (root / "_transactions").iterdir():
        file.write_bytes(b"")
    fresh = lance.dataset(str(root))
    assert [fresh.read_transaction(version).uuid for version in (2, 3, 4)] == uuids
    stale = lance.dataset(str(root), version=3)
    fragments = lance.fragment.write_fragments(pa.table({"id": ["d"]}, schema=SCHEMA), stale)
    rebased = commit(stale, Op.Append(fragments))
    assert rebased.version == 5, "a conflict is judged by the manifests"


def test_large_transactions_lie_in_the_manifest_as_well(table: Any, root: Path) -> None:
    transaction = lance.Transaction(
        table.version, Op.Restore(2), transaction_properties={"note": "x" * 2_000_000}
    )
    after = lance.LanceDataset.commit(table, transaction, max_retries=0)
    shutil.rmtree(root / "_transactions")
    found = lance.dataset(str(root)).read_transaction(after.version)
    assert len(found.transaction_properties["note"]) == 2_000_000


def test_files_of_a_fragment_are_where_we_look_for_them(table: Any, root: Path) -> None:
    data = table.get_fragments()[0].metadata.files[0]
    assert (root / "data" / data.path).stat().st_size == data.file_size_bytes
    wider = append(table, "d", "e")
    hidden = wider.get_fragments()[-1].delete_rows([0])
    path = hidden.deletion_file.path(hidden.id)
    assert path.startswith("_deletions/")
    assert (root / path).exists()


def test_large_blob_values_lie_in_a_directory_named_after_the_data_file(tmp_path: Path) -> None:
    schema = pa.schema([lance.blob_field("b")])
    dataset = lance.LanceDataset.commit(
        str(tmp_path / "blobs"), Op.Overwrite(schema, []), read_version=0
    )
    rows = pa.table([lance.blob_array([b"x" * 100_000])], schema=schema)
    [fragment] = lance.fragment.write_fragments(rows, dataset)
    name = fragment.files[0].path.removesuffix(".lance")
    side = tmp_path / "blobs" / "data" / name
    assert [file.suffix for file in side.iterdir()] == [".blob"]


# --- sessions ---


def test_a_session_does_not_answer_for_a_number_that_was_reused(table: Any, root: Path) -> None:
    session = lance.Session()
    assert ids(lance.dataset(str(root), version=4, session=session)) == ["a", "b", "c"]
    manifest(root, 4).unlink()
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(str(root), version=4, session=session)
    append(lance.dataset(str(root), version=3), "other")
    assert ids(lance.dataset(str(root), version=4, session=session)) == ["a", "b", "other"]


@pytest.mark.s3
def test_nor_does_it_in_a_bucket(s3_endpoint: S3Endpoint, s3_uri: str) -> None:
    options, session = s3_endpoint.storage_options, lance.Session()
    url = f"{s3_uri}/t"
    empty = lance.LanceDataset.commit(
        url, Op.Overwrite(SCHEMA, []), read_version=0, storage_options=options
    )
    append(empty, "old")

    def at_two() -> Any:
        return lance.dataset(url, version=2, session=session, storage_options=options)

    assert ids(at_two()) == ["old"]
    append(empty, "third")
    lance.dataset(url, storage_options=options).cleanup_old_versions(versions=[2])
    overwritten = lance.fragment.write_fragments(pa.table({"id": ["new"]}, schema=SCHEMA), empty)
    assert commit(empty, Op.Overwrite(SCHEMA, overwritten)).version == 2
    assert ids(at_two()) == ["new"]


# --- moving ---


def test_a_directory_can_be_moved(table: Any, root: Path) -> None:
    root.rename(root.with_name("moved"))
    moved = str(root.with_name("moved"))
    assert ids(lance.dataset(moved, version=2)) == ["a"]
    assert ids(append(lance.dataset(moved), "d")) == ["a", "b", "c", "d"]


def test_a_writer_re_creates_a_directory_that_was_moved_away(table: Any, root: Path) -> None:
    """Why the root is looked at before a write, and the base after it."""
    root.rename(root.with_name("moved"))
    lance.fragment.write_fragments(pa.table({"id": ["ghost"]}, schema=SCHEMA), table)
    assert root.exists()


def test_branches_of_lance_do_not_survive_a_move(table: Any, root: Path) -> None:
    """Why graph branches are not Lance branches."""
    branch = table.create_branch("feature")
    assert ids(branch) == ["a", "b", "c"]
    moved = root.with_name("moved")
    root.rename(moved)
    with pytest.raises((OSError, ValueError)):
        ids(lance.dataset(str(moved)).checkout_version(("feature", None)))


# --- cleanup ---


def test_cleanup_takes_exactly_the_versions_it_is_told(table: Any, root: Path) -> None:
    table.cleanup_old_versions(versions=[2, 3])
    assert sorted(path.name for path in (root / "_versions").glob("*.manifest")) == sorted(
        manifest_name(version) for version in (1, 4)
    )
    assert ids(lance.dataset(str(root))) == ["a", "b", "c"]


def test_cleanup_never_takes_the_current_version(table: Any, root: Path) -> None:
    table.cleanup_old_versions(versions=[1, 2, 3, 4])
    assert ids(lance.dataset(str(root))) == ["a", "b", "c"]


def test_cleanup_keeps_the_files_that_a_kept_version_needs(table: Any, root: Path) -> None:
    """Another branch's pin lies behind a restoration."""
    restored = commit(table, Op.Restore(2))
    head = append(restored, "d")
    head.cleanup_old_versions(versions=[1, 3, 5])
    assert ids(lance.dataset(str(root), version=4)) == ["a", "b", "c"]
    assert ids(lance.dataset(str(root), version=6)) == ["a", "d"]


def staged_file(table: Any, root: Path, *, age_seconds: int) -> Path:
    [fragment] = lance.fragment.write_fragments(pa.table({"id": ["s"]}, schema=SCHEMA), table)
    path: Path = root / "data" / fragment.files[0].path
    stamp = path.stat().st_mtime - age_seconds
    os.utime(path, (stamp, stamp))
    return path


def test_cleanup_leaves_young_staged_files(table: Any, root: Path) -> None:
    staged = staged_file(table, root, age_seconds=0)
    table.cleanup_old_versions(versions=[2])
    assert staged.exists()


def test_cleanup_takes_staged_files_older_than_a_week(table: Any, root: Path) -> None:
    """Why a long job keeps its intent alive, and cleanup looks at intents first."""
    staged = staged_file(table, root, age_seconds=EIGHT_DAYS)
    table.cleanup_old_versions(versions=[2])
    assert not staged.exists()


def test_cleanup_destroys_detached_versions(table: Any, root: Path) -> None:
    """Why nothing is staged as a detached version."""
    fragments = lance.fragment.write_fragments(pa.table({"id": ["d"]}, schema=SCHEMA), table)
    detached = lance.LanceDataset.commit(
        table, Op.Append(fragments), read_version=table.version, detached=True
    )
    assert detached.version > 2**63
    path = root / "data" / fragments[0].files[0].path
    stamp = path.stat().st_mtime - EIGHT_DAYS
    os.utime(path, (stamp, stamp))
    table.cleanup_old_versions(versions=[2])
    assert not path.exists()


# --- tears ---


@pytest.mark.parametrize("kept", [0, 10, -5])
def test_a_torn_newest_manifest_stops_every_write(table: Any, root: Path, kept: int) -> None:
    older = lance.dataset(str(root), version=3)
    whole = manifest(root, 4).read_bytes()
    manifest(root, 4).write_bytes(whole[:kept])
    assert older.latest_version == 4, "the number is seen by its name"
    for operation in (Op.Restore(2), Op.Overwrite(SCHEMA, [])):
        with pytest.raises(OSError):
            commit(older, operation)
    with pytest.raises((OSError, ValueError)):
        lance.dataset(str(root))
    assert ids(older) == ["a", "b"], "older versions are readable"
    manifest(root, 4).rename(root / "_versions" / "aside")
    assert append(older, "again").version == 4


def test_a_torn_old_manifest_does_not_disturb_writes(table: Any, root: Path) -> None:
    manifest(root, 2).write_bytes(b"torn")
    assert ids(append(lance.dataset(str(root)), "d")) == ["a", "b", "c", "d"]


def test_a_manifest_ends_with_a_mark(table: Any, root: Path) -> None:
    assert manifest(root, 4).read_bytes().endswith(b"LANC")


def test_a_leftover_of_an_interrupted_commit_is_ignored(table: Any, root: Path) -> None:
    (root / "_versions" / f"{manifest_name(5)}#1").write_bytes(b"half")
    assert lance.dataset(str(root)).version == 4
    assert append(lance.dataset(str(root)), "d").version == 5
