"""``omnigraph alias``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.inputs import find_params, params_options
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.scope import ServerScope, server_url
from omnigraph.cli.stored import print_query_result, run_stored
from omnigraph.errors import InvalidInput
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from omnigraph.cli.config import Alias

__all__ = ["command"]


@verb(
    "alias",
    stored=False,
    tabular=True,
    examples=(
        "omnigraph alias friends Ada",
        """omnigraph alias friends --params '{"name": "Ada"}' --format csv""",
    ),
)
@click.argument("name")
@click.argument("args", nargs=-1)
@params_options
@click.pass_obj
def command(
    call: Invocation,
    *,
    name: str,
    args: tuple[str, ...],
    params: str | None,
    params_file: str | None,
) -> None:
    """Run the stored query of the alias NAME in the configuration.

    ARGS are its parameters in the order of the alias; each is JSON, or else a string. --params
    overrides ARGS, and ARGS override the parameters of the alias.
    """
    alias = call.config.alias(name)
    given = find_params(params, params_file)
    values = {**alias.params, **_positional(alias, args), **given}
    scope = ServerScope(server_url(call.config, alias.server), alias.graph)
    body = run_stored(call, alias.query, values, scope=scope, target="main")
    print_query_result(call, body, preferred=alias.format)


def _positional(alias: Alias, args: tuple[str, ...]) -> dict[str, Any]:
    if len(args) > len(alias.args):
        takes = ", ".join(alias.args) or "none"
        raise InvalidInput(
            "usage.too_many_arguments",
            f"alias {alias.name!r} takes {plural(len(alias.args), 'argument')}, not {len(args)}",
            remedy=f"it takes: {takes}",
        )
    return {name: _value(text) for name, text in zip(alias.args, args, strict=False)}


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
