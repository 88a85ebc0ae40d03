"""Intents on disk: what an operation is about to do, and how far it came.

Each is a few small objects under ``__recovery/``, named by the operation, which is also the id of
the commit that it will publish:

- ``<id>.json``, the intent: owner, branch, head, and the pins that its table commits build on.
  Never rewritten.
- ``<id>.staging.json``, the same of a long job that has not armed yet; keeps cleanup off its files.
- ``<id>.confirmed.json``, the confirmation of recovery or of a writer that gives up: the pins to
  publish, or that the operation is void. A write that succeeds has none.
- ``<id>.alive.json``, the heartbeat: the only one that is ever replaced.

They need not survive a power cut: without them an operation is not published, and its files are
removed by cleanup.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import CommitRef, Counts, WriterKind
from omnigraph.catalog.model import TypeId
from omnigraph.coordination.owner import Owner
from omnigraph.errors import NotFound, StorageFault
from omnigraph.frozen import frozen
from omnigraph.ports.tables import Pin
from omnigraph.runtime.ids import CommitId, is_ulid, new_short_id
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.runtime.json_values import to_json_value
from omnigraph.versioning import layout
from omnigraph.versioning.publish import ManifestDraft, Publication

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ports.objects import ObjectStore

__all__ = ["INTENT_FORMAT", "Confirmation", "Intent", "IntentKeys", "IntentStore", "PlannedTable"]

# 1: a confirmation was a list of pins. 2: it was the intent with the pins reached, put by every
# writer. 3: a digest. 4: a confirmation is put by recovery, or voids the operation.
INTENT_FORMAT = 4
_DIGEST_SINCE = 3
_CONFIRMED_BY_RECOVERY_SINCE = 4


@frozen
class PlannedTable:
    """A table that the operation commits to, and the pin that the commit builds on."""

    type_id: TypeId
    pin: Pin


@frozen
class Intent:
    """An operation in flight. ``publication`` lacks only the pins of its table commits."""

    publication: Publication
    tables: tuple[PlannedTable, ...]
    owner: Owner
    created_at_micros: int

    @property
    def id(self) -> CommitId:
        return self.publication.draft.id

    def to_bytes(self) -> bytes:
        body = {
            "format": INTENT_FORMAT,
            "owner": self.owner.to_json(),
            "created_at_micros": self.created_at_micros,
            "tables": [{"type_id": t.type_id, "pin": to_json_value(t.pin)} for t in self.tables],
            "publication": _publication_to_json(self.publication),
        }
        return json.dumps({**body, "digest": _digest(body)}, sort_keys=True).encode()

    @staticmethod
    def from_bytes(text: bytes) -> Intent:
        """Raises ``intent.unreadable`` for damage and for a newer format alike."""
        try:
            body = parse_json(text)
            _require_known_format(body["format"])
            _require_unaltered(body)
            return Intent(
                _publication_from_json(body["publication"]),
                tuple(PlannedTable(TypeId(t["type_id"]), Pin(**t["pin"])) for t in body["tables"]),
                Owner.from_json(body["owner"]),
                int(body["created_at_micros"]),
            )
        except MALFORMED as error:
            raise StorageFault(
                "intent.unreadable",
                f"an intent cannot be read: {error}",
                remedy="it blocks nobody; upgrade, or remove the object when you know its story",
            ) from error


@frozen
class Confirmation:
    """The pins that an operation publishes; None for an operation that is void.

    In formats before 4 a writer put it, synced, after it had synced all tables.
    """

    pins: Mapping[TypeId, Pin] | None
    is_durable: bool = False


@frozen
class IntentKeys:
    """Which objects of one operation are there."""

    id: CommitId
    armed: bool = False
    staging: bool = False
    confirmed: bool = False
    alive: bool = False


class IntentStore:
    """Puts, reads and removes intents."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def pending(self) -> dict[CommitId, IntentKeys]:
        """List the pending operations: one listing, all that recovery costs without any."""
        found: dict[CommitId, IntentKeys] = {}
        for key in self._objects.list(layout.RECOVERY):
            stem, _, suffix = key.removeprefix(f"{layout.RECOVERY}/").partition(".")
            part = _PARTS.get(suffix)
            if part is not None and is_ulid(stem):
                known = found.get(CommitId(stem), IntentKeys(CommitId(stem)))
                found[CommitId(stem)] = _with(known, part)
        return found

    def arm(self, intent: Intent) -> None:
        """Put an intent, before the first table commit."""
        self._put_once(_key(intent.id, "json"), intent.to_bytes())

    def is_armed(self, operation: CommitId) -> bool:
        """Probe for an intent."""
        return self._objects.exists(_key(operation, "json"))

    def announce(self, intent: Intent) -> None:
        """Announce that a long job is staging."""
        self._put_once(_key(intent.id, "staging.json"), intent.to_bytes())

    def still_announced(self, operation: CommitId) -> bool:
        return self._objects.exists(_key(operation, "staging.json"))

    def confirm(self, operation: CommitId, pins: Mapping[TypeId, Pin] | None) -> bool:
        """Confirm the pins of an operation, or with None that it is void; False when another
        confirmation exists."""
        body = {"format": INTENT_FORMAT, "pins": None if pins is None else _pins_to_json(pins)}
        text = json.dumps({**body, "digest": _digest(body)}, sort_keys=True).encode()
        return self._objects.put_if_absent(_key(operation, "confirmed.json"), text)

    def beat(self, operation: CommitId) -> None:
        """Show a sign of life: any text that differs from the last one."""
        self._objects.put(_key(operation, "alive.json"), new_short_id().encode())

    def read(self, keys: IntentKeys) -> Intent:
        intent = Intent.from_bytes(
            self._objects.get(_key(keys.id, "json" if keys.armed else "staging.json"))
        )
        if intent.id != keys.id:
            raise StorageFault(
                "intent.unreadable", f"the intent {keys.id} describes another operation"
            )
        return intent

    def is_torn(self, keys: IntentKeys) -> bool:
        """Return whether the text of an intent is no JSON, as a power cut leaves it."""
        try:
            json.loads(self._objects.get(_key(keys.id, "json" if keys.armed else "staging.json")))
        except NotFound:
            return False
        except (ValueError, RecursionError):
            return True
        return False

    def read_confirmation(self, operation: CommitId) -> Confirmation | None:
        """Read the confirmation of an operation, in any format; None without one."""
        try:
            return _confirmation(parse_json(self._objects.get(_key(operation, "confirmed.json"))))
        except NotFound:
            return None
        except MALFORMED as error:
            raise StorageFault(
                "intent.unreadable", f"confirmation of {operation}: {error}"
            ) from error

    def remove_confirmation(self, operation: CommitId) -> None:
        """Remove the confirmation of an operation whose intent is gone."""
        self._objects.delete(_key(operation, "confirmed.json"))

    def heartbeat(self, operation: CommitId) -> bytes:
        try:
            return self._objects.get(_key(operation, "alive.json"))
        except NotFound:
            return b""

    def remove(self, operation: CommitId, parts: tuple[str, ...] = ()) -> None:
        """Remove an operation's objects, the intent itself last."""
        for suffix in parts or ("alive.json", "confirmed.json", "staging.json", "json"):
            self._objects.delete(_key(operation, suffix))

    def remove_crumbs(self, operation: CommitId) -> None:
        """Remove what a settled operation left. Its intent is put before the rest and removed after
        it, so when it is not there now, it was seen on its way out.
        """
        if not any(
            self._objects.exists(_key(operation, part)) for part in ("json", "staging.json")
        ):
            self.remove(operation, ("alive.json", "confirmed.json"))

    def _put_once(self, key: str, body: bytes) -> None:
        if not self._objects.put_if_absent(key, body):
            raise StorageFault("intent.exists", f"{key} exists with other contents")


