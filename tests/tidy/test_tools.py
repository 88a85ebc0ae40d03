"""The tools of the maintainers: commit subjects, releases, figures of the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml
from tools.check_subject import problems_of
from tools.figures import (
    Module,
    find_cycles,
    language_figures,
    measure,
    missed_bars,
    naming_figures,
)
from tools.release import ReleaseRefused, notes_of, stamp, version_of

ROOT = Path(__file__).resolve().parents[2]

CHANGELOG = """# Changelog

## Unreleased

Next.

## 1.2.3 (2026-01-02)

**Faster.** Much.

## 1.2.2

Older.
"""


def module(name: str, text: str) -> Module:
    return Module(name, text, ast.parse(text))


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v1.2.3", "1.2.3"), ("v0.1.0rc2", "0.1.0rc2"), ("v0.1.0.dev1", "0.1.0.dev1")],
)
def test_a_release_takes_its_version_from_the_tag(tag: str, version: str) -> None:
    assert version_of(tag) == version


@pytest.mark.parametrize("tag", ["", "1.2.3", "v1.2", "v1.2.3-final", "v1.2.3\n"])
def test_a_tag_of_another_form_is_refused(tag: str) -> None:
    with pytest.raises(ReleaseRefused):
        version_of(tag)


def test_release_notes_are_the_section_of_the_version() -> None:
    assert notes_of(CHANGELOG, "1.2.3") == "**Faster.** Much.\n"
    assert notes_of(CHANGELOG, "1.3.0rc1") == "Next.\n"
    with pytest.raises(ReleaseRefused, match=r"1\.3\.0"):
        notes_of(CHANGELOG, "1.3.0")


def test_the_version_line_of_the_package_can_be_stamped() -> None:
    text = (ROOT / "src/omnigraph/__init__.py").read_text(encoding="utf-8")
    assert '__version__ = "9.8.7"\n' in stamp(text, "9.8.7")


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("Cache fragment metadata per version\n\nBecause.", 0),
        ("cache it", 1),
        ("Cache it.", 1),
        ("C" * 73, 1),
        ("Cache it\nBecause.", 1),
        ("", 1),
    ],
)
def test_commit_subjects_are_checked(message: str, count: int) -> None:
    assert len(problems_of(message)) == count


def test_figures_find_question_subjects_and_informal_verbs() -> None:
    text = '"""What follows. It tells all.\n\nWhoever asks."""\n\nX = 1  # who said so\n'
    figures = language_figures([module("a", text)])
    assert figures["words of prose"] == 10
    assert figures["question subjects per 10,000 words"] == 2000
    assert figures["tell/told/say per 10,000 words"] == 2000


def test_figures_find_repeated_names_and_runtime_cycles() -> None:
    modules = [
        module("a", "from omnigraph.b import Pin\n\nclass Pin: ...\n"),
        module("b", "import omnigraph.a\n\nclass Pin: ...\n"),
        module("c", "if TYPE_CHECKING:\n    import omnigraph.d\n"),
        module("d", "import omnigraph.c\n"),
    ]
    assert naming_figures(modules)["repeated"] == {"Pin": ["a", "b"]}
    assert find_cycles(modules) == [["a", "b"]]


def test_a_module_does_not_depend_on_the_package_of_a_module_that_it_imports() -> None:
    package = [
        module("p", "from omnigraph.p.load import load\n"),
        module("p.load", "from omnigraph.p import formats\n"),
        module("p.formats", ""),
    ]
    assert find_cycles(package) == []
    package[1] = module("p.load", "from omnigraph.p import load\nfrom omnigraph.p import other\n")
    assert find_cycles(package) == [["p", "p.load"]]


def test_the_figures_of_the_source_are_within_their_bars() -> None:
    figures = measure()
    missed = {name: figures[name] for name in missed_bars(figures)}
    assert not missed, f"run `make figures`: {missed}, {figures['repeated'] if missed else ''}"


def test_workflows_call_targets_that_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        runs = [
            step["run"]
            for job in workflow["jobs"].values()
            for step in job["steps"]
            if "run" in step
        ]
        targets = [run.split()[1] for run in runs if run.startswith("make ")]
        assert all(f"\n{target}: " in makefile for target in targets), (path.name, targets)
