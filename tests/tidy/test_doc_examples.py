"""The examples of README and docs run.

One test per page; the blocks of a page run in order, in one empty directory:

- ```` ```python ```` runs; the blocks of a page share their names.
- ```` ```bash ```` runs when it calls ``omnigraph``.
- ```` ```pg ```` must be a schema, and is the schema of the queries below it.
- ```` ```gq ```` must compile against that schema.
- ``file=NAME`` after the language writes the block to that file first.
- ``error=CODE`` says that the block must fail with that code; a ```` ```text ```` block right after
  it must show the message, word for word.

A block under ``<!-- not run -->`` is skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import compile_document
from omnigraph.errors import GraphError
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.catalog.model import Catalog

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SKIP = "<!-- not run -->"
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
SECONDS_PER_BLOCK_MAX = 120


@dataclass(frozen=True, slots=True)
class Example:
    """One block, with where it stands and what its info string asks for."""

    language: str
    options: dict[str, str]
    text: str
    line: int
    shown: str | None


def examples_of(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(text))
    for at, block in enumerate(blocks):
        if text[: block.start()].rstrip().endswith(SKIP):
            continue
        language, *words = block["info"].split() or [""]
        options = dict(word.partition("=")[::2] for word in words)
        after = blocks[at + 1] if at + 1 < len(blocks) else None
        shown = after["text"] if after and after["info"] == "text" else None
        yield Example(
            language=language,
            options=options,
            text=block["text"],
            line=text.count("\n", 0, block.start()) + 1,
            shown=shown,
        )


class Session:
    """What the blocks of one page share: a directory, Python names, the latest schema."""

    def __init__(self, page: Path, directory: Path) -> None:
        self.page = page
        self.directory = directory
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.catalog: Catalog | None = None

    def run(self, example: Example) -> None:
        if name := example.options.get("file"):
            (self.directory / name).write_text(example.text, encoding="utf-8")
        runners: dict[str, Callable[[Example], None]] = {
            "python": self.run_python,
            "bash": self.run_bash,
            "pg": self.accept_schema,
            "gq": self.compile_queries,
        }
        runner = runners.get(example.language)
        if runner is None:
            return
        if code := example.options.get("error"):
            self.expect_failure(runner, example, code)
        else:
            runner(example)

    def expect_failure(
        self, runner: Callable[[Example], None], example: Example, code: str
    ) -> None:
        with pytest.raises(GraphError) as caught:
            runner(example)
        assert caught.value.code == code
        if example.shown is not None:
            assert caught.value.message.splitlines() == example.shown.splitlines()

    def run_python(self, example: Example) -> None:
        # Padding makes the line numbers of a traceback those of the page.
        padded = "\n" * example.line + example.text
        exec(compile(padded, str(self.page), "exec"), self.names)  # noqa: S102 - our own pages

    def run_bash(self, example: Example) -> None:
        if not re.search(r"^omnigraph\b", example.text, re.MULTILINE):
            return
        if not (ROOT / "src/omnigraph/cli/main.py").exists():
            pytest.skip("the command line is not there yet")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", example.text],
            cwd=self.directory,
            env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_PER_BLOCK_MAX,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def accept_schema(self, example: Example) -> None:
        source = Source(example.text, example.options.get("file", "schema.pg"))
        self.catalog = build_catalog(parse_schema(source), source)

    def compile_queries(self, example: Example) -> None:
        assert self.catalog is not None, "no schema stands above this query"
        source = Source(example.text, example.options.get("file", "queries.gq"))
        compile_document(self.catalog, parse_queries(source), source)


PAGES = [
    page
    for page in sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
    if any(example.language in ("python", "bash", "pg", "gq") for example in examples_of(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(page, tmp_path)
    for example in examples_of(page):
        try:
            session.run(example)
        except (Exception, pytest.fail.Exception) as failure:
            where = f"{page.relative_to(ROOT)}:{example.line}"
            raise AssertionError(f"{where}: the {example.language} block: {failure}") from failure


def test_the_pages_of_the_languages_are_among_them() -> None:
    assert {"schema.md", "queries.md"} <= {page.name for page in PAGES}
