"""What a commit leaves on disk, and what it asks of storage. Guards INV-15."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.testing.kit import Remove, add, new_engine, open_engine
from omnigraph.testing.kit_between import Between
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from pathlib import Path

HINT = 1
FILES_PER_COMMIT = 4


def files_of(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_commit_of_one_row_leaves_four_files(durability: str, tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "graph", durability=durability)
    add(engine, ["first"])
    before = files_of(tmp_path)
    for number in range(60):
        add(engine, [f"p{number}"])
    assert len(files_of(tmp_path) - before) <= 60 * FILES_PER_COMMIT + HINT
    assert not any(layout.RECOVERY in name or "__locks" in name for name in files_of(tmp_path))


def test_the_requests_of_a_commit_do_not_grow(tmp_path: Path) -> None:

    new_engine(tmp_path / "graph")
    engine = open_engine(tmp_path / "graph", wrap_objects=Between)
    objects = engine.root.objects
    assert isinstance(objects, Between)
    counts = []
    for number in range(40):
        objects.calls.clear()
        add(engine, [f"p{number}"])
        counts.append(len(objects.calls))
    assert max(counts[-10:]) <= max(counts[5:15])
    listed = {key for verb, key in objects.calls if verb.startswith("list")}
    assert listed <= {layout.RECOVERY}, "the intents, and nothing whose number grows"


def test_writers_of_two_branches_take_no_lease(tmp_path: Path) -> None:

    first = new_engine(tmp_path / "graph")
    create_branch(first.root, first.heads, "dev", first.resolver.resolve("main"))
    second = open_engine(tmp_path / "graph", wrap_objects=Between)
    objects = second.root.objects
    assert isinstance(objects, Between)
    for number in range(10):
        add(first, [f"a{number}"])
        add(second, [f"b{number}"], branch="dev")
        second.transactions.run(WriteRequest("dev"), Remove("Person", [f"b{number}"]))
    assert not [key for verb, key in objects.calls if verb.startswith("put") and "__locks" in key]
