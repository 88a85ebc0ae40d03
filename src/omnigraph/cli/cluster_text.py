"""Format the results of cluster commands as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from omnigraph.catalog.render import describe_check, describe_step
from omnigraph.cli.render import plural
from omnigraph.cli.terminal import colorize
from omnigraph.cluster.resources import blast_radius

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.cluster.planning import Change, ClusterPlan
    from omnigraph.cluster.reporting import ClusterDiagnostic

__all__ = ["diagnostic_lines", "plan_lines", "result_line"]

_MARKS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
_VERBS = {"create": "to create", "update": "to update", "delete": "to delete"}
_DIGEST_SHOWN = 12


def diagnostic_lines(diagnostics: Iterable[ClusterDiagnostic]) -> list[str]:
    """Format diagnostics with their positions and remedies."""
    lines = []
    for each in diagnostics:
        where = f"{each.file}:{each.line}:{each.column}: " if each.line else ""
        label = colorize(each.severity, "red" if each.severity == "error" else "yellow", sys.stdout)
        path = f"{each.path}: " if each.path else ""
        lines.append(f"{where}{label} [{each.code}] {path}{each.message}")
        if each.remedy:
            lines.append(f"  help: {each.remedy}")
    return lines


def plan_lines(plan: ClusterPlan, changes: Iterable[Change]) -> list[str]:
    """Format a plan: changes with reasons, migrations and dependants, then the counts."""
    listed = list(changes)
    if not listed:
        return ["No changes. Storage matches the declaration."]
    lines = [line for change in listed for line in _change_lines(change, plan)]
    counts = [
        f"{sum(each.operation == operation and each.runs for each in listed)} {words}"
        for operation, words in _VERBS.items()
    ]
    blocked = sum(each.disposition == "blocked" for each in listed)
    return [*lines, "", f"Plan: {', '.join(counts)}, {blocked} blocked."]


def _change_lines(change: Change, plan: ClusterPlan) -> list[str]:
    mark, style = _MARKS[change.operation]
    if change.disposition == "blocked":
        mark, style = "!", "red"
    note = "" if change.runs else f" ({change.reason or 'its parts change'})"
    lines = [f"{colorize(mark, style, sys.stdout)} {change.resource}{_digests(change)}{note}"]
    if change.message:
        lines.append(f"    {change.message}")
    for step in change.migration.steps if change.migration else ():
        lines.append(f"    {describe_step(step)}")
        lines += [f"      check first: {describe_check(check)}" for check in step.checks]
    if change.binding_change:
        lines.append("    applies to other scopes")
    if change.approval_id:
        lines.append(f"    approved: {change.approval_id}")
    affected = blast_radius(change.resource, plan.dependencies)
    if affected and change.operation != "create":
        lines.append(f"    affects {', '.join(affected)}")
    return lines


def _digests(change: Change) -> str:
    before, after = (each[:_DIGEST_SHOWN] if each else "" for each in (change.before, change.after))
    return f"  {before} -> {after}" if before and after and before != after else ""


def result_line(count: int, *, deferred: int, converged: bool) -> str:
    """Summarise an apply."""
    done = f"Applied {plural(count, 'change')}"
    if converged:
        return f"{done}. Storage matches the declaration."
    return f"{done}; {deferred} left. Storage does not match the declaration yet."
