"""Raising an older format to this one.

Each step is idempotent, so two openers may run it at once and a killed one may run it again. The
stamp is raised once, when all steps have done their work; then leftovers go, which a killed opener
leaves to cleanup. Migration runs before any branch is read.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.errors import GraphError, NotFound, StorageFault
from omnigraph.runtime.faults import reach
from omnigraph.runtime.json_text import parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.format_1 import number_refs
from omnigraph.versioning.format_2 import Format2, move_to_objects, remove_leftovers
from omnigraph.versioning.stamp import FORMAT, Stamp, read_stamp
from omnigraph.versioning.upgraded_view import UpgradedView

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.ports.earlier_formats import EarlierTables
    from omnigraph.ports.objects import ObjectStore

__all__ = ["migrate", "upgraded_view"]


def migrate(objects: ObjectStore, stamp: Stamp, earlier: Callable[[], EarlierTables]) -> Stamp:
    """Bring a graph to this build's format; the stamp that is returned is the one on disk."""
    if stamp.internal_schema_version >= FORMAT:
        return stamp
    try:
        if stamp.internal_schema_version < 2:
            number_refs(objects)
        move_to_objects(objects, earlier())
    except (NotFound, StorageFault):
        # Another opener may have finished the migration, and removed what this one was reading.
        current = read_stamp(objects)
        if current.internal_schema_version < FORMAT:
            raise
        return current
    reach("migrate.worked")
    stamp = _raise_stamp(objects, stamp)
    reach("migrate.stamped")
    with suppress(GraphError):
        # Nothing depends on it: the graph is of this format.
        remove_leftovers(objects)
    return stamp


def upgraded_view(
    objects: ObjectStore, stamp: Stamp, earlier: Callable[[], EarlierTables]
) -> ObjectStore:
    """Return the view of a read-only open: an older graph as if it were migrated."""
    if stamp.internal_schema_version >= FORMAT:
        return objects
    return UpgradedView(objects, Format2(earlier()))


def _raise_stamp(objects: ObjectStore, stamp: Stamp) -> Stamp:
    current = read_stamp(objects)
    # Another opener may be ahead.
    if current.internal_schema_version >= FORMAT:
        return current
    # Fields that a later build added stay.
    body = parse_json(objects.get(layout.STAMP))
    body["internal_schema_version"] = FORMAT
    objects.put(layout.STAMP, json.dumps(body, indent=2, sort_keys=True).encode())
    return replace(stamp, internal_schema_version=FORMAT)
