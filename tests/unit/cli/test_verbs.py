"""The table of verbs, the help, the version, the declarations."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import omnigraph
from omnigraph.cli.program import program
from omnigraph.cli.verbs import HELP, INTERNAL_SCHEMA_VERSION, VERBS, version_text
from omnigraph.versioning.stamp import FORMAT

Cli = Callable[..., Any]


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Every verb that does something, with the words that call it."""
    for name in VERBS:
        module = importlib.import_module(f"omnigraph.cli.commands.{name.replace('-', '_')}")
        command = module.command
        if isinstance(command, click.Group):
            yield from (
                (f"{name} {sub}", leaf)
                for sub, leaf in command.commands.items()
                # Another word for a verb that is shown.
                if not leaf.hidden
            )
        else:
            yield name, command


LEAVES = dict(leaves())


def test_the_format_in_the_version_is_the_one_that_is_written() -> None:
    assert INTERNAL_SCHEMA_VERSION == FORMAT
    assert version_text("1.2") == f"omnigraph 1.2\ninternal-schema {FORMAT}"


def test_click_and_the_fast_path_say_the_same(cli: Cli) -> None:
    assert cli("--help").out == f"{HELP}\n"
    assert cli("-v").out == f"{version_text(omnigraph.__version__)}\n"
    assert cli("version").out == cli("--version").out


def test_help_fits_a_narrow_terminal_and_any_encoding() -> None:
    assert HELP.isascii()
    assert max(map(len, HELP.splitlines())) <= 60


def test_the_page_of_the_command_line_names_every_verb() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    table = page.partition("## The verbs")[2].partition("```")[0]
    told = {word for name in re.findall("`([a-z -]+)`", table) for word in name.split()[:1]}
    assert told >= set(VERBS)


def test_help_names_every_verb() -> None:
    assert all(f"\n  {verb} " in HELP for verb in VERBS)
    assert program.list_commands(click.Context(program)) == list(VERBS)


@pytest.mark.parametrize("words", LEAVES)
def test_every_verb_explains_itself_with_examples(cli: Cli, words: str) -> None:
    outcome = cli(*words.split(), "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"Usage: omnigraph {words}")
    assert f"Examples:\n  omnigraph {words}" in outcome.out
    assert "--json" in outcome.out


@pytest.mark.parametrize("words", LEAVES)
def test_every_verb_has_a_summary(words: str) -> None:
    assert LEAVES[words].get_short_help_str()


def test_the_version_comes_in_json_too(cli: Cli) -> None:
    body = json.loads(cli("version", "--json").out)
    assert body == {"version": omnigraph.__version__, "internal_schema_version": FORMAT}
