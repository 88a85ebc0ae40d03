"""Random edits of a populated graph's schema, against a model of plain Python values.

After each edit: the rows are those of the model, or the edit was refused because the model says so
and nothing changed; every older snapshot still shows what it showed; and planning the same schema
again finds nothing to do.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.api.commits import WriterKind
from omnigraph.changeset.rows import to_arrow
from omnigraph.errors import SchemaFailure, ValidationFailure
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.runtime.ids import new_short_id
from omnigraph.testing.examples import examples
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole
from omnigraph.writer.plan import PreparedWrite, TableEffect, WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.writer.plan import WriteSnapshot

# Few values, so that duplicates and values out of bounds are likely.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "I32": st.integers(0, 4),
    "I64": st.integers(0, 4),
    "F64": st.sampled_from([0.0, 1.0, 2.5]),
    "String": st.sampled_from(["a", "b", "c"]),
    "enum(a, b)": st.sampled_from(["a", "b"]),
    "enum(a, b, c)": st.sampled_from(["a", "b", "c"]),
    "Bool": st.booleans(),
    "[I32]": st.lists(st.integers(0, 3), max_size=2),
    "Vector(2)": st.just([0.5, 1.0]),
}
WIDER = {"I32": ("I64", "F64"), "enum(a, b)": ("enum(a, b, c)", "String"), "[I32]": ()}
NARROWER = {"String": "enum(a, b, c)", "enum(a, b, c)": "enum(a, b)"}
NUMBERS = ("I32", "I64", "F64")
COMPARABLE = ("I32", "I64", "String", "enum(a, b)", "enum(a, b, c)", "Bool")


@dataclass
class Prop:
    type: str
    nullable: bool
    unique: bool = False
    at_least: int | None = None
    default: Any = None
    # The name that it had in the accepted schema.
    was: str | None = None

    def spell(self, name: str) -> str:
        rules = [" @unique"] if self.unique else []
        rules += [f" @range({self.at_least}..99)"] if self.at_least is not None else []
        rules += [f" @default({json.dumps(self.default)})"] if self.default is not None else []
        rules += [f' @rename_from("{self.was}")'] if self.was else []
        return f"    {name}: {self.type}{'?' if self.nullable else ''}{''.join(rules)}"

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.nullable
        in_range = self.at_least is None or value >= self.at_least
        return in_range and (not self.type.startswith("enum") or value in self.type)


@dataclass
class Type:
    """A node type, or an edge type when it has ends."""

    props: dict[str, Prop] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    ends: tuple[str, str] | None = None
    card_max: int | None = None
    was: str | None = None

    def spell(self, name: str) -> str:
        renamed = f' @rename_from("{self.was}")' if self.was else ""
        body = "\n".join(prop.spell(key) for key, prop in self.props.items())
        if self.ends is None:
            return f"node {name}{renamed} {{\n    name: String @key\n{body}\n}}"
        card = f" @card(0..{self.card_max})" if self.card_max is not None else ""
        return f"edge {name}: {self.ends[0]} -> {self.ends[1]}{card}{renamed} {{\n{body}\n}}"

    def is_sound(self) -> bool:
        rows = self.rows.values()
        if not all(prop.allows(row[key]) for key, prop in self.props.items() for row in rows):
            return False
        for key, prop in self.props.items():
            held = [row[key] for row in rows if row[key] is not None]
            if prop.unique and len(set(held)) != len(held):
                return False
        sources = [row["src"] for row in rows] if self.ends else []
        return self.card_max is None or all(sources.count(s) <= self.card_max for s in sources)


@dataclass
class Model:
    types: dict[str, Type] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n\n".join(found.spell(name) for name, found in self.types.items())

    @property
    def nodes(self) -> list[str]:
        return [name for name, found in self.types.items() if found.ends is None]

    def is_sound(self) -> bool:
        return all(found.is_sound() for found in self.types.values())

    def settle(self) -> None:
        """What was renamed has its name."""
        for found in self.types.values():
            found.was = None
            for prop in found.props.values():
                prop.was = None


@dataclass
class Edit:
    """A wanted model; ``refused``: the plan itself says no."""

    model: Model
    backfill: dict[str, Any] = field(default_factory=dict)
    refused: bool = False


NAMES = [f"p{number}" for number in range(6)]
TYPE_NAMES = [f"T{number}" for number in range(5)]


# --- edits: each takes the model as its own copy; None when it does not apply here ---


def add_property(draw: Callable[..., Any], model: Model) -> Edit | None:
    name = draw(st.sampled_from(list(model.types)))
    found = model.types[name]
    fresh = [key for key in NAMES if key not in found.props]
    if not fresh:
        return None
    key, kind = fresh[0], draw(st.sampled_from(list(VALUES)))
    way = draw(st.sampled_from(["null", "default", "constant", "copy", "nothing"]))
    prop = Prop(kind, nullable=way == "null" or draw(st.booleans()))
    sources = [k for k, p in found.props.items() if p.type in {kind, *_narrower_than(kind)}]
    value: Any = None
    edit = Edit(model)
    if way == "default":
        if kind.startswith(("[", "V")):
            return None
        prop.nullable, prop.default = False, draw(VALUES[kind])
        value = prop.default
    elif way == "constant":
        value = draw(VALUES[kind])
        edit.backfill = {f"{name}.{key}": json.dumps(value)}
    elif way == "copy" and sources:
        source = draw(st.sampled_from(sources))
        edit.backfill = {f"{name}.{key}": source}
        for row in found.rows.values():
            row[key] = row[source]
    elif not prop.nullable:
        edit.refused = bool(found.rows)
    for row in found.rows.values():
        row.setdefault(key, value)
    found.props[key] = prop
    return edit


def _narrower_than(kind: str) -> set[str]:
    lossless = {narrow for narrow, wide in WIDER.items() if kind in wide}
    stored_alike = {"String", "enum(a, b)", "enum(a, b, c)"}
    return lossless | (stored_alike if kind in stored_alike else set())


def drop_property(draw: Callable[..., Any], model: Model) -> Edit | None:
    picked = _pick(draw, model)
    if picked is None:
        return None
    found, key = picked
    del found.props[key]
    for row in found.rows.values():
        del row[key]
    return Edit(model)


def rename_property(draw: Callable[..., Any], model: Model) -> Edit | None:
    picked = _pick(draw, model)
    if picked is None:
        return None
    found, key = picked
    fresh = [name for name in (*NAMES, "q0", "q1") if name not in found.props]
    new = draw(st.sampled_from(fresh))
    found.props = {new if name == key else name: prop for name, prop in found.props.items()}
    found.props[new].was = key
    for row in found.rows.values():
        row[new] = row.pop(key)
    return Edit(model)


def change_type(draw: Callable[..., Any], model: Model) -> Edit | None:
    picked = _pick(draw, model)
    if picked is None:
        return None
    found, key = picked
    prop = found.props[key]
    kinds = (*WIDER.get(prop.type, ()), NARROWER.get(prop.type, prop.type), "Bool")
    new = draw(st.sampled_from(kinds))
    if new == prop.type or prop.default is not None:
        return None
    if new not in NUMBERS:
        prop.at_least = None
    prop.unique = prop.unique and new in COMPARABLE
    prop.type, refused = new, new == "Bool"
    return Edit(model, refused=refused)


def change_nullability(draw: Callable[..., Any], model: Model) -> Edit | None:
    picked = _pick(draw, model)
    if picked is None:
        return None
    found, key = picked
    prop = found.props[key]
    prop.nullable = not prop.nullable
    edit = Edit(model)
    if not prop.nullable and draw(st.booleans()):
        value = draw(VALUES[prop.type])
        name = next(name for name, each in model.types.items() if each is found)
        edit.backfill = {f"{name}.{key}": json.dumps(value)}
        for row in found.rows.values():
            row[key] = value if row[key] is None else row[key]
    return edit


def change_rule(draw: Callable[..., Any], model: Model) -> Edit | None:
    picked = _pick(draw, model)
    if picked is None:
        return None
    found, key = picked
    prop = found.props[key]
    if found.ends is not None and draw(st.booleans()):
        found.card_max = draw(st.sampled_from([None, 1, 2]))
    elif prop.type in NUMBERS and draw(st.booleans()) and prop.default is None:
        prop.at_least = draw(st.sampled_from([None, 0, 1, 2]))
    elif prop.type in COMPARABLE:
        prop.unique = not prop.unique
    return Edit(model)


def change_types(draw: Callable[..., Any], model: Model) -> Edit | None:
    way = draw(st.sampled_from(["node", "edge", "drop", "rename"]))
    fresh = [name for name in TYPE_NAMES if name not in model.types]
    if way == "drop" and len(model.nodes) > 1:
        gone = draw(st.sampled_from(list(model.types)))
        model.types = {
            name: found
            for name, found in model.types.items()
            if name != gone and gone not in (found.ends or ())
        }
        return Edit(model)
    if not fresh:
        return None
    if way == "node":
        model.types[fresh[0]] = Type()
    elif way == "edge":
        nodes = st.sampled_from(model.nodes)
        model.types[fresh[0]] = Type(ends=(draw(nodes), draw(nodes)))
    elif way == "rename":
        _rename_type(model, draw(st.sampled_from(list(model.types))), fresh[-1])
    return Edit(model)


def _rename_type(model: Model, old: str, new: str) -> None:
    model.types = {new if name == old else name: found for name, found in model.types.items()}
    model.types[new].was = old
    for found in model.types.values():
        if found.ends is not None:
            source, target = found.ends
            found.ends = (new if source == old else source, new if target == old else target)


def _pick(draw: Callable[..., Any], model: Model) -> tuple[Type, str] | None:
    found = model.types[draw(st.sampled_from(list(model.types)))]
    return (found, draw(st.sampled_from(list(found.props)))) if found.props else None


EDITS = (
    add_property,
    add_property,
    drop_property,
    rename_property,
    change_type,
    change_nullability,
    change_rule,
    change_types,
)


# --- rows ---


class Insert:
    """Writes rows of one type as they are; the model has made sure that they are sound."""

    kind = WriterKind.LOAD
    reprepares = False

    def __init__(self, name: str, rows: dict[str, dict[str, Any]]) -> None:
        self._name = name
        self._rows = rows

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        entity = view.snapshot.catalog.entity(self._name)
        assert entity is not None
        table = view.snapshot.table(entity.id)
        ids = {prop.name: prop.id for prop in entity.properties}
        ends = {"src": "@src", "dst": "@dst", "id": "@id"}
        rows = [{(ends | ids)[key]: value for key, value in row.items()} for row in self._full()]
        staged = table.stage_append(to_arrow(entity, rows))
        return PreparedWrite((TableEffect(entity.id, table.pin, staged),))

    def _full(self) -> list[dict[str, Any]]:
        return [
            {"id": key, **({} if "src" in row else {"name": key}), **row}
            for key, row in self._rows.items()
        ]


def insert_rows(draw: Callable[..., Any], model: Model, graph: EmbeddedGraph, branch: str) -> None:
    name = draw(st.sampled_from(list(model.types)))
    found = model.types[name]
    new: dict[str, dict[str, Any]] = {}
    for _ in range(draw(st.integers(1, 3))):
        row = {
            key: draw(st.none() | VALUES[prop.type] if prop.nullable else VALUES[prop.type])
            for key, prop in found.props.items()
        }
        if found.ends is not None:
            candidates = [list(model.types[end].rows) for end in found.ends]
            if not all(candidates):
                return
            row |= {
                end: draw(st.sampled_from(ids))
                for end, ids in zip(("src", "dst"), candidates, strict=True)
            }
        key = new_short_id()
        found.rows[key] = row
        if found.is_sound():
            new[key] = row
        else:
            del found.rows[key]
    if new:
        graph._engine.transactions.run(WriteRequest(branch), Insert(name, new))


def shown(graph: EmbeddedGraph, target: str) -> dict[str, dict[str, dict[str, Any]]]:
    """All rows at a target, by type, id and the names of that target's schema."""
    snapshot = graph._engine.snapshot(target)
    found = {}
    for entity in snapshot.catalog.types.values():
        names = {prop.column: prop.name for prop in entity.properties if prop.name != "name"}
        names |= {"src": "src", "dst": "dst"}
        rows = snapshot.table(entity.id).scan().to_pylist()
        found[entity.name] = {
            row["id"]: {names[key]: value for key, value in row.items() if key in names}
            for row in rows
        }
    return found