_PARTS = {
    "json": "armed",
    "staging.json": "staging",
    "confirmed.json": "confirmed",
    "alive.json": "alive",
}


def _require_known_format(found: int) -> None:
    if found > INTENT_FORMAT:
        raise ValueError(f"format {found} is newer than {INTENT_FORMAT}")


def _digest(body: Mapping[str, Any]) -> str:
    """Hash an intent. A roll-forward publishes its values, so none of them may be damaged."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _require_unaltered(body: Mapping[str, Any]) -> None:
    if body["format"] < _DIGEST_SINCE and "digest" not in body:
        return
    written = {name: value for name, value in body.items() if name != "digest"}
    if body["digest"] != _digest(written):
        raise ValueError("its digest does not match its contents")


def _confirmation(body: dict[str, Any]) -> Confirmation:
    version = body.get("format", 1)
    if version == 1:
        return Confirmation(_pins_from_json(body), is_durable=True)
    _require_known_format(version)
    _require_unaltered(body)
    if version < _CONFIRMED_BY_RECOVERY_SINCE:
        return Confirmation(_pins_from_json(body["hoped"]), is_durable=True)
    pins = body["pins"]
    return Confirmation(None if pins is None else _pins_from_json(pins))


def _with(keys: IntentKeys, part: str) -> IntentKeys:
    return IntentKeys(**{**to_json_value(keys), part: True})


def _key(operation: str, suffix: str) -> str:
    return f"{layout.RECOVERY}/{operation}.{suffix}"


def _pins_to_json(pins: Mapping[TypeId, Pin]) -> dict[str, Any]:
    return {key: to_json_value(pin) for key, pin in pins.items()}


def _pins_from_json(body: dict[str, Any]) -> dict[TypeId, Pin]:
    return {TypeId(key): Pin(**pin) for key, pin in body.items()}


def _publication_to_json(publication: Publication) -> dict[str, Any]:
    return {
        "draft": to_json_value(publication.draft),
        "incarnation": publication.incarnation,
        "captured": to_json_value(publication.captured),
        "schema": publication.schema,
        "moved": _pins_to_json(publication.moved),
        "dropped": sorted(publication.dropped),
        "expected": dict(publication.expected),
        "new_schema": publication.new_schema,
        "if_commit": publication.if_commit,
    }


def _publication_from_json(body: dict[str, Any]) -> Publication:
    draft = dict(body["draft"])
    merged = draft.pop("merged_parent")
    # Names that objects are looked up by.
    _require_texts(body["incarnation"], body["schema"], draft["id"], draft["branch"])
    _require_texts(body["captured"]["id"], body["captured"]["incarnation"])
    return Publication(
        draft=ManifestDraft(
            **{
                **draft,
                "kind": WriterKind(draft["kind"]),
                "counts": Counts(**draft["counts"]),
                "merged_parent": CommitRef(**merged) if merged else None,
                "hard_drops": tuple(draft.get("hard_drops", ())),
            }
        ),
        incarnation=body["incarnation"],
        captured=CommitRef(**body["captured"]),
        schema=body["schema"],
        moved=_pins_from_json(body["moved"]),
        dropped=frozenset(TypeId(key) for key in body["dropped"]),
        expected={TypeId(key): value for key, value in body["expected"].items()},
        new_schema=body["new_schema"],
        if_commit=body["if_commit"],
    )


def _require_texts(*values: object) -> None:
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no name")
