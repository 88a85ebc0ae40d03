"""The input as it was read: its chunks, record counts and line numbers."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from omnigraph.integrity.violations import Violation
from omnigraph.pipeline.scratch.row_chunks import PIECE_BITS, RowChunk, TypeChunk, piece_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from omnigraph.catalog.model import Catalog, EntityType, TypeId
    from omnigraph.pipeline.inputs.mapped_frames import Origin

__all__ = ["Material", "assemble"]


@dataclass(frozen=True)
class _Stretch:
    """The records that one task read of one file, and the number of lines before them."""

    file: str
    first_record: int
    lines_before: int


@dataclass(frozen=True)
class Material:
    """The chunks of one load, in the order of the input."""

    pieces: tuple[RowChunk, ...]
    entities: dict[TypeId, EntityType]
    # Errors of whole files.
    headers: tuple[Violation, ...] = ()
    digest: str | None = None
    # For mapped sources: the first task of each, and the locator of its rows.
    origins: tuple[tuple[int, Origin], ...] = ()
    _before: dict[int, int] = field(default_factory=dict)
    _stretches: tuple[_Stretch, ...] = ()

    @property
    def records(self) -> int:
        return sum(piece.records for piece in self.pieces)

    @property
    def is_partial(self) -> bool:
        """Return whether some records were unreadable, so that an absent entity proves nothing."""
        return bool(self.headers) or any(piece.partial for piece in self.pieces)

    @property
    def violation_files(self) -> list[str]:
        return [piece.violations for piece in self.pieces if piece.violations is not None]

    def rows(self, type_id: TypeId) -> list[tuple[int, TypeChunk]]:
        """Return the chunks with rows of a type, by number."""
        return self._of(type_id, deletes=False)

    def deletes(self, type_id: TypeId) -> list[tuple[int, TypeChunk]]:
        """Return the chunks with ids of a type to delete."""
        return self._of(type_id, deletes=True)

    def is_minted(self, type_id: TypeId) -> bool:
        """Return whether every id of a type is generated: it can neither repeat nor exist."""
        return all(part.minted for _, part in self.rows(type_id))

    def number(self, record: int) -> int:
        """Return the position of a record in the input, from 1."""
        piece, place = piece_of(record)
        return self._before[piece] + place + 1

    def place(self, number: int, line: int | None) -> tuple[str | None, int | None]:
        """Return the file of a record and its line there; ``line`` counts within its task."""
        at = bisect_right([stretch.first_record for stretch in self._stretches], number) - 1
        if at < 0:
            return None, line
        found = self._stretches[at]
        return found.file, None if line is None else found.lines_before + line

    def origin(self, record: int) -> Origin | None:
        """Return the locator of a record's source, if it was mapped."""
        task = piece_of(record)[0] >> PIECE_BITS
        at = bisect_right([first for first, _ in self.origins], task) - 1
        return self.origins[at][1] if at >= 0 else None

    def replacing(self, chunks: Mapping[tuple[int, TypeId], TypeChunk]) -> Material:
        """Return the same load with other files for some chunks of some types."""
        if not chunks:
            return self
        pieces = tuple(
            replace(
                piece,
                types=tuple(
                    part if part.rows is None else chunks.get((piece.number, part.type_id), part)
                    for part in piece.types
                ),
            )
            for piece in self.pieces
        )
        return replace(self, pieces=pieces)

    def _of(self, type_id: TypeId, *, deletes: bool) -> list[tuple[int, TypeChunk]]:
        return [
            (piece.number, part)
            for piece in self.pieces
            for part in piece.types
            if part.type_id == type_id and (part.rows is None) is deletes
        ]


def assemble(
    answers: Iterable[dict[str, Any]], catalog: Catalog, named: Sequence[EntityType] = ()
) -> Material:
    """Merge the results of all tasks in order. ``named`` are types that the request names."""
    told = sorted(answers, key=lambda answer: answer["split"])
    pieces = sorted(
        (RowChunk.from_json(body) for answer in told for body in answer["pieces"]),
        key=lambda piece: piece.number,
    )
    before = accumulate((piece.records for piece in pieces), initial=0)
    types = [entity.id for entity in named]
    types += [key for answer in told for key in answer["types"]]
    digests = [part["digest"] for answer in told for part in answer["sections"]]
    return Material(
        tuple(pieces),
        {key: catalog.types[key] for key in dict.fromkeys(types)},
        tuple(Violation(**body) for answer in told for body in answer["headers"]),
        sha256("".join(filter(None, digests)).encode()).hexdigest() if any(digests) else None,
        _before={piece.number: count for piece, count in zip(pieces, before, strict=False)},
        _stretches=tuple(_stretches(told)),
    )


def _stretches(told: Iterable[dict[str, Any]]) -> Iterable[_Stretch]:
    first, lines = 1, dict[str, int]()
    for answer in told:
        for section in answer["sections"]:
            file = section["file"]
            yield _Stretch(file, first, lines.get(file, 0))
            lines[file] = lines.get(file, 0) + section["lines"]
            first += section["records"]
