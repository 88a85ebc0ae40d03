"""Object stores that count and fail on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.errors import StorageFault
from omnigraph.testing.counting import CountingObjects
from omnigraph.testing.faulty import Fault, FaultyObjects, ObjectVerb, When

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore


@pytest.fixture
def inner() -> ObjectStore:
    return open_objects("memory://")


def test_requests_are_counted_as_a_bucket_would(inner: ObjectStore) -> None:
    objects = CountingObjects(inner)
    objects.put("a/1", b"")
    objects.put_if_absent("a/2", b"mine")
    objects.put_if_absent("a/2", b"yours")
    objects.get("a/1")
    objects.exists("a/1")
    objects.size("a/1")
    objects.list("a")
    assert objects.counts == {"PUT": 3, "GET": 2, "HEAD": 2, "LIST": 1}
    objects.reset()
    objects.delete_prefix("a")
    assert objects.counts == {"LIST": 1, "DELETE": 2}


def test_the_nth_request_fails_and_only_it(inner: ObjectStore) -> None:
    objects = FaultyObjects(inner, Fault(ObjectVerb.PUT, nth=2))
    objects.put("1", b"")
    with pytest.raises(StorageFault):
        objects.put("2", b"")
    objects.put("3", b"")
    assert inner.list("") == ["1", "3"]
    assert objects.hits == [(ObjectVerb.PUT, "2")]


def test_a_lasting_fault_lasts_until_it_is_healed(inner: ObjectStore) -> None:
    objects = FaultyObjects(inner, Fault(ObjectVerb.LIST, lasting=True))
    for _ in range(3):
        with pytest.raises(StorageFault):
            objects.list("")
    objects.clear()
    assert objects.list("") == []


def test_a_lost_reply_has_happened(inner: ObjectStore) -> None:
    objects = FaultyObjects(inner, Fault(ObjectVerb.PUT, when=When.AFTER))
    with pytest.raises(StorageFault):
        objects.put_if_absent("lock", b"nonce")
    assert inner.get("lock") == b"nonce"


def test_a_fault_can_be_kept_to_a_prefix(inner: ObjectStore) -> None:
    objects = FaultyObjects(inner)
    objects.add(Fault(ObjectVerb.DELETE, prefix="__recovery/"))
    objects.delete("other")
    with pytest.raises(StorageFault):
        objects.delete("__recovery/1")
