"""Formatting of findings: all are counted, the first ones become violations with messages.

The messages equal those of the rules in process. Record numbers, lines and values are looked up
only for the findings that are shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.integrity.keys import repeats
from omnigraph.integrity.rules import Cardinality, Endpoint, rules_of
from omnigraph.integrity.violations import VIOLATIONS_SHOWN_MAX, Report, Violation
from omnigraph.pipeline.checks.findings import RULES, Findings, place_of
from omnigraph.pipeline.scratch.row_chunks import LINE, RECORD, piece_of, unpack, unspell_key
from omnigraph.pipeline.scratch.violation_rows import to_violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.pipeline.inputs.read_input import Material
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["ViolationFormatter", "report_on"]

# The order of violations of one record: those of the record, then those between records.
_ORDER = {"key": -1, "unique": 1, "endpoint": 2, "cardinality": 3}


def report_on(words: ViolationFormatter, findings: Findings, *, typed: bool = True) -> Report:
    """Build a report of findings; with ``typed``, also of the violations of single records."""
    counts: Counter[str] = Counter()
    for kind, count in findings.counts.items():
        counts[RULES[kind]] += count
    rows = list(findings.shown)
    report = Report()
    if typed:
        for header in words.material.headers:
            report.add(header)
        for piece in words.material.pieces:
            counts.update(dict(piece.counts))
            rows += piece.shown
    first = nsmallest(VIOLATIONS_SHOWN_MAX, rows, key=place_of)
    shown = [words.violation(row) for row in first]
    for rule, count in counts.items():
        report.add_many(rule, count, ())
    # Stable: violations of the values of a record keep the order of detection.
    for found in sorted(shown, key=lambda found: _ORDER.get(found.rule, 0)):
        report.add_many(found.rule, 0, [found])
    return report


class ViolationFormatter:
    """Converts findings to violations with messages."""

    def __init__(self, site: GraphLocation, material: Material, catalog: Catalog) -> None:
        self.site = site
        self.material = material
        self._catalog = catalog
        self._types = list(catalog.types.values())
        self._files: dict[tuple[str, int], pa.Table] = {}

    def violation(self, row: dict[str, Any]) -> Violation:
        """Complete one violation from a finding, or from a violation found while typing."""
        if "kind" not in row:
            return self._placed(to_violation(row))
        entity = self._types[row["t"]]
        key = self._key_of(entity, row[RECORD])
        message, value = _MESSAGES[row["kind"]](self, entity, row, key)
        return self._placed(
            Violation(
                rule=RULES[row["kind"]],
                message=message,
                type=entity.name,
                # Without an edge to blame, refer to the node.
                id=row["id"] or key.get("id") or row["value"],
                property=row["property"],
                value=value,
                record=row[RECORD],
                line=key.get(LINE),
            )
        )

    def number(self, record: int) -> int:
        return self.material.number(record)

    def node_type(self, edge: EntityType, end: str) -> str:
        """Return the name of the node type at an end of an edge."""
        for rule in rules_of(edge):
            if isinstance(rule, Endpoint) and end == ("from" if rule.prop.name == "src" else "to"):
                return self._catalog.node_by_id(rule.node_type).name
        return edge.name

    def _placed(self, found: Violation) -> Violation:
        if found.record is None:
            return found
        origin = self.material.origin(found.record)
        if origin is not None and found.line is not None:
            # For a mapped source, the line holds the position of the row.
            source, place = origin.find(found.line)
            return replace(found, record=place, line=None, file=source)
        number = self.number(found.record)
        file, line = self.material.place(number, found.line)
        return replace(found, record=number, line=line, file=found.file or file)

    def _key_of(self, entity: EntityType, record: int | None) -> dict[str, Any]:
        """Return the keys and the line of one record; empty without a record."""
        if record is None:
            return {}
        piece, _ = piece_of(record)
        rows = self._files.get((entity.id, piece))
        if rows is None:
            rows = unpack(self.site, dict(self.material.rows(entity.id))[piece].keys)
            self._files[entity.id, piece] = rows
        at = pc.index(rows.column(RECORD), record).as_py()
        found: dict[str, Any] = rows.slice(at, 1).to_pylist()[0]
        return found


# --- one message per kind ------------------------------------------------------------------------

Facts = dict[str, Any]
Said = tuple[str, Any]


def _repeat(words: ViolationFormatter, _: EntityType, row: Facts, key: Facts) -> Said:
    return repeats(key["id"], words.number(row["number"])), None


def _exists(_: ViolationFormatter, __: EntityType, ___: Facts, key: Facts) -> Said:
    return f"{key['id']!r} exists already", None


def _twin(words: ViolationFormatter, entity: EntityType, row: Facts, key: Facts) -> Said:
    first = words.number(row["number"])
    return f"not unique: the same values as record {first}", _values(entity, row, key)


def _holder(_: ViolationFormatter, entity: EntityType, row: Facts, key: Facts) -> Said:
    return f"not unique: {row['other']!r} has the same values", _values(entity, row, key)


def _missing(words: ViolationFormatter, entity: EntityType, row: Facts, _: Facts) -> Said:
    node = words.node_type(entity, row["property"])
    return f"there is no {node} {row['value']!r}", row["value"]


def _lost(words: ViolationFormatter, entity: EntityType, row: Facts, _: Facts) -> Said:
    node = words.node_type(entity, row["property"])
    return f"the edge would lose its {node} {row['value']!r}", row["value"]


def _count(_: ViolationFormatter, entity: EntityType, row: Facts, __: Facts) -> Said:
    rule = next(rule for rule in rules_of(entity) if isinstance(rule, Cardinality))
    allowed = f"{rule.low}..{'*' if rule.high is None else rule.high}"
    source, number = row["value"], row["number"]
    return f"{source!r} would have {number} of them, allowed are {allowed}", source


def _values(entity: EntityType, row: Facts, key: Facts) -> Any:
    named = {prop.name: prop for prop in entity.by_id.values()}
    members = [named[name] for name in row["property"].split(", ")]
    values = [unspell_key(member, key[member.column]) for member in members]
    return values[0] if len(values) == 1 else values


def _required(_: ViolationFormatter, __: EntityType, ___: Facts, ____: Facts) -> Said:
    return "a value is required", None


_MESSAGES: dict[str, Callable[[ViolationFormatter, EntityType, Facts, Facts], Said]] = {
    "required": _required,
    "repeat": _repeat,
    "exists": _exists,
    "twin": _twin,
    "holder": _holder,
    "missing": _missing,
    "lost": _lost,
    "count": _count,
}
