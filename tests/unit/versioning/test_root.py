"""An open graph reads its schemas by their content: what is not as it was accepted is damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import StorageFault
from omnigraph.testing.kit import new_engine, open_engine
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda body: b"", "schema.malformed"),
        (lambda body: b"{", "schema.malformed"),
        (lambda body: b"null", "schema.malformed"),
        (lambda body: b"\xff", "schema.malformed"),
        (lambda body: body[:-3], "schema.malformed"),
        (lambda body: body.replace(b"Person", b"Pers0n"), "schema.digest_mismatch"),
        (lambda body: None, "schema.missing"),
    ],
)
def test_a_schema_object_that_is_not_what_was_accepted_is_a_storage_fault(
    change: object, code: str, tmp_path: Path
) -> None:
    assert callable(change)
    engine = new_engine(tmp_path / "graph")
    key = layout.schema_object(engine.snapshot().manifest.commit.schema)
    body = change(engine.root.objects.get(key))
    if body is None:
        engine.root.objects.delete(key)
    else:
        engine.root.objects.put(key, body)
    with pytest.raises(StorageFault) as told:
        open_engine(tmp_path / "graph").snapshot()
    assert told.value.code == code
    assert told.value.remedy
