"""What the protocol relies on in detached commits of Lance."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from lance.fragment import RowIdSequence
from lance.optimize import Compaction

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.handles.versions import is_detached, manifest_name
from omnigraph.adapters.lance.staging.field_layout import reshape
from omnigraph.adapters.lance.staging.index_segments import index_type
from omnigraph.ports.indexes import IndexKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("n", pa.int64()),
        ("text", pa.string()),
        ("vector", pa.list_(pa.float32(), 4)),
    ]
)
WORDS = ("fox", "dog", "cat", "owl", "bee")


def rows(numbers: Iterable[int], *, word: str | None = None) -> pa.Table:
    listed = list(numbers)
    vectors = [[float(number), 1.0, 0.0, 0.0] for number in listed]
    texts = [word or WORDS[number % len(WORDS)] for number in listed]
    columns = {"id": [f"k{n}" for n in listed], "n": listed, "text": texts, "vector": vectors}
    return pa.table(columns, schema=SCHEMA)


def commit(dataset: Any, operation: Any, *, retries: int = 5, **options: Any) -> Any:
    transaction = lance.Transaction(dataset.version, operation, **options)
    return lance.LanceDataset.commit(dataset, transaction, detached=True, max_retries=retries)


def created(path: Path) -> Any:
    overwrite = Op.Overwrite(SCHEMA, [])
    lance.LanceDataset.commit(str(path), overwrite, enable_stable_row_ids=True)
    return lance.dataset(str(path), version=1, session=lance.Session())


def append(dataset: Any, table: pa.Table) -> Any:
    return commit(dataset, Op.Append(lance.fragment.write_fragments(table, dataset)))


def replace(dataset: Any, number: int, table: pa.Table, *, keep_ids: bool = False) -> Any:
    """Delete one row by address and write others in its place, as one version."""
    found = dataset.to_table(
        columns=[], filter=f"n = {number}", with_row_address=True, with_row_id=True
    )
    [address] = found["_rowaddr"].to_pylist()
    fragment = dataset.get_fragment(address >> 32)
    updated = fragment.delete_rows([address & 0xFFFFFFFF])
    new = list(lance.fragment.write_fragments(table, dataset))
    if keep_ids:
        ids = pa.array(found["_rowid"].to_pylist(), pa.uint64())
        new[0].row_id_meta = RowIdSequence(ids).to_inline_metadata()
    fields = [field.id() for field in dataset.lance_schema.fields()]
    return commit(
        dataset,
        Op.Update(
            updated_fragments=[updated] if updated else [],
            removed_fragment_ids=[] if updated else [fragment.fragment_id],
            new_fragments=new,
            fields_for_preserving_frag_bitmap=fields,
            update_mode="rewrite_rows",
        ),
    )


def segment(dataset: Any, kind: IndexKind, column: str) -> Any:
    own = dataset.checkout_version(dataset.version)
    name, options = index_type(kind, 100)
    built = own.create_index_uncommitted(
        column,
        name,
        name=f"{column}.{kind}",
        replace=True,
        fragment_ids=[each.fragment_id for each in own.get_fragments()],
        **options,
    )
    return own.merge_existing_index_segments([built]) if kind is IndexKind.INVERTED else built


def found_by_word(dataset: Any, word: str) -> list[int]:
    query = lance.query.MatchQuery(word, "text")
    return sorted(dataset.scanner(columns=["n"], full_text_query=query).to_table()["n"].to_pylist())


def versions_of(dataset: Any) -> Path:
    return Path(dataset.uri) / "_versions"


@pytest.fixture
def base(tmp_path: Path) -> Any:
    return append(created(tmp_path / "t"), rows(range(40)))


# --- versions ------------------------------------------------------------------------------------


def test_versions_have_random_numbers_with_the_top_bit(base: Any) -> None:
    versions = {append(base, rows([100 + n])).version for n in range(20)} | {base.version}
    assert len(versions) == 21
    assert all(is_detached(version) and version < 2**64 for version in versions)
    names = {file.name for file in versions_of(base).iterdir()}
    assert {manifest_name(version) for version in versions} <= names


def test_a_commit_needs_a_retry(base: Any) -> None:
    with pytest.raises(OSError, match="after 0 retries"):
        commit(base, Op.Append(lance.fragment.write_fragments(rows([1]), base)), retries=0)


def test_a_version_is_opened_by_number_and_a_plain_open_does_not_see_it(base: Any) -> None:
    assert lance.dataset(base.uri, version=base.version).count_rows() == 40
    plain = lance.dataset(base.uri)
    assert (plain.version, plain.count_rows()) == (1, 0)


def test_siblings_do_not_see_each_other(base: Any) -> None:
    siblings = [append(base, rows([100 + n])) for n in range(10)]
    for number, sibling in enumerate(siblings):
        fresh = lance.dataset(base.uri, version=sibling.version)
        assert fresh.to_table(filter="n >= 100")["n"].to_pylist() == [100 + number]


def test_siblings_give_the_same_row_ids_and_fragment_ids_to_different_rows(base: Any) -> None:
    """Nothing may compare them across versions."""
    left, right = append(base, rows([100])), append(base, rows([200]))
    ids = [
        each.to_table(columns=["n"], filter="n >= 100", with_row_id=True) for each in (left, right)
    ]
    assert ids[0]["_rowid"].to_pylist() == ids[1]["_rowid"].to_pylist()
    assert ids[0]["n"].to_pylist() != ids[1]["n"].to_pylist()
    fragments = [[f.fragment_id for f in each.get_fragments()] for each in (left, right)]
    assert fragments[0] == fragments[1]


def test_a_transaction_carries_its_uuid_and_its_properties(base: Any) -> None:
    new = commit(
        base,
        Op.Append(lance.fragment.write_fragments(rows([1]), base)),
        uuid="0a1b2c3d-0000-4000-8000-000000000000",
        transaction_properties={"omnigraph.operation": "op"},
    )
    found = lance.dataset(base.uri, version=new.version).read_transaction(new.version)
    assert found.uuid == "0a1b2c3d-0000-4000-8000-000000000000"
    assert (found.transaction_properties, found.read_version) == (
        {"omnigraph.operation": "op"},
        base.version,
    )
    [file] = (Path(base.uri) / "_transactions").glob("*0a1b2c3d*")
    assert file.name.startswith(f"{base.version}-"), "recovery finds commits by this name"
    manifest = versions_of(base) / manifest_name(new.version)
    assert b"omnigraph.operation" in manifest.read_bytes(), "and by the text of the manifest"


def test_a_version_does_not_need_its_transaction_file(base: Any) -> None:
    """So it is not synced."""
    shutil.rmtree(f"{base.uri}/_transactions")
    fresh = lance.dataset(base.uri, version=base.version)
    assert fresh.read_transaction(base.version).uuid
    assert append(fresh, rows([7])).count_rows() == 41


@pytest.mark.parametrize("body", [b"", b"torn", bytes(500)])
def test_a_torn_version_harms_no_other(base: Any, body: bytes) -> None:
    torn = append(base, rows([1]))
    (versions_of(base) / manifest_name(torn.version)).write_bytes(body)
    fresh = lance.dataset(base.uri, version=base.version)
    assert append(fresh, rows([2])).count_rows() == 41


def test_a_moved_directory_keeps_its_versions(base: Any, tmp_path: Path) -> None:
    shutil.move(base.uri, tmp_path / "moved")
    moved = lance.dataset(str(tmp_path / "moved"), version=base.version)
    assert append(moved, rows([41])).count_rows() == 41


def test_an_ordered_commit_on_a_detached_version_is_refused(base: Any) -> None:
    """Commits must be detached, and in-place calls are impossible."""
    fragments = lance.fragment.write_fragments(rows([1]), base)
    with pytest.raises(Exception, match="versions have been created"):
        lance.LanceDataset.commit(base, Op.Append(fragments), read_version=base.version)
    with pytest.raises(Exception, match="versions have been created"):
        base.create_scalar_index("n", "BTREE")


def test_a_restore_promotes_a_version_for_other_programs(base: Any) -> None:
    plain = lance.dataset(base.uri)
    promoted = lance.LanceDataset.commit(plain, Op.Restore(base.version), read_version=1)
    assert (promoted.version, promoted.count_rows()) == (2, 40)


# --- operations ----------------------------------------------------------------------------------


def test_deletions_updates_and_overwrites_are_exact(base: Any) -> None:
    changed = replace(base, 3, rows([3], word="new"))
    assert changed.count_rows() == 40
    assert changed.to_table(filter="n = 3")["text"].to_pylist() == ["new"]
    emptied = commit(changed, Op.Delete([], [f.fragment_id for f in changed.get_fragments()], ""))
    assert emptied.count_rows() == 0
    [fragment] = lance.fragment.write_fragments(rows([5]), base, mode="overwrite")
    assert commit(changed, Op.Overwrite(SCHEMA, [fragment])).to_table()["n"].to_pylist() == [5]


def test_columns_come_go_and_change_their_names(base: Any) -> None:
    shape, _ = reshape(
        base,
        pa.schema([*SCHEMA, pa.field("more", pa.int64())]),
        kept=set(SCHEMA.names),
        first=(),
    )
    wider = commit(base, Op.Project(shape.to_lance()))
    assert wider.to_table()["more"].null_count == 40
    [fragment] = wider.get_fragments()
    filled, schema = fragment.merge_columns(
        lambda batch: pa.record_batch({"twice": [2 * n for n in batch["n"].to_pylist()]}),
        columns=["n"],
    )
    merged = commit(wider, Op.Merge([filled], schema))
    assert merged.to_table()["twice"].to_pylist() == [2 * n for n in range(40)]
    shape, _ = reshape(
        merged,
        merged.schema.remove(merged.schema.get_field_index("text")),
        kept=set(merged.schema.names),
        first=(),
    )
    narrow = commit(merged, Op.Project(shape.to_lance()))
    assert "text" not in narrow.schema.names
    assert append(narrow, narrow.to_table().slice(0, 1)).count_rows() == 41


# --- indexes -------------------------------------------------------------------------------------


def indexed(dataset: Any, *kinds: tuple[IndexKind, str]) -> Any:
    segments = [segment(dataset, kind, column) for kind, column in kinds]
    return commit(dataset, Op.CreateIndex(segments, []))


EVERY = (
    (IndexKind.BTREE, "n"),
    (IndexKind.BITMAP, "id"),
    (IndexKind.INVERTED, "text"),
    (IndexKind.IVF, "vector"),
)


def test_every_kind_is_committed_at_once_and_used(base: Any) -> None:
    found = indexed(base, *EVERY)
    assert {index.name for index in found.describe_indices()} == {
        f"{column}.{kind}" for kind, column in EVERY
    }
    assert "ScalarIndexQuery" in found.scanner(filter="n = 7").explain_plan(verbose=True)
    assert found_by_word(found, "dog") == list(range(1, 40, 5))
    nearest = {"column": "vector", "q": np.array([7, 1, 0, 0], np.float32), "k": 1}
    assert found.to_table(columns=["n"], nearest=nearest)["n"].to_pylist() == [7]
    later = append(found, rows(range(40, 50)))
    assert found_by_word(later, "dog") == list(range(1, 50, 5)), "uncovered rows are scanned"


def test_replaced_rows_that_are_new_rows_are_found_once(base: Any) -> None:
    """The reason that no change keeps row ids."""
    found = indexed(base, (IndexKind.INVERTED, "text"))
    for number in range(0, 40, 5):
        found = replace(found, number, rows([number], word="bee"))
    assert found_by_word(found, "fox") == []
    expected = sorted([*range(0, 40, 5), *range(4, 40, 5)])
    assert found_by_word(found, "bee") == expected


def test_fragments_of_a_rewrite_need_ids_of_their_own(base: Any) -> None:
    """Lance returns them with the id 0, which panics beside an inverted index."""
    dataset = base
    for number in range(40, 44):
        dataset = append(dataset, rows([number]))
    dataset = indexed(dataset, (IndexKind.BTREE, "n"), (IndexKind.INVERTED, "text"))
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": 1_000})
    results = [task.execute(dataset) for task in plan.tasks]
    following = max(each.fragment_id for each in dataset.get_fragments()) + 1
    groups = []
    for result in results:
        numbered = list(result.new_fragments)
        for fragment in numbered:
            fragment.id, following = following, following + 1
        groups.append(Op.RewriteGroup(result.original_fragments, numbered))
    done = commit(dataset, Op.Rewrite(groups, []))
    assert len(done.get_fragments()) == 1
    assert done.count_rows() == 44
    assert done.to_table(filter="n = 41")["id"].to_pylist() == ["k41"]
    assert found_by_word(done, "dog") == list(range(1, 44, 5))
    counts = Counter(done.to_table(columns=[], with_row_id=True)["_rowid"].to_pylist())
    assert max(counts.values()) == 1


def covered(dataset: Any, name: str) -> int:
    statistics: dict[str, Any] = dataset.stats.index_stats(name)
    return int(statistics["num_indexed_rows"])


def test_coverage_of_an_index_is_kept_by_appends(base: Any) -> None:
    found = indexed(base, (IndexKind.BTREE, "n"))
    later: Sequence[Any] = [append(found, rows([n])) for n in (50, 60)]
    assert [covered(each, "n.order") for each in later] == [40, 40]
