"""The ledger: the applied state of a cluster, as numbered objects.

A revision is put if absent under the next number, which is a compare-and-swap on disk and in
buckets alike; the highest number is current. Earlier revisions remain as the history. A checksum
detects changes by hand.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.reporting import refuse
from omnigraph.cluster.resources import canonical_json, digest_of
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ports.objects import ObjectStore

__all__ = ["STATE", "Ledger", "LedgerStore", "Revision"]

STATE = "__cluster/state"
_VERSION = 1
_REPAIR = "restore the object, or remove __cluster/state and run `omnigraph cluster import`"


@frozen
class Ledger:
    """Applied resources, their statuses, and the observations of the last refresh."""

    entries: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    config_digest: str | None = None
    # The fencing number of the lock under which the revision was written.
    fence: int = 0
    statuses: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    observations: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    approvals: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    recoveries: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def to_json(self, revision: int) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "state_revision": revision,
            "fence": self.fence,
            "applied_revision": {
                "config_digest": self.config_digest,
                "resources": dict(sorted(self.entries.items())),
            },
            "resource_statuses": dict(sorted(self.statuses.items())),
            "approval_records": dict(self.approvals),
            "recovery_records": dict(self.recoveries),
            "observations": dict(sorted(self.observations.items())),
        }


@frozen
class Revision:
    """A ledger as it is stored. Number 0 is the state before the first write."""

    number: int
    ledger: Ledger
    cas: str | None = None
    key: str | None = None


class LedgerStore:
    """The ledger of one cluster root."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def read(self) -> Revision | None:
        """Return the current revision; None if there is no ledger."""
        try:
            keys = [key for key in self._objects.list(STATE) if key.endswith(".json")]
            body = self._objects.get(keys[-1]) if keys else b""
        except GraphError as error:
            refuse("state_read_error", STATE, error.message, remedy=error.remedy)
        if not keys:
            return None
        number, ledger = _parse(body, keys[-1])
        return Revision(number, ledger, f"sha256:{digest_of(body)}", keys[-1])

    def write(self, ledger: Ledger, *, base: int) -> Revision:
        """Write the revision after ``base``, or refuse if another writer did."""
        number = base + 1
        content = {**ledger.to_json(number), "written_by": new_ulid()}
        body = json.dumps({**content, "checksum": _checksum(content)}, indent=2).encode() + b"\n"
        key = f"{STATE}/{number:08d}.json"
        try:
            written = self._objects.put_if_absent(key, body)
        except GraphError as error:
            refuse("state_write_error", key, error.message, remedy=error.remedy)
        if not written:
            refuse(
                "state_cas_mismatch",
                key,
                f"another process wrote revision {number} of the ledger",
                remedy="run the command again",
            )
        return Revision(number, ledger, f"sha256:{digest_of(body)}", key)


def _checksum(content: Mapping[str, Any]) -> str:
    return digest_of(canonical_json(content))


def _parse(body: bytes, key: str) -> tuple[int, Ledger]:
    try:
        found = parse_json(body)
        if found["version"] != _VERSION:
            refuse(
                "unsupported_state_version",
                key,
                f"the ledger has version {found['version']!r}; this release supports {_VERSION}",
                remedy="upgrade omnigraph",
            )
        return _from_json(found, key)
    except MALFORMED as error:
        refuse("invalid_state_json", key, f"the ledger cannot be read: {error}", remedy=_REPAIR)


def _from_json(found: dict[str, Any], key: str) -> tuple[int, Ledger]:
    content = {name: value for name, value in found.items() if name != "checksum"}
    number = int(found["state_revision"])
    if found.get("checksum") != _checksum(content) or not key.endswith(f"/{number:08d}.json"):
        raise ValueError("its checksum does not match: it was changed by hand")
    applied = found["applied_revision"]
    return number, Ledger(
        dict(applied["resources"]),
        applied["config_digest"],
        int(found["fence"]),
        dict(found["resource_statuses"]),
        dict(found["observations"]),
        dict(found["approval_records"]),
        dict(found["recovery_records"]),
    )
