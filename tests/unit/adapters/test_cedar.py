"""Cedar answers as the bundle says: scopes, groups, denials, and nothing for strangers."""

from __future__ import annotations

import pytest

from omnigraph.adapters.cedar import CedarDecider
from omnigraph.policy.actions import Action
from omnigraph.policy.guard import Policy
from omnigraph.policy.questions import AuthorizationRequest, Decision, Extent
from omnigraph.policy.reading import parse_bundle

BUNDLE = parse_bundle(
    """\
version: 1
groups:
  editors: [ann]
  owners: [ann, 'o"dd\\name']
  clerks: [cyd]
protected_branches: [main]
rules:
  - id: b-editors
    allow:
      actors: {group: editors}
      actions: [read, change]
      branch_scope: unprotected
  - id: a-owners
    allow:
      actors: {group: owners}
      actions: [read, change, admin]
  - id: owners-merge
    allow:
      actors: {group: owners}
      actions: [branch_merge]
      target_branch_scope: protected
  - id: clerks-people
    allow:
      actors: {group: clerks}
      actions: [read, change]
      types: [Person, Knows]
  - id: clerks-queries
    allow:
      actors: {group: clerks}
      actions: [invoke_query]
      queries: [find_person]
  - id: no-email
    deny:
      actors: {group: clerks}
      actions: [read]
      properties: [Person.email]
  - id: no-audit
    deny:
      actors: {group: everyone}
      actions: [change]
      types: [Audit]
"""
)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(BUNDLE, CedarDecider(BUNDLE))


def some(
    actor: str, action: Action, *types: str, properties: tuple[str, ...] = ()
) -> AuthorizationRequest:
    return AuthorizationRequest(
        actor, action, branch="main", extent=Extent.SOME, types=types, properties=properties
    )


@pytest.mark.parametrize(
    ("question", "allowed", "rule"),
    [
        (AuthorizationRequest("ann", Action.CHANGE, branch="main"), True, "a-owners"),
        (AuthorizationRequest("ann", Action.CHANGE, branch="dev"), True, "a-owners"),
        (AuthorizationRequest('o"dd\\name', Action.ADMIN), True, "a-owners"),
        (
            AuthorizationRequest("ann", Action.BRANCH_MERGE, branch="dev", target_branch="main"),
            True,
            None,
        ),
        (
            AuthorizationRequest("ann", Action.BRANCH_MERGE, branch="main", target_branch="dev"),
            False,
            None,
        ),
        # Without a branch, a rule about protected or unprotected ones says nothing.
        (AuthorizationRequest("ann", Action.BRANCH_MERGE), False, None),
        (AuthorizationRequest("cyd", Action.READ, branch="main"), True, "clerks-people"),
        (some("cyd", Action.READ, "Person"), True, "clerks-people"),
        (some("cyd", Action.READ, "Person", "Salary"), False, None),
        (
            AuthorizationRequest("cyd", Action.CHANGE, branch="main", extent=Extent.ALL),
            False,
            "no-audit",
        ),
        (some("cyd", Action.READ, "Person", properties=("Person.email",)), False, "no-email"),
        (some("cyd", Action.READ, "Person", properties=("Person.name",)), True, "clerks-people"),
        (some("ann", Action.CHANGE, "Audit"), False, "no-audit"),
        (some("ann", Action.CHANGE, "Person"), True, "a-owners"),
        (
            AuthorizationRequest("ann", Action.CHANGE, branch="main", extent=Extent.ALL),
            False,
            "no-audit",
        ),
        (
            AuthorizationRequest("cyd", Action.INVOKE_QUERY, query="find_person"),
            True,
            "clerks-queries",
        ),
        (AuthorizationRequest("cyd", Action.INVOKE_QUERY, query="other"), False, None),
        (AuthorizationRequest("cyd", Action.INVOKE_QUERY), False, None),
        (AuthorizationRequest("eve", Action.READ, branch="main"), False, None),
        (AuthorizationRequest("ann", Action.GRAPH_LIST), False, None),
    ],
)
def test_the_answer_is_that_of_the_rules(
    policy: Policy, question: AuthorizationRequest, allowed: bool, rule: str | None
) -> None:
    decision = policy.decide(question)
    assert decision.allowed is allowed
    if rule is not None:
        assert decision.rule == rule


def test_a_name_with_quotes_cannot_break_out_of_its_rule() -> None:
    name = 'x"); permit(principal, action, resource); //'
    quoted = name.replace("'", "''")
    text = (
        f"version: 1\ngroups: {{'{quoted}': ['{quoted}']}}\nrules:\n"
        f"  - {{id: '{quoted}', allow: {{actors: {{group: '{quoted}'}}, actions: [read]}}}}\n"
    )
    bundle = parse_bundle(text)
    decider = CedarDecider(bundle)
    assert decider.decide(AuthorizationRequest(name, Action.READ)).allowed
    assert decider.decide(AuthorizationRequest("eve", Action.READ)) == Decision(allowed=False)
    assert not decider.decide(AuthorizationRequest(name, Action.ADMIN)).allowed


def test_a_server_bundle_decides_about_the_list_of_graphs() -> None:
    bundle = parse_bundle(
        "version: 1\ngroups: {ops: [ann]}\nrules:\n"
        "  - {id: list, allow: {actors: {group: ops}, actions: [graph_list]}}\n"
    )
    policy = Policy(bundle, CedarDecider(bundle))
    assert policy.decide(AuthorizationRequest("ann", Action.GRAPH_LIST)) == Decision(
        allowed=True, rule="list"
    )
    assert not policy.decide(AuthorizationRequest("bob", Action.GRAPH_LIST)).allowed
