"""Violations of rules by a change, and the report that collects them."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.values import spell_datetime
from omnigraph.errors import ValidationFailure
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnigraph.catalog.model import Catalog

__all__ = ["VIOLATIONS_SHOWN_MAX", "Report", "Violation", "format_value", "redact_hidden"]

# All violations are counted; this many are kept.
VIOLATIONS_SHOWN_MAX = 100
_SHOWN_VALUE_MAX = 120


@frozen
class Violation:
    """One rule violated by one entity. ``record`` counts from 1 in the input, if any."""

    rule: str
    message: str
    type: str | None = None
    id: str | None = None
    property: str | None = None
    value: Any = None
    record: int | None = None
    line: int | None = None
    file: str | None = None
    # The entity that already has the unique value, for resolving the conflict.
    holder: str | None = field(default=None, compare=False)
    # The original text of an unreadable record, for quarantine.
    text: str | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        body = {key: value for key, value in asdict(self).items() if value is not None}
        for aside in ("holder", "text"):
            body.pop(aside, None)
        return body | ({"value": format_value(self.value)} if "value" in body else {})

    def describe(self) -> str:
        """Describe the violation in one line."""
        stands = [self.file] if self.file else []
        stands += [f"line {self.line}"] if self.line is not None else []
        if self.record is not None or self.id:
            place = f"record {self.record}" if self.record is not None else self.id or ""
            place += f" ({', '.join(stands)})" if stands else ""
        else:
            place = ", ".join(stands)
        what = ".".join(part for part in (self.type, self.property) if part)
        body = ": ".join(part for part in (place, what, self.message) if part)
        return f"{body} [{self.rule}]"


def format_value(value: Any) -> Any:
    """Format a value for a report: as JSON, and truncated."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return value if len(value) <= _SHOWN_VALUE_MAX else f"{value[:_SHOWN_VALUE_MAX]}…"
        case list() | tuple():
            return [format_value(item) for item in value]
        case dt.datetime():
            return spell_datetime(value)
        case _:
            return str(value)


class Report:
    """A collector of violations: all are counted, the first ones are kept."""

    def __init__(self, limit: int = VIOLATIONS_SHOWN_MAX) -> None:
        self._limit = limit
        self.violations: list[Violation] = []
        self.counts: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def room(self) -> int:
        """How many more violations will be kept; the others need no description."""
        return max(0, self._limit - len(self.violations))

    def add(self, violation: Violation) -> None:
        self.counts[violation.rule] += 1
        if self.room:
            self.violations.append(violation)

    def add_many(self, rule: str, total: int, shown: Iterable[Violation]) -> None:
        """Add many violations of one rule, of which only some are described."""
        if total:
            self.counts[rule] += total
        for violation in shown:
            if not self.room:
                return
            self.violations.append(violation)

    def extend(self, other: Report) -> None:
        """Add all violations of another report."""
        self.counts.update(other.counts)
        self.violations += other.violations[: self.room]

    def locate(self, where: Callable[[int], tuple[str | None, int | None]]) -> None:
        """Set file and line of every violation by its record."""
        self.violations = [
            replace(found, file=place[0], line=place[1])
            if found.record is not None and (place := where(found.record))
            else found
            for found in self.violations
        ]

    def redact(self, is_seen: Callable[[Violation], bool]) -> None:
        """Reduce violations to their rule, unless the author may see their details."""
        self.violations = [
            found
            if is_seen(found)
            else Violation(found.rule, "violates a rule on data that you may not read")
            for found in self.violations
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "counts": dict(sorted(self.counts.items())),
            "violations": [violation.to_json() for violation in self._ordered()],
        }

    def raise_if_any(self, remedy: str = "correct the data, or change the schema") -> None:
        """Raise all violations as one error."""
        if not self:
            return
        ordered = self._ordered()
        lines = [violation.describe() for violation in ordered[:10]]
        more = self.total - len(lines)
        raise ValidationFailure(
            f"data.{ordered[0].rule}",
            f"{self.total} violation{'s' if self.total > 1 else ''}, nothing was written\n  "
            + "\n  ".join(lines)
            + (f"\n  … and {more} more" if more else ""),
            details=self.to_json(),
            remedy=remedy,
        )

    def _ordered(self) -> list[Violation]:
        return sorted(
            self.violations,
            key=lambda found: (found.record is None, found.record or 0, found.type or ""),
        )


def redact_hidden(report: Report, whole: Catalog, seen: Catalog) -> None:
    """Reduce violations to their rule where they concern hidden parts of the schema."""
    report.redact(lambda found: _is_seen(found, whole, seen))


def _is_seen(found: Violation, whole: Catalog, seen: Catalog) -> bool:
    if found.type is None:
        return True
    entity, shown = whole.entity(found.type), seen.entity(found.type)
    if entity is None or shown is None:
        return False
    hidden = {prop.name for prop in entity.properties} - {prop.name for prop in shown.properties}
    return hidden.isdisjoint((found.property or "").replace(",", " ").split())
