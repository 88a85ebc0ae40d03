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
# The start of a query file; a schema never starts like this.
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
@click.option("--check", is_flag=True, help="Change nothing; exit code 1 if a file would change.")
@click.pass_obj
def command(call: Invocation, files: tuple[str, ...], check: bool) -> None:
    """Format schema (.pg) and query (.gq) files in place, including comments.

    If one of the files cannot be read or parsed, none is changed. A single - formats stdin to
    stdout.
    """
    if _STDIN in files:
        _format_stdin(call, files, check=check)
        return
    # All are formatted before the first is written.
    formatted = [(file, *_format(file)) for file in files]
    changed = {file: after for file, before, after in formatted if after != before}
    if not check:
        for file, after in changed.items():
            _replace(Path(file), after)
    body = {"files": [{"file": file, "changed": file in changed} for file in files]}
    call.print_result(body, _lines(changed, len(files), check=check))
    if check and changed:
        raise click.exceptions.Exit(FAILED)


def _format_stdin(call: Invocation, files: tuple[str, ...], *, check: bool) -> None:
    """Format stdin to stdout, for editors."""
    if len(files) > 1:
        raise InvalidInput(
            "fmt.stdin_and_files",
            "stdin is formatted to stdout, files in place",
            remedy="pass either - or files",
        )
    before = read_text(_STDIN)
    formatter = format_queries if _QUERY.match(before) else format_schema
    after = formatter(Source(before, "<stdin>"))
    changed = after != before
    formatted = [after.removesuffix("\n")] if after else []
    lines = _lines({_STDIN: after} if changed else {}, 1, check=True) if check else formatted
    call.print_result({"changed": changed, "text": after}, lines)
    if check and changed:
        raise click.exceptions.Exit(FAILED)


def _format(file: str) -> tuple[str, str]:
    """Return the text of a file before and after formatting."""
    formatter = _FORMATTERS.get(Path(file).suffix)
    if formatter is None:
        raise InvalidInput(
            "fmt.unknown_language",
            f"{file} is neither a .pg nor a .gq file",
            remedy="rename it: the suffix determines the language",
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
    """Replace a file atomically, keeping its permissions."""
    real = path.resolve()
    try:
        handle, scratch = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(scratch).chmod(real.stat().st_mode & 0o7777)
            os.replace(scratch, real)  # noqa: PTH105 - equivalent to Path.replace
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(
            "file.unwritable", f"cannot write {path}: {error.strerror or error}"
        ) from error
