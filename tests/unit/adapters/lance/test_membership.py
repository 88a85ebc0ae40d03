"""What a table may hold is remembered by file, and never forgets a row that lives."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.adapters.lance.reading.membership import MembershipFilter

if TYPE_CHECKING:
    from pathlib import Path


def rows(*ids: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.string())})


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    first: Any = lance.write_dataset(rows("a", "b"), tmp_path / "t", enable_stable_row_ids=True)
    return lance.write_dataset(rows("c"), first, mode="append")


def asked(presence: MembershipFilter, dataset: Any, *ids: str) -> list[str]:
    found: list[str] = presence.might_contain(dataset, "id", pa.array(ids, pa.string())).to_pylist()
    return found


def test_a_few_rows_are_read_at_the_first_question(dataset: Any) -> None:
    assert asked(MembershipFilter(), dataset, "x", "a") == ["a"]


def test_a_table_that_is_asked_once_is_not_read(
    dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.adapters.lance.reading.membership._READ_TOGETHER_ROWS", 2)
    presence = MembershipFilter()
    assert asked(presence, dataset, "x", "a") == ["x", "a"]
    assert asked(presence, dataset, "x", "a") == ["x", "a"]
    assert asked(presence, dataset, "x", "a") == ["a"]


def test_what_no_file_holds_is_left_out_once_they_are_known(dataset: Any) -> None:
    presence = MembershipFilter()
    for _ in range(2):
        asked(presence, dataset, "x")
    assert asked(presence, dataset, "x", "c", "a", "y") == ["c", "a"]


def test_a_row_that_is_deleted_here_may_live_on_another_branch(dataset: Any) -> None:
    presence = MembershipFilter()
    before = dataset.checkout_version(dataset.version)
    dataset.delete("id = 'a'")
    for _ in range(2):
        asked(presence, dataset, "x")
    assert asked(presence, before, "a", "x") == ["a"]


def test_what_is_written_is_known_without_reading_it(dataset: Any, tmp_path: Path) -> None:
    presence = MembershipFilter()
    for _ in range(2):
        asked(presence, dataset, "x")
    new = rows("d", "e")
    written = lance.fragment.write_fragments(new, dataset)
    presence.learn(written, new)
    append = lance.LanceOperation.Append(written)
    later = lance.LanceDataset.commit(dataset, append, read_version=dataset.version)
    assert asked(presence, later, "e", "x") == ["e"]
    for file in (tmp_path / "t" / "data").iterdir():
        file.unlink()
    assert asked(presence, later, "e", "x") == ["e"], "answered from memory"


def test_a_file_that_was_crowded_out_is_unknown_again(dataset: Any) -> None:
    presence = MembershipFilter(bytes_max=0)
    for _ in range(4):
        assert asked(presence, dataset, "x") == ["x"]


def test_a_large_file_is_read_beside_the_writes_that_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.adapters.lance.reading.membership._READ_AT_ONCE_ROWS", 2)
    monkeypatch.setattr("omnigraph.adapters.lance.reading.membership._READ_TOGETHER_ROWS", 2)
    large: Any = lance.write_dataset(rows("a", "b", "c"), tmp_path / "t")
    presence = MembershipFilter()
    for _ in range(2):
        assert asked(presence, large, "x") == ["x"]
    for thread in list(_presence_threads()):
        thread.join()
    assert asked(presence, large, "x", "b") == ["b"]


def _presence_threads() -> Any:
    return (each for each in threading.enumerate() if each.name == "omnigraph-membership")


@settings(max_examples=30, deadline=None)
@given(
    held=st.lists(st.text(max_size=3), unique=True, max_size=40),
    wanted=st.lists(st.text(max_size=3), unique=True, max_size=40),
)
def test_nothing_that_a_table_holds_is_ever_left_out(
    held: list[str], wanted: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    presence = MembershipFilter()
    table: Any = lance.write_dataset(rows("-", *held), tmp_path_factory.mktemp("t") / "t")
    found: list[str] = []
    for _ in range(3):
        found = asked(presence, table, *wanted)
    assert set(found) >= {"-", *held} & set(wanted)
    assert set(found) <= {"-", *held}
