"""Define the shared flags and the declaration of verbs.

The shared flags may precede the verb, stand between a group and its verb, or follow it. Each
position declares the same options; all of them write into one ``Invocation``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.config import Config, read_config
from omnigraph.cli.render import Format, RenderedPage, Rows, page_of, render_rows
from omnigraph.cli.terminal import supports_unicode, write_error, write_lines
from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Invocation", "Verb", "VerbGroup", "shared_options", "verb", "verb_group"]

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


@dataclass(slots=True)
class Invocation:
    """The values of the shared flags, and the kinds of addresses that the verb accepts."""

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
    # Properties of the verb: storage and server support, and its command path.
    stored: bool = True
    served: bool = True
    path: str = "omnigraph"
    # The actor without --as; set when a graph is opened.
    default_actor: str | None = None
    _config: Config | None = None

    @property
    def config(self) -> Config:
        """Return the configuration; the first access reads the file and prints its warnings."""
        if self._config is None:
            self._config = read_config()
            for warning in self._config.warnings:
                self.notice(f"warning: {warning}")
        return self._config

    @property
    def actor(self) -> str | None:
        named = self._only("--as", self.actors, "usage.two_actors", "a write has one actor")
        return named or self.default_actor

    @property
    def policy(self) -> str | None:
        """Return the policy bundle or preset of ``--policy``."""
        return self._only("--policy", self.policies, "usage.two_policies", "name one policy")

    @property
    def graph(self) -> str | None:
        """Return the graph of a server that ``--graph`` selects."""
        return self._only("--graph", self.graphs, "usage.two_graphs", "name one graph")

    @staticmethod
    def _only(flag: str, values: list[str], code: str, remedy: str) -> str | None:
        if len(set(values)) > 1:
            raise InvalidInput(
                code, f"{flag} is given more than once: {', '.join(values)}", remedy=remedy
            )
        return values[0] if values else None

    def layout(self, preferred: Format | None = None) -> Format:
        """Return the output format: ``--json``, ``--format``, ``preferred``, the configuration."""
        if self.json:
            return Format.JSON
        if self.formats:
            return Format(self.formats[-1])
        return preferred or self.config.defaults.output or Format.TABLE

    def print_result(self, body: dict[str, Any], lines: Iterable[str]) -> None:
        """Print a result: ``body`` with ``--json``, else ``lines``."""
        write_lines([self.to_json(body)] if self.json else lines)

    def print_rows(
        self,
        body: dict[str, Any],
        rows: Rows,
        *,
        lines: Iterable[str] | None = None,
        preferred: Format | None = None,
    ) -> None:
        """Print rows in the output format: ``body`` as JSON, ``lines``, if given, as a table."""
        layout = self.layout(preferred)
        if layout is Format.JSON:
            write_lines([self.to_json(body)])
        elif layout is Format.TABLE and lines is not None:
            write_lines(lines)
        else:
            write_lines(render_rows(rows, layout, self._page()))

    def _page(self) -> RenderedPage:
        page, defaults = page_of(sys.stdout), self.config.defaults
        return RenderedPage(page.columns, page.unicode, defaults.column_width, defaults.wraps)

    def notice(self, line: str) -> None:
        """Print a notice to stderr, unless ``--quiet``."""
        if not self.quiet:
            write_error(line)

    @staticmethod
    def to_json(body: dict[str, Any]) -> str:
        """Return pretty JSON, escaped if the output is not Unicode."""
        return json.dumps(body, indent=2, ensure_ascii=not supports_unicode(sys.stdout))


@frozen
class FlagSupport:
    """The shared flags that apply to a verb."""

    stored: bool = True
    served: bool = True
    writes: bool = True
    destroys: bool = True
    tabular: bool = False


def shared_options(supports: FlagSupport) -> list[click.Parameter]:
    """Return the shared flags; those that do not apply are parsed, hidden and refused."""
    listed: list[tuple[list[str], str, str, bool]] = [
        (
            ["--store", "--uri", "stores"],
            "URI",
            "The graph: a path, file:// or s3://.",
            supports.stored,
        ),
        (
            ["--server", "servers"],
            "URL",
            "A server: its address or configured name.",
            supports.served,
        ),
        # Parsed everywhere, so that the error can name an alternative.
        (["--cluster", "clusters"], "CLUSTER", "Not supported yet.", False),
        (["--graph", "--graph-id", "graphs"], "ID", "Which graph of the server.", supports.served),
        (
            ["--profile", "profiles"],
            "NAME",
            "A named address of the configuration.",
            supports.stored or supports.served,
        ),
        (["--as", "actors"], "ACTOR", "The actor of the commit.", supports.writes),
        (
            ["--policy", "policies"],
            "FILE",
            "Check this policy for --as: a bundle, or preset:NAME.",
            supports.stored,
        ),
    ]
    options: list[click.Parameter] = [
        click.Option(
            names, multiple=True, metavar=metavar, help=help_text, hidden=not applies, **_recorded
        )
        for names, metavar, help_text, applies in listed
    ]
    if supports.tabular:
        options.append(
            click.Option(
                ["--format", "formats"],
                multiple=True,
                type=click.Choice([each.value for each in Format]),
                help="Output format of rows; --json overrides it.",
                **_recorded,
            )
        )
    return [
        *options,
        click.Option(
            ["--yes"],
            is_flag=True,
            hidden=not supports.destroys,
            help="Skip the confirmation, on a bucket or a server too.",
            **_recorded,
        ),
        click.Option(["--json"], is_flag=True, help="Print JSON.", **_recorded),
        click.Option(["--quiet"], is_flag=True, help="Print no notices to stderr.", **_recorded),
    ]


def _record(context: click.Context, param: click.Parameter, value: Any) -> None:
    call = context.find_object(Invocation)
    if call is None or param.name is None:
        return
    if isinstance(value, tuple):
        getattr(call, param.name).extend(value)
    elif value:
        setattr(call, param.name, True)


_recorded: dict[str, Any] = {"expose_value": False, "callback": _record}


def _without_taken(shared: list[click.Parameter], own: list[click.Parameter]) -> list[Any]:
    """Remove the spellings that a verb declares itself, as ``log`` does with ``--graph``."""
    taken = {spelling for param in own for spelling in param.opts}
    kept = []
    for param in shared:
        param.opts = [spelling for spelling in param.opts if spelling not in taken]
        if param.opts:
            kept.append(param)
    return kept


class _WithExamples(click.Command):
    """A command whose help ends with verbatim examples."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)


