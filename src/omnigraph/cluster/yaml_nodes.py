"""YAML nodes with positions, for a reader that reports every problem of a file.

A node of a wrong kind is reported and reads as empty, so that one run finds all errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from omnigraph.cluster.reporting import ClusterDiagnostic, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["YamlNode", "parse_nodes"]

_KINDS = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a value"}
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"
_BOOL = "tag:yaml.org,2002:bool"
_INVALID = "invalid_cluster_yaml"


class YamlNode:
    """A node at a key path."""

    def __init__(self, node: Any, path: str, *, file: str, report: Report) -> None:
        self._node = node
        self.path = path
        self._file = file
        self._report = report

    def error(self, code: str, message: str, *, remedy: str | None = None) -> None:
        self._add(code, message, "error", remedy)

    def warn(self, code: str, message: str, *, remedy: str | None = None) -> None:
        self._add(code, message, "warning", remedy)

    def _add(self, code: str, message: str, severity: str, remedy: str | None) -> None:
        mark = self._node.start_mark
        self._report.add(
            ClusterDiagnostic(
                code,
                self.path,
                message,
                severity,
                self._file,
                mark.line + 1,
                mark.column + 1,
                remedy,
            )
        )

    @property
    def is_mapping(self) -> bool:
        return isinstance(self._node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self._node, yaml.SequenceNode)

    def entries(self) -> dict[str, YamlNode]:
        """Return the values of a mapping by key; a null is an empty mapping."""
        if isinstance(self._node, yaml.ScalarNode) and self._node.tag == _NULL:
            return {}
        if not self.is_mapping:
            self.error(_INVALID, f"must be a mapping, not {self._kind}")
            return {}
        found: dict[str, YamlNode] = {}
        for key_node, value_node in self._node.value:
            key = self._child(key_node, self.path)
            name = key.text(what="a key")
            if name is None:
                continue
            if name in found:
                key.error("duplicate_yaml_key", f"the key {name!r} occurs twice")
                continue
            found[name] = self._child(value_node, f"{self.path}.{name}" if self.path else name)
        return found

    def fields(
        self,
        known: Iterable[str],
        *,
        reserved: Mapping[str, str] | None = None,
        required: Iterable[str] = (),
    ) -> dict[str, YamlNode]:
        """Return the known keys of a mapping, and report the others."""
        names, held = list(known), reserved or {}
        found = self.entries()
        for name, value in found.items():
            if name in held:
                value.error(held[name], f"{name!r} is not supported", remedy="remove it")
            elif name not in names:
                value.error(_INVALID, f"unknown key {name!r}", remedy=f"one of: {', '.join(names)}")
        for name in required:
            if name not in found:
                self.error(_INVALID, f"lacks {name!r}")
        return {name: value for name, value in found.items() if name in names}

    def items(self) -> list[YamlNode]:
        if not self.is_list:
            self.error(_INVALID, f"must be a list, not {self._kind}")
            return []
        return [
            self._child(node, f"{self.path}[{index}]")
            for index, node in enumerate(self._node.value)
        ]

    def text(self, *, what: str = "the value") -> str | None:
        """Return a string; ``yes`` and ``1`` must be quoted."""
        node = self._node
        if not isinstance(node, yaml.ScalarNode) or node.tag != _TEXT:
            self.error(_INVALID, f"{what} must be a string", remedy="quote it")
            return None
        return str(node.value)

    def flag(self) -> bool | None:
        node = self._node
        if not isinstance(node, yaml.ScalarNode) or node.tag != _BOOL:
            self.error(_INVALID, "must be true or false")
            return None
        return str(node.value).lower() in {"true", "yes", "on"}

    def is_number(self, number: int) -> bool:
        node = self._node
        return isinstance(node, yaml.ScalarNode) and (node.tag, node.value) == (
            "tag:yaml.org,2002:int",
            str(number),
        )

    @property
    def _kind(self) -> str:
        return _KINDS[type(self._node)]

    def _child(self, node: Any, path: str) -> YamlNode:
        return YamlNode(node, path, file=self._file, report=self._report)


def parse_nodes(text: str, file: str, report: Report) -> YamlNode | None:
    """Parse a YAML text, or report why it is none."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        report.add(
            ClusterDiagnostic(
                _INVALID,
                file,
                str(getattr(error, "problem", None) or "not YAML, or nested too deeply"),
                "error",
                file,
                mark.line + 1 if mark else None,
                mark.column + 1 if mark else None,
            )
        )
        return None
    if node is None:
        report.error(_INVALID, file, "the file is empty", remedy="see docs/cluster.md")
        return None
    return YamlNode(node, "", file=file, report=report)
