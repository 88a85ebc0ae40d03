"""``omnigraph policy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from omnigraph.cli.exits import FAILED
from omnigraph.cli.inputs import read_text
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.graph.open import open_policy
from omnigraph.policy.actions import Action
from omnigraph.policy.cases import parse_cases, run_cases
from omnigraph.policy.questions import AuthorizationRequest, Extent

if TYPE_CHECKING:
    from omnigraph.policy.guard import Policy

__all__ = ["command"]

_ACTIONS = click.Choice([action.value for action in Action])


@verb_group("policy")
def command() -> None:
    """Validate, test and explain policies.

    A BUNDLE is a YAML file, or preset:NAME for a built-in one.
    """


@verb(
    "validate",
    stored=False,
    examples=("omnigraph policy validate team.yaml", "omnigraph policy validate preset:team"),
)
@click.argument("bundle")
@click.pass_obj
def validate(call: Invocation, bundle: str) -> None:
    """Validate and compile BUNDLE; errors have line and column."""
    found = _open(bundle).bundle
    body = {
        "policy": bundle,
        "groups": len(found.groups),
        "actors": len(found.actors),
        "rules": len(found.rules),
        "protected_branches": list(found.protected_branches),
        "about": "server" if found.governs_server else "graph",
    }
    everyone = " and everyone else" if found.applies_to_everyone else ""
    summary = f"{body['rules']} rules for {body['actors']} actors{everyone}"
    call.print_result(body, [f"{bundle}: {summary}"])


@verb(
    "test",
    stored=False,
    examples=("omnigraph policy test team.yaml --tests team.tests.yaml",),
)
@click.argument("bundle")
@click.option(
    "--tests", "tests_file", required=True, metavar="FILE", help="The test cases, as YAML."
)
@click.pass_obj
def test(call: Invocation, bundle: str, tests_file: str) -> None:
    """Run the cases of a file against BUNDLE; the exit code is 1 if one fails."""
    outcomes = run_cases(_open(bundle), parse_cases(read_text(tests_file), tests_file))
    failed = [outcome for outcome in outcomes if not outcome.passed]
    body = {
        "policy": bundle,
        "passed": len(outcomes) - len(failed),
        "failed": len(failed),
        "cases": [outcome.to_json() for outcome in outcomes],
    }
    lines = [
        f"{outcome.case.id}: expected {result['expect']}, got {result['decision']}"
        f"{_by(outcome.decision.rule)}"
        for outcome in failed
        for result in [outcome.to_json()]
    ]
    call.print_result(body, [*lines, f"{body['passed']} passed, {body['failed']} failed"])
    if failed:
        raise click.exceptions.Exit(FAILED)


@verb(
    "explain",
    stored=False,
    examples=("omnigraph policy explain team.yaml --actor ann --action change --branch main",),
)
@click.argument("bundle")
@click.option("--actor", required=True, metavar="ACTOR", help="The actor.")
@click.option("--action", required=True, type=_ACTIONS, help="The action.")
@click.option("--branch", metavar="B", help="The branch, or the source of a merge.")
@click.option("--target-branch", metavar="B", help="The branch to create, merge into or delete.")
@click.option("--query", metavar="NAME", help="The stored query.")
@click.option("--type", "types", multiple=True, metavar="T", help="A type of the operation.")
@click.option("--property", "properties", multiple=True, metavar="T.P", help="A property.")
@click.pass_obj
def explain(
    call: Invocation,
    bundle: str,
    *,
    actor: str,
    action: str,
    branch: str | None,
    target_branch: str | None,
    query: str | None,
    types: tuple[str, ...],
    properties: tuple[str, ...],
) -> None:
    """Show whether BUNDLE allows an action, and the deciding rule."""
    request = AuthorizationRequest(
        actor,
        Action(action),
        branch=branch,
        target_branch=target_branch,
        query=query,
        extent=Extent.SOME if types or properties else Extent.OPEN,
        types=types,
        properties=properties,
    )
    decision = _open(bundle).decide(request)
    result = decision.to_json()
    rule = _by(decision.rule) or ": no rule allows it"
    call.print_result(
        {"policy": bundle, "actor": actor, "action": action, **result},
        [f"{result['decision']}{rule}"],
    )


command.add_command(validate)
command.add_command(test)
command.add_command(explain)


def _open(bundle: str) -> Policy:
    return cast("Policy", open_policy(bundle))


def _by(rule: str | None) -> str:
    return "" if rule is None else f" by rule {rule!r}"
