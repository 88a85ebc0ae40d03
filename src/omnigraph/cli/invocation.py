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

from omnigraph.cli.config import Config, read_config
from omnigraph.cli.render import Format, Page, Rows, page_of, render_rows
from omnigraph.cli.terminal import spells_unicode, write_error, write_lines
from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Invocation", "Verb", "VerbGroup", "shared_options", "verb", "verb_group"]

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


@dataclass(slots=True)
class Invocation:
    """What the shared flags said, wherever they stood, and where the verb can go."""

    stores: list[str] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)
    graphs: list[str] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)
    actors: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    json: bool = False
    quiet: bool = False
    yes: bool = False
    # Of the verb: may it work on storage, may it ask a server, and what is it called?
    stored: bool = True
    served: bool = True
    path: str = "omnigraph"
    # Who writes when no flag says; known when a graph is opened.
    default_actor: str | None = None
    _config: Config | None = None

    @property
    def config(self) -> Config:
        """The operator's file, read when it is first needed; what is odd about it is told then."""
        if self._config is None:
            self._config = read_config()
            for warning in self._config.warnings:
                self.remark(f"warning: {warning}")
        return self._config

    @property
    def actor(self) -> str | None:
        named = self._only("--as", self.actors, "usage.two_actors", "a write has one actor")
        return named or self.default_actor

    @property
    def policy(self) -> str | None:
        """The bundle, or the preset, that everything is asked about."""
        return self._only("--policy", self.policies, "usage.two_policies", "name one policy")

    @property
    def graph(self) -> str | None:
        """Which graph of a server."""
        return self._only("--graph", self.graphs, "usage.two_graphs", "name one graph")

    @staticmethod
    def _only(flag: str, said: list[str], code: str, remedy: str) -> str | None:
        if len(set(said)) > 1:
            raise InvalidInput(
                code, f"{flag} is given more than once: {', '.join(said)}", remedy=remedy
            )
        return said[0] if said else None

    def layout(self, preferred: Format | None = None) -> Format:
        """``--json`` before ``--format`` before what is preferred before the operator's file."""
        if self.json:
            return Format.JSON
        if self.formats:
            return Format(self.formats[-1])
        return preferred or self.config.defaults.output or Format.TABLE

    def answer(self, body: dict[str, Any], lines: Iterable[str]) -> None:
        """Print an answer: ``body`` with ``--json``, else ``lines``."""
        write_lines([self.to_json(body)] if self.json else lines)

    def answer_rows(
        self,
        body: dict[str, Any],
        rows: Rows,
        *,
        lines: Iterable[str] | None = None,
        preferred: Format | None = None,
    ) -> None:
        """Print rows in the format that is wanted: JSON is ``body``; a table is ``lines``, if they
        are given."""
        layout = self.layout(preferred)
        if layout is Format.JSON:
            write_lines([self.to_json(body)])
        elif layout is Format.TABLE and lines is not None:
            write_lines(lines)
        else:
            write_lines(render_rows(rows, layout, self._page()))

    def _page(self) -> Page:
        page, defaults = page_of(sys.stdout), self.config.defaults
        return Page(page.columns, page.unicode, defaults.column_width, defaults.wraps)

    def remark(self, line: str) -> None:
        """Tell a person something on stderr, unless ``--quiet``."""
        if not self.quiet:
            write_error(line)

    @staticmethod
    def to_json(body: dict[str, Any]) -> str:
        """Pretty JSON; escaped where the output cannot spell every character."""
        return json.dumps(body, indent=2, ensure_ascii=not spells_unicode(sys.stdout))


@frozen
class Senses:
    """Which of the shared flags make sense for a verb."""

    stored: bool = True
    served: bool = True
    writes: bool = True
    destroys: bool = True
    tabular: bool = False


