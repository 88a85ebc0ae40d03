"""Setting torn versions aside.

A power cut can leave a manifest that nobody can parse as the newest version of a table, and then
Lance refuses every write to it. It is moved aside when it certainly was never part of the graph: no
commit pins that version of a table, and of a branch's own manifest the predecessor parses, so the
torn one was never acknowledged. Nothing is deleted, one healer works at a time, and each version
that was set aside has one audit row.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.errors import Conflict, NotFound, StorageFault
from omnigraph.recovery.audit import AuditRow, Outcome
from omnigraph.recovery.owner import Owner, current_owner
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid, ulid_micros
from omnigraph.versioning import layout
from omnigraph.versioning.manifest import from_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.recovery.audit import Audit
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Healer"]

_log = logging.getLogger("omnigraph.recovery")

# Healing takes milliseconds; a claim this old belongs to nobody, wherever its owner was.
_CLAIM_MICROS_MAX = 600 * 1_000_000


class Healer:
    """Heals one open graph. What cannot be healed safely is left for people, loudly."""

    def __init__(self, root: GraphRoot, audit: Audit) -> None:
        self._root = root
        self._audit = audit

    def heal(self, fault: StorageFault) -> bool:
        """Set aside what a fault complains about. True when trying again makes sense."""
        if fault.code != "table.torn" or self._root.read_only:
            return False
        path, version = str(fault.details["table"]), int(fault.details["version"])
        if not self._is_expendable(path, version):
            return False
        with self._alone() as alone:
            return alone and self._set_aside(path, version)

    def _set_aside(self, path: str, version: int) -> bool:
        def audit(aside: str) -> None:
            reach("recovery.torn_copied")
            self._audit.record(self._row(path, version, aside))

        try:
            if path == layout.AUDIT_TABLE:
                # It cannot take a row while it is torn.
                audit(self._root.tables.quarantine_torn(path, version))
            else:
                self._root.tables.quarantine_torn(path, version, before_removal=audit)
        except (Conflict, NotFound):
            # Somebody else has healed it, or it was never torn: look again.
            return True
        reach("recovery.torn_set_aside")
        _log.warning("version %s of table %s was torn and is set aside", version, path)
        return True

    def _is_expendable(self, path: str, version: int) -> bool:
        """Whether no commit can ever need the version."""
        if path in {layout.AUDIT_TABLE, layout.LINEAGE_TABLE}:
            return True
        incarnation = layout.incarnation_of(path)
        if incarnation is not None:
            return self._manifest(incarnation, version - 1) is not None
        return not self._is_pinned(path, version)

    def _is_pinned(self, path: str, version: int) -> bool:
        """Whether any commit of any branch, deleted ones included, has the version; rare enough to
        look through all of history.
        """
        for incarnation in self._root.refs.incarnations():
            newest = self._root.tables.latest_version(layout.manifest_path(incarnation))
            for number in range(newest, 0, -1):
                manifest = self._manifest(incarnation, number)
                if manifest is None:
                    continue
                if any(
                    (pin.path, pin.version) == (path, version) for pin in manifest.pins.values()
                ):
                    return True
        return False

    def _manifest(self, incarnation: str, version: int) -> Manifest | None:
        """A manifest; None when there is none, or when it is the torn newest one."""
        path = layout.manifest_path(incarnation)
        try:
            return from_rows(incarnation, version, self._root.tables.read_version(path, version))
        except NotFound:
            return None
        except StorageFault as fault:
            if fault.code == "table.torn":
                return None
            raise

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Be the only healer: between the last look and the removal nobody may heal and write.

        Everybody puts a claim first and looks for others then, so of two at least one sees the
        other. Both may step back; then both try again some other time.
        """
        objects = self._root.locks
        mine = f"{layout.HEAL_CLAIMS}/{new_ulid(self._root.clock)}.json"
        objects.put(mine, json.dumps(current_owner().to_json()).encode())
        try:
            others = [key for key in objects.list(layout.HEAL_CLAIMS) if key != mine]
            yield not any(self._is_living(key) for key in others)
        finally:
            objects.delete(mine)

    def _is_living(self, claim: str) -> bool:
        objects = self._root.locks
        minted = ulid_micros(claim.removeprefix(f"{layout.HEAL_CLAIMS}/"))
        try:
            owner = Owner.from_json(json.loads(objects.get(claim)))
            dead = owner.is_gone() or self._root.clock.now_micros() - minted > _CLAIM_MICROS_MAX
        except (NotFound, ValueError, KeyError, TypeError):
            dead = True
        if dead:
            objects.delete(claim)
        return not dead

    def _row(self, path: str, version: int, aside: str) -> AuditRow:
        return AuditRow(
            aside,
            Outcome.QUARANTINED,
            self._root.clock.now_micros(),
            tables=({"path": path, "from": version, "to": None},),
            note=f"version {version} of {path} was torn",
        )
