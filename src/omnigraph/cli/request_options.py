"""Declare the flags of queries and of writes once, and pass their values as one object."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.inputs import find_params, find_query, params_options, query_options
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.cli.inputs import QueryText

__all__ = ["QueryArguments", "WriteArguments", "query_arguments", "write_arguments"]


@frozen
class QueryArguments:
    """The query of a command line: a text or the name of a stored query, and its parameters."""

    name: str | None
    file: str | None
    string: str | None
    params: str | None = None
    params_file: str | None = None

    @property
    def is_stored(self) -> bool:
        """Whether they name a stored query: a name without a text."""
        return self.name is not None and self.file is None and self.string is None

    @property
    def text(self) -> QueryText:
        """The query text; read on access, because it may be stdin."""
        return find_query(self.file, self.string)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters; read on access, because they may be stdin."""
        return find_params(self.params, self.params_file)


@frozen
class WriteArguments:
    """The target, the preconditions and the metadata of a write."""

    branch: str
    if_commit: str | None
    message: str | None
    idempotency_key: str | None
    dry_run: bool


def query_arguments(*, params: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare ``[NAME]``, the query flags and those of ``params``; passed as ``query``."""

    def declare(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def collected(
            *arguments: Any,
            name: str | None,
            query_file: str | None,
            query_string: str | None,
            params: str | None = None,
            params_file: str | None = None,
            **more: Any,
        ) -> Any:
            query = QueryArguments(name, query_file, query_string, params, params_file)
            return command(*arguments, query=query, **more)

        declared = params_options(collected) if params else collected
        return click.argument("name", required=False)(query_options(declared))

    return declare


def write_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--if-commit``, ``--message``, ``--idempotency-key`` and ``--dry-run``.

    Passed as ``write``, with the ``--branch`` that the command declares itself.
    """

    @wraps(command)
    def collected(
        *arguments: Any,
        branch: str,
        if_commit: str | None,
        message: str | None,
        idempotency_key: str | None,
        dry_run: bool,
        **more: Any,
    ) -> Any:
        head = if_commit.upper() if if_commit else None
        write = WriteArguments(branch, head, message, idempotency_key, dry_run)
        return command(*arguments, write=write, **more)

    for option in reversed(
        (
            click.option(
                "--if-commit",
                metavar="ID",
                help="Require this commit as the head; else exit code 4.",
            ),
            click.option("--message", metavar="TEXT", help="The commit message."),
            click.option(
                "--idempotency-key",
                metavar="KEY",
                help="Key that makes retries of the request idempotent.",
            ),
            click.option("--dry-run", is_flag=True, help="Validate and count without writing."),
        )
    ):
        collected = option(collected)
    return collected
