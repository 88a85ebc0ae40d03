"""The commands of a cluster, one function each; the command line prints their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cluster.reporting import ClusterDiagnostic, Report
from omnigraph.cluster.resources import dependencies_of
from omnigraph.cluster.validation import CONFIG_FILE, load_cluster
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.cluster.resources import Resource

__all__ = ["ValidateResult", "validate_cluster"]


@frozen
class ValidateResult:
    """The checked resources of a directory; empty if there are errors."""

    directory: str
    resources: tuple[Resource, ...]
    diagnostics: tuple[ClusterDiagnostic, ...]
    ok: bool

    def to_json(self) -> dict[str, Any]:
        entries = {each.address: each.entry for each in self.resources}
        return {
            "ok": self.ok,
            "config_dir": self.directory,
            "config_file": f"{self.directory}/{CONFIG_FILE}",
            "resource_digests": {each.address: each.digest for each in self.resources},
            "resources": [each.to_json() for each in self.resources],
            "dependencies": [
                {"from": source, "to": target} for source, target in dependencies_of(entries)
            ],
            "diagnostics": [each.to_json() for each in self.diagnostics],
        }


def validate_cluster(directory: Path) -> ValidateResult:
    """Check a cluster directory without access to its storage."""
    report = Report()
    desired = load_cluster(directory, report)
    found = sorted(desired.resources.items()) if desired else ()
    return ValidateResult(
        str(directory), tuple(each for _, each in found), tuple(report), report.ok
    )
