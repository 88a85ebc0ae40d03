"""Refs on disk: numbered, put once, the highest rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.objects import open_objects
from omnigraph.api.names import BranchName
from omnigraph.api.refs import BranchRef, TagRef
from omnigraph.errors import StorageFault
from omnigraph.runtime.ids import CommitId
from omnigraph.versioning import layout
from omnigraph.versioning.names import encode_name
from omnigraph.versioning.refs import RefStore, new_nonce

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore


@pytest.fixture
def objects() -> ObjectStore:
    return open_objects("memory://refs")


def ref(name: str, number: int, *, is_open: bool = True, incarnation: str = "i") -> BranchRef:
    return BranchRef(BranchName(name), number, incarnation, is_open, 1, nonce=new_nonce())


def test_the_highest_number_rules(objects: ObjectStore) -> None:
    refs = RefStore(objects)
    for number in (1, 2, 10, 9):
        assert refs.add_branch(ref("dev", number))
    ruling = refs.branch("dev")
    assert ruling is not None
    assert ruling.number == 10
    assert refs.branch("de") is None


def test_a_number_is_taken_once(objects: ObjectStore) -> None:
    refs = RefStore(objects)
    mine, theirs = ref("dev", 1), ref("dev", 1)
    assert refs.add_branch(mine)
    assert not refs.add_branch(theirs)
    assert refs.add_branch(mine), "a lost reply looks like a lost race; the nonce tells"
    assert refs.branch("dev") == mine


def test_every_name_is_listed_once_with_its_ruling_ref(objects: ObjectStore) -> None:
    refs = RefStore(objects)
    for added in (ref("b/x", 1), ref("b", 1), ref("b", 2, is_open=False), ref("A", 1)):
        refs.add_branch(added)
    assert [(found.name, found.number) for found in refs.branches()] == [
        ("A", 1),
        ("b", 2),
        ("b/x", 1),
    ]


def test_every_incarnation_is_remembered(objects: ObjectStore) -> None:
    refs = RefStore(objects)
    refs.add_branch(ref("dev", 1, incarnation="one"))
    refs.add_branch(ref("dev", 2, incarnation="one", is_open=False))
    refs.add_branch(ref("dev", 3, incarnation="two"))
    assert refs.incarnations() == ["one", "two"]


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b'{"name": "dev"}', b"[]"])
def test_a_damaged_ref_is_a_storage_fault(body: bytes, objects: ObjectStore) -> None:
    objects.put(layout.branch_ref("dev", 1), body)
    with pytest.raises(StorageFault) as told:
        RefStore(objects).branch("dev")
    assert told.value.code == "ref.malformed"


def test_a_ref_under_the_name_of_another_branch_is_a_storage_fault(objects: ObjectStore) -> None:
    RefStore(objects).add_branch(ref("dev", 1))
    objects.put(layout.branch_ref("other", 1), objects.get(layout.branch_ref("dev", 1)))
    with pytest.raises(StorageFault):
        RefStore(objects).branch("other")


def test_what_a_migration_removed_and_a_power_cut_brought_back_is_passed_over(
    objects: ObjectStore,
) -> None:
    refs = RefStore(objects)
    refs.add_branch(ref("main", 1))
    objects.put(f"{layout.BRANCHES}/main.json", b"{}")
    assert [found.name for found in refs.branches()] == ["main"]


@pytest.mark.parametrize(
    "name", [".DS_Store", "x.json", "00000001.json.bak", "99999999.json~", "9.json", "notes/1.json"]
)
def test_what_other_programs_leave_beside_refs_is_passed_over(
    name: str, objects: ObjectStore
) -> None:
    refs = RefStore(objects)
    refs.add_branch(ref("main", 1))
    tag = TagRef("v1", CommitId("c"), "i", 3, 1, "ada", new_nonce())
    refs.add_tag(tag)
    objects.put(f"{layout.BRANCHES}/main/{name}", b"junk")
    objects.put(f"{layout.BRANCHES}/.DS_Store", b"junk")
    objects.put(f"{layout.TAGS}/.DS_Store", b"junk")
    ruling = refs.branch("main")
    assert ruling is not None
    assert ruling.number == 1
    assert refs.incarnations() == ["i"]
    assert refs.tags() == [tag]


def test_a_tag_is_put_once_and_can_be_removed(objects: ObjectStore) -> None:
    refs = RefStore(objects)
    tag = TagRef("v1", CommitId("c"), "i", 3, 1, "ada", new_nonce())
    assert refs.add_tag(tag)
    assert not refs.add_tag(TagRef("v1", CommitId("d"), "i", 4, 1, None, new_nonce()))
    assert refs.tag("v1") == tag
    assert refs.tags() == [tag]
    refs.remove_tag("v1")
    assert refs.tag("v1") is None


@pytest.mark.parametrize("body", [b"", b"{", b"{}", json.dumps({"name": "v1"}).encode(), b"[]"])
def test_a_damaged_tag_is_a_storage_fault(body: bytes, objects: ObjectStore) -> None:
    objects.put(layout.tag_ref(encode_name("v1")), body)
    other = TagRef("v2", CommitId("c"), "i", 4, 1, None, new_nonce())
    refs = RefStore(objects)
    refs.add_tag(other)
    for read in (lambda: refs.tag("v1"), lambda: refs.tags().require_complete()):
        with pytest.raises(StorageFault) as told:
            read()
        assert told.value.code == "ref.malformed"
    assert refs.tags() == [other]
    assert [damaged.name for damaged in refs.tags().damaged] == ["v1"]
