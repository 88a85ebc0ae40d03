"""Parse YAML into nodes with positions for error messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import yaml

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Tree", "parse_tree"]

_KINDS = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a value"}


@dataclass(frozen=True)
class Tree:
    """A YAML node; its methods raise ``policy.bad_bundle`` for unexpected content."""

    node: yaml.Node
    file: str
    # Path of the node for messages, such as ``rules[2].allow``.
    path: str = ""

    def fail(self, problem: str, *, remedy: str | None = None) -> NoReturn:
        mark = self.node.start_mark
        where = f"{self.file}:{mark.line + 1}:{mark.column + 1}"
        name = f" {self.path}" if self.path else ""
        raise InvalidInput(
            "policy.bad_bundle",
            f"{where}:{name} {problem}",
            details={"file": self.file, "line": mark.line + 1, "column": mark.column + 1},
            remedy=remedy,
        )

    def fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Tree]:
        """Return the values of a mapping with exactly these keys."""
        entries = self.entries()
        required = list(required)
        known = [*required, *optional]
        for key, value in entries.items():
            if key not in known:
                value.fail(f"is an unknown key: {key!r}", remedy=f"one of: {', '.join(known)}")
        for key in required:
            if key not in entries:
                self.fail(f"lacks {key!r}")
        return entries

    def entries(self) -> dict[str, Tree]:
        """Return keys and values of a mapping; a duplicate key is an error."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(f"must be a mapping, not {_KINDS[type(self.node)]}")
        found: dict[str, Tree] = {}
        for key_node, value_node in self.node.value:
            key = Tree(key_node, self.file, self.path).text()
            if key in found:
                Tree(key_node, self.file, self.path).fail(f"repeats the key {key!r}")
            path = f"{self.path}.{key}" if self.path else key
            found[key] = Tree(value_node, self.file, path)
        return found

    def items(self, *, empty: bool = True) -> list[Tree]:
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(f"must be a list, not {_KINDS[type(self.node)]}")
        if not self.node.value and not empty:
            self.fail("must not be empty")
        return [
            Tree(node, self.file, f"{self.path}[{index}]")
            for index, node in enumerate(self.node.value)
        ]

    def text(self) -> str:
        """Return a non-empty string; ``yes`` and ``1`` must be quoted."""
        node = self.node
        if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:str":
            self.fail("must be a string", remedy="quote it if it looks like another type")
        if not node.value.strip() or node.value != node.value.strip():
            self.fail("must be a non-empty string without surrounding blanks")
        return str(node.value)

    def texts(self, *, empty: bool = True) -> tuple[str, ...]:
        """Return a list of distinct strings."""
        found: list[str] = []
        for item in self.items(empty=empty):
            if item.text() in found:
                item.fail(f"repeats {item.text()!r}")
            found.append(item.text())
        return tuple(found)

    def require_version(self, number: int) -> None:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.value != str(number):
            self.fail(f"must be {number}", remedy="this release supports no other version")

    def choice(self, allowed: Iterable[str]) -> str:
        allowed = list(allowed)
        if self.text() not in allowed:
            self.fail(f"must not be {self.text()!r}", remedy=f"one of: {', '.join(allowed)}")
        return self.text()


def parse_tree(text: str, file: str) -> Tree:
    """Parse a YAML text; raise ``policy.bad_bundle`` at a syntax error."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = getattr(error, "problem", None) or "not YAML"
        raise InvalidInput("policy.bad_bundle", f"{where}: {problem}") from error
    if node is None:
        raise InvalidInput("policy.bad_bundle", f"{file}:1:1: the file is empty")
    return Tree(node, file)
