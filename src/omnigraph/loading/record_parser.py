"""The record parser: records to typed rows, one at a time; it finds every violation."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.changeset.rows import fill_defaults, to_arrow
from omnigraph.datatypes.types import STRING, EnumType
from omnigraph.datatypes.values import ValueProblem, canonical_key, coerce_json
from omnigraph.integrity.unnamed import pack_unnamed
from omnigraph.integrity.violations import Violation
from omnigraph.loading.batches import Deletions, Parsed, cut_batches
from omnigraph.loading.envelopes import open_envelope, open_flat, unknown_property
from omnigraph.loading.identity import ID_BITS_MAX, canonical_id, generate_ids, id_text
from omnigraph.loading.json_decoder import JsonProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.catalog.model import EntityType, Property, TypeId
    from omnigraph.changeset.rows import Row
    from omnigraph.loading.batches import Batch
    from omnigraph.loading.envelopes import Envelope
    from omnigraph.loading.json_schemas import JsonSchemas

__all__ = ["type_records"]

# The text of an unreadable record is cut to this length.
_TEXT_MAX = 2**20
_SHOWN_MAX = 120


def type_records(records: Iterable[tuple[Any, int | None]], json_schemas: JsonSchemas) -> Parsed:
    """Parse records or problems, each with its line, to typed rows."""
    typing = _Typing(json_schemas)
    lines = []
    for record, line in records:
        typing.add(record)
        lines.append(line)
    return typing.parsed(lines)


class _Typing:
    def __init__(self, json_schemas: JsonSchemas) -> None:
        self._catalog = json_schemas.catalog
        self._mode = json_schemas.mode
        self._entity = json_schemas.entity
        self._count = 0
        self._rows: dict[TypeId, list[Row]] = {}
        self._records: dict[TypeId, list[int]] = {}
        self._named: dict[TypeId, list[list[bool]]] = {}
        self._deleted: dict[TypeId, list[tuple[str, int]]] = {}
        self._violations: list[Violation] = []
        # The violations of the current record.
        self._faults: list[Violation] = []

    def add(self, record: Any) -> None:
        self._faults = []
        envelope = self._open(record)
        if isinstance(envelope, JsonProblem):
            self._fault(envelope.rule, envelope.message)
        elif envelope.deletes:
            self._delete(envelope)
        else:
            self._type(envelope)
        if self._faults:
            text = _as_text(record)
            self._violations += [replace(fault, text=text) for fault in self._faults]
        self._count += 1

    def parsed(self, lines: list[int | None]) -> Parsed:
        types = self._catalog.types
        return Parsed(
            self._count,
            tuple(
                batch
                for key, rows in self._rows.items()
                for batch in self._batches(types[key], rows)
            ),
            tuple(
                Deletions(
                    types[key],
                    pa.array([entity_id for entity_id, _ in found], pa.string()),
                    np.array([record for _, record in found], np.int64),
                )
                for key, found in self._deleted.items()
            ),
            tuple(self._violations),
            np.array(lines, np.int64) if None not in lines else None,
        )

    def _open(self, record: Any) -> Envelope | JsonProblem:
        if isinstance(record, JsonProblem):
            return record
        if self._entity is not None:
            return open_flat(record, self._entity)
        return open_envelope(record, self._catalog)

    def _delete(self, envelope: Envelope) -> None:
        if self._mode != "merge":
            self._fault("delete", f"deletions need mode merge, not {self._mode}", envelope)
            return
        found = canonical_id(envelope.entity, envelope.id)
        if found is None:
            self._fault(
                "id", f"{envelope.entity.name} has no id like {_shown(envelope.id)!r}", envelope
            )
            return
        self._deleted.setdefault(envelope.entity.id, []).append((found, self._count))

    def _type(self, envelope: Envelope) -> None:
        entity = envelope.entity
        row: Row = {}
        if isinstance(entity, EdgeType):
            row |= {end.id: self._end(envelope, end) for end in (SRC, DST)}
        for name, value in envelope.values.items():
            prop = entity.by_name.get(name)
            if prop is None:
                message = unknown_property(entity, str(name))
                self._fault("unknown_property", message, envelope, str(name), value)
            else:
                row[prop.id] = self._value(envelope, prop, value)
        named = [prop.id in row for prop in entity.properties]
        row = fill_defaults(entity, row)
        if not self._faults:
            self._identify(envelope, row)
        if not self._faults:
            self._named.setdefault(entity.id, []).append(named)
            self._rows.setdefault(entity.id, []).append(row)
            self._records.setdefault(entity.id, []).append(self._count)

    def _end(self, envelope: Envelope, end: Property) -> str | None:
        name = "from" if end is SRC else "to"
        value = envelope.ends.get(end)
        match value:
            case None:
                self._fault("envelope", f"an edge needs {name!r}", envelope, name)
            case _:
                text = id_text(value)
                if text is not None:
                    return text
                self._fault("type", f"{_shown(value)!r} is not an id", envelope, name, value)
        return None

    def _value(self, envelope: Envelope, prop: Property, value: Any) -> Any:
        # Membership in an enum is a rule of the schema, and is reported as one.
        dtype = STRING if isinstance(prop.dtype, EnumType) else prop.dtype
        try:
            return coerce_json(value, dtype, nullable=True)
        except ValueProblem as problem:
            # The only null that reaches this point is an item of a list.
            rule = "list" if problem.code == "value.null" else "type"
            self._fault(rule, problem.message, envelope, prop.name, value)
            return None

    def _identify(self, envelope: Envelope, row: Row) -> None:
        """Set the id of the row; a row without one gets a generated id with its batch."""
        entity = envelope.entity
        if entity.key is None:
            row[ID.id] = self._given_id(envelope)
            return
        for member in entity.key:
            if row[member] is None:
                name = entity.by_id[member].name
                self._fault("required", "a value is required", envelope, name)
                return
        row[ID.id] = canonical_key([row[member] for member in entity.key])
        if envelope.id is not None and canonical_id(entity, envelope.id) != row[ID.id]:
            message = f"the id {_shown(envelope.id)!r} differs from that of the key, {row[ID.id]!r}"
            self._fault("id", message, envelope, "id")

    def _given_id(self, envelope: Envelope) -> str | None:
        if envelope.id is None:
            return None
        found = canonical_id(envelope.entity, envelope.id)
        if found is None:
            self._fault("type", f"{_shown(envelope.id)!r} is not an id", envelope, "id")
        return found

    def _batches(self, entity: EntityType, rows: list[Row]) -> Iterator[Batch]:
        nameless = [row for row in rows if row[ID.id] is None]
        for row, fresh in zip(nameless, generate_ids(len(nameless)).to_pylist(), strict=True):
            row[ID.id] = fresh
        return cut_batches(
            entity,
            to_arrow(entity, rows),
            np.array(self._records[entity.id], np.int64),
            generated=entity.key is None and len(nameless) == len(rows),
            unnamed=pack_unnamed(entity, ~np.array(self._named[entity.id], dtype=bool)),
        )

    def _fault(
        self,
        rule: str,
        message: str,
        envelope: Envelope | None = None,
        prop: str | None = None,
        value: Any = None,
    ) -> None:
        self._faults.append(
            Violation(
                rule=rule,
                message=message,
                type=envelope.entity.name if envelope else None,
                id=envelope.id if envelope and isinstance(envelope.id, str) else None,
                property=prop,
                value=_shown(value),
                record=self._count,
            )
        )


def _as_text(record: Any) -> str | None:
    """Return the text of a record as it came, or the closest JSON form."""
    if isinstance(record, JsonProblem):
        text = record.text or ""
    else:
        try:
            text = json.dumps(record, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):
            # The Python value has no JSON form.
            return None
    cut = text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}…"
    # Escape a byte that is not UTF-8.
    return cut.encode(errors="backslashreplace").decode()


def _shown(value: Any) -> Any:
    """Return a value for a report: JSON, and short."""
    match value:
        case str():
            cut = value if len(value) <= _SHOWN_MAX else f"{value[:_SHOWN_MAX]}…"
            return cut.encode(errors="backslashreplace").decode()
        case bool() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case int():
            return value if value.bit_length() <= ID_BITS_MAX else "a huge number"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return _shown(str(value))
