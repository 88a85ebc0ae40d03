"""Which engine does the work: this process, or Spark. Small work never starts a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from omnigraph.errors import GraphError, InvalidInput
from omnigraph.pipeline.inputs import is_frame, list_files, size_of
from omnigraph.pipeline.java import find_java
from omnigraph.pipeline.mapping import Mapping as SourceMapping
from omnigraph.pipeline.session import is_installed, is_submitted

__all__ = ["AUTO_BYTES", "AUTO_ROWS", "EngineName", "choose_for_export", "choose_for_load"]

# Below this a load in process is over before a session has started.
AUTO_BYTES = 256 * 2**20
AUTO_ROWS = 20_000_000


class EngineName(StrEnum):
    """What can be asked for."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


def choose_for_load(asked: str, source: Any, *, named: bool = False) -> EngineName:
    """The engine for an input. ``named``: a Spark was named, so it is wanted."""
    engine = _parse(asked)
    if engine is EngineName.LOCAL and needs_spark(source):
        raise InvalidInput(
            "spark.needed",
            "Spark data frames and mappings can only be loaded by Spark",
            remedy="leave the engine out",
        )
    if engine is not EngineName.AUTO:
        return engine
    if named or is_submitted() or needs_spark(source):
        return EngineName.SPARK
    large = (_bytes_of(source) or 0) >= AUTO_BYTES
    return EngineName.SPARK if large and _is_ready() else EngineName.LOCAL


def choose_for_export(asked: str, out: Any, rows: int, *, named: bool = False) -> EngineName:
    """The engine for so many rows. What is not a path can only be written by this process."""
    engine = _parse(asked)
    if engine is not EngineName.AUTO:
        return engine
    if named or is_submitted():
        return EngineName.SPARK
    large = rows >= AUTO_ROWS and isinstance(out, str | Path)
    return EngineName.SPARK if large and _is_ready() else EngineName.LOCAL


def needs_spark(source: Any) -> bool:
    """Whether an input is a mapping, or has a Spark data frame in it."""
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
    """How large the files of an input are; None where it is not made of files."""
    parts = list(source.values()) if isinstance(source, Mapping) else [source]
    paths: list[str | Path] = []
    for part in parts:
        named = [part] if isinstance(part, str | Path) else part
        if not isinstance(named, Iterable) or isinstance(named, bytes):
            return None
        if not isinstance(named, list | tuple):
            # Looking into a generator would empty it.
            return None
        if not all(isinstance(path, str | Path) for path in named):
            return None
        paths += named
    try:
        return sum(size_of(Path(file)) for file in list_files(paths))
    except (GraphError, OSError):
        # Whoever reads it will say what is wrong.
        return None


def _is_ready() -> bool:
    """Whether there is a Spark and a Java: where there is none, a large load may still fit."""
    if not is_installed():
        return False
    try:
        find_java()
    except GraphError:
        return False
    return True
