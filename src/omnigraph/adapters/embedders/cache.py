"""Vectors on disk, by model, task, dimension and hash of the text.

The cache is an optimisation: a fault of it is a miss, and never fails an embedding. It contains no
text and no key. SQLite makes it safe for several processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["VectorCache", "text_key"]

_SCHEMA = """
create table if not exists vectors (
    key blob primary key, vector blob not null, used integer not null
) without rowid;
create index if not exists by_use on vectors (used);
"""
_BUSY_SECONDS = 2.0
_KEYS_PER_QUERY = 500
_EVICTED_SHARE = 0.25
# Key, time and pages around a vector.
_ROW_BYTES = 80


def text_key(space: str, text: str) -> bytes:
    """Return the key of a text in the space of a model."""
    return hashlib.blake2b(f"{space}\n{text}".encode(), digest_size=32).digest()


class VectorCache:
    """A cache of at most ``bytes_max`` bytes; the least recently used vectors are evicted."""

    def __init__(self, path: str, bytes_max: int) -> None:
        self._path = Path(path).expanduser()
        self._bytes_max = bytes_max
        self._lock = threading.Lock()

    def get(self, keys: Sequence[bytes], dim: int) -> dict[bytes, list[float]]:
        """Return the vectors that the cache has."""
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as connection:
            found = dict(_select(connection, keys, dim))
            self._touch(connection, found)
            return found
        return {}

    def put(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Store vectors, and evict others above the size."""
        now = SYSTEM_CLOCK.now_micros()
        rows = [
            (key, np.asarray(vector, dtype="<f8").tobytes(), now) for key, vector in vectors.items()
        ]
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as connection:
            connection.executemany("insert or replace into vectors values (?, ?, ?)", rows)
            self._evict(connection)

    @staticmethod
    def _touch(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
        now = SYSTEM_CLOCK.now_micros()
        connection.executemany(
            "update vectors set used = ? where key = ?", [(now, key) for key in keys]
        )

    def _evict(self, connection: sqlite3.Connection) -> None:
        query = "select count(*), coalesce(sum(length(vector)), 0) from vectors"
        count, size = connection.execute(query).fetchone()
        if size + count * _ROW_BYTES > self._bytes_max:
            # Several at once, so that not every write evicts.
            kept = self._bytes_max * (1 - _EVICTED_SHARE) / (size + count * _ROW_BYTES)
            connection.execute(
                "delete from vectors where key in (select key from vectors order by used limit ?)",
                (max(1, int(count * (1 - kept))),),
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._connect()
            try:
                with connection:
                    yield connection
            finally:
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Only the owner reads it: vectors reveal something of the texts.
        self._path.touch(mode=0o600)
        try:
            return _open(self._path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            # Damaged; everything in it can be made again.
            self._path.unlink(missing_ok=True)
            self._path.touch(mode=0o600)
            return _open(self._path)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS)
    try:
        connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _select(
    connection: sqlite3.Connection, keys: Sequence[bytes], dim: int
) -> Iterator[tuple[bytes, list[float]]]:
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        asked = keys[start : start + _KEYS_PER_QUERY]
        marks = ",".join("?" * len(asked))
        query = f"select key, vector from vectors where key in ({marks})"  # noqa: S608 - marks only
        for key, content in connection.execute(query, asked):
            if len(content) == 8 * dim:
                yield key, np.frombuffer(content, dtype="<f8").tolist()
