"""The flags that every verb understands, and how a verb is declared.

The shared flags may stand before the verb, between a group and its verb, or after it. Each place
declares the same options; all of them write into one ``Invocation``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.terminal import spells_unicode, write_error, write_lines
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Invocation", "Verb", "VerbGroup", "shared_options", "verb", "verb_group"]

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


@dataclass(slots=True)
class Invocation:
    """What the shared flags said, wherever they stood."""

    stores: list[str] = field(default_factory=list)
    actors: list[str] = field(default_factory=list)
    json: bool = False
    quiet: bool = False

    @property
    def actor(self) -> str | None:
        if len(set(self.actors)) > 1:
            raise InvalidInput(
                "usage.two_actors",
                f"--as names more than one actor: {', '.join(self.actors)}",
                remedy="a write has one actor",
            )
        return self.actors[0] if self.actors else None

    def answer(self, body: dict[str, Any], lines: Iterable[str]) -> None:
        """Print an answer: ``body`` with ``--json``, else ``lines``."""
        write_lines([self.to_json(body)] if self.json else lines)

    def remark(self, line: str) -> None:
        """Tell a person something on stderr, unless ``--quiet``."""
        if not self.quiet:
            write_error(line)

    @staticmethod
    def to_json(body: dict[str, Any]) -> str:
        """Pretty JSON; escaped where the output cannot spell every character."""
        return json.dumps(body, indent=2, ensure_ascii=not spells_unicode(sys.stdout))


def shared_options(*, stored: bool = True, writes: bool = True) -> list[click.Parameter]:
    """The shared flags. Those that a verb refuses are understood all the same, and hidden."""
    return [
        click.Option(
            ["--store", "--uri", "stores"],
            multiple=True,
            metavar="URI",
            hidden=not stored,
            help="The graph: a path, file:// or s3://.",
            **_noted,
        ),
        click.Option(
            ["--as", "actors"],
            multiple=True,
            metavar="ACTOR",
            hidden=not writes,
            help="Who writes.",
            **_noted,
        ),
        click.Option(["--json"], is_flag=True, help="Answer in JSON.", **_noted),
        click.Option(["--quiet"], is_flag=True, help="No remarks on stderr.", **_noted),
    ]


def _note(context: click.Context, param: click.Parameter, value: Any) -> None:
    call = context.find_object(Invocation)
    if call is None or param.name is None:
        return
    if isinstance(value, tuple):
        getattr(call, param.name).extend(value)
    elif value:
        setattr(call, param.name, True)


_noted: dict[str, Any] = {"expose_value": False, "callback": _note}


class _WithExamples(click.Command):
    """Help that ends with examples, printed as they are written."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)


class Verb(_WithExamples):
    """A verb, with the shared flags that make sense for it.

    ``stored``: the graph may be named by ``--store``. ``writes``: an actor may be named.
    """

    def __init__(
        self,
        *args: Any,
        stored: bool = True,
        writes: bool = False,
        examples: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params += shared_options(stored=stored, writes=writes)
        self.examples = examples
        self._stored = stored
        self._writes = writes

    def invoke(self, ctx: click.Context) -> Any:
        call = ctx.find_object(Invocation)
        if call is not None:
            self._require_sense(call, ctx.command_path)
        return super().invoke(ctx)

    def _require_sense(self, call: Invocation, path: str) -> None:
        if call.stores and not self._stored:
            raise InvalidInput(
                "usage.store_refused",
                f"`{path}` takes no --store",
                remedy=f"see `{path} --help` for what it works on",
            )
        if call.actors and not self._writes:
            raise InvalidInput(
                "usage.actor_refused",
                f"--as names who writes, and `{path}` writes nothing to a graph",
                remedy="leave --as out",
            )


class VerbGroup(click.Group):
    """A verb with verbs of its own, such as ``branch create``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += shared_options()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not ctx.resilient_parsing and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            if args[0] not in known:
                raise click.exceptions.NoSuchCommand(args[0], possibilities=known, ctx=ctx)
        return super().resolve_command(ctx, args)


def verb(
    name: str, *, stored: bool = True, writes: bool = False, examples: tuple[str, ...] = ()
) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a verb. The function's docstring is its help."""
    return click.command(
        name,
        cls=Verb,
        context_settings=CONTEXT_SETTINGS,
        stored=stored,
        writes=writes,
        examples=examples,
    )


def verb_group(name: str) -> Callable[[Callable[..., Any]], VerbGroup]:
    """Declare a verb that has verbs of its own; add them with ``add_command``."""
    return click.group(name, cls=VerbGroup, context_settings=CONTEXT_SETTINGS)
