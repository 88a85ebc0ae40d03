"""Test a bundle with requests and their expected decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen
from omnigraph.policy.actions import Action
from omnigraph.policy.questions import AuthorizationRequest, Extent
from omnigraph.policy.yaml_tree import parse_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.policy.guard import Policy
    from omnigraph.policy.questions import Decision
    from omnigraph.policy.yaml_tree import Tree

__all__ = ["CaseOutcome", "PolicyCase", "parse_cases", "run_cases"]

_OPTIONAL = ("branch", "target_branch", "query", "types", "properties")


@frozen
class PolicyCase:
    """A request and its expected decision."""

    id: str
    request: AuthorizationRequest
    expect: bool


@frozen
class CaseOutcome:
    """A case and its decision."""

    case: PolicyCase
    decision: Decision

    @property
    def passed(self) -> bool:
        return self.decision.allowed is self.case.expect

    def to_json(self) -> dict[str, Any]:
        expected = "allow" if self.case.expect else "deny"
        return {
            "id": self.case.id,
            "passed": self.passed,
            "expect": expected,
            **self.decision.to_json(),
        }


def parse_cases(text: str, file: str = "<tests>") -> tuple[PolicyCase, ...]:
    """Parse a test file; raise ``policy.bad_bundle`` with file, line and column."""
    fields = parse_tree(text, file).fields(["version", "cases"])
    fields["version"].require_version(1)
    # An empty file would pass.
    items = fields["cases"].items(empty=False)
    cases = tuple(map(_case, items))
    seen: set[str] = set()
    for item, case in zip(items, cases, strict=True):
        if case.id in seen:
            item.entries()["id"].fail(f"repeats {case.id!r}")
        seen.add(case.id)
    return cases


def run_cases(policy: Policy, cases: Sequence[PolicyCase]) -> list[CaseOutcome]:
    """Evaluate all cases."""
    return [CaseOutcome(case, policy.decide(case.request)) for case in cases]


def _case(tree: Tree) -> PolicyCase:
    fields = tree.fields(["id", "actor", "action", "expect"], _OPTIONAL)

    def text(name: str) -> str | None:
        return fields[name].text() if name in fields else None

    types = fields["types"].texts(empty=False) if "types" in fields else ()
    properties = fields["properties"].texts(empty=False) if "properties" in fields else ()
    request = AuthorizationRequest(
        fields["actor"].text(),
        Action(fields["action"].choice([action.value for action in Action])),
        branch=text("branch"),
        target_branch=text("target_branch"),
        query=text("query"),
        extent=Extent.SOME if types or properties else Extent.OPEN,
        types=types,
        properties=properties,
    )
    return PolicyCase(
        fields["id"].text(), request, fields["expect"].choice(["allow", "deny"]) == "allow"
    )
