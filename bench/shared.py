"""The workloads and peers that several projects share, where they are at hand.

They lie beside the repository (``../shared/bench``) or where ``OMNIGRAPH_PEERS`` says. The data of
a size is generated once and kept in the directory for temporary files, or in
``OMNIGRAPH_BENCH_DATA``.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["data_of", "import_peer", "peers_home"]

_ROOT = Path(__file__).resolve().parents[1]


def peers_home() -> Path | None:
    """Where the shared harness is, if it is anywhere."""
    home = Path(os.environ.get("OMNIGRAPH_PEERS", _ROOT.parent / "shared" / "bench"))
    return home if (home / "bench_core.py").exists() else None


def import_peer(name: str) -> Any:
    """A module of the shared harness."""
    home = peers_home()
    if home is None:
        raise ModuleNotFoundError(name)
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    return importlib.import_module(name)


def data_of(size: str) -> Path:
    """The generated files of a size: JSON lines, Parquet, and questions with their answers."""
    home = Path(os.environ.get("OMNIGRAPH_BENCH_DATA", Path(tempfile.gettempdir(), "social")))
    data = home / size
    if not (data / "queries.json").exists():
        harness = peers_home()
        if harness is None:
            raise FileNotFoundError(data)
        script = str(harness / "gen_social.py")
        subprocess.run(
            [sys.executable, script, "--size", size, "--out", str(data)],
            check=True,
            capture_output=True,
        )
    return data
