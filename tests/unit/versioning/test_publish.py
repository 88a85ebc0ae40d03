"""The preconditions of a publication, one by one, against the head that it would overwrite."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.commits import WriterKind
from omnigraph.catalog.model import TypeId
from omnigraph.errors import (
    Conflict,
    OperationVoid,
    PinChanged,
    PreconditionFailed,
    StaleHead,
    StorageFault,
)
from omnigraph.ports.tables import Pin, table_version
from omnigraph.recovery.fence import OperationStatus, fence, operation_status
from omnigraph.runtime.ids import CommitId, new_ulid
from omnigraph.testing.kit import add, catalog_of, history, new_engine, wide_schema
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.publish import (
    PRECONDITIONS,
    ManifestDraft,
    OperationPublished,
    Publication,
    publish,
)

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    made = new_engine(tmp_path / "graph")
    add(made, ["a"])
    return made


def publication(engine: Engine, **changes: object) -> Publication:
    head = engine.resolver.resolve("main")
    draft = ManifestDraft(new_ulid(), "main", WriterKind.MUTATION)
    plain = Publication(draft, head.incarnation, head.commit.ref, head.commit.schema)
    return replace(plain, **changes)  # type: ignore[arg-type]


def refused(engine: Engine, wanted: Publication, kind: type[Exception]) -> Exception:
    before = [commit.id for commit in history(engine)]
    with pytest.raises(kind) as told:
        publish(engine.root, engine.heads, wanted)
    assert [commit.id for commit in history(engine)] == before
    return told.value


def test_a_plain_publication_is_the_new_head(engine: Engine) -> None:
    wanted = publication(engine)
    manifest = publish(engine.root, engine.heads, wanted)
    assert engine.resolver.resolve("main") == manifest
    assert manifest.commit.id == wanted.draft.id


def test_publishing_twice_is_publishing_once(engine: Engine) -> None:
    wanted = publication(engine)
    first = publish(engine.root, engine.heads, wanted)
    add(engine, ["b"])
    assert publish(engine.root, engine.heads, wanted) == first
    require_whole(engine)


def test_a_publication_on_a_moved_head_follows_the_new_head(engine: Engine) -> None:
    wanted = publication(engine)
    between = add(engine, ["b"])
    published = publish(engine.root, engine.heads, wanted)
    assert published.commit.parent is not None
    assert published.commit.parent.id == between
    require_whole(engine)


def test_moved_pins_are_counted_per_table_and_branch(engine: Engine) -> None:
    head = engine.resolver.resolve("main")
    type_id, pin = next((key, pin) for key, pin in head.pins.items() if pin.counter == 2)
    # Detached versions have numbers that say nothing about their order.
    moved = replace(pin, version=2**63 + 5, fingerprint="f", counter=0)
    published = publish(engine.root, engine.heads, publication(engine, moved={type_id: moved}))
    assert published.pins[type_id] == moved
    assert published.pins[type_id].counter == 3
    others = {key: pin.counter for key, pin in published.pins.items() if key != type_id}
    assert set(others.values()) == {1}
    stored = engine.root.store.read(published.incarnation, published.version)
    assert stored == published
    assert stored.pins[type_id].version == 2**63 + 5
    assert stored.pins[type_id].counter == 3


def test_a_tombstone_is_the_end(engine: Engine) -> None:
    publish(engine.root, engine.heads, publication(engine, tombstone=True))
    head = engine.heads.of_incarnation(engine.root.refs.incarnations()[0])
    draft = ManifestDraft(new_ulid(), "main", WriterKind.MUTATION)
    late = Publication(draft, head.incarnation, head.commit.ref, head.commit.schema)
    with pytest.raises(Conflict) as told:
        publish(engine.root, engine.heads, late)
    assert told.value.code == "branch.deleted"


def test_a_changed_schema_is_a_stale_head(engine: Engine) -> None:
    refused(engine, publication(engine, schema="another"), StaleHead)


@pytest.mark.parametrize("expected", ["another fingerprint", None])
def test_a_pin_that_was_expected_otherwise_is_named(expected: str | None, engine: Engine) -> None:
    head = engine.resolver.resolve("main")
    type_id, pin = next(iter(head.pins.items()))
    error = refused(engine, publication(engine, expected={type_id: expected}), PinChanged)
    assert isinstance(error, PinChanged)
    assert error.details == {"table_key": type_id, "actual": table_version(pin)}


def test_a_table_that_was_not_there_must_still_not_be_there(engine: Engine) -> None:
    publish(engine.root, engine.heads, publication(engine, expected={TypeId("new"): None}))
    refused(engine, publication(engine, expected={TypeId("new"): "f"}), PinChanged)


def test_a_condition_on_the_head_is_a_compare_and_swap(engine: Engine) -> None:
    head = engine.resolver.resolve("main").commit.id
    wanted = publication(engine, if_commit=head)
    publish(engine.root, engine.heads, wanted)
    refused(engine, publication(engine, if_commit=head), PreconditionFailed)


def test_an_idempotency_key_that_was_used_since_capture_is_refused(engine: Engine) -> None:
    draft = ManifestDraft(new_ulid(), "main", WriterKind.MUTATION, idempotency_key="k")
    mine = publication(engine, draft=draft)
    theirs = publication(engine, draft=replace(draft, id=new_ulid()))
    landed = publish(engine.root, engine.heads, theirs)
    error = refused(engine, mine, Conflict)
    assert isinstance(error, Conflict)
    assert error.details == {"commit_id": landed.commit.id}


def test_a_fence_may_not_follow_what_it_voids(engine: Engine) -> None:
    wanted = publication(engine)
    voiding = publication(engine, voids=(wanted.draft.id,))
    publish(engine.root, engine.heads, wanted)
    refused(engine, voiding, OperationPublished)


def test_a_void_operation_is_refused_for_as_long_as_it_is_remembered(engine: Engine) -> None:
    wanted = publication(engine)
    assert fence(engine.root, engine.heads, engine.lineage, wanted) is OperationStatus.VOID
    for number in range(3):
        add(engine, [f"more-{number}"])
    refused(engine, wanted, OperationVoid)
    assert fence(engine.root, engine.heads, engine.lineage, wanted) is OperationStatus.VOID
    kinds = [commit.kind for commit in history(engine)]
    assert kinds.count(WriterKind.RECOVERY) == 1, "voiding twice is voiding once"
    require_whole(engine)


def test_what_was_published_cannot_be_voided(engine: Engine) -> None:
    wanted = publication(engine)
    publish(engine.root, engine.heads, wanted)
    assert fence(engine.root, engine.heads, engine.lineage, wanted) is OperationStatus.PUBLISHED
    assert (
        operation_status(engine.root, engine.heads, engine.lineage, wanted)
        is OperationStatus.PUBLISHED
    )


def test_voids_are_forgotten_after_their_time(engine: Engine) -> None:
    fence(engine.root, engine.heads, engine.lineage, publication(engine))
    assert len(engine.resolver.resolve("main").voids) == 1
    engine.root.limits = replace(engine.root.limits, void_memory_seconds=0.0)
    draft = ManifestDraft(CommitId("7ZZZZZZZZZ" + "0" * 16), "main", WriterKind.MUTATION)
    publish(engine.root, engine.heads, publication(engine, draft=draft))
    assert engine.resolver.resolve("main").voids == ()


def test_a_graph_that_lost_its_stamp_takes_no_commit(engine: Engine, tmp_path: Path) -> None:
    stamp = tmp_path / "graph" / layout.STAMP
    body = stamp.read_bytes()
    stamp.unlink()
    error = refused(engine, publication(engine), StorageFault)
    assert isinstance(error, StorageFault)
    assert error.code == "graph.moved"
    stamp.write_bytes(body.replace(engine.root.stamp.graph_id.encode(), b"0" * 26))
    refused(engine, publication(engine), StorageFault)


def test_pins_move_and_go_with_their_commit(engine: Engine) -> None:
    catalog = catalog_of(wide_schema(1))
    digest = engine.root.put_catalog(catalog)
    (kept,) = catalog.types
    head = engine.resolver.resolve("main")
    pin = Pin("nodes/x", 1, "f", 0)
    wanted = publication(engine, moved={kept: pin}, dropped=frozenset(head.pins), new_schema=digest)
    manifest = publish(engine.root, engine.heads, wanted)
    assert dict(manifest.pins) == {kept: pin}
    assert manifest.commit.schema == digest


def test_every_precondition_has_a_test_here() -> None:
    assert {check.__name__ for check in PRECONDITIONS} == {
        "_operation_is_young",  # tests/fault/test_intents.py
        "_branch_is_open",
        "_schema_is_unchanged",
        "_pins_are_unchanged",
        "_if_commit_holds",
        "_key_is_unused",
        "_voided_is_unpublished",
        "_graph_is_in_place",
    }
