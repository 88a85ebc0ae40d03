"""INV-13: the tree that ``omnigraph.errors`` draws in its docstring is the tree that it defines."""

from __future__ import annotations

import re

from omnigraph import errors


def drawn_tree() -> dict[str, str | None]:
    """Class name → parent, read from the indentation of the drawing."""
    drawing = (errors.__doc__ or "").split("::\n\n", 1)[1].split("\n\n", 1)[0]
    tree: dict[str, str | None] = {}
    open_levels: list[tuple[int, str]] = []
    for line in drawing.splitlines():
        found = re.match(r"(\s*)([A-Z]\w+)", line)
        if not found:
            continue
        depth, name = len(found[1]), found[2]
        while open_levels and open_levels[-1][0] >= depth:
            open_levels.pop()
        tree[name] = open_levels[-1][1] if open_levels else None
        open_levels.append((depth, name))
    return tree


def defined_tree() -> dict[str, str | None]:
    classes = [getattr(errors, name) for name in errors.__all__]
    return {
        kind.__name__: None if kind.__base__ is Exception else kind.__base__.__name__
        for kind in classes
    }


def test_the_drawing_and_the_classes_agree() -> None:
    assert drawn_tree() == defined_tree()
