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
from omnigraph.pipeline.checks.findings import RULES, Findings, input_order
from omnigraph.pipeline.scratch.row_chunks import LINE, RECORD, chunk_of, decode_key, read_scratch
from omnigraph.pipeline.scratch.violation_rows import to_violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.pipeline.inputs.read_input import ReadInput
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["ViolationFormatter", "report_on"]

# The order of violations of one record: those of the record, then those between records.
_ORDER = {"key": -1, "unique": 1, "endpoint": 2, "cardinality": 3}


def report_on(formatter: ViolationFormatter, findings: Findings, *, typed: bool = True) -> Report:
    """Build a report of findings; with ``typed``, also of the violations of single records."""
    counts: Counter[str] = Counter()
    for kind, count in findings.counts.items():
        counts[RULES[kind]] += count
    rows = list(findings.shown)
    report = Report()
    if typed:
        for violation in formatter.read_input.file_errors:
            report.add(violation)
        for chunk in formatter.read_input.chunks:
            counts.update(dict(chunk.counts))
            rows += chunk.shown
    first = nsmallest(VIOLATIONS_SHOWN_MAX, rows, key=input_order)
    shown = [formatter.violation(row) for row in first]
    for rule, count in counts.items():
        report.add_many(rule, count, ())
    # Stable: violations of the values of a record keep the order of detection.
    for found in sorted(shown, key=lambda found: _ORDER.get(found.rule, 0)):
        report.add_many(found.rule, 0, [found])
    return report


class ViolationFormatter:
    """Converts findings to violations with messages."""

    def __init__(self, location: GraphLocation, read_input: ReadInput, catalog: Catalog) -> None:
        self.location = location
        self.read_input = read_input
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
        return self.read_input.number(record)

    def node_type(self, edge: EntityType, end: str) -> str:
        """Return the name of the node type at an end of an edge."""
        for rule in rules_of(edge):
            if isinstance(rule, Endpoint) and end == ("from" if rule.prop.name == "src" else "to"):
                return self._catalog.node_by_id(rule.node_type).name
        return edge.name

    def _placed(self, found: Violation) -> Violation:
        if found.record is None:
            return found
        locator = self.read_input.locator(found.record)
        if locator is not None and found.line is not None:
            # For a mapped source, the line holds the position of the row.
            source, place = locator.find(found.line)
            return replace(found, record=place, line=None, file=source)
        number = self.number(found.record)
        file, line = self.read_input.location_of(number, found.line)
        return replace(found, record=number, line=line, file=found.file or file)

    def _key_of(self, entity: EntityType, record: int | None) -> dict[str, Any]:
        """Return the keys and the line of one record; empty without a record."""
        if record is None:
            return {}
        chunk, _ = chunk_of(record)
        rows = self._files.get((entity.id, chunk))
        if rows is None:
            rows = read_scratch(self.location, dict(self.read_input.rows(entity.id))[chunk].keys)
            self._files[entity.id, chunk] = rows
        at = pc.index(rows.column(RECORD), record).as_py()
        found: dict[str, Any] = rows.slice(at, 1).to_pylist()[0]
        return found


# --- one message per kind ------------------------------------------------------------------------

FindingRow = dict[str, Any]
MessageAndValue = tuple[str, Any]


def _repeat(
    formatter: ViolationFormatter, _: EntityType, row: FindingRow, key: FindingRow
) -> MessageAndValue:
    return repeats(key["id"], formatter.number(row["number"])), None


def _exists(
    _: ViolationFormatter, __: EntityType, ___: FindingRow, key: FindingRow
) -> MessageAndValue:
    return f"{key['id']!r} exists already", None


def _twin(
    formatter: ViolationFormatter, entity: EntityType, row: FindingRow, key: FindingRow
) -> MessageAndValue:
    first = formatter.number(row["number"])
    return f"not unique: the same values as record {first}", _values(entity, row, key)


def _holder(
    _: ViolationFormatter, entity: EntityType, row: FindingRow, key: FindingRow
) -> MessageAndValue:
    return f"not unique: {row['other']!r} has the same values", _values(entity, row, key)


def _missing(
    formatter: ViolationFormatter, entity: EntityType, row: FindingRow, _: FindingRow
) -> MessageAndValue:
    node = formatter.node_type(entity, row["property"])
    return f"there is no {node} {row['value']!r}", row["value"]


def _lost(
    formatter: ViolationFormatter, entity: EntityType, row: FindingRow, _: FindingRow
) -> MessageAndValue:
    node = formatter.node_type(entity, row["property"])
    return f"the edge would lose its {node} {row['value']!r}", row["value"]


def _count(
    _: ViolationFormatter, entity: EntityType, row: FindingRow, __: FindingRow
) -> MessageAndValue:
    rule = next(rule for rule in rules_of(entity) if isinstance(rule, Cardinality))
    allowed = f"{rule.low}..{'*' if rule.high is None else rule.high}"
    source, number = row["value"], row["number"]
    return f"{source!r} would have {number} of them, allowed are {allowed}", source


def _values(entity: EntityType, row: FindingRow, key: FindingRow) -> Any:
    named = {prop.name: prop for prop in entity.by_id.values()}
    members = [named[name] for name in row["property"].split(", ")]
    values = [decode_key(member, key[member.column]) for member in members]
    return values[0] if len(values) == 1 else values


def _required(
    _: ViolationFormatter, __: EntityType, ___: FindingRow, ____: FindingRow
) -> MessageAndValue:
    return "a value is required", None


_MESSAGES: dict[
    str, Callable[[ViolationFormatter, EntityType, FindingRow, FindingRow], MessageAndValue]
] = {
    "required": _required,
    "repeat": _repeat,
    "exists": _exists,
    "duplicate": _twin,
    "holder": _holder,
    "missing": _missing,
    "lost": _lost,
    "count": _count,
}
