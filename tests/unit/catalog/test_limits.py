"""Schemas that are too large are refused, and large wrong ones are refused quickly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.checks.size import TYPE_MEMBERS_MAX
from omnigraph.errors import SchemaFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

    Build = Callable[..., Catalog]


def test_a_type_may_not_have_too_many_members(build: Build) -> None:
    fits = "\n".join(f"p{number}: I32" for number in range(TYPE_MEMBERS_MAX))
    assert len(build(f"node A {{ {fits} }}").nodes[0].properties) == TYPE_MEMBERS_MAX
    with pytest.raises(SchemaFailure) as caught:
        build(f"node A {{ {fits} @index(p1) }}")
    assert caught.value.code == "S105"


def test_what_a_type_inherits_counts(build: Build) -> None:
    half = "\n".join(f"p{number}: I32" for number in range(TYPE_MEMBERS_MAX // 2 + 1))
    with pytest.raises(SchemaFailure) as caught:
        build(f"interface I {{ {half} }}\nnode A implements I {{ {half} }}")
    assert caught.value.code == "S105"


def test_interfaces_do_not_multiply_without_bound(build: Build) -> None:
    interface = "\n".join(f"p{number}: I32" for number in range(1_000))
    nodes = "\n".join(f"node N{number} implements I {{}}" for number in range(1_000))
    with pytest.raises(SchemaFailure) as caught:
        build(f"interface I {{ {interface} }}\n{nodes}")
    assert [found["code"] for found in caught.value.details["diagnostics"]] == ["S105"]


WRONG = {
    "edges between types that do not exist": (
        "\n".join(f"node Node{number} {{}}" for number in range(3_000))
        + "\n".join(f"\nedge E{number}: Nodd{number} -> Nood{number}" for number in range(3_000))
    ),
    "constraints on properties that do not exist": "node A { "
    + " ".join(f"prop{number}: I32" for number in range(900))
    + " ".join(f" @index(porp{number})" for number in range(1_000))
    + " }",
    "defaults that break their ranges": "node A { "
    + " ".join(f"p{number}: I32 @range(5..) @default(1)" for number in range(900))
    + " }",
    "defaults that take backtracking for ever": "node A { "
    + " ".join(f'p{n}: String @check("(a+)+b") @default("{"a" * 500}")' for n in range(90))
    + " }",
    "a default that takes too long": (
        f'node A {{ p: String @check("(.|.)*") @default("{"a" * 500_000}") }}'
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_large_wrong_schema_is_refused_quickly(build: Build, name: str) -> None:
    started = time.process_time()
    with pytest.raises(SchemaFailure):
        build(WRONG[name])
    # Of the processor, not of the wall: others may be using the machine, or coverage is measured.
    assert time.process_time() - started < 20
