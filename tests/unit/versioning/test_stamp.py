"""The stamp: what is a graph, and what is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.errors import AlreadyExists, NotFound, StorageFault, Unsupported
from omnigraph.versioning import layout
from omnigraph.versioning.stamp import FORMAT, Settings, Stamp, read_stamp, write_stamp

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

STAMP = Stamp("g", FORMAT, 7, Settings("process", 3, 4))


@pytest.fixture
def objects() -> ObjectStore:
    return open_objects("memory://stamp")


def test_a_stamp_comes_back_as_it_was_written(objects: ObjectStore) -> None:
    write_stamp(objects, STAMP)
    assert read_stamp(objects) == STAMP


def test_a_second_stamp_is_refused(objects: ObjectStore) -> None:
    write_stamp(objects, STAMP)
    with pytest.raises(AlreadyExists):
        write_stamp(objects, Stamp("other", FORMAT, 8))
    assert read_stamp(objects) == STAMP


def test_nothing_there_is_no_graph(objects: ObjectStore) -> None:
    with pytest.raises(NotFound) as told:
        read_stamp(objects)
    assert told.value.code == "graph.missing"


def test_a_claim_without_a_stamp_is_a_half_made_graph(objects: ObjectStore) -> None:
    objects.put(layout.init_claim(1), b"{}")
    with pytest.raises(NotFound) as told:
        read_stamp(objects)
    assert told.value.code == "graph.half_made"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"internal_schema_version": "x"}',
        b'{"internal_schema_version": null}',
        b'{"internal_schema_version": 2}',
        b'{"internal_schema_version": 0, "graph_id": "g", "created_at_micros": 1}',
        b'{"internal_schema_version": -1, "graph_id": "g", "created_at_micros": 1}',
        b'{"internal_schema_version": true, "graph_id": "g", "created_at_micros": 1}',
        b'{"internal_schema_version": 2.5, "graph_id": "g", "created_at_micros": 1}',
        b'{"internal_schema_version": 2, "graph_id": "g", "created_at_micros": "soon"}',
    ],
)
def test_a_damaged_stamp_is_a_storage_fault(body: bytes, objects: ObjectStore) -> None:
    objects.put(layout.STAMP, body)
    with pytest.raises(StorageFault) as told:
        read_stamp(objects)
    assert told.value.code == "graph.stamp_malformed"


@pytest.mark.parametrize(
    "settings", [{"durability": "hope"}, 7, [1], {"retention_days": "x"}, {"retention_commits": -1}]
)
def test_settings_that_nobody_wrote_are_a_storage_fault(
    settings: Any, objects: ObjectStore
) -> None:
    body = json.loads(STAMP.to_bytes()) | {"settings": settings}
    objects.put(layout.STAMP, json.dumps(body).encode())
    with pytest.raises(StorageFault):
        read_stamp(objects)


def test_settings_of_a_later_build_of_the_same_format_are_ignored(objects: ObjectStore) -> None:
    body = json.loads(STAMP.to_bytes())
    body["settings"]["colour"] = "blue"
    objects.put(layout.STAMP, json.dumps(body).encode())
    assert read_stamp(objects) == STAMP


def test_a_newer_format_is_refused_whatever_else_it_holds(objects: ObjectStore) -> None:
    objects.put(layout.STAMP, json.dumps({"internal_schema_version": FORMAT + 5}).encode())
    with pytest.raises(Unsupported) as told:
        read_stamp(objects)
    assert told.value.details == {"found": FORMAT + 5, "supported": FORMAT}