def shared_options(senses: Senses) -> list[click.Parameter]:
    """The shared flags. Those that a verb refuses are understood all the same, and hidden."""
    listed: list[tuple[list[str], str, str, bool]] = [
        (
            ["--store", "--uri", "stores"],
            "URI",
            "The graph: a path, file:// or s3://.",
            senses.stored,
        ),
        (["--server", "servers"], "URL", "A server: its address, or its name.", senses.served),
        # Understood everywhere, so that whoever knows it from elsewhere is told what to do.
        (["--cluster", "clusters"], "CLUSTER", "Not there yet.", False),
        (["--graph", "--graph-id", "graphs"], "ID", "Which graph of the server.", senses.served),
        (
            ["--profile", "profiles"],
            "NAME",
            "A named address of the configuration.",
            senses.stored or senses.served,
        ),
        (["--as", "actors"], "ACTOR", "Who writes.", senses.writes),
        (
            ["--policy", "policies"],
            "FILE",
            "Ask this policy first, for --as: a bundle, or preset:NAME.",
            senses.stored,
        ),
    ]
    options: list[click.Parameter] = [
        click.Option(
            names, multiple=True, metavar=metavar, help=told, hidden=not sensible, **_noted
        )
        for names, metavar, told, sensible in listed
    ]
    if senses.tabular:
        options.append(
            click.Option(
                ["--format", "formats"],
                multiple=True,
                type=click.Choice([each.value for each in Format]),
                help="How rows are shown; --json wins.",
                **_noted,
            )
        )
    return [
        *options,
        click.Option(
            ["--yes"],
            is_flag=True,
            hidden=not senses.destroys,
            help="Do it without asking, on a bucket or a server too.",
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


def _without_taken(shared: list[click.Parameter], own: list[click.Parameter]) -> list[Any]:
    """The shared flags but for spellings that a verb uses itself, as ``log`` does ``--graph``."""
    taken = {spelling for param in own for spelling in param.opts}
    kept = []
    for param in shared:
        param.opts = [spelling for spelling in param.opts if spelling not in taken]
        if param.opts:
            kept.append(param)
    return kept


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
    """A verb, with the shared flags that make sense for it."""

    def __init__(
        self, *args: Any, senses: Senses, examples: tuple[str, ...] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params += _without_taken(shared_options(senses), self.params)
        self.examples = examples
        self._senses = senses

    def invoke(self, ctx: click.Context) -> Any:
        call = ctx.find_object(Invocation)
        if call is not None:
            call.stored, call.served = self._senses.stored, self._senses.served
            call.path = ctx.command_path
            self._require_sense(call)
        return super().invoke(ctx)

    def _require_sense(self, call: Invocation) -> None:
        """The first flag that means nothing here is refused."""
        senses, path = self._senses, call.path
        if call.clusters:
            raise Unsupported(
                "usage.no_clusters",
                f"--cluster {call.clusters[0]}: this release has no clusters",
                remedy="serve graphs with `omnigraph serve` and address them by --server and "
                "--graph, or address the storage of one by --store",
            )
        for said, sensible, code, message in (
            (
                call.servers,
                senses.served,
                "server_refused",
                f"`{path}` asks no server and takes no --server",
            ),
            (call.graphs, senses.served, "graph_refused", f"`{path}` takes no --graph"),
            (call.stores, senses.stored, "store_refused", f"`{path}` takes no --store"),
            (call.policies, senses.stored, "policy_refused", f"`{path}` asks no policy"),
            (
                call.actors,
                # Under a policy a reader has a name as well.
                senses.writes or bool(call.policies),
                "actor_refused",
                f"--as names who writes, and `{path}` writes nothing to a graph",
            ),
            (
                call.profiles,
                senses.stored or senses.served,
                "profile_refused",
                f"`{path}` takes no --profile",
            ),
            (call.yes, senses.destroys, "yes_refused", f"`{path}` asks nothing"),
        ):
            if said and not sensible:
                raise InvalidInput(
                    f"usage.{code}", message, remedy=f"see `{path} --help` for what it takes"
                )


class VerbGroup(click.Group):
    """A verb with verbs of its own, such as ``branch create``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += shared_options(Senses())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags that make sense for one of its verbs."""
        shown = {
            spelling
            for verb in self.commands.values()
            for param in verb.params
            if isinstance(param, click.Option) and not param.hidden
            for spelling in param.opts
        }
        for param in self.params:
            if isinstance(param, click.Option) and shown.isdisjoint(param.opts):
                param.hidden = True
        super().format_options(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not ctx.resilient_parsing and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            if args[0] not in known:
                raise click.exceptions.NoSuchCommand(args[0], possibilities=known, ctx=ctx)
        return super().resolve_command(ctx, args)


def verb(
    name: str,
    *,
    stored: bool = True,
    served: bool | None = None,
    writes: bool = False,
    destroys: bool = False,
    tabular: bool = False,
    examples: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a verb. The function's docstring is its help.

    ``stored``: it works on storage. ``served``: it can ask a server; like ``stored`` unless said.
    ``writes``: an actor may be named. ``destroys``: it may ask for consent. ``tabular``: it answers
    with rows, in any ``--format``.
    """
    reach = stored if served is None else served
    return click.command(
        name,
        cls=Verb,
        context_settings=CONTEXT_SETTINGS,
        senses=Senses(stored, reach, writes, destroys, tabular),
        examples=examples,
    )


def verb_group(name: str) -> Callable[[Callable[..., Any]], VerbGroup]:
    """Declare a verb that has verbs of its own; add them with ``add_command``."""
    return click.group(name, cls=VerbGroup, context_settings=CONTEXT_SETTINGS)
