"""YAML with positions: nodes that know where they stand, and complaints that say so."""

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
    """A node of a YAML text. What is not as it should be is ``policy.bad_bundle``."""

    node: yaml.Node
    file: str
    # What the node is, for messages: ``rules[2].allow``.
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
        """The values of a mapping that has these keys and no others."""
        entries = self.entries()
        required = list(required)
        known = [*required, *optional]
        for key, value in entries.items():
            if key not in known:
                value.fail(f"is not known: {key!r}", remedy=f"known here: {', '.join(known)}")
        for key in required:
            if key not in entries:
                self.fail(f"lacks {key!r}")
        return entries

    def entries(self) -> dict[str, Tree]:
        """Key and value of a mapping; a key that stands twice is an error."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(f"must be a mapping, not {_KINDS[type(self.node)]}")
        found: dict[str, Tree] = {}
        for key_node, value_node in self.node.value:
            key = Tree(key_node, self.file, self.path).text()
            if key in found:
                Tree(key_node, self.file, self.path).fail(f"has {key!r} twice")
            path = f"{self.path}.{key}" if self.path else key
            found[key] = Tree(value_node, self.file, path)
        return found

    def items(self, *, empty: bool = True) -> list[Tree]:
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(f"must be a list, not {_KINDS[type(self.node)]}")
        if not self.node.value and not empty:
            self.fail("must not be empty")
        return [
            Tree(node, self.file, f"{self.path}[{place}]")
            for place, node in enumerate(self.node.value)
        ]

    def text(self) -> str:
        """A non-empty text. ``yes`` and ``1`` are not texts unless they are quoted."""
        node = self.node
        if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:str":
            self.fail("must be a text", remedy="quote it if it looks like something else")
        if not node.value.strip() or node.value != node.value.strip():
            self.fail("must be a text without blanks around it")
        return str(node.value)

    def texts(self, *, empty: bool = True) -> tuple[str, ...]:
        """Different texts, in their order."""
        found: list[str] = []
        for item in self.items(empty=empty):
            if item.text() in found:
                item.fail(f"repeats {item.text()!r}")
            found.append(item.text())
        return tuple(found)

    def require_version(self, number: int) -> None:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.value != str(number):
            self.fail(f"must be {number}", remedy="this build knows no other version")

    def choice(self, allowed: Iterable[str]) -> str:
        allowed = list(allowed)
        if self.text() not in allowed:
            self.fail(f"must not be {self.text()!r}", remedy=f"one of: {', '.join(allowed)}")
        return self.text()


def parse_tree(text: str, file: str) -> Tree:
    """The tree of a YAML text, or ``policy.bad_bundle`` where it stops being YAML."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = getattr(error, "problem", None) or "not YAML"
        raise InvalidInput("policy.bad_bundle", f"{where}: {problem}") from error
    if node is None:
        raise InvalidInput("policy.bad_bundle", f"{file}:1:1: the file says nothing")
    return Tree(node, file)
