"""Check the requirements of a machine, one by one."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from omnigraph.cli.config import read_config
from omnigraph.cli.credentials import check_credentials
from omnigraph.cli.terminal import supports_unicode
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CheckFinding", "CheckState", "check_directory", "check_machine"]

_PYTHON_MIN = (3, 11)
_FREE_BYTES_MIN = 2**30
_NEEDED = ("pylance", "pyarrow", "obstore", "click")
_OPTIONAL = {
    "pyspark": "pip install 'omnigraph-py[spark]' to load and export on Spark",
    "starlette": "pip install 'omnigraph-py[server]' to serve graphs",
}


class CheckState(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    # An optional requirement is missing.
    NOTE = "note"
    BAD = "bad"


@frozen
class CheckFinding:
    """Result of one check."""

    check: str
    state: CheckState
    told: str
    remedy: str = ""


def check_machine() -> Iterator[CheckFinding]:
    """Check the program, its libraries and its files."""
    for look in (
        _python,
        _system,
        _libraries,
        _extras,
        _java,
        _configuration,
        _credentials,
        _output,
    ):
        yield from look()


def check_directory(directory: Path) -> Iterator[CheckFinding]:
    """Check whether a directory can store a graph."""
    while not directory.is_dir():
        directory = directory.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".omnigraph-doctor-", dir=directory) as scratch:
            for look in (_links, _sync, _letter_case):
                yield look(Path(scratch))
    except OSError as error:
        told = f"cannot write to {directory}: {error.strerror or error}"
        yield CheckFinding(
            "directory", CheckState.NOTE, told, "reads work; writes need another directory"
        )
    yield _disk(directory)


def _python() -> Iterator[CheckFinding]:
    version = platform.python_version()
    fine = sys.version_info >= _PYTHON_MIN
    remedy = "" if fine else "use Python 3.11 or newer"
    yield CheckFinding("python", CheckState.OK if fine else CheckState.BAD, version, remedy)


def _system() -> Iterator[CheckFinding]:
    name = f"{platform.system()} {platform.machine()}"
    known = sys.platform.startswith(("linux", "darwin"))
    remedy = "" if known else "keep graphs in a bucket, or run in WSL"
    yield CheckFinding("system", CheckState.OK if known else CheckState.BAD, name, remedy)


def _libraries() -> Iterator[CheckFinding]:
    for name in _NEEDED:
        version = _version(name)
        if version is None:
            yield CheckFinding(name, CheckState.BAD, "not installed", "pip install omnigraph-py")
        else:
            yield CheckFinding(name, CheckState.OK, version)


def _extras() -> Iterator[CheckFinding]:
    for name, remedy in _OPTIONAL.items():
        version = _version(name)
        if version is None:
            yield CheckFinding(name, CheckState.NOTE, "not installed", remedy)
        else:
            yield CheckFinding(name, CheckState.OK, version)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _java() -> Iterator[CheckFinding]:
    from omnigraph.pipeline.spark.java import find_java  # noqa: PLC0415 - only this check needs it

    try:
        java = find_java()
    except GraphError as error:
        yield CheckFinding("java", CheckState.NOTE, error.message, error.remedy or "")
    else:
        yield CheckFinding("java", CheckState.OK, f"{java.version}, by {java.found_by}")


def _configuration() -> Iterator[CheckFinding]:
    yield _file("configuration", lambda: str(read_config().path))


def _credentials() -> Iterator[CheckFinding]:
    yield _file("credentials", lambda: str(check_credentials()))


def _file(check: str, read: Callable[[], str]) -> CheckFinding:
    try:
        path = read()
    except GraphError as error:
        return CheckFinding(check, CheckState.BAD, error.message, error.remedy or "")
    return CheckFinding(check, CheckState.OK, path if Path(path).exists() else "none")


def _output() -> Iterator[CheckFinding]:
    encoding = getattr(sys.stdout, "encoding", None) or "none"
    fine = supports_unicode(sys.stdout)
    remedy = "" if fine else "set LC_ALL=C.UTF-8 for Unicode output"
    yield CheckFinding("output", CheckState.OK if fine else CheckState.NOTE, encoding, remedy)


def _links(scratch: Path) -> CheckFinding:
    (scratch / "file").write_bytes(b"")
    try:
        (scratch / "link").hardlink_to(scratch / "file")
    except OSError as error:
        told = f"not supported: {error.strerror or errno.errorcode.get(error.errno or 0, '')}"
        remedy = "keep the graph on a file system with hard links, or in a bucket"
        return CheckFinding("hard links", CheckState.BAD, told, remedy)
    return CheckFinding("hard links", CheckState.OK, "yes")


def _sync(scratch: Path) -> CheckFinding:
    began = perf_counter()
    with (scratch / "synced").open("wb") as file:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())
    return CheckFinding(
        "sync", CheckState.OK, f"{(perf_counter() - began) * 1_000:.1f} ms for one file"
    )


def _letter_case(scratch: Path) -> CheckFinding:
    (scratch / "case").write_bytes(b"")
    told = "case-insensitive" if (scratch / "CASE").exists() else "case-sensitive"
    return CheckFinding("letter case", CheckState.OK, told)


def _disk(directory: Path) -> CheckFinding:
    free = shutil.disk_usage(directory).free
    told = f"{free / 2**30:,.1f} GiB free at {directory}"
    fine = free >= _FREE_BYTES_MIN
    return CheckFinding(
        "disk", CheckState.OK if fine else CheckState.NOTE, told, "" if fine else "free some space"
    )
