"""Rewriting trees of the IR and of plans. Unchanged parts stay the same objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.ir.walk import fields_of
from omnigraph.planner.plan import Match, Node, inputs, with_inputs
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.ir.queries import Block

__all__ = ["change_blocks", "change_nodes", "rewrite"]

_Tree = TypeVar("_Tree")


def rewrite(
    tree: _Tree, change: Callable[[Any], Any], *, whole: type | tuple[type, ...] = ()
) -> _Tree:
    """The tree with every node changed, from the leaves up; nodes of the kinds ``whole`` stay."""
    checkpoint()
    if isinstance(tree, whole):
        return tree
    if isinstance(tree, tuple):
        items = tuple(rewrite(item, change, whole=whole) for item in tree)
        same = all(new is old for new, old in zip(items, tree, strict=True))
        return tree if same else items  # type: ignore[return-value]  # a tuple for a tuple
    names = fields_of(type(tree))
    if names is None:
        return tree
    changed: dict[str, Any] = {}
    for name in names:
        old = getattr(tree, name)
        if type(old) is not tuple and fields_of(type(old)) is None:
            continue
        new = rewrite(old, change, whole=whole)
        if new is not old:
            changed[name] = new
    node: Any = tree
    return change(replace(node, **changed) if changed else node)  # type: ignore[no-any-return]


def change_nodes(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with every operator changed, from the leaves up."""
    below = [change_nodes(child, change) for child in inputs(node)]
    if any(new is not old for new, old in zip(below, inputs(node), strict=True)):
        node = with_inputs(node, below)
    return change(node)


def change_blocks(node: Node, change: Callable[[Block], Block]) -> Node:
    """The plan with every block that has yet to be planned changed."""

    def on(each: Node) -> Node:
        return replace(each, block=change(each.block)) if isinstance(each, Match) else each

    return change_nodes(node, on)
