"""A manifest: the pins of one graph commit, and the commit itself.

The manifests of a branch are numbered objects, each of which is one graph commit. This module is
pure: it encodes manifests as bytes and decodes them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit
from omnigraph.catalog.model import TypeId
from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen
from omnigraph.ports.tables import Pin
from omnigraph.runtime.ids import CommitId
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Manifest",
    "Void",
    "decode_manifest",
    "encode_damage",
    "encode_manifest",
    "number_pins",
]

# 1: rows of a Lance dataset. 2: an object with a checksum.
MANIFEST_FORMAT = 2
_CHECKSUM_BYTES = 8


@frozen
class Void:
    """An operation that must never be published, and since when."""

    operation: CommitId
    since_micros: int


@dataclass(frozen=True)
class Manifest:
    """One graph commit with all its pins, as the branch ``incarnation`` holds it at ``version``."""

    incarnation: str
    version: int
    commit: Commit
    pins: Mapping[TypeId, Pin]
    voids: tuple[Void, ...] = ()
    # A deleted branch ends with a tombstone: nothing may be published after it.
    tombstone: bool = False

    def is_void(self, operation: str) -> bool:
        return any(void.operation == operation for void in self.voids)

    def at(self, incarnation: str, version: int) -> Manifest:
        """The same commit seen from another branch: how a fork begins."""
        return replace(self, incarnation=incarnation, version=version, voids=(), tombstone=False)


def number_pins(moved: Mapping[TypeId, Pin], before: Mapping[TypeId, Pin]) -> dict[TypeId, Pin]:
    """Count the moved pins of a commit: one more than the pins that they replace."""
    return {
        type_id: replace(pin, counter=before[type_id].counter + 1 if type_id in before else 1)
        for type_id, pin in moved.items()
    }


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest as JSON, followed by a line with its checksum.

    Pins are sorted, so equal manifests have equal bytes. Table versions may exceed the integers of
    other JSON readers, so they are texts.
    """
    body = {
        "format": MANIFEST_FORMAT,
        "incarnation": manifest.incarnation,
        "number": manifest.version,
        "commit": manifest.commit.to_json(),
        "pins": {
            type_id: [pin.path, str(pin.version), pin.fingerprint, pin.rows, pin.counter]
            for type_id, pin in sorted(manifest.pins.items())
        },
        "voids": [[void.operation, void.since_micros] for void in manifest.voids],
        "tombstone": manifest.tombstone,
    }
    return _sealed(body)


def encode_damage(problem: str) -> bytes:
    """Encode a manifest that was damaged before it became an object: its number stays taken."""
    return _sealed({"format": MANIFEST_FORMAT, "damaged": problem})


def decode_manifest(incarnation: str, version: int, text: bytes) -> Manifest:
    """Decode the manifest of a number of a branch, or raise ``manifest.malformed``."""
    try:
        body_text, checksum, end = text.rsplit(b"\n", 2)
        if end or checksum != _checksum(body_text):
            raise ValueError("its checksum is wrong")
        body = parse_json(body_text)
        if "damaged" in body:
            raise ValueError(body["damaged"])
        _require_place(body, incarnation, version)
        return Manifest(
            incarnation,
            version,
            Commit.from_json(body["commit"]),
            {TypeId(type_id): _pin(*values) for type_id, values in body["pins"].items()},
            tuple(Void(CommitId(operation), since) for operation, since in body["voids"]),
            tombstone=body["tombstone"],
        )
    except MALFORMED as error:
        key = layout.manifest(incarnation, version)
        raise StorageFault(
            "manifest.malformed",
            f"{key} is not a manifest: {error}",
            details={"key": key},
            remedy=f"bring {key} back from a copy of the graph; it never changes",
        ) from error


def _sealed(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, separators=(",", ":")).encode()
    return b"%b\n%b\n" % (text, _checksum(text))


def _pin(path: str, version: str, fingerprint: str, rows: int, counter: int) -> Pin:
    return Pin(path, int(version), fingerprint, rows, counter)


def _require_place(body: dict[str, Any], incarnation: str, version: int) -> None:
    if body["format"] != MANIFEST_FORMAT:
        raise ValueError(f"its format is {body['format']!r}")
    if (body["incarnation"], body["number"]) != (incarnation, version):
        raise ValueError(f"it belongs to number {body['number']!r} of {body['incarnation']!r}")


def _checksum(text: bytes) -> bytes:
    return blake2b(text, digest_size=_CHECKSUM_BYTES).hexdigest().encode()
