"""Manifests as rows and back, and the rules between a head and its successor (INV-2)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.api.commits import Commit, CommitRef, Counts, WriterKind
from omnigraph.catalog.model import TypeId
from omnigraph.errors import InvariantBroken, StorageFault
from omnigraph.ports.tables import Pin
from omnigraph.runtime.ids import CommitId
from omnigraph.versioning.invariants import RULES, require_successor
from omnigraph.versioning.manifest import (
    Manifest,
    Void,
    decode_manifest,
    encode_damage,
    encode_manifest,
    number_pins,
)

WORDS = st.text(max_size=8)
NUMBERS = st.integers(0, 2**53)
REFS = st.builds(CommitRef, WORDS.map(CommitId), WORDS, NUMBERS)
# Detached table versions take up all 64 bits.
VERSIONS = st.integers(0, 2**64 - 1)
PINS = st.builds(Pin, WORDS, VERSIONS, WORDS, NUMBERS, NUMBERS)
COMMITS = st.builds(
    Commit,
    REFS,
    WORDS,
    st.sampled_from(WriterKind),
    NUMBERS,
    WORDS,
    parent=st.none() | REFS,
    merged_parent=st.none() | REFS,
    actor=st.none() | WORDS,
    message=st.none() | WORDS,
    counts=st.builds(Counts, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    idempotency_key=st.none() | WORDS,
    request_digest=st.none() | WORDS,
)
MANIFESTS = st.builds(
    Manifest,
    WORDS,
    NUMBERS,
    COMMITS,
    st.dictionaries(st.text(min_size=1, max_size=5).map(TypeId), PINS, max_size=4),
    st.lists(st.builds(Void, WORDS.map(CommitId), NUMBERS), max_size=3).map(tuple),
    tombstone=st.booleans(),
)


@settings(deadline=None)
@given(MANIFESTS)
def test_a_manifest_comes_back_from_its_object(manifest: Manifest) -> None:
    text = encode_manifest(manifest)
    again = decode_manifest(manifest.incarnation, manifest.version, text)
    assert replace(again, pins=dict(again.pins)) == replace(manifest, pins=dict(manifest.pins))
    counters = [pin.counter for pin in manifest.pins.values()]
    assert [again.pins[key].counter for key in manifest.pins] == counters


def test_equal_manifests_have_equal_bytes_whatever_the_order_of_their_pins() -> None:
    pins = {TypeId(name): Pin(name, 1, name, 0) for name in "abc"}
    backwards = dict(reversed(list(pins.items())))
    assert encode_manifest(replace(HEAD, pins=pins)) == encode_manifest(
        replace(HEAD, pins=backwards)
    )


def test_any_change_of_a_manifest_is_recognised() -> None:
    """Every byte that is lost, changed or added, and every cut."""
    text = encode_manifest(HEAD)
    assert decode_manifest("i", 7, text) == HEAD
    damaged = [text[:end] for end in range(len(text))]
    damaged += [text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :] for at in range(len(text))]
    damaged += [text + b"\n", b"\0" * len(text)]
    for broken in damaged:
        with pytest.raises(StorageFault) as raised:
            decode_manifest("i", 7, broken)
        assert raised.value.code == "manifest.malformed"


@pytest.mark.parametrize(("incarnation", "version"), [("j", 7), ("i", 8)])
def test_a_manifest_in_another_place_is_recognised(incarnation: str, version: int) -> None:
    with pytest.raises(StorageFault) as raised:
        decode_manifest(incarnation, version, encode_manifest(HEAD))
    assert raised.value.code == "manifest.malformed"


def test_damage_from_before_a_migration_keeps_its_reason() -> None:
    with pytest.raises(StorageFault) as raised:
        decode_manifest("i", 7, encode_damage("version 7 was torn"))
    assert "version 7 was torn" in raised.value.message


def test_a_pin_counts_on_from_the_pin_that_it_replaces() -> None:
    old, new = TypeId("old"), TypeId("new")
    moved = {old: Pin("p", 2**63, "f", 0, 70), new: Pin("q", 1, "g", 0)}
    counted = number_pins(moved, {old: Pin("p", 9, "e", 0, 4)})
    assert {key: pin.counter for key, pin in counted.items()} == {old: 5, new: 1}


HEAD = Manifest(
    "i",
    7,
    Commit(CommitRef(CommitId("head"), "i", 7), "main", WriterKind.MUTATION, 1_000, "s"),
    {TypeId("t"): Pin("nodes/t", 3, "f", 5, 1)},
    voids=(Void(CommitId("void"), 1),),
)
NEXT = Manifest(
    "i",
    8,
    Commit(
        CommitRef(CommitId("next"), "i", 8),
        "main",
        WriterKind.MUTATION,
        1_001,
        "s",
        parent=CommitRef(CommitId("head"), "i", 7),
    ),
    {TypeId("t"): Pin("nodes/t", 4, "g", 6, 2)},
)

BROKEN = {
    "version": replace(NEXT, version=9),
    "incarnation": replace(NEXT, incarnation="j"),
    "no parent": replace(NEXT, commit=replace(NEXT.commit, parent=None)),
    "another parent": replace(
        NEXT, commit=replace(NEXT.commit, parent=CommitRef(CommitId("x"), "i", 7))
    ),
    "another home": replace(
        NEXT, commit=replace(NEXT.commit, ref=CommitRef(CommitId("next"), "i", 9))
    ),
    "time": replace(NEXT, commit=replace(NEXT.commit, time_micros=1_000)),
    "void": replace(NEXT, commit=replace(NEXT.commit, ref=CommitRef(CommitId("void"), "i", 8))),
    "a pin without a fingerprint": replace(NEXT, pins={TypeId("t"): Pin("p", 1, "", 0, 1)}),
    "a pin without a version": replace(NEXT, pins={TypeId("t"): Pin("p", 0, "f", 0, 1)}),
    "a pin without a counter": replace(NEXT, pins={TypeId("t"): Pin("p", 1, "f", 0)}),
    "a recovery that moves a pin": replace(
        NEXT, commit=replace(NEXT.commit, kind=WriterKind.RECOVERY)
    ),
}


def test_a_proper_successor_is_accepted() -> None:
    require_successor(HEAD, NEXT)


@pytest.mark.parametrize("successor", BROKEN.values(), ids=BROKEN)
def test_what_is_no_proper_successor_is_never_swapped_in(successor: Manifest) -> None:
    with pytest.raises(InvariantBroken) as told:
        require_successor(HEAD, successor)
    assert told.value.number == 2


def test_nothing_follows_a_tombstone() -> None:
    with pytest.raises(InvariantBroken):
        require_successor(replace(HEAD, tombstone=True), NEXT)


def test_every_rule_is_broken_by_one_of_these_tests() -> None:
    broken = {
        rule.__name__ for successor in BROKEN.values() for rule in RULES if rule(HEAD, successor)
    }
    assert broken | {"_nothing_follows_a_tombstone"} == {rule.__name__ for rule in RULES}
