"""Read the inputs of a command line: files, queries, parameters, times."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import click

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import datetime_to_micros

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "QueryText",
    "find_params",
    "find_query",
    "open_stdin",
    "params_options",
    "parse_time",
    "query_options",
    "read_text",
]

_STDIN = "-"


@frozen
class QueryText:
    """A query text and its name in messages."""

    text: str
    name: str


def query_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--query FILE`` and ``-e GQ``."""
    command = click.option(
        "-e", "--query-string", "query_string", metavar="GQ", help="The query text."
    )(command)
    return click.option(
        "--query", "query_file", metavar="FILE", help="A file with the query; - is stdin."
    )(command)


def params_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--params JSON`` and ``--params-file FILE``."""
    command = click.option(
        "--params-file", metavar="FILE", help="A file with the parameters; - is stdin."
    )(command)
    return click.option("--params", metavar="JSON", help="Parameters, as one JSON object.")(command)


def read_text(path: str) -> str:
    """Read the text of a file, or of stdin for ``-``."""
    try:
        data = open_stdin().read() if path == _STDIN else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(
            "file.unreadable", f"cannot read {path}: {error.strerror or error}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "file.not_utf8",
            f"{path} is not UTF-8: byte {error.start}",
            remedy="save it as UTF-8",
        ) from error


def open_stdin() -> BinaryIO:
    """Return stdin as a binary stream."""
    if sys.stdin is None:
        raise InvalidInput("file.unreadable", "cannot read -: stdin is closed")
    return sys.stdin.buffer


def find_query(file: str | None, text: str | None) -> QueryText:
    """Return the query of the command line."""
    if file is not None and text is not None:
        raise InvalidInput("usage.two_queries", "both --query and -e are given", remedy="give one")
    if text is not None:
        return QueryText(text, "<query>")
    if file is not None:
        return QueryText(read_text(file), "<stdin>" if file == _STDIN else file)
    raise InvalidInput(
        "usage.no_query",
        "no query given",
        remedy="pass --query FILE or -e GQ; stored queries need a server",
    )


def find_params(text: str | None, file: str | None) -> dict[str, Any]:
    """Return the parameters of the command line; the default is none."""
    if text is not None and file is not None:
        raise InvalidInput(
            "usage.two_params", "both --params and --params-file are given", remedy="give one"
        )
    if file is not None:
        return _parse_params(read_text(file), file)
    return _parse_params(text, "--params") if text is not None else {}


def _parse_params(text: str, origin: str) -> dict[str, Any]:
    try:
        params = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            "params.bad_json",
            f"{origin} is not JSON: {error}",
            remedy="""write an object, such as --params '{"name": "Ada"}'""",
        ) from error
    if not isinstance(params, dict):
        raise InvalidInput(
            "params.not_object",
            f"{origin} is not a JSON object",
            remedy="""write an object, such as --params '{"name": "Ada"}'""",
        )
    return params


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse_time(flag: str, text: str | None) -> int | None:
    """Parse an ISO 8601 time to microseconds; without an offset it is UTC."""
    if text is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "usage.bad_time",
            f"{flag} {text!r} is not a time",
            remedy="write 2026-11-01, or 2026-11-01T12:00:00Z",
        ) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return datetime_to_micros(aware)
