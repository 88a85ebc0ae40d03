"""Setting torn versions of the lineage aside.

The lineage is the only ordered table. A power cut can leave a version of it that nobody can parse,
and then Lance refuses every write to it. It is moved aside; no commit needs it, because the lineage
is derived. Nothing is deleted, one healer works at a time, and each version that was set aside has
one audit row. Versions of other tables and manifests of branches are never set aside.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.api.status import AuditRow, RecoveryOutcome
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import Conflict, NotFound, StorageFault
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid, ulid_micros
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.recovery.audit import Audit
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Healer"]

_log = logging.getLogger("omnigraph.recovery")

# Healing takes milliseconds; a claim this old belongs to nobody, wherever its owner was.
_CLAIM_MICROS_MAX = 600 * 1_000_000


class Healer:
    """Heals one open graph. Damage that cannot be healed safely is left for people, loudly."""

    def __init__(self, root: GraphRoot, audit: Audit) -> None:
        self._root = root
        self._audit = audit

    def heal(self, fault: StorageFault) -> bool:
        """Set aside what a fault complains about. True when trying again makes sense."""
        if fault.code != "table.torn" or fault.details["table"] != layout.LINEAGE_TABLE:
            # A torn version of any other table harms only the commits that pin it.
            return False
        if self._root.read_only:
            return False
        with self._alone() as alone:
            return alone and self._set_aside(layout.LINEAGE_TABLE, int(fault.details["version"]))

    def _set_aside(self, path: str, version: int) -> bool:
        def audit(aside: str) -> None:
            reach("recovery.torn_copied")
            self._audit.record(self._row(path, version, aside))

        try:
            self._root.tables.quarantine_torn(path, version, before_removal=audit)
        except (Conflict, NotFound):
            # Somebody else has healed it, or it was never torn: look again.
            return True
        reach("recovery.torn_set_aside")
        _log.warning("version %s of table %s was torn and is set aside", version, path)
        return True

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
            owner = Owner.from_json(parse_json(objects.get(claim)))
            dead = owner.is_gone() or self._root.clock.now_micros() - minted > _CLAIM_MICROS_MAX
        except (NotFound, *MALFORMED):
            dead = True
        if dead:
            objects.delete(claim)
        return not dead

    def _row(self, path: str, version: int, aside: str) -> AuditRow:
        return AuditRow(
            aside,
            RecoveryOutcome.QUARANTINED,
            self._root.clock.now_micros(),
            tables=({"path": path, "from": version, "to": None},),
            note=f"version {version} of {path} was torn",
        )
