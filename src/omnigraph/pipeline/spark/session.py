"""Spark sessions: one per process, opened here or found active."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.errors import InvalidInput, StorageFault, Unsupported
from omnigraph.frozen import frozen
from omnigraph.pipeline.spark.java import find_java, home_for_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

__all__ = ["SparkOptions", "is_installed", "is_submitted", "open_session"]

_LOCAL = "local"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_MEMORY_MIN_MIB, _MEMORY_MAX_MIB = 1_024, 8_192
# Master URLs that Spark supports. Its own error for others is a stack trace of the JVM.
_MASTER = re.compile(
    r"local(\[(\*|\d+)(\s*,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://.+|yarn|k8s://.+"
)
_LOGGING = Path(__file__).with_name("log4j2.properties")


@frozen
class SparkOptions:
    """The Spark to use. By default a local one on all cores.

    ``master`` is ``local[*]``, ``local-cluster[…]``, ``spark://…``, ``yarn`` or ``k8s://…``;
    ``remote`` is a Spark Connect address (``sc://…``, or ``local[*]`` for a server started here).
    ``conf`` overrides every other setting.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


def is_installed() -> bool:
    """Return whether PySpark is installed, without importing it."""
    from importlib.util import find_spec  # noqa: PLC0415 - rarely needed

    return find_spec("pyspark") is not None


def is_submitted() -> bool:
    """Return whether ``spark-submit`` started this process, which then fixes the Spark."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def open_session(options: SparkOptions | None = None) -> SparkSession:
    """Return the session of this process, or start one with ``options``."""
    options = options or SparkOptions()
    if options.master is not None and options.remote is not None:
        raise InvalidInput(
            "spark.two_places", "a master and a remote are given", remedy="choose one of the two"
        )
    _require_master(options.master)
    sessions = _load()
    active = sessions.getActiveSession()
    if active is not None:
        return _require_fitting(active, options)
    # Workers must run the Python that has this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _java(options):
        return _start(sessions, options)


def _require_master(master: str | None) -> None:
    if master is not None and not _MASTER.fullmatch(master):
        raise InvalidInput(
            "spark.bad_master",
            f"{master!r} is not a Spark master URL",
            remedy="one of: local[*], local[N], local-cluster[N,CORES,MIB], spark://HOST:PORT, "
            "yarn, k8s://URL",
        )


def _load() -> Any:
    """Import PySpark, for callers without a session. Other modules import it on executors only."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise Unsupported(
            "spark.missing",
            f"PySpark is not installed: {error}",
            remedy="pip install 'omnigraph-py[spark]', or use the engine local",
        ) from error
    return SparkSession


def _require_fitting(active: SparkSession, options: SparkOptions) -> SparkSession:
    """Return the active session of this process, or reject a request for another master."""
    wanted = options.master
    actual = active.conf.get("spark.master", None)
    if wanted is not None and actual is not None and wanted != actual:
        raise InvalidInput(
            "spark.session_exists",
            f"this process already has a Spark session on {actual}, not on {wanted}",
            remedy="stop it first, or leave out the master",
        )
    return active


@contextmanager
def _java(options: SparkOptions) -> Iterator[None]:
    """Set ``JAVA_HOME`` while Spark starts, and restore it afterwards."""
    here = options.remote is None or options.remote.startswith(_LOCAL)
    if is_submitted() or not here:
        yield
        return
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(home_for_spark(find_java()))
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _start(sessions: Any, options: SparkOptions) -> SparkSession:
    builder = sessions.builder.appName("omnigraph")
    if options.remote is not None:
        builder = builder.remote(options.remote)
        settings = dict(options.conf)
    elif is_submitted():
        settings = {"spark.sql.session.timeZone": "UTC", **options.conf}
    else:
        master = options.master or "local[*]"
        builder = builder.master(master)
        settings = _with_conf(_settings(master), options.conf)
    for key, value in settings.items():
        builder = builder.config(key, value)
    _silence()
    try:
        with warnings.catch_warnings():
            # The forked process becomes a JVM at once and never uses Lance.
            warnings.filterwarnings("ignore", "lance is not fork-safe", UserWarning)
            started: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise StorageFault(
            "spark.not_started",
            f"Spark could not be started: {_error_message(error)}",
            remedy="check the master, the Java and the memory settings",
        ) from error
    return started


def _silence() -> None:
    """Silence loggers that print a JVM trace for an error that is raised anyway."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - comes with the session

    logging.getLogger("py4j").setLevel(logging.ERROR)
    # Ctrl-C interrupts a call to the JVM; py4j would log that with a trace, through the root
    # logger.
    logging.getLogger().addFilter(_is_not_py4j)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _settings(master: str) -> dict[str, str]:
    """Return settings for a fast start, little output, and large Arrow batches."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # Frames from Python have no statistics, so hints give their sizes.
        "spark.sql.join.preferSortMergeJoin": "false",
    }
    if master.startswith(_LOCAL):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 2)),
            "spark.driver.memory": f"{_quarter_of_memory_mib()}m",
        }
    return settings


def _with_conf(settings: Mapping[str, str], conf: Mapping[str, str]) -> dict[str, str]:
    """Merge settings; the user's win, and Java options are appended to the defaults."""
    found = {**settings, **conf}
    if _JAVA_OPTIONS in conf:
        found[_JAVA_OPTIONS] = f"{settings[_JAVA_OPTIONS]} {conf[_JAVA_OPTIONS]}"
    return found


def _quarter_of_memory_mib() -> int:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):
        total = 4 * _MEMORY_MIN_MIB
    return max(_MEMORY_MIN_MIB, min(total // 4, _MEMORY_MAX_MIB))


def _error_message(error: Exception) -> str:
    """Return the message of a JVM error; its first line often names a call only."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    return next((line.removeprefix(": ") for line in lines if line.startswith(": ")), lines[0])
