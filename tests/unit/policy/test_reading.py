"""A bundle is read whole and checked, or refused with the place of what is wrong."""

from __future__ import annotations

import pytest

from omnigraph.errors import InvalidInput
from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import BranchScope, Effect
from omnigraph.policy.presets import PRESETS, preset_text
from omnigraph.policy.reading import parse_bundle

GOOD = """\
version: 1
groups:
  editors: [ann, bob]
  readers: [cyd]
protected_branches: [main, "release/*"]
rules:
  - id: editors-change
    allow:
      actors: {group: editors}
      actions: [read, change]
      branch_scope: unprotected
  - id: no-salaries
    deny:
      actors: {group: readers}
      actions: [read]
      types: [Salary]
"""


def test_a_bundle_keeps_groups_branches_and_rules() -> None:
    bundle = parse_bundle(GOOD)
    assert bundle.groups == {"editors": ("ann", "bob"), "readers": ("cyd",)}
    assert bundle.actors == {"ann", "bob", "cyd"}
    first, second = bundle.rules
    assert (first.effect, first.actions) == (Effect.ALLOW, (Action.READ, Action.CHANGE))
    assert first.branch_scope is BranchScope.UNPROTECTED
    assert (second.effect, second.types) == (Effect.DENY, ("Salary",))


def test_protected_branches_are_names_or_patterns() -> None:
    bundle = parse_bundle(GOOD)
    assert [bundle.is_protected(name) for name in ("main", "release/1.0", "dev", "Main", None)] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_good_bundle(name: str) -> None:
    assert parse_bundle(preset_text(f"preset:{name}")).rules


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="preset:nope") as caught:
        preset_text("preset:nope")
    assert "preset:team" in str(caught.value.remedy)


RULE = "  - {id: a, allow: {actors: {group: everyone}, actions: [%s]%s}}\n"


def with_rule(actions: str, rest: str = "", *, head: str = "") -> str:
    return f"version: 1\n{head}rules:\n" + RULE % (actions, rest)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("", "1:1", "is empty"),
        ("version: 1\nrules: [", "2:9", ""),
        ("version: 2\nrules: []", "1:10", "must be 1"),
        ("rules: []", "1:1", "lacks 'version'"),
        ("version: 1\nrules: []\ntone: server", "3:7", "unknown key: 'tone'"),
        ("version: 1\nversion: 1\nrules: []", "2:1", "repeats the key"),
        ("version: 1\nrules: {}", "2:8", "must be a list"),
        (with_rule("read", ", when: x"), "3:71", "unknown key: 'when'"),
        (with_rule("fly"), "3:58", "must not be 'fly'"),
        (with_rule("read, read"), "3:57", "repeats an action"),
        (with_rule(""), "3:57", "must not be empty"),
        (with_rule("read", ", branch_scope: some"), "3:79", "must not be 'some'"),
        (with_rule("read", ", target_branch_scope: any"), "3:86", "does not apply to 'read'"),
        (with_rule("admin", ", branch_scope: any"), "3:80", "does not apply to 'admin'"),
        (with_rule("read", ", queries: [a]"), "3:74", "does not apply to 'read'"),
        (with_rule("admin", ", types: [A]"), "3:73", "does not apply to 'admin'"),
        (with_rule("read", ", properties: [A.b]"), "3:77", "is only allowed in `deny`"),
        (with_rule("read, graph_list"), "3:3", "applies to a server"),
        (with_rule("read", head="groups: {a: []}\n"), "2:13", "must not be empty"),
        (with_rule("read", head="groups: {everyone: [a]}\n"), "2:20", "cannot be listed"),
        (with_rule("read", head="groups: {a: [1]}\n"), "2:14", "must be a string"),
        (with_rule("read", head="groups: {a: ['x ']}\n"), "2:14", "without surrounding blanks"),
        (with_rule("read", head="groups: {a: [x, x]}\n"), "2:17", "repeats 'x'"),
        (with_rule("read") + RULE % ("read", ""), "4:10", "repeats 'a'"),
        (with_rule("read").replace("everyone", "ghosts"), "3:37", "names an unknown group"),
        (with_rule("read").replace("allow", "permit"), "3:21", "unknown key: 'permit'"),
        (
            with_rule("read", ", types: [A], branch_scope: protected").replace("allow", "deny"),
            "3:90",
            "cannot limit a denied type",
        ),
        (
            with_rule("read", ", properties: [email]").replace("allow", "deny"),
            "3:76",
            "is not `Type.property`",
        ),
    ],
)
def test_an_invalid_bundle_is_reported_with_its_position(
    text: str, place: str, problem: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_bundle(text, "team.yaml")
    assert caught.value.code == "policy.bad_bundle"
    assert caught.value.message.startswith(f"team.yaml:{place}:")
    assert problem in caught.value.message
