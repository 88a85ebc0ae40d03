"""Generates the page of error codes: ``python -m omnigraph.testing.error_page``.

A code is the first argument of an error. Parts of a message that are computed at run time appear as
``…``. A test compares ``docs/errors.md`` with the output.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import omnigraph
from omnigraph import errors
from omnigraph.catalog.codes import MEANINGS, MigrationCode, SchemaCode
from omnigraph.cluster.codes import CLUSTER_CODES
from omnigraph.compiler.codes import CODES
from omnigraph.compiler.lint_rules import LINT_RULES
from omnigraph.language.gq.problems import SyntaxProblem as QueryProblem
from omnigraph.language.pg.problems import SchemaSyntaxProblem as SchemaProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Code", "error_page", "raised_codes"]

_SOURCE = Path(omnigraph.__file__).parent
_KINDS = frozenset(errors.__all__) - {"GraphError", "InvariantBroken"}
# Users never meet errors of the test kit.
_LEFT_OUT = frozenset({"testing"})
_HEAD = """\
# Error codes

Every error has a code that scripts may match; a code never changes its meaning. It is `error.code`
in Python, and `code` in the output of `--json` and in HTTP responses. `make errors` generates this
page from the source, and a test compares the two; `…` stands for values at run time.
"""


@dataclass(frozen=True, slots=True, order=True)
class Code:
    """A code, with the message of its first occurrence in the source."""

    code: str
    kind: str
    message: str
    remedy: str


def raised_codes() -> list[Code]:
    """Return every dotted code of the package, once."""
    found: dict[str, Code] = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        if _LEFT_OUT & {*path.relative_to(_SOURCE).parts}:
            continue
        for each in _codes_of(ast.parse(path.read_text(encoding="utf-8"))):
            known = found.get(each.code)
            if known is None or (each.remedy and not known.remedy):
                found[each.code] = each
    return sorted(found.values())


def _codes_of(tree: ast.AST) -> Iterator[Code]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) < 1:
            continue
        kind = getattr(node.func, "id", getattr(node.func, "attr", None))
        first = node.args[0]
        if kind not in _KINDS or not isinstance(first, ast.Constant):
            continue
        code = str(first.value)
        if "." in code:
            remedies = [word.value for word in node.keywords if word.arg == "remedy"]
            yield Code(
                code,
                str(kind),
                _text(node.args[1]) if len(node.args) > 1 else "…",
                _text(remedies[0]) if remedies else "",
            )


def _text(node: ast.expr) -> str:
    """Return the text of a string expression without evaluating it."""
    match node:
        case ast.Constant(value=None):
            return ""
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=values):
            return "".join(_text(part) for part in values)
        case ast.BinOp(left=left, right=right):
            return _text(left) + _text(right)
        case _:
            return "…"


def error_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *_raised(), *_texts()]) + "\n"


def _raised() -> Iterator[str]:
    areas: dict[str, list[Code]] = {}
    for each in raised_codes():
        areas.setdefault(each.code.partition(".")[0], []).append(each)
    yield "## By area\n"
    for area, codes in areas.items():
        yield f"### {area}\n"
        yield from _table(
            ("Code", "Class", "Message", "Remedy"),
            ((f"`{each.code}`", each.kind, each.message, each.remedy) for each in codes),
        )


def _texts() -> Iterator[str]:
    """List the codes of findings in schemas and queries, which have a position."""
    yield "## In the text of a schema\n"
    yield from _table(
        ("Code", "Meaning"), ((each.value, _words(each.name)) for each in SchemaProblem)
    )
    yield "## In the meaning of a schema\n"
    yield from _table(("Code", "Meaning"), ((each.value, MEANINGS[each]) for each in SchemaCode))
    yield "## In a change of a schema\n"
    yield from _table(("Code", "Meaning"), ((each.value, MEANINGS[each]) for each in MigrationCode))
    yield "## In the text of a query\n"
    yield from _table(
        ("Code", "Meaning"), ((each.value, _words(each.name)) for each in QueryProblem)
    )
    yield "## In the meaning of a query\n"
    yield from _table(("Code", "Rule"), CODES.items())
    yield "## In a cluster\n"
    yield from _table(("Code", "Meaning"), CLUSTER_CODES.items())
    yield "## Advice of the linter\n"
    lint = ((rule.code, rule.meaning) for rule in LINT_RULES)
    yield from _table(("Code", "Advice"), lint)


def _words(name: str) -> str:
    return name.replace("_", " ").lower()


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(error_page())
