"""Spark sessions: one per process, ours or the one that is there already."""

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
from omnigraph.pipeline.java import find_java, home_for_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

__all__ = ["SparkOptions", "is_installed", "is_submitted", "open_session"]

_LOCAL = "local"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_MEMORY_MIN_MIB, _MEMORY_MAX_MIB = 1_024, 8_192
# What Spark knows to start on. It would say so itself, but in the words of a JVM that broke down.
_MASTER = re.compile(
    r"local(\[(\*|\d+)(\s*,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://.+|yarn|k8s://.+"
)
_LOGGING = Path(__file__).with_name("log4j2.properties")


@frozen
class SparkOptions:
    """Which Spark to work with. With nothing given: all cores of this machine.

    ``master`` is ``local[*]``, ``local-cluster[…]``, ``spark://…``, ``yarn`` or ``k8s://…``;
    ``remote`` a Spark Connect address (``sc://…``, or ``local[*]`` for a server of our own).
    ``conf`` wins over everything that is set here.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


def is_installed() -> bool:
    """Whether PySpark can be imported; does not import it."""
    from importlib.util import find_spec  # noqa: PLC0415 - only who asks pays

    return find_spec("pyspark") is not None


def is_submitted() -> bool:
    """Whether ``spark-submit`` started this process: it has said which Spark, then."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def open_session(options: SparkOptions | None = None) -> SparkSession:
    """The session of this process; started with ``options`` when there is none."""
    options = options or SparkOptions()
    if options.master is not None and options.remote is not None:
        raise InvalidInput(
            "spark.two_places", "a master and a remote were given", remedy="choose one of the two"
        )
    _require_master(options.master)
    sessions = _load()
    active = sessions.getActiveSession()
    if active is not None:
        return _require_fitting(active, options)
    # Workers must run the Python that knows this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _java(options):
        return _start(sessions, options)


def _require_master(master: str | None) -> None:
    if master is not None and not _MASTER.fullmatch(master):
        raise InvalidInput(
            "spark.bad_master",
            f"{master!r} is not a master of Spark",
            remedy="one of: local[*], local[N], local-cluster[N,CORES,MIB], spark://HOST:PORT, "
            "yarn, k8s://URL",
        )


def _load() -> Any:
    """The one door to PySpark, for those who have no session yet."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - the door
    except ImportError as error:
        raise Unsupported(
            "spark.missing",
            f"PySpark is not installed: {error}",
            remedy="pip install 'omnigraph-py[spark]', or use the engine local",
        ) from error
    return SparkSession


def _require_fitting(active: SparkSession, options: SparkOptions) -> SparkSession:
    """A process has one session: asking for another place than it has is a mistake."""
    wanted = options.master
    actual = active.conf.get("spark.master", None)
    if wanted is not None and actual is not None and wanted != actual:
        raise InvalidInput(
            "spark.session_exists",
            f"this process has a Spark session on {actual} already, not on {wanted}",
            remedy="stop it first, or leave the master out",
        )
    return active


@contextmanager
def _java(options: SparkOptions) -> Iterator[None]:
    """While Spark starts, ``JAVA_HOME`` is a Java for it; others may want theirs back."""
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
            # The fork becomes a JVM at once, and never comes near Lance.
            warnings.filterwarnings("ignore", "lance is not fork-safe", UserWarning)
            started: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise StorageFault(
            "spark.not_started",
            f"Spark could not be started: {_said(error)}",
            remedy="check the master, the Java and the memory that it asks for",
        ) from error
    return started


def _silence() -> None:
    """What goes wrong is raised, and told by whoever catches it; not printed beside, with a trace
    of the JVM."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - comes with the session

    logging.getLogger("py4j").setLevel(logging.ERROR)
    # Whoever presses Ctrl-C interrupts a call to the JVM; the bridge would log that with a trace,
    # and not by a logger of its own.
    logging.getLogger().addFilter(_is_not_of_the_bridge)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _is_not_of_the_bridge(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _settings(master: str) -> dict[str, str]:
    """What makes Spark start quickly, stay quiet, and pass large Arrow batches."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # Frames that come from Python have no statistics, so the sizes are told by hints.
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
    """What the user says wins; options of Java stand beside ours, which keep it quiet."""
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


def _said(error: Exception) -> str:
    """What the JVM said, without where; the first line of what it passes on names only a call."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    return next((line.removeprefix(": ") for line in lines if line.startswith(": ")), lines[0])
