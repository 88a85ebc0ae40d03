"""Measure the language and the shape of the source: ``make figures``.

Counts sentences with a question word as their subject, informal verbs for reporting, class and file
names in more than one module, import cycles at run time, and the lengths of modules, functions and
commit subjects. ``--check`` exits with 1 when a figure exceeds its bar, as
`make check` requires.
"""

import argparse
import ast
import io
import json
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "omnigraph"

QUESTION_SUBJECT = re.compile(r"(?:^|[.;:!?]\s+|\n\s*\n\s*)(?:Who|What)(?:ever)?\b", re.MULTILINE)
INFORMAL_REPORT = re.compile(r"\b(?:tells?|told|telling|says?|said|saying)\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")

# Syntax tree and IR describe the same constructs, so their class names are intended twins.
TWIN_PACKAGES = ("language.gq.ast", "language.pg.ast", "ir.", "planner.plan")


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its dotted name, its text and its syntax tree."""

    name: str
    text: str
    tree: ast.Module


def read_modules() -> list[Module]:
    """Return every module of the package, sorted by name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, text, ast.parse(text)))
    return found


def prose_of(module: Module) -> Iterator[str]:
    """Yield every docstring, and every block of adjacent comment lines."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield docstring
    block: list[str] = []
    last_line = -1
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type != tokenize.COMMENT:
            continue
        comment = token.string.lstrip("#: ")
        if re.match(r"(noqa|type:|pragma|ruff)", comment):
            continue
        if token.start[0] != last_line + 1 and block:
            yield " ".join(block)
            block = []
        block.append(comment)
        last_line = token.start[0]
    if block:
        yield " ".join(block)


def language_figures(modules: list[Module]) -> dict[str, float]:
    """Count question subjects and informal verbs per 10,000 words of comments and docstrings."""
    words = questions = informal = 0
    for module in modules:
        for prose in prose_of(module):
            words += len(WORD.findall(prose))
            questions += len(QUESTION_SUBJECT.findall(prose))
            informal += len(INFORMAL_REPORT.findall(prose))
    per = 10_000 / max(words, 1)
    return {
        "words of prose": words,
        "question subjects per 10,000 words": round(questions * per, 1),
        "tell/told/say per 10,000 words": round(informal * per, 1),
    }


def naming_figures(modules: list[Module]) -> dict[str, object]:
    """Count class names and file names that occur in more than one module."""
    homes: dict[str, list[str]] = {}
    for module in modules:
        if module.name.startswith(TWIN_PACKAGES):
            continue
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module.name)
    repeated = {name: where for name, where in sorted(homes.items()) if len(where) > 1}
    files = Counter(module.name.rpartition(".")[2] for module in modules)
    return {
        "class names": len(homes),
        "class names in more than one module": len(repeated),
        "share of repeated class names, percent": round(100 * len(repeated) / len(homes), 1),
        "file names used more than once": sum(count > 1 for count in files.values()),
        "repeated": repeated,
    }


def size_figures(modules: list[Module]) -> dict[str, object]:
    """Measure modules and functions in lines, as median and 90th percentile."""
    lines = [module.text.count("\n") for module in modules]
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {
        "modules": len(modules),
        "lines": sum(lines),
        "module lines, median/p90": _median_p90(lines),
        "function lines, median/p90": _median_p90(functions),
    }


def _median_p90(sizes: list[int]) -> str:
    return f"{statistics.median(sizes):.0f}/{statistics.quantiles(sizes, n=10)[-1]:.0f}"


def _runtime_imports(module: Module, names: set[str]) -> set[str]:
    """Return the modules that importing this one imports: no type-only and no deferred imports."""
    found: set[str] = set()
    pending: list[ast.stmt] = list(module.tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending.extend(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            pending.extend(
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
            )
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = {f"{node.module}.{alias.name}" for alias in node.names}
            # A package is imported before its modules, whoever imports them: no dependency on it.
            is_package = {name.removeprefix("omnigraph.") for name in modules} <= names
            found |= modules if is_package else {node.module, *modules}
    internal = {name.removeprefix("omnigraph.") for name in found if name.startswith("omnigraph.")}
    return (internal & names) - {module.name}


def find_cycles(modules: list[Module]) -> list[list[str]]:
    """Return groups of modules that import each other at run time (Tarjan's algorithm)."""
    names = {module.name for module in modules}
    edges = {module.name: sorted(_runtime_imports(module, names)) for module in modules}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in edges[name]:
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                cycles.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for name in edges:
        if name not in index:
            visit(name)
    return cycles


def commit_figures(since: str) -> dict[str, object]:
    """Measure the lengths of commit subjects since a revision; a shallow clone may lack it."""
    range_ = [f"{since}..HEAD"] if since else []
    git = ["git", "-C", str(ROOT), "log", "--format=%s", *range_]
    subjects = subprocess.run(git, capture_output=True, text=True, check=False).stdout.splitlines()
    lengths = [len(subject) for subject in subjects]
    return {
        "commit subject characters, median/p90": _median_p90(lengths) if len(lengths) > 1 else "-",
        "commit subject characters, maximum": max(lengths, default=0),
    }


# The commit that adopted the vocabulary; earlier subjects follow other rules.
ADOPTED = "9ee9c00"

BARS = {
    "question subjects per 10,000 words": 2.0,
    "tell/told/say per 10,000 words": 2.0,
    "share of repeated class names, percent": 1.0,
    "commit subject characters, maximum": 72,
    "runtime import cycles": 0,
}


def measure(since: str = ADOPTED) -> dict[str, object]:
    """Return all figures of this checkout."""
    modules = read_modules()
    return {
        **language_figures(modules),
        **naming_figures(modules),
        **size_figures(modules),
        "runtime import cycles": len(find_cycles(modules)),
        **commit_figures(since),
    }


def missed_bars(figures: dict[str, object]) -> list[str]:
    """Return the names of the figures that exceed their bars."""
    return [name for name, bar in BARS.items() if float(str(figures[name])) > bar]


def main() -> int:
    """Print the figures beside their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--since", default=ADOPTED, help="measure commit subjects after this revision"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, repeated names included")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    options = parser.parse_args()
    figures = measure(options.since)
    missed = missed_bars(figures)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            if name != "repeated":
                bar = f"  (bar {BARS[name]})" if name in BARS else ""
                print(f"{name:45} {value}{bar}{'  MISSED' if name in missed else ''}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
