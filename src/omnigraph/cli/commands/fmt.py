"""``omnigraph fmt``."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.exits import FAILED
from omnigraph.cli.inputs import read_text
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.errors import InvalidInput
from omnigraph.language.gq.formatter import format_queries
from omnigraph.language.pg.formatter import format_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["command"]

_FORMATTERS: dict[str, Callable[[Source], str]] = {".gq": format_queries, ".pg": format_schema}
_STDIN = "-"
# What a text of queries begins with, and a schema never does.
_QUERY = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*query\b", re.DOTALL)


@verb(
    "fmt",
    stored=False,
    examples=(
        "omnigraph fmt people.pg people.gq",
        "omnigraph fmt --check queries/*.gq",
        "omnigraph fmt - < people.gq",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--check", is_flag=True, help="Change nothing; exit code 1 when something would.")
@click.pass_obj
def command(call: Invocation, files: tuple[str, ...], check: bool) -> None:
    """Lay out schema (.pg) and query (.gq) files, comments included, in place.

    When one of the files cannot be read or parsed, none is changed. A single - lays out the text
    on stdin and prints it.
    """
    if _STDIN in files:
        _pass_on(call, files, check=check)
        return
    # All are formatted before the first is written.
    formatted = [(file, *_format(file)) for file in files]
    changed = {file: after for file, before, after in formatted if after != before}
    if not check:
        for file, after in changed.items():
            _replace(Path(file), after)
    body = {"files": [{"file": file, "changed": file in changed} for file in files]}
    call.answer(body, _lines(changed, len(files), check=check))
    if check and changed:
        raise click.exceptions.Exit(FAILED)


def _pass_on(call: Invocation, files: tuple[str, ...], *, check: bool) -> None:
    """From stdin to stdout, as editors like it."""
    if len(files) > 1:
        raise InvalidInput(
            "fmt.stdin_and_files",
            "stdin is laid out to stdout, files are in place",
            remedy="give either - or files",
        )
    before = read_text(_STDIN)
    formatter = format_queries if _QUERY.match(before) else format_schema
    after = formatter(Source(before, "<stdin>"))
    changed = after != before
    laid_out = [after.removesuffix("\n")] if after else []
    told = _lines({_STDIN: after} if changed else {}, 1, check=True) if check else laid_out
    call.answer({"changed": changed, "text": after}, told)
    if check and changed:
        raise click.exceptions.Exit(FAILED)


def _format(file: str) -> tuple[str, str]:
    """The text of a file, and the same laid out."""
    formatter = _FORMATTERS.get(Path(file).suffix)
    if formatter is None:
        raise InvalidInput(
            "fmt.unknown_language",
            f"{file} is neither a .pg nor a .gq file",
            remedy="the suffix says which language a file is written in",
        )
    before = read_text(file)
    return before, formatter(Source(before, file))


def _lines(changed: dict[str, Any], count: int, *, check: bool) -> Iterator[str]:
    yield from (f"{'would format' if check else 'formatted'} {file}" for file in changed)
    yield (
        f"{plural(count, 'file')}, {len(changed)} to change"
        if check
        else (f"{plural(count, 'file')}, {len(changed)} changed")
    )


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all, with the permissions that it had."""
    real = path.resolve()
    try:
        handle, scratch = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(scratch).chmod(real.stat().st_mode & 0o7777)
            os.replace(scratch, real)  # noqa: PTH105 - Path.replace says the same
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(
            "file.unwritable", f"{path} cannot be written: {error.strerror or error}"
        ) from error
