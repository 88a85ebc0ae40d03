"""Measure branch coverage and enforce the floor: ``make cover``.

Runs the tests at the boundaries of the write path and of the policy, then prints the branch
coverage of every package. The packages in ``FLOORS`` must not fall below their figure; the rest is
printed for orientation.
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FLOORS = {
    "writer": 95.0,
    "recovery": 95.0,
    "versioning": 95.0,
    "integrity": 95.0,
    "policy": 95.0,
}

TESTS = ("tests/unit", "tests/contract", "tests/fault", "tests/property")


def run_tests(report: Path, workers: str) -> int:
    """Run the tests under coverage and write the report as JSON."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-n", workers, "--dist", "loadgroup"),
        *("--cov", "--cov-branch", f"--cov-report=json:{report}", "--cov-report="),
        *TESTS,
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def coverage_by_package(report: Path) -> dict[str, tuple[int, int]]:
    """Return covered and existing branches and statements per package."""
    counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for name, entry in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        parts = Path(name).parts
        package = parts[parts.index("omnigraph") + 1].removesuffix(".py")
        summary = entry["summary"]
        covered, total = counts[package]
        counts[package] = (
            covered + summary["covered_lines"] + summary["covered_branches"],
            total + summary["num_statements"] + summary["num_branches"],
        )
    return dict(counts)


def main() -> int:
    """Print a line per package; exit with 1 when a test fails or a floor is missed."""
    workers = sys.argv[1] if len(sys.argv) > 1 else "2"
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "coverage.json")
        status = run_tests(report, workers)
        if not report.exists():
            return status or 1
        counts = coverage_by_package(report)
    missed = False
    for package, (covered, total) in sorted(counts.items()):
        percent = 100.0 * covered / max(total, 1)
        floor = FLOORS.get(package)
        below = floor is not None and percent < floor
        missed = missed or below
        note = f"  floor {floor:.0f}" if floor is not None else ""
        print(f"{package:16} {percent:6.1f} %{note}{'  MISSED' if below else ''}")
    return 1 if status or missed else 0


if __name__ == "__main__":
    sys.exit(main())
