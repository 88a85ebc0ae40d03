"""Violations as rows of Arrow tables: written by tasks, read by the driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.integrity.violations import Violation, format_value
from omnigraph.pipeline.scratch.row_chunks import record_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["VIOLATIONS", "encode_value", "to_violation", "violation_table"]

VIOLATIONS = pa.schema(
    [
        *((name, pa.string()) for name in ("rule", "message", "type", "id", "property", "value")),
        ("record", pa.int64()),
        ("line", pa.int64()),
        ("file", pa.string()),
        # The text of a record that could not be parsed.
        ("text", pa.string()),
    ]
)


def violation_table(found: Iterable[Violation], chunk: int) -> pa.Table:
    """Return the violations of a chunk as rows; their records count from 1 there."""
    found = sorted(found, key=lambda violation: violation.record or 0)
    places = np.array([(violation.record or 1) - 1 for violation in found], np.int64)
    return pa.table(
        {
            "rule": [violation.rule for violation in found],
            "message": [violation.message for violation in found],
            "type": [violation.type for violation in found],
            "id": [violation.id for violation in found],
            "property": [violation.property for violation in found],
            "value": [encode_value(violation.value) for violation in found],
            "record": pa.array(
                record_of(chunk, places),
                mask=np.array([v.record is None for v in found], dtype=bool),
            ),
            "line": [violation.line for violation in found],
            "file": [violation.file for violation in found],
            "text": [violation.text for violation in found],
        },
        schema=VIOLATIONS,
    )


def to_violation(row: dict[str, Any]) -> Violation:
    """Restore a violation from a row; its record is still the number within the job."""
    value = row["value"]
    return Violation(**{**row, "value": None if value is None else json.loads(value)})


def encode_value(value: Any) -> str | None:
    """Encode a value as files of violations contain it."""
    return None if value is None else json.dumps(format_value(value))
