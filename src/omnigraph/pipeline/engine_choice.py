"""The choice of the engine: this process or Spark. Small work never starts a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from omnigraph.errors import GraphError, InvalidInput
from omnigraph.pipeline.inputs.mapping import Mapping as SourceMapping
from omnigraph.pipeline.inputs.splits import is_frame, list_files, size_of
from omnigraph.pipeline.spark.java import find_java
from omnigraph.pipeline.spark.session import is_installed, is_submitted

__all__ = ["AUTO_BYTES", "AUTO_ROWS", "EngineName", "choose_for_export", "choose_for_load"]

# Below this size a load in process finishes before a session has started.
AUTO_BYTES = 256 * 2**20
AUTO_ROWS = 20_000_000


class EngineName(StrEnum):
    """The engines that a caller can choose."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


def choose_for_load(asked: str, source: Any, *, named: bool = False) -> EngineName:
    """Choose the engine for an input; ``named`` means that the caller gave a Spark."""
    engine = _parse(asked)
    if engine is EngineName.LOCAL and needs_spark(source):
        raise InvalidInput(
            "spark.needed",
            "Spark data frames and mappings need Spark",
            remedy="leave out engine, or set it to spark",
        )
    if engine is not EngineName.AUTO:
        return engine
    if named or is_submitted() or needs_spark(source):
        return EngineName.SPARK
    large = (_bytes_of(source) or 0) >= AUTO_BYTES
    return EngineName.SPARK if large and _is_ready() else EngineName.LOCAL


def choose_for_export(asked: str, out: Any, rows: int, *, named: bool = False) -> EngineName:
    """Choose the engine for an export of ``rows`` rows. Only this process writes to a stream."""
    engine = _parse(asked)
    if engine is not EngineName.AUTO:
        return engine
    if named or is_submitted():
        return EngineName.SPARK
    large = rows >= AUTO_ROWS and isinstance(out, str | Path)
    return EngineName.SPARK if large and _is_ready() else EngineName.LOCAL


def needs_spark(source: Any) -> bool:
    """Return whether an input is a mapping or contains a Spark data frame."""
    if isinstance(source, SourceMapping):
        return True
    parts = source.values() if isinstance(source, Mapping) else [source]
    return any(is_frame(part) for part in parts)


def _parse(asked: str) -> EngineName:
    try:
        return EngineName(asked)
    except ValueError:
        raise InvalidInput(
            "spark.bad_engine",
            f"{asked!r} is not an engine",
            remedy=f"one of: {', '.join(EngineName)}",
        ) from None


def _bytes_of(source: Any) -> int | None:
    """Sum the sizes of the files of an input; None for an input that is not made of files."""
    parts = list(source.values()) if isinstance(source, Mapping) else [source]
    paths: list[str | Path] = []
    for part in parts:
        named = [part] if isinstance(part, str | Path) else part
        if not isinstance(named, Iterable) or isinstance(named, bytes):
            return None
        if not isinstance(named, list | tuple):
            # Iterating over a generator would exhaust it.
            return None
        if not all(isinstance(path, str | Path) for path in named):
            return None
        paths += named
    try:
        return sum(size_of(Path(file)) for file in list_files(paths))
    except (GraphError, OSError):
        # The reader raises the error with more detail.
        return None


def _is_ready() -> bool:
    """Return whether PySpark and Java are present; without them a large load still runs in
    process."""
    if not is_installed():
        return False
    try:
        find_java()
    except GraphError:
        return False
    return True
