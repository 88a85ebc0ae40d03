"""Setting torn versions aside.

A power cut can leave a manifest that nobody can parse as the newest version of a table, and then
Lance refuses every write to it, from every branch. A table version is moved aside; where a commit
may pin it, a version without change takes its number, so that the pin fails loudly and the file can
be brought back. The newest manifest of a branch is moved aside when ``versioning.damage`` finds no
reason to keep it. Nothing is deleted, one healer works at a time, and each version that was set
aside has one audit row.

After the newest manifest of a branch, recovery publishes commits without effect until the branch
has passed its number: a process that still holds the discarded commit in memory finds a newer head,
and cannot publish on top of a commit that the others do not see.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from omnigraph.api.status import AuditRow, RecoveryOutcome
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import Conflict, NotFound, StorageFault
from omnigraph.recovery.fence import publish_without_effect
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_ulid, ulid_micros
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.damage import branch_damaged, branch_name_of, reason_to_keep
from omnigraph.versioning.manifest import from_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.recovery.audit import Audit
    from omnigraph.versioning.heads import Heads
    from omnigraph.versioning.lineage import Lineage
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["Healer"]

_log = logging.getLogger("omnigraph.recovery")

# Healing takes milliseconds; a claim this old belongs to nobody, wherever its owner was.
_CLAIM_MICROS_MAX = 600 * 1_000_000


class Healer:
    """Heals one open graph. Damage that cannot be healed safely is left for people, loudly."""

    def __init__(self, root: GraphRoot, heads: Heads, lineage: Lineage, audit: Audit) -> None:
        self._root = root
        self._heads = heads
        self._lineage = lineage
        self._audit = audit

    def heal(self, fault: StorageFault) -> bool:
        """Set aside what a fault complains about. True when trying again makes sense.

        Raises ``branch.damaged`` for the newest manifest of a branch that has to stay.
        """
        if fault.code != "table.torn":
            return False
        path, version = str(fault.details["table"]), int(fault.details["version"])
        incarnation = layout.incarnation_of(path)
        if incarnation is not None:
            return self._heal_head(incarnation, version, fault)
        if self._root.read_only:
            return False
        expendable = self._is_expendable(path, version)
        with self._alone() as alone:
            if not (alone and self._set_aside(path, version)):
                return False
            if not expendable:
                # Its number must stay taken: the file may come back from a copy of the graph.
                with suppress(Conflict):
                    self._root.tables.occupy(path, version, operation_id=new_ulid(self._root.clock))
        return True

    def _heal_head(self, incarnation: str, version: int, fault: StorageFault) -> bool:
        if self._root.tables.latest_version(layout.manifest_path(incarnation)) != version:
            # Another process has set it aside or published after it: look again.
            return True
        reason = self._heads.name_of(incarnation, version) or reason_to_keep(
            self._root, self._lineage.known, incarnation, version
        )
        if reason is None and self._root.read_only:
            reason = "a read-write open will set it aside, for nothing shows that it was kept"
        if reason is not None:
            raise branch_damaged(self._root, incarnation, fault.message, reason) from fault
        with self._alone() as alone:
            if not (alone and self._set_aside(layout.manifest_path(incarnation), version)):
                return False
            self._pass_number(incarnation, version)
        return True

    def _pass_number(self, incarnation: str, version: int) -> None:
        """Publish commits without effect until the branch has a version above a discarded one."""
        for _ in range(self._root.limits.publish_retries + 1):
            self._heads.forget(incarnation)
            head = self._heads.of_incarnation(incarnation)
            if head.version > version or head.tombstone:
                return
            publish_without_effect(
                self._root,
                self._heads,
                head,
                f"set aside version {version}, which was torn",
                branch=branch_name_of(self._root, incarnation),
            )
            reach("recovery.torn_passed")

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
        try:
            return not self._is_pinned(path, version)
        except StorageFault:
            # A branch that cannot be read may pin it.
            return False

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
        """A manifest; None when there is none."""
        path = layout.manifest_path(incarnation)
        try:
            return from_rows(incarnation, version, self._root.tables.read_version(path, version))
        except NotFound:
            return None

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
