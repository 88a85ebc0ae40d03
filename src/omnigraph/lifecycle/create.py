"""Creation of a graph: all objects first, the stamp last.

A claim keeps two creators apart. Until the stamp stands, nothing can be opened; what a killed
creator left is swept away by the next one that is asked to (``force``), never by accident.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.commits import Commit, CommitRef, WriterKind
from omnigraph.api.names import MAIN
from omnigraph.api.refs import BranchRef
from omnigraph.coordination.claim import claimed
from omnigraph.errors import AlreadyExists
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_short_id, new_ulid
from omnigraph.versioning.manifest import Manifest, number_pins
from omnigraph.versioning.refs import new_nonce
from omnigraph.versioning.stamp import write_stamp
from omnigraph.versioning.table_creation import create_tables
from omnigraph.versioning.texts import require_actor

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.versioning.root import GraphRoot

__all__ = ["create_graph"]


def create_graph(
    root: GraphRoot, catalog: Catalog, *, actor: str | None = None, force: bool = False
) -> None:
    """Create the graph that ``root`` describes, or raise and leave nothing that can be opened."""
    require_actor(actor)
    root.objects.create_root()
    with claimed(root.objects, force=force):
        reach("init.claimed")
        _make(root, catalog, actor)


def _make(root: GraphRoot, catalog: Catalog, actor: str | None) -> None:
    commit_id = new_ulid(root.clock)
    pins = create_tables(root, catalog, operation_id=commit_id)
    reach("init.tables_created")
    incarnation = new_short_id()
    manifest = Manifest(
        incarnation,
        1,
        Commit(
            ref=CommitRef(commit_id, incarnation, 1),
            branch=MAIN,
            kind=WriterKind.INIT,
            time_micros=root.clock.now_micros(),
            schema=root.put_catalog(catalog),
            actor=actor,
        ),
        number_pins(pins, {}),
    )
    root.store.add(manifest)
    reach("init.manifest_written")
    main = root.refs.add_branch(
        BranchRef(
            name=MAIN,
            number=1,
            incarnation=incarnation,
            open=True,
            created_at_micros=root.clock.now_micros(),
            nonce=new_nonce(),
        )
    )
    if not main:
        raise AlreadyExists("graph.exists", f"{root.objects.uri} already has a main branch")
    reach("init.ref_written")
    write_stamp(root.objects, root.stamp)
    reach("init.stamped")
