"""How indexes come into being, cover rows and follow changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.optimize import Compaction
from lance.query import MatchQuery

from omnigraph.adapters.lance.handles.imports import load_lance

if TYPE_CHECKING:
    from pathlib import Path

lance = load_lance()
Op = lance.LanceOperation
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("n", pa.int32()),
        ("text", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("vector", pa.list_(pa.float32(), 2)),
    ]
)


def rows(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    return pa.table(
        {
            "id": [f"n{number}" for number in numbers],
            "n": list(numbers),
            "text": [f"word{number} common" for number in numbers],
            "at": pa.array(list(numbers), pa.timestamp("us", tz="UTC")),
            "vector": [[float(number), 0.0] for number in numbers],
        },
        schema=SCHEMA,
    )


def commit(dataset: Any, operation: Any) -> Any:
    return lance.LanceDataset.commit(
        dataset, operation, read_version=dataset.version, max_retries=0
    )


def append(dataset: Any, start: int, stop: int) -> Any:
    fragments = lance.fragment.write_fragments(rows(start, stop), dataset)
    return commit(dataset, Op.Append(fragments))


def with_index(dataset: Any, column: str = "n", **options: Any) -> Any:
    fragments = options.pop("fragments", None) or [f.fragment_id for f in dataset.get_fragments()]
    segment = dataset.create_index_uncommitted(
        column, "BTREE", name=f"{column}_idx", fragment_ids=fragments, **options
    )
    return commit(dataset, Op.CreateIndex([segment], []))


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """100 rows in one fragment."""
    empty = lance.LanceDataset.commit(
        str(tmp_path / "t"), Op.Overwrite(SCHEMA, []), read_version=0, enable_stable_row_ids=True
    )
    return append(empty, 0, 100)


def plan(dataset: Any, condition: Any) -> str:
    return str(dataset.scanner(filter=condition).explain_plan(verbose=True))


def ids(dataset: Any, condition: Any) -> list[str]:
    return sorted(dataset.to_table(columns=["id"], filter=condition)["id"].to_pylist())


def unindexed(dataset: Any, name: str = "n_idx") -> int:
    return int(dataset.stats.index_stats(name)["num_unindexed_rows"])


def test_an_index_can_be_built_aside_and_committed(table: Any) -> None:
    indexed = with_index(table)
    assert indexed.version == table.version + 1
    assert "ScalarIndexQuery" in plan(indexed, "n = 5")
    assert "ScalarIndexQuery" in plan(indexed, pc.field("n") == pa.scalar(5, pa.int32()))
    assert ids(indexed, "n = 5") == ["n5"]


def test_new_rows_are_found_though_no_index_covers_them(table: Any) -> None:
    grown = append(with_index(table), 100, 110)
    assert unindexed(grown) == 10
    assert ids(grown, "n in (5, 105)") == ["n105", "n5"]


def test_coverage_is_extended_by_a_segment_for_the_new_fragments(table: Any) -> None:
    grown = append(with_index(table), 100, 110)
    covered = with_index(grown, fragments=[grown.get_fragments()[-1].fragment_id], replace=True)
    assert unindexed(covered) == 0
    [index] = covered.describe_indices()
    assert len(index.segments) == 2
    assert ids(covered, "n in (5, 105)") == ["n105", "n5"]


def test_an_index_is_kept_by_restoration_and_by_replacement(table: Any) -> None:
    indexed = with_index(table)
    later = append(indexed, 100, 101)
    restored = commit(later, Op.Restore(indexed.version))
    assert "ScalarIndexQuery" in plan(restored, "n = 5")
    found = restored.to_table(filter="id = 'n5'", with_row_id=True, with_row_address=True)
    new = lance.fragment.write_fragments(rows(500, 501), restored)
    new[0].row_id_meta = lance.fragment.RowIdSequence(
        found["_rowid"].combine_chunks()
    ).to_inline_metadata()
    hidden = restored.get_fragment(0).delete_rows([found["_rowaddr"][0].as_py()])
    replaced = commit(
        restored,
        Op.Update(updated_fragments=[hidden], new_fragments=new, update_mode="rewrite_rows"),
    )
    assert ids(replaced, "n = 5") == [], "the old value is not found under the kept row id"
    assert ids(replaced, "n = 500") == ["n500"]
    assert unindexed(replaced) == 1


def test_compaction_keeps_coverage(table: Any) -> None:
    indexed = with_index(append(table, 100, 110))
    tasks = Compaction.plan(indexed, {}).tasks
    Compaction.commit(indexed, [task.execute(indexed) for task in tasks])
    compacted = lance.dataset(table.uri)
    assert len(compacted.get_fragments()) == 1
    assert unindexed(compacted) == 0
    assert ids(compacted, "n in (5, 105)") == ["n105", "n5"]


def test_a_hand_made_rewrite_drops_coverage_but_not_answers(table: Any) -> None:
    indexed = with_index(append(table, 100, 110))
    [task] = Compaction.plan(indexed, {}).tasks
    result = task.execute(indexed)
    group = Op.RewriteGroup(result.original_fragments, result.new_fragments)
    rewritten = commit(indexed, Op.Rewrite([group], []))
    assert unindexed(rewritten) == 110
    assert ids(rewritten, "n in (5, 105)") == ["n105", "n5"]


@pytest.mark.parametrize(
    "condition", ["n = 5.5", "n = 'five'", "n > 9999999999", "at > '2020-01-01'"]
)
def test_a_literal_outside_of_the_columns_type_raises(table: Any, condition: str) -> None:
    """Why literals are folded or cast before they are pushed down."""
    with pytest.raises(ValueError, match="Invalid user input"):
        ids(table, condition)


@pytest.mark.parametrize(
    "condition",
    [
        "n = 5",
        "n in (5)",
        "n between 5 and 5",
        "n = cast(5 as bigint)",
        "5 = n",
        "n >= 5 and n < 6",
    ],
)
def test_the_index_is_used_for(table: Any, condition: str) -> None:
    indexed = with_index(table)
    assert "ScalarIndexQuery" in plan(indexed, condition)
    assert ids(indexed, condition) == ["n5"]


N, TEXT = pc.field("n"), pc.field("text")


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        (N != 5, True),
        (N.is_null(), True),
        (N.is_valid() & ~N.isin([5]), True),
        ((N == 5) & (pc.field("id") == "n5"), True),
        ((N == 5) | (pc.field("id") == "n5"), False),
        ((N == 5) | (TEXT == "word5 common"), True),
        (pc.starts_with(TEXT, "word5"), True),
        (~pc.starts_with(TEXT, "word5"), False),
        (pc.match_substring(TEXT, "word5"), False),
    ],
)
def test_indexes_are_asked_as_explain_tells(table: Any, condition: Any, asked: bool) -> None:
    """What ``planner.indexable`` says; ``n`` and ``text`` have an index, ``id`` has none."""
    indexed = with_index(with_index(table), "text")
    assert ("ScalarIndexQuery" in plan(indexed, condition)) is asked


def test_quotes_are_doubled(table: Any) -> None:
    assert ids(table, "id = 'o''k'") == []


def test_text_search_finds_rows_that_no_index_covers(table: Any) -> None:
    fragments = [fragment.fragment_id for fragment in table.get_fragments()]
    segment = table.create_index_uncommitted(
        "text", "INVERTED", name="text_idx", fragment_ids=fragments
    )
    table.commit_existing_index_segments("text_idx", "text", [segment])
    grown = append(lance.dataset(table.uri), 100, 110)
    for word, expected in (("word5", "n5"), ("word105", "n105")):
        found = grown.to_table(columns=["id"], full_text_query=MatchQuery(word, "text"))
        assert found["id"].to_pylist() == [expected]


def test_filters_apply_before_ranking_when_told_so(table: Any) -> None:
    nearest = {"column": "vector", "q": [50.0, 0.0], "k": 2}
    found = table.to_table(columns=["id"], nearest=nearest, filter="n < 10", prefilter=True)
    assert sorted(found["id"].to_pylist()) == ["n8", "n9"]


def test_vector_and_text_search_do_not_run_in_one_scan(table: Any) -> None:
    """Why ranks are fused by us."""
    with pytest.raises((ValueError, OSError)):
        table.to_table(
            nearest={"column": "vector", "q": [1.0, 0.0], "k": 1},
            full_text_query=MatchQuery("common", "text"),
        )


@pytest.mark.parametrize(("first", "second"), [("BTREE", "NGRAM"), ("NGRAM", "BTREE")])
def test_of_two_scalar_indexes_of_a_column_only_the_first_is_asked(
    table: Any, first: str, second: str
) -> None:
    """Why a String has no index for ``contains`` beside the one for equality and prefixes."""
    for kind in (first, second):
        table.create_scalar_index("text", kind, name=f"text.{kind}", replace=False)
    both = lance.dataset(table.uri)
    asked = {
        "BTREE": plan(both, pc.field("text") == "word5 common"),
        "NGRAM": plan(both, pc.match_substring(pc.field("text"), "word5")),
    }
    assert "ScalarIndexQuery" in asked[first]
    assert "ScalarIndexQuery" not in asked[second], "then declare NGRAM again: see index_plan"
