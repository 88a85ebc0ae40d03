"""Graphs as older builds left them on disk, made of graphs of today."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.adapters.lance.commits.transactions import commit, new_transaction
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.adapters.lance.staging.writing import write_first_rows, write_rows
from omnigraph.runtime.ids import new_ulid
from omnigraph.versioning import layout
from omnigraph.versioning.format_2 import AUDIT_TABLE
from omnigraph.versioning.manifest import decode_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.versioning.manifest import Manifest

__all__ = ["age"]


def age(path: Path, internal_schema_version: int) -> None:
    """Turn a graph that nobody has open back into format 1 or 2."""
    if internal_schema_version not in {1, 2}:
        raise ValueError(f"no such format: {internal_schema_version}")
    for directory in (path / layout.MANIFESTS).iterdir():
        _manifests_to_tables(directory)
    _audit_to_table(path)
    if internal_schema_version == 1:
        _drop_numbers(path / layout.BRANCHES)
    stamp = json.loads((path / layout.STAMP).read_bytes())
    stamp["internal_schema_version"] = internal_schema_version
    (path / layout.STAMP).write_text(json.dumps(stamp))


def _manifests_to_tables(directory: Path) -> None:
    files = sorted(directory.glob("*.json"))
    for number, file in enumerate(files, 1):
        _overwrite(directory, _rows(decode_manifest(directory.name, number, file.read_bytes())))
    for file in (*files, *directory.glob("hint")):
        file.unlink()


def _rows(manifest: Manifest) -> pa.Table:
    pins = sorted(manifest.pins.items())
    body = {
        "format": 1,
        "commit": manifest.commit.to_json(),
        "voids": [[void.operation, void.since_micros] for void in manifest.voids],
        "tombstone": manifest.tombstone,
    }
    return pa.table(
        {
            "key": ["", *(type_id for type_id, _ in pins)],
            "path": ["", *(pin.path for _, pin in pins)],
            "version": pa.array([0, *(pin.version for _, pin in pins)], pa.uint64()),
            "fingerprint": ["", *(pin.fingerprint for _, pin in pins)],
            "rows": [0, *(pin.rows for _, pin in pins)],
            "body": [json.dumps(body), *([""] * len(pins))],
        }
    )


def _audit_to_table(path: Path) -> None:
    files = sorted((path / layout.AUDIT).glob("*.json"))
    bodies = [file.read_text() for file in files]
    if bodies:
        ids = [json.loads(body)["operation_id"] for body in bodies]
        outcomes = [json.loads(body)["outcome"] for body in bodies]
        _overwrite(
            path / AUDIT_TABLE,
            pa.table({"operation_id": ids, "outcome": outcomes, "body": bodies}),
        )
    for file in files:
        file.unlink()


def _overwrite(path: Path, rows: pa.Table) -> None:
    lance, name = load_lance(), path.name
    if (path / "_versions").exists():
        target: Any = lance.dataset(str(path))
        version, fragments = target.version, write_rows(target, rows, path=name, mode="overwrite")
    else:
        target, version = str(path), 0
        fragments = write_first_rows(target, rows, path=name, storage_options=None)
    overwrite = lance.LanceOperation.Overwrite(rows.schema, fragments)
    commit(target, new_transaction(version, overwrite, new_ulid()))


def _drop_numbers(refs: Path) -> None:
    for directory in [entry for entry in refs.iterdir() if entry.is_dir()]:
        ref = json.loads(max(directory.iterdir()).read_bytes())
        shutil.rmtree(directory)
        del ref["number"], ref["nonce"]
        (refs / f"{directory.name}.json").write_text(json.dumps(ref))
