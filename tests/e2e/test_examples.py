"""The examples run, and say what they promise."""

from __future__ import annotations

import ast
import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run_example(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run an example in this process: it costs no start."""
    runpy.run_path(str(EXAMPLES / name))["main"](place)
    return capsys.readouterr().out


def test_an_agent_remembers_what_was_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run_example("agent_memory.py", tmp_path, capsys)
    assert "Now: ['It is the capital of Germany.', 'It has about 3.7 million inhabitants.']" in told
    assert "Before Monday: ['It is the capital of Germany.']" in told
    assert "insert fact-3" in told


def test_a_company_finds_what_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run_example("company_brain.py", tmp_path, capsys)
    assert "team storage:\n  Disks that fail (ada)\n  Restoring a database (cy)\n" in told
    assert "word for word: ['Disks that fail']" in told
    assert "builds on: [{'title': 'How we back up', 'times': 2}]" in told


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last expression."""
    body = ast.parse(source)
    last = body.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(body, "<cell>", "exec"), names)  # noqa: S102 - our own notebook
        return None
    exec(compile(ast.Module(body.body[:-1], []), "<cell>", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307


def test_the_notebook_runs_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    names: dict[str, Any] = {}
    shown = [run_cell("".join(cell["source"]), names) for cell in cells]
    drawings = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert [text[:4] for text in drawings] == ["<svg", "<tab", "<tab", "<svg"]
    assert "Ingrid" in drawings[1]
    assert shown[-3] == ["Humphrey", "Ingrid", "Lauren", "Peter"]
    assert shown[-2] == [3, 4, 1]


def test_every_example_is_named_in_the_documents() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.iterdir():
        if path.suffix in {".py", ".ipynb"}:
            assert path.name in listed
