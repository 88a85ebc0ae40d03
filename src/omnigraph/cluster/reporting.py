"""Diagnostics of a cluster: code, severity, key path, position and remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ClusterDiagnostic", "ClusterRefusal", "Report", "refuse"]


@frozen
class ClusterDiagnostic:
    """One finding. ``path`` is a key path of ``cluster.yaml``, an address or an object."""

    code: str
    path: str
    message: str
    severity: str = "error"
    file: str | None = None
    line: int | None = None
    column: int | None = None
    remedy: str | None = None

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "path": self.path,
            "message": self.message,
        }
        more = {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "remedy": self.remedy,
        }
        return body | {name: value for name, value in more.items() if value is not None}


class ClusterRefusal(Exception):
    """Ends a command; nothing further is written. Commands convert it into a result."""

    def __init__(self, diagnostic: ClusterDiagnostic) -> None:
        super().__init__(f"[{diagnostic.code}] {diagnostic.message}")
        self.diagnostic = diagnostic


class Report:
    """Collects the diagnostics of one command, in the order of their discovery."""

    def __init__(self) -> None:
        self._found: list[ClusterDiagnostic] = []

    def __iter__(self) -> Iterator[ClusterDiagnostic]:
        return iter(self._found)

    @property
    def ok(self) -> bool:
        return all(found.severity != "error" for found in self._found)

    def add(self, diagnostic: ClusterDiagnostic) -> None:
        if diagnostic not in self._found:
            self._found.append(diagnostic)

    def error(self, code: str, path: str, message: str, *, remedy: str | None = None) -> None:
        self.add(ClusterDiagnostic(code, path, message, remedy=remedy))

    def warn(self, code: str, path: str, message: str, *, remedy: str | None = None) -> None:
        self.add(ClusterDiagnostic(code, path, message, "warning", remedy=remedy))

    def to_json(self) -> list[dict[str, Any]]:
        return [found.to_json() for found in self._found]


def refuse(code: str, path: str, message: str, *, remedy: str | None = None) -> NoReturn:
    """End the command with an error."""
    raise ClusterRefusal(ClusterDiagnostic(code, path, message, remedy=remedy))
