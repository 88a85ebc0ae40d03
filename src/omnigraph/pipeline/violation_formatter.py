"""From facts to a report: all of them counted, the first of them in words.

The words are those of the rules in process. What they need is looked up on the way: the how-many-th
record it was, its line, its values.
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
from omnigraph.pipeline.findings import RULES, Findings, place_of
from omnigraph.pipeline.row_chunks import LINE, RECORD, piece_of, unpack, unspell_key
from omnigraph.pipeline.violations import to_violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.pipeline.graph_location import GraphLocation
    from omnigraph.pipeline.read_input import Material

__all__ = ["ViolationFormatter", "report_on"]

# In which order violations of one record are told: what it says, then what others say.
_ORDER = {"key": -1, "unique": 1, "endpoint": 2, "cardinality": 3}


def report_on(words: ViolationFormatter, findings: Findings, *, typed: bool = True) -> Report:
    """What was found; with ``typed``, also what was wrong with records by themselves."""
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
    # Stable: what is wrong with the values of a record stays in the order in which it was found.
    for found in sorted(shown, key=lambda found: _ORDER.get(found.rule, 0)):
        report.add_many(found.rule, 0, [found])
    return report


class ViolationFormatter:
    """Puts facts into words."""

    def __init__(self, site: GraphLocation, material: Material, catalog: Catalog) -> None:
        self.site = site
        self.material = material
        self._catalog = catalog
        self._types = list(catalog.types.values())
        self._files: dict[tuple[str, int], pa.Table] = {}

    def violation(self, row: dict[str, Any]) -> Violation:
        """One violation, complete, of a fact or of what was found while typing."""
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
                # Where no edge is to blame, the node is all there is to point at.
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
        """The name of the type of node that an edge has at an end."""
        for rule in rules_of(edge):
            if isinstance(rule, Endpoint) and end == ("from" if rule.prop.name == "src" else "to"):
                return self._catalog.node_by_id(rule.node_type).name
        return edge.name

    def _placed(self, found: Violation) -> Violation:
        if found.record is None:
            return found
        origin = self.material.origin(found.record)
        if origin is not None and found.line is not None:
            # Of a mapped source the line says where the row stands.
            source, place = origin.find(found.line)
            return replace(found, record=place, line=None, file=source)
        number = self.number(found.record)
        file, line = self.material.place(number, found.line)
        return replace(found, record=number, line=line, file=found.file or file)

    def _key_of(self, entity: EntityType, record: int | None) -> dict[str, Any]:
        """The keys of one record, and its line; nothing for what did not come in."""
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


_MESSAGES: dict[str, Callable[[ViolationFormatter, EntityType, Facts, Facts], Said]] = {
    "repeat": _repeat,
    "exists": _exists,
    "twin": _twin,
    "holder": _holder,
    "missing": _missing,
    "lost": _lost,
    "count": _count,
}
