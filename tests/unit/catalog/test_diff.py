"""Plans from one schema to another.

Each case of ``plans.golden`` is a desired schema and the plan from ``plans.base.pg`` to it. After a
deliberate change run ``UPDATE_GOLDEN=1 pytest <this file>`` and read the difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.codes import MigrationCode
from omnigraph.catalog.diff import plan_migration
from omnigraph.catalog.diff_properties import is_lossless
from omnigraph.catalog.render import render_plan
from omnigraph.catalog.steps import (
    AddProperty,
    AddType,
    CheckKind,
    DropMode,
    DropProperty,
    DropType,
    MigrationPlan,
    RenameProperty,
    UnsupportedChange,
)
from omnigraph.datatypes.types import ListType, Scalar, ScalarType
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.golden_cases import read_cases, update_cases

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

    Build = Callable[..., Catalog]

CORPUS = Path(__file__).parents[2] / "corpus" / "pg"
GOLDEN = CORPUS / "plans.golden"


def read(text: str, previous: Catalog | None = None) -> Catalog:
    source = Source(text, "schema.pg")
    return build_catalog(parse_schema(source), source, previous=previous)


BASE = read((CORPUS / "plans.base.pg").read_text(encoding="utf-8"))
CASES = read_cases(GOLDEN)


def plan_to(text: str) -> MigrationPlan:
    return plan_migration(BASE, read(text, BASE))


@pytest.fixture(scope="module", autouse=True)
def golden_file() -> None:
    update_cases(GOLDEN, lambda text: render_plan(plan_to(text)))


@pytest.mark.parametrize("name", CASES)
def test_a_change_has_its_plan(name: str) -> None:
    text, expected = CASES[name]
    assert render_plan(plan_to(text)) == expected


@pytest.mark.parametrize("name", CASES)
def test_every_plan_is_json_that_says_the_same(name: str) -> None:
    plan = plan_to(CASES[name][0])
    body = json.loads(json.dumps(plan.to_json()))
    assert body["supported"] == plan.supported == (not plan.refusals)
    assert body["step_count"] == len(body["steps"]) == len(plan.steps)
    for step, shown in zip(plan.steps, body["steps"], strict=True):
        assert shown["kind"] == step.kind
        assert len(shown.get("checks", [])) == len(step.checks)
        assert shown.get("code") == step.code


def test_every_code_is_shown() -> None:
    shown = {step.code for text, _ in CASES.values() for step in plan_to(text).steps if step.code}
    assert shown == set(MigrationCode)


def test_every_kind_of_check_is_asked_for() -> None:
    asked = {check.kind for text, _ in CASES.values() for check in plan_to(text).checks}
    # That a type is empty is asked only when the caller said so.
    assert asked == set(CheckKind) - {CheckKind.NO_ROWS}


def test_a_refused_step_says_why_and_what_to_do(build: Build) -> None:
    first = build("node A { x: I64 }")
    plan = plan_migration(first, build("node A { x: I32 }", first))
    [step] = plan.refusals
    assert isinstance(step, UnsupportedChange)
    assert step.to_json() == {
        "kind": "unsupported_change",
        "type_kind": "node",
        "entity": "node A.x",
        "change": "change_type",
        "reason": "values of I64 may not fit I32",
        "remedy": "declare another property, fill it with an update, then drop this one",
        "code": "OG-MF-106",
    }
    assert not plan.supported


def test_drops_are_soft_until_data_loss_is_allowed(build: Build) -> None:
    first = build("node A { x: I32 }\nnode B {}\nedge E: B -> B")
    second = build("node A {}", first)
    for allow, mode in ((False, DropMode.SOFT), (True, DropMode.HARD)):
        plan = plan_migration(first, second, allow_data_loss=allow)
        drops = [step for step in plan.steps if isinstance(step, DropType | DropProperty)]
        assert [step.mode for step in drops] == [mode] * 3
        assert plan.supported
        names = [step.type_name for step in drops if isinstance(step, DropType)]
        assert names == ["E", "B"]


def test_an_empty_type_may_get_a_required_property(build: Build) -> None:
    first = build("node A {}")
    second = build("node A { x: I32 }", first)
    assert not plan_migration(first, second).supported
    plan = plan_migration(first, second, row_counts={first.nodes[0].id: 0})
    [step] = plan.steps
    assert isinstance(step, AddProperty)
    assert not step.backfill
    assert [check.kind for check in plan.checks] == [CheckKind.NO_ROWS]
    assert "A has no entities" in render_plan(plan)


def test_a_default_is_filled_in_only_where_a_value_is_required(build: Build) -> None:
    first = build("node A {}")
    second = build("node A { x: I32 @default(1) y: I32? @default(2) }", first)
    steps = plan_migration(first, second).steps
    assert [step.backfill for step in steps if isinstance(step, AddProperty)] == [True, False]
    assert steps[0].to_json()["backfill"] == 1
    assert "backfill" not in steps[1].to_json()


def test_steps_name_what_the_steps_before_them_have_made(build: Build) -> None:
    first = build("node A { x: I32 }")
    second = build('node B @rename_from("A") { y: I64 @rename_from("x") }', first)
    kinds = [(step.kind, step.type_name) for step in plan_migration(first, second).steps]
    assert kinds == [("rename_type", "B"), ("rename_property", "B"), ("change_type", "B")]


def test_steps_carry_identities(build: Build) -> None:
    first = build("node A { x: I32 }")
    second = build('node A { y: I32 @rename_from("x") }\nnode B {}', first)
    rename, add = plan_migration(first, second).steps
    assert isinstance(rename, RenameProperty)
    assert (rename.type_id, rename.prop.id) == (first.nodes[0].id, first.nodes[0].properties[0].id)
    assert isinstance(add, AddType)
    assert add.type_id == second.nodes[1].id


def test_checks_are_listed_once_for_the_whole_plan(build: Build) -> None:
    first = build("node A { x: I32? }")
    second = build("node A { x: I32 @unique @range(0..1) }", first)
    plan = plan_migration(first, second)
    assert [check.kind for check in plan.checks] == [
        CheckKind.NO_NULLS,
        CheckKind.NO_DUPLICATES,
        CheckKind.IN_RANGE,
    ]
    assert {check.type_id for check in plan.checks} == {first.nodes[0].id}


def test_true_and_one_are_different_annotations(build: Build) -> None:
    first = build("node A { x: I32 @note(true) }")
    plan = plan_migration(first, build("node A { x: I32 @note(1) }", first))
    assert [step.kind for step in plan.steps] == ["update_property_metadata"]


def test_renaming_the_source_of_an_embedding_makes_nothing_stale(build: Build) -> None:
    first = build('node A { t: String v: Vector(2) @embed("t") }')
    second = build('node A { text: String @rename_from("t") v: Vector(2) @embed("text") }', first)
    assert {step.code for step in plan_migration(first, second).steps} == {None}
    other = build('node A { t: String v: Vector(2) @embed("t", model="m") }', first)
    [step] = plan_migration(first, other).steps
    assert step.code is MigrationCode.STALE_EMBEDDING


def test_another_model_for_stored_vectors_is_refused_with_both_and_the_cost(build: Build) -> None:
    first = build('node A { t: String v: Vector(2) @embed("t", model="small") }')
    node = first.nodes[0].id
    for text, name in (('"t", model="large"', "'large'"), ('"t"', "the provider's own")):
        other = build(f"node A {{ t: String v: Vector(2) @embed({text}) }}", first)
        plan = plan_migration(first, other, row_counts={node: 1_234})
        [refused] = plan.refusals
        assert (refused.code, refused.change) == (MigrationCode.CHANGE_MODEL, "change_model")
        for part in ("'small'", name, "1,234 rows"):
            assert part in refused.reason
        assert plan_migration(first, other, row_counts={node: 0}).supported
    plain = build("node A { t: String v: Vector(2) }", first)
    assert plan_migration(first, plain, row_counts={node: 5}).supported


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I32", "I64"),
        ("I32", "F64"),
        ("U32", "U64"),
        ("U32", "I64"),
        ("U32", "F64"),
        ("F32", "F64"),
    ],
)
def test_widening_casts_lose_nothing(old: str, new: str) -> None:
    before, after = Scalar(old), Scalar(new)
    assert is_lossless(ScalarType(before), ScalarType(after))
    assert not is_lossless(ScalarType(after), ScalarType(before))
    assert is_lossless(ListType(before), ListType(after))


@pytest.mark.parametrize(
    ("old", "new"),
    [("I64", "F64"), ("I32", "U32"), ("Date", "DateTime"), ("I32", "String"), ("I32", "F32")],
)
def test_other_casts_may_lose_something(old: str, new: str) -> None:
    assert not is_lossless(ScalarType(Scalar(old)), ScalarType(Scalar(new)))
