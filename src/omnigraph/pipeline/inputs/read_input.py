"""The input as it was read: its chunks, record counts and line numbers."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from omnigraph.integrity.violations import Violation
from omnigraph.pipeline.scratch.row_chunks import CHUNK_BITS, RowChunk, TypeChunk, chunk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from omnigraph.catalog.model import Catalog, EntityType, TypeId
    from omnigraph.pipeline.inputs.mapped_frames import RecordLocator

__all__ = ["ReadInput", "assemble"]


@dataclass(frozen=True)
class _FileSection:
    """The records that one task read of one file, and the number of lines before them."""

    file: str
    first_record: int
    lines_before: int


@dataclass(frozen=True)
class ReadInput:
    """The chunks of one load, in the order of the input."""

    chunks: tuple[RowChunk, ...]
    entities: dict[TypeId, EntityType]
    # Errors of whole files.
    file_errors: tuple[Violation, ...] = ()
    digest: str | None = None
    # For mapped sources: the first task of each, and the locator of its rows.
    locators: tuple[tuple[int, RecordLocator], ...] = ()
    _before: dict[int, int] = field(default_factory=dict)
    _file_sections: tuple[_FileSection, ...] = ()

    @property
    def records(self) -> int:
        return sum(chunk.records for chunk in self.chunks)

    @property
    def is_partial(self) -> bool:
        """Return whether some records were unreadable, so that an absent entity proves nothing."""
        return bool(self.file_errors) or any(chunk.partial for chunk in self.chunks)

    @property
    def violation_files(self) -> list[str]:
        return [chunk.violations for chunk in self.chunks if chunk.violations is not None]

    def rows(self, type_id: TypeId) -> list[tuple[int, TypeChunk]]:
        """Return the chunks with rows of a type, by number."""
        return self._of(type_id, deletes=False)

    def deletes(self, type_id: TypeId) -> list[tuple[int, TypeChunk]]:
        """Return the chunks with ids of a type to delete."""
        return self._of(type_id, deletes=True)

    def has_generated_ids(self, type_id: TypeId) -> bool:
        """Return whether every id of a type is generated: it can neither repeat nor exist."""
        return all(part.generated for _, part in self.rows(type_id))

    def number(self, record: int) -> int:
        """Return the position of a record in the input, from 1."""
        chunk, place = chunk_of(record)
        return self._before[chunk] + place + 1

    def location_of(self, number: int, line: int | None) -> tuple[str | None, int | None]:
        """Return the file of a record and its line there; ``line`` counts within its task."""
        at = bisect_right([section.first_record for section in self._file_sections], number) - 1
        if at < 0:
            return None, line
        found = self._file_sections[at]
        return found.file, None if line is None else found.lines_before + line

    def locator(self, record: int) -> RecordLocator | None:
        """Return the locator of a record's source, if it was mapped."""
        task = chunk_of(record)[0] >> CHUNK_BITS
        at = bisect_right([first for first, _ in self.locators], task) - 1
        return self.locators[at][1] if at >= 0 else None

    def replacing(self, files: Mapping[tuple[int, TypeId], TypeChunk]) -> ReadInput:
        """Return the same load with other files for some chunks of some types."""
        if not files:
            return self
        chunks = tuple(
            replace(
                chunk,
                types=tuple(
                    part if part.rows is None else files.get((chunk.number, part.type_id), part)
                    for part in chunk.types
                ),
            )
            for chunk in self.chunks
        )
        return replace(self, chunks=chunks)

    def _of(self, type_id: TypeId, *, deletes: bool) -> list[tuple[int, TypeChunk]]:
        return [
            (chunk.number, part)
            for chunk in self.chunks
            for part in chunk.types
            if part.type_id == type_id and (part.rows is None) is deletes
        ]


def assemble(
    results: Iterable[dict[str, Any]], catalog: Catalog, named: Sequence[EntityType] = ()
) -> ReadInput:
    """Merge the results of all tasks in order. ``named`` are types that the request names."""
    results = sorted(results, key=lambda result: result["split"])
    chunks = sorted(
        (RowChunk.from_json(body) for result in results for body in result["chunks"]),
        key=lambda chunk: chunk.number,
    )
    before = accumulate((chunk.records for chunk in chunks), initial=0)
    types = [entity.id for entity in named]
    types += [key for result in results for key in result["types"]]
    digests = [part["digest"] for result in results for part in result["sections"]]
    return ReadInput(
        tuple(chunks),
        {key: catalog.types[key] for key in dict.fromkeys(types)},
        tuple(Violation(**body) for result in results for body in result["file_errors"]),
        sha256("".join(filter(None, digests)).encode()).hexdigest() if any(digests) else None,
        _before={chunk.number: count for chunk, count in zip(chunks, before, strict=False)},
        _file_sections=tuple(_file_sections(results)),
    )


def _file_sections(results: Iterable[dict[str, Any]]) -> Iterable[_FileSection]:
    first, lines = 1, dict[str, int]()
    for result in results:
        for section in result["sections"]:
            file = section["file"]
            yield _FileSection(file, first, lines.get(file, 0))
            lines[file] = lines.get(file, 0) + section["lines"]
            first += section["records"]
