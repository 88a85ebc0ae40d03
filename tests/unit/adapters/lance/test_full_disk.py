"""A staged change whose files do not fit on the disk is refused. Guards INV-6.

A limit of the size of files stands for a full disk: in both cases a write ends early.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


@pytest.mark.parametrize("room", [0, 64, 690])
def test_a_deletion_file_that_does_not_fit_is_noticed(room: int, tmp_path: Path) -> None:
    """Lance itself reports no error."""
    tables = LanceTables(str(tmp_path), None, durable=False)
    pin = tables.create("nodes/a", SCHEMA, operation_id="create")
    rows = pa.table({"id": ["a", "b", "c"]}, schema=SCHEMA)
    pin = tables.commit(pin, tables.open(pin).stage_append(rows), operation_id="append")
    table = tables.open(pin)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(StorageFault) as failure:
            table.stage_change(delete=np.array([0], np.uint64))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert failure.value.code == "table.unwritable"
    assert table.stage_change(delete=np.array([0], np.uint64)) is not None
