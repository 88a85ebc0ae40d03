"""What search relies on: how segments are staged, what an index names, and how it tells words."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lance.query import FullTextOperator, MatchQuery

from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.staging.index_segments import index_type
from omnigraph.executor.search.indexed_texts import is_sought
from omnigraph.ports.indexes import IndexKind
from omnigraph.semantics.text import tokenize

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("text", pa.string()),
        ("vector", pa.list_(pa.float32(), 2)),
    ]
)


def commit(dataset: Any, operation: Any) -> Any:
    return lance.LanceDataset.commit(
        dataset, operation, read_version=dataset.version, max_retries=0
    )


def rows(texts: list[str | None], vectors: list[Any] | None = None, start: int = 0) -> pa.Table:
    return pa.table(
        {
            "id": [f"n{start + number}" for number in range(len(texts))],
            "text": texts,
            "vector": vectors or [[1.0, float(number)] for number in range(len(texts))],
        },
        schema=SCHEMA,
    )


def made(path: Path, table: pa.Table) -> Any:
    empty = lance.LanceDataset.commit(
        str(path), Op.Overwrite(SCHEMA, []), read_version=0, enable_stable_row_ids=True
    )
    return appended(empty, table)


def appended(dataset: Any, table: pa.Table) -> Any:
    return commit(dataset, Op.Append(lance.fragment.write_fragments(table, dataset)))


def segment(dataset: Any, kind: IndexKind, column: str, fragments: list[int] | None = None) -> Any:
    fragments = fragments or [each.fragment_id for each in dataset.get_fragments()]
    name, options = index_type(kind, dataset.count_rows())
    built = dataset.create_index_uncommitted(
        column, name, name=f"{column}.{kind}", replace=True, fragment_ids=fragments, **options
    )
    return dataset.merge_existing_index_segments([built]) if kind is IndexKind.INVERTED else built


def indexed(dataset: Any, *wanted: tuple[IndexKind, str]) -> Any:
    return commit(
        dataset, Op.CreateIndex([segment(dataset, kind, column) for kind, column in wanted], [])
    )


def with_words(dataset: Any, words: str, **options: Any) -> list[str]:
    query = MatchQuery(words, "text", **options)
    found = dataset.to_table(columns=["id"], full_text_query=query, fast_search=True)
    return sorted(found["id"].to_pylist())


def replaced(dataset: Any, name: str, new: pa.Table, fields: list[int]) -> Any:
    """One row rewritten under its row id, with ``fields`` named as those that changed."""
    found = dataset.to_table(filter=f"id = '{name}'", with_row_id=True, with_row_address=True)
    [address] = found["_rowaddr"].to_pylist()
    fragments = lance.fragment.write_fragments(new, dataset)
    sequence = lance.fragment.RowIdSequence(found["_rowid"].combine_chunks())
    fragments[0].row_id_meta = sequence.to_inline_metadata()
    hidden = dataset.get_fragment(address >> 32).delete_rows([address & 0xFFFFFFFF])
    return commit(
        dataset,
        Op.Update(
            updated_fragments=[hidden],
            new_fragments=fragments,
            fields_for_preserving_frag_bitmap=fields,
            update_mode="rewrite_rows",
        ),
    )


@pytest.fixture
def table(tmp_path: Path) -> Any:
    return made(tmp_path / "t", rows(["red fox", "brown fox", "lazy dog", None]))


# --- segments ---


def test_an_index_of_words_can_be_staged_once_its_one_segment_is_merged(table: Any) -> None:
    """Unmerged, its files lie in a directory that the committed index does not look into."""
    found = indexed(table, (IndexKind.INVERTED, "text"))
    assert found.version == table.version + 1
    assert with_words(found, "fox") == ["n0", "n1"]


def test_a_staged_segment_can_be_committed_above_a_restoration(table: Any) -> None:
    staged = segment(table, IndexKind.INVERTED, "text")
    later = appended(table, rows(["other branch"], start=9))
    restored = commit(later, Op.Restore(table.version))
    found = commit(restored, Op.CreateIndex([staged], []))
    assert with_words(found, "fox other") == ["n0", "n1"]


def test_files_beside_a_segment_live_as_long_as_it(table: Any) -> None:
    first = segment(table, IndexKind.INVERTED, "text")
    notes = Path(table.uri) / "_indices" / first.uuid / "notes"
    notes.write_bytes(b"x")
    old = commit(table, Op.CreateIndex([first], []))
    keep = {"older_than": dt.timedelta(0), "delete_unverified": True}
    old.cleanup_old_versions(**keep)
    assert notes.exists(), "while the segment is in use"
    new = commit(old, Op.CreateIndex([segment(old, IndexKind.INVERTED, "text")], [first]))
    new.cleanup_old_versions(**keep)
    assert not notes.exists(), "and no longer"


def test_replaced_rows_seem_covered_unless_their_columns_are_named(table: Any) -> None:
    """Why a change names every column: an index would find the old words under the kept row id."""
    found = indexed(table, (IndexKind.INVERTED, "text"))
    new = rows(["blue whale"])
    unnamed = replaced(found, "n0", new, [])
    assert with_words(unnamed, "red") == ["n0"], "stale"
    restored = commit(unnamed, Op.Restore(found.version))
    named = replaced(restored, "n0", new, [0, 1, 2])
    assert with_words(named, "red") == []
    assert with_words(named, "blue") == [], "not covered, so the index alone does not find it"
    whole = named.to_table(columns=["id"], full_text_query=MatchQuery("blue", "text"))
    assert whole["id"].to_pylist() == ["n0"]


# --- what an index names ---


def test_an_index_of_words_names_all_rows_that_it_covers_and_no_others(table: Any) -> None:
    many = appended(table, rows(["fox"] * 200, start=10))
    covered = indexed(many, (IndexKind.INVERTED, "text"))
    grown = appended(covered, rows(["fox"], start=500))
    assert len(with_words(grown, "fox")) == 202
    assert with_words(grown, "brown fox", operator=FullTextOperator.AND) == ["n1"]


def test_a_vector_index_leaves_out_what_has_no_direction(tmp_path: Path) -> None:
    vectors: list[Any] = [[1.0, 0.1 * number] for number in range(50)]
    vectors += [None, [0.0, 0.0], [float("nan"), 1.0]]
    table = made(tmp_path / "v", rows(["x"] * 53, vectors))
    found = indexed(table, (IndexKind.IVF, "vector"))
    query = np.array([1.0, 0.0], np.float32)
    nearest = {"column": "vector", "q": query, "k": 100, "metric": "cosine", "minimum_nprobes": 50}
    assert found.to_table(columns=["id"], nearest=nearest).num_rows == 50


def test_a_vector_index_cannot_be_built_of_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "v", rows(["x"] * 3, [None, None, [0.0, 0.0]]))
    with pytest.raises(RuntimeError, match="KMeans"):
        segment(table, IndexKind.IVF, "vector")


# --- words ---

# Every character of the planes that scripts and symbols live in, and some of the others.
CODES = [*range(0x20000), *range(0x20000, sys.maxunicode + 1, 97)]
CHARACTERS = [chr(code) for code in CODES if not 0xD800 <= code < 0xE000]


@pytest.fixture(scope="module")
def every_character(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[str]]:
    texts = [f"aa{character}bb" for character in CHARACTERS]
    table = made(
        tmp_path_factory.mktemp("words") / "t", rows(list(texts), [[1.0, 0.0]] * len(texts))
    )
    return indexed(table, (IndexKind.INVERTED, "text")), texts


def test_where_a_word_ends_for_us_it_ends_in_the_index(
    every_character: tuple[Any, list[str]],
) -> None:
    dataset, texts = every_character
    ours = {f"n{place}" for place, text in enumerate(texts) if "aa" in tokenize(text)}
    assert ours - set(with_words(dataset, "aa")) == set()


def test_every_word_with_a_capital_is_found_or_not_sought(
    every_character: tuple[Any, list[str]],
) -> None:
    dataset, texts = every_character
    missed = []
    for place, text in enumerate(texts):
        words = tokenize(text)
        if text.lower() != text and len(words) == 1 and is_sought(words[0]):
            missed += [ascii(text)] if f"n{place}" not in with_words(dataset, words[0]) else []
    assert missed == []


@pytest.mark.parametrize("text", ["ΛΟΓΟΣ", "İstanbul"])
def test_the_index_lowers_some_capitals_otherwise(tmp_path: Path, text: str) -> None:
    """Why some words are not sought."""
    dataset = indexed(made(tmp_path / "t", rows([text])), (IndexKind.INVERTED, "text"))
    [word] = tokenize(text)
    assert with_words(dataset, word) == []
    assert not is_sought(word)
