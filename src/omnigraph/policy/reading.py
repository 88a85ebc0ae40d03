"""Parse and validate a bundle, with positions in error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.policy.actions import (
    BRANCH_ACTIONS,
    SERVER_ACTIONS,
    TARGET_ACTIONS,
    TYPED_ACTIONS,
    Action,
)
from omnigraph.policy.bundle import EVERYONE, BranchScope, Effect, PolicyBundle, PolicyRule
from omnigraph.policy.yaml_tree import Tree, parse_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["parse_bundle"]

_POLICY_KINDS = ("server", "graph")
_SCOPES = ("branch_scope", "target_branch_scope")
_BODY = ("branch_scope", "target_branch_scope", "queries", "types", "properties")


def parse_bundle(text: str, file: str = "<policy>") -> PolicyBundle:
    """Parse a bundle; raise ``policy.bad_bundle`` with file, line and column."""
    tree = parse_tree(text, file)
    fields = tree.fields(["version", "rules"], ["kind", "groups", "protected_branches"])
    fields["version"].require_version(1)
    groups = _groups(fields["groups"]) if "groups" in fields else {}
    branches = fields.get("protected_branches")
    rules = tuple(_rule(item, groups) for item in fields["rules"].items())
    _require_unique(fields["rules"], rules)
    _require_one_subject(fields["rules"], rules)
    kind = fields["kind"].choice(_POLICY_KINDS) if "kind" in fields else None
    found = PolicyBundle(groups, branches.texts() if branches else (), rules, file, kind)
    if kind is not None and rules and found.governs_server != (kind == "server"):
        fields["kind"].fail(f"is {kind!r}, and the actions of the rules apply to the other kind")
    return found


def _groups(tree: Tree) -> dict[str, tuple[str, ...]]:
    groups = {}
    for name, members in tree.entries().items():
        if name == EVERYONE:
            members.fail(f"{EVERYONE!r} is the implicit group of all actors and cannot be listed")
        groups[name] = members.texts(empty=False)
    return groups


def _rule(tree: Tree, groups: Mapping[str, object]) -> PolicyRule:
    fields = tree.fields(["id"], [effect.value for effect in Effect])
    effects = [effect for effect in Effect if effect.value in fields]
    if len(effects) != 1:
        tree.fail("must have exactly one of `allow` and `deny`")
    effect = effects[0]
    body = fields[effect.value]
    parts = body.fields(["actors", "actions"], _BODY)
    group_tree = parts["actors"].fields(["group"])["group"]
    group = group_tree.text()
    if group not in groups and group != EVERYONE:
        known = ", ".join([*groups, EVERYONE])
        group_tree.fail(f"names an unknown group: {group!r}", remedy=f"one of: {known}")
    actions = _actions(parts["actions"])
    rule = PolicyRule(
        fields["id"].text(),
        effect,
        group,
        actions,
        _scope(parts, "branch_scope", actions, BRANCH_ACTIONS),
        _scope(parts, "target_branch_scope", actions, TARGET_ACTIONS),
        _names(parts, "queries", actions, [Action.INVOKE_QUERY]),
        _names(parts, "types", actions, TYPED_ACTIONS),
        _names(parts, "properties", actions, [Action.READ, Action.EXPORT]),
    )
    _require_valid(body, parts, rule)
    return rule


def _actions(tree: Tree) -> tuple[Action, ...]:
    names = [action.value for action in Action]
    actions = tuple(Action(item.choice(names)) for item in tree.items(empty=False))
    if len(set(actions)) != len(actions):
        tree.fail("repeats an action")
    return actions


def _scope(
    parts: Mapping[str, Tree], key: str, actions: Iterable[Action], allowed: Iterable[Action]
) -> BranchScope:
    if key not in parts:
        return BranchScope.ANY
    _require_applicable(parts[key], key, actions, allowed)
    return BranchScope(parts[key].choice([scope.value for scope in BranchScope]))


def _names(
    parts: Mapping[str, Tree], key: str, actions: Iterable[Action], allowed: Iterable[Action]
) -> tuple[str, ...]:
    if key not in parts:
        return ()
    _require_applicable(parts[key], key, actions, allowed)
    return parts[key].texts(empty=False)


def _require_applicable(
    tree: Tree, key: str, actions: Iterable[Action], allowed: Iterable[Action]
) -> None:
    allowed = frozenset(allowed)
    for action in actions:
        if action not in allowed:
            fitting = ", ".join(sorted(allowed))
            tree.fail(
                f"does not apply to {action.value!r}",
                remedy=f"`{key}` applies to {fitting}; write two rules",
            )


def _require_valid(body: Tree, parts: Mapping[str, Tree], rule: PolicyRule) -> None:
    if all(key in parts for key in _SCOPES):
        body.fail("has both `branch_scope` and `target_branch_scope`", remedy="write two rules")
    if rule.properties and rule.effect is Effect.ALLOW:
        parts["properties"].fail("is only allowed in `deny`", remedy="deny the other properties")
    for name in rule.properties:
        if name.count(".") != 1:
            parts["properties"].fail(f"is not `Type.property`: {name!r}")
    denies_types = (rule.types or rule.properties) and rule.effect is Effect.DENY
    if (
        denies_types
        and rule.branch_scope is not BranchScope.ANY
        and rule.actions != (Action.CHANGE,)
    ):
        # Otherwise an actor could create a branch and read the hidden data there.
        parts["branch_scope"].fail(
            "cannot limit a denied type or property to some branches: others contain the same data",
            remedy="deny it on every branch",
        )


def _require_unique(tree: Tree, rules: tuple[PolicyRule, ...]) -> None:
    seen: set[str] = set()
    for item, rule in zip(tree.items(), rules, strict=True):
        if rule.id in seen:
            item.entries()["id"].fail(f"repeats {rule.id!r}")
        seen.add(rule.id)


def _require_one_subject(tree: Tree, rules: tuple[PolicyRule, ...]) -> None:
    actions = {action for rule in rules for action in rule.actions}
    if actions & SERVER_ACTIONS and actions - SERVER_ACTIONS:
        tree.fail(
            "mix actions on graphs with `graph_list`, which applies to a server",
            remedy="write a separate bundle for the server",
        )
