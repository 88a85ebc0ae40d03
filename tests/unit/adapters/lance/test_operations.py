"""Staged changes as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa

from omnigraph.adapters.lance.staging.operations import fragment_body

if TYPE_CHECKING:
    from pathlib import Path


def test_a_fragment_is_told_as_lance_tells_it(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b"], "list": [[1], []], "struct": [{"x": 1}, None]})
    dataset: Any = lance.write_dataset(rows, tmp_path, enable_stable_row_ids=True)
    (written,) = lance.fragment.write_fragments(rows, dataset)
    assert fragment_body(written) == written.to_json()
    assert fragment_body(written).keys() == written.to_json().keys()
    (committed,) = dataset.get_fragments()
    assert fragment_body(committed.metadata) == committed.metadata.to_json()
    deleted = committed.delete_rows([0])
    assert fragment_body(deleted) == deleted.to_json()