def expected(model: Model) -> dict[str, dict[str, dict[str, Any]]]:
    return {name: found.rows for name, found in model.types.items()}


def attempt(graph: EmbeddedGraph, branch: str, edit: Edit) -> bool:
    """Apply an edit, and hold what happens against the model; whether it was accepted."""
    before = graph._engine.resolver.resolve(branch).commit.id
    if edit.refused or not edit.model.is_sound():
        expected_failure = SchemaFailure if edit.refused else ValidationFailure
        with pytest.raises(expected_failure):
            graph.apply_schema(edit.model.text, branch=branch, backfill=edit.backfill)
        assert graph._engine.resolver.resolve(branch).commit.id == before
        return False
    planned = graph.at(branch).plan_schema(edit.model.text, backfill=edit.backfill)
    done = graph.apply_schema(edit.model.text, branch=branch, backfill=edit.backfill)
    assert done.plan.supported
    assert done.applied == bool(planned.steps)
    assert graph.at(branch).plan_schema(edit.model.text).steps == ()
    again = graph.apply_schema(edit.model.text, branch=branch, backfill=edit.backfill)
    assert not again.applied
    return True


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_any_edits_keep_the_data_that_the_plan_promises(
    tmp_path: Path, data: st.DataObject
) -> None:
    model = Model(
        {
            "T0": Type({"p0": Prop("I32", nullable=True), "p1": Prop("enum(a, b)", nullable=True)}),
            "T1": Type({"p0": Prop("String", nullable=False)}),
            "T2": Type({"p0": Prop("I32", nullable=True)}, ends=("T0", "T1")),
        }
    )
    graph = EmbeddedGraph(new_engine(tmp_path / new_short_id(), schema=model.text))
    models = {"main": model}
    for name in ("T0", "T1", "T2", "T0"):
        insert_rows(data.draw, model, graph, "main") if name else None
    graph.branches.create("dev")
    models["dev"] = deepcopy(model)
    past: list[tuple[str, dict[str, Any]]] = []
    for _ in range(data.draw(st.integers(1, 6))):
        branch = data.draw(st.sampled_from(["main", "dev"]))
        insert_rows(data.draw, models[branch], graph, branch)
        edit = data.draw(st.sampled_from(EDITS))(data.draw, deepcopy(models[branch]))
        if edit is not None and attempt(graph, branch, edit):
            models[branch] = edit.model
            models[branch].settle()
        for name, found in models.items():
            assert shown(graph, name) == expected(found)
        commit = graph._engine.resolver.resolve(branch).commit.id
        past.append((commit, deepcopy(expected(models[branch]))))
    for target, rows in past:
        assert shown(graph, target) == rows
    require_whole(graph._engine)
