"""Format the results of cluster commands as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from omnigraph.cli.terminal import colorize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.cluster.reporting import ClusterDiagnostic

__all__ = ["diagnostic_lines"]


def diagnostic_lines(diagnostics: Iterable[ClusterDiagnostic]) -> list[str]:
    """Format diagnostics with their positions and remedies."""
    lines = []
    for each in diagnostics:
        where = f"{each.file}:{each.line}:{each.column}: " if each.line else ""
        label = colorize(each.severity, "red" if each.severity == "error" else "yellow", sys.stdout)
        path = f"{each.path}: " if each.path else ""
        lines.append(f"{where}{label} [{each.code}] {path}{each.message}")
        if each.remedy:
            lines.append(f"  help: {each.remedy}")
    return lines
