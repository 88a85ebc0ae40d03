"""Lance's in-place methods are called nowhere, and writes to Lance only where they belong.

An in-place method moves the newest version, whoever it belongs to, behind the back of the protocol:
no pin, no operation id, no check of the version. Guards INV-1.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "src" / "omnigraph"
LANCE = SOURCE / "adapters" / "lance"
STAGING = LANCE / "staging"
IMPORTS = LANCE / "handles" / "imports.py"

# Names that only Lance has: wherever they are called, they mean a dataset.
LANCE_ONLY = {
    "LanceFileWriter",
    "add_bases",
    "add_columns",
    "alter_columns",
    "checkout_branch",
    "cleanup_old_versions",
    "commit_batch",
    "commit_existing_index_segments",
    "compact_files",
    "create_index_uncommitted",
    "create_scalar_index",
    "delete_config_keys",
    "delete_rows",
    "drop_columns",
    "drop_index",
    "initialize_mem_wal",
    "merge_columns",
    "merge_existing_index_segments",
    "merge_insert",
    "migrate_manifest_paths_v2",
    "open_writer",
    "optimize_indices",
    "replace_field_metadata",
    "replace_schema_metadata",
    "shallow_clone",
    "truncate_table",
    "update_config",
    "update_field_metadata",
    "write_dataset",
    "write_fragments",
}
# Names that other things have as well: they count when they are asked of something named like this.
SHARED = {
    "checkout_latest",
    "commit",
    "create_branch",
    "create_index",
    "delete",
    "insert",
    "merge",
    "restore",
    "update",
}
DATASETS = {"LanceDataset", "_dataset", "_ds", "dataset", "ds", "fragment", "handle", "lance"}
# Writes that nothing refers to, and the commit.
ALLOWED = {
    LANCE / "commits" / "transactions.py": {"commit"},
    STAGING / "changes.py": {"write_fragments"},
    STAGING / "deletions.py": {"delete_rows"},
    STAGING / "index_segments.py": {"create_index_uncommitted", "merge_existing_index_segments"},
    STAGING / "reshape.py": {"merge_columns"},
    STAGING / "small_files.py": {"open_writer"},
    STAGING / "writing.py": {"write_fragments"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def mutator_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        if name in LANCE_ONLY or (name in SHARED and last_name(node.func.value) in DATASETS):
            yield node.lineno, name


def last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called):
            return last_name(called)
        case _:
            return ""


def test_nothing_writes_to_lance_outside_of_the_staging_module() -> None:
    found = []
    for module in modules():
        allowed = ALLOWED.get(module, set())
        place = module.relative_to(SOURCE)
        calls = mutator_calls(ast.parse(module.read_text()))
        found += [f"{place}:{line}: {name}" for line, name in calls if name not in allowed]
    assert found == []


def test_lance_is_imported_by_one_module() -> None:
    importers = set()
    for module in modules():
        for node in ast.walk(ast.parse(module.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.split(".")[0] == "lance" for name in names):
                importers.add(module)
    assert importers == {IMPORTS}


@pytest.mark.parametrize(
    "line",
    [
        "dataset.merge_insert('id').execute(rows)",
        "self._dataset.delete('true')",
        "lance.dataset(uri).update({})",
        "load_lance().LanceDataset.commit(a, b)",
        "handle.restore()",
        "anything.compact_files()",
        "lance.file.LanceFileWriter(path)",
        "files.open_writer(name)",
    ],
)
def test_the_rule_sees(line: str) -> None:
    assert list(mutator_calls(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ["objects.delete(key)", "found.update({})", "settings.insert(0, 1)"]
)
def test_the_rule_leaves_alone(line: str) -> None:
    assert not list(mutator_calls(ast.parse(line)))
