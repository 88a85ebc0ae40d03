"""A small cluster directory, and the command line in this process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.cli.program import run
from omnigraph.testing.example_cluster import write_cluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    """No address, actor or configuration comes from the environment."""
    for name in ("STORE", "PROFILE", "CLUSTER", "FAULT"):
        monkeypatch.delenv(f"OMNIGRAPH_{name}", raising=False)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path_factory.mktemp("operator")))


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A directory that declares one graph with two queries and a policy."""
    directory = tmp_path / "cluster"
    write_cluster(directory)
    return directory


@pytest.fixture
def call(cluster: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run ``omnigraph cluster VERB`` with ``--json``; return exit code and body."""

    def run_verb(*arguments: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run(["cluster", *arguments, "--config", str(cluster), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run_verb