class Verb(_WithExamples):
    """A verb with the shared flags that apply to it."""

    def __init__(
        self, *args: Any, supports: FlagSupport, examples: tuple[str, ...] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params += _without_taken(shared_options(supports), self.params)
        self.examples = examples
        self._supports = supports

    def invoke(self, ctx: click.Context) -> Any:
        call = ctx.find_object(Invocation)
        if call is not None:
            call.stored, call.served = self._supports.stored, self._supports.served
            call.path = ctx.command_path
            self._require_applicable(call)
        return super().invoke(ctx)

    def _require_applicable(self, call: Invocation) -> None:
        """Refuse the first flag that does not apply."""
        supports, path = self._supports, call.path
        if call.clusters:
            raise Unsupported(
                "usage.no_clusters",
                f"--cluster {call.clusters[0]}: this release does not support clusters",
                remedy="serve graphs with `omnigraph serve` and address them by --server and "
                "--graph, or address the storage of one by --store",
            )
        for given, applies, code, message in (
            (
                call.servers,
                supports.served,
                "server_refused",
                f"`{path}` does not use a server and does not take --server",
            ),
            (call.graphs, supports.served, "graph_refused", f"`{path}` does not take --graph"),
            (call.stores, supports.stored, "store_refused", f"`{path}` does not take --store"),
            (call.policies, supports.stored, "policy_refused", f"`{path}` does not take --policy"),
            (
                call.actors,
                # A policy also needs the actor of a read.
                supports.writes or bool(call.policies),
                "actor_refused",
                f"--as names the actor of a write, and `{path}` does not write to a graph",
            ),
            (
                call.profiles,
                supports.stored or supports.served,
                "profile_refused",
                f"`{path}` does not take --profile",
            ),
            (
                call.yes,
                supports.destroys,
                "yes_refused",
                f"`{path}` does not ask for confirmation and does not take --yes",
            ),
        ):
            if given and not applies:
                raise InvalidInput(
                    f"usage.{code}", message, remedy=f"see `{path} --help` for its flags"
                )


class VerbGroup(click.Group):
    """A group of verbs, such as ``branch``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += shared_options(FlagSupport())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the flags that apply to one of its verbs."""
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

    ``stored``: it supports storage. ``served``: it supports a server; the default is ``stored``.
    ``writes``: it takes an actor. ``destroys``: it may ask for confirmation. ``tabular``: it prints
    rows, in any ``--format``.
    """
    uses_server = stored if served is None else served
    return click.command(
        name,
        cls=Verb,
        context_settings=CONTEXT_SETTINGS,
        supports=FlagSupport(stored, uses_server, writes, destroys, tabular),
        examples=examples,
    )


def verb_group(name: str) -> Callable[[Callable[..., Any]], VerbGroup]:
    """Declare a group of verbs; add them with ``add_command``."""
    return click.group(name, cls=VerbGroup, context_settings=CONTEXT_SETTINGS)
