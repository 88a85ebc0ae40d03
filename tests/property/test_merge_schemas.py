"""Schema changes on both sides of a merge, with data on both sides, against a written oracle.

Every edit of the schema is made on a branch of ours and on a branch of theirs, each with changes of
data after it; then every pair is merged. The oracle knows properties by what they were called in
the beginning, and applies both edits and both changes of data to plain dictionaries.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.change_pages import DiffRequest
from omnigraph.errors import MergeConflict
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.history.diff import diff
from omnigraph.testing.histories import branch_off, state_of, write
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.session.engine import Engine


PLACE = "node Place { name: String @key }"


@dataclass(frozen=True)
class Prop:
    """A property by its first name: what it is called now, and how it is declared."""

    name: str
    declared: str
    # What rows have that were there before it.
    filled: Any = None


@dataclass(frozen=True)
class Model:
    """The schema of Person in the words of the oracle."""

    props: dict[str, Prop]
    type_name: str = "Person"
    rules: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def text(self) -> str:
        lines = [f"    {prop.name}: {prop.declared}" for prop in self.props.values()]
        head = self.type_name
        if head != "Person":
            head += ' @rename_from("Person")'
        body = "\n".join([*lines, *(f"    {rule}" for rule in self.rules)])
        edges = f"edge Knows: {self.type_name} -> {self.type_name} {{ since: I64? }}"
        return "\n".join([f"node {head} {{\n{body}\n}}", edges, PLACE, *self.more])


BASE = Model(
    {
        "name": Prop("name", "String @key"),
        "age": Prop("age", "I32?"),
        "city": Prop("city", "String?"),
        "note": Prop("note", "String?"),
        "mood": Prop("mood", "enum(bad, good)?"),
        "mail": Prop("mail", "String?"),
    }
)


def with_prop(model: Model, key: str, prop: Prop) -> Model:
    return replace(model, props={**model.props, key: prop})


def without_prop(model: Model, key: str) -> Model:
    return replace(model, props={name: p for name, p in model.props.items() if name != key})


def renamed(old: str, new: str) -> Callable[[Model], Model]:
    def edit(model: Model) -> Model:
        declared = f'{model.props[old].declared} @rename_from("{old}")'
        return with_prop(model, old, replace(model.props[old], name=new, declared=declared))

    return edit


EDITS: dict[str, Callable[[Model], Model]] = {
    "nothing": lambda model: model,
    "add optional": lambda model: with_prop(model, "nick", Prop("nick", "String?")),
    "add with default": lambda m: with_prop(m, "kind", Prop("kind", 'String @default("x")', "x")),
    "rename age to years": renamed("age", "years"),
    "rename age to alter": renamed("age", "alter"),
    "widen age": lambda m: with_prop(m, "age", Prop("age", "I64?")),
    "widen age to F64": lambda m: with_prop(m, "age", Prop("age", "F64?")),
    "drop note": lambda model: without_prop(model, "note"),
    "rename note": renamed("note", "remark"),
    "extend mood by calm": lambda m: with_prop(m, "mood", Prop("mood", "enum(bad, calm, good)?")),
    "extend mood by odd": lambda m: with_prop(m, "mood", Prop("mood", "enum(bad, good, odd)?")),
    "mail is unique": lambda model: replace(model, rules=("@unique(mail)",)),
    "age in range": lambda model: replace(model, rules=("@range(age, 0..99)",)),
    "rename the type": lambda model: replace(model, type_name="Human"),
    "add a type": lambda model: replace(model, more=("node Pet { name: String @key }",)),
}
# Both sides did something to one thing, and not the same.
CLASHES = {
    frozenset(pair)
    for pair in (
        ("rename age to years", "rename age to alter"),
        ("widen age", "widen age to F64"),
        ("drop note", "rename note"),
    )
}


@dataclass
class Data:
    """People as the oracle sees them: values by the first name of their property."""

    people: dict[str, dict[str, Any]] = field(default_factory=dict)

    def named(self, model: Model) -> dict[str, dict[str, Any]]:
        """The same by the names of a schema, NULLs left out."""
        return {
            key: {
                prop.name: values.get(first)
                for first, prop in model.props.items()
                if values.get(first) is not None
            }
            for key, values in self.people.items()
        }


PEOPLE: dict[str, dict[str, Any]] = {
    "ada": {"name": "ada", "age": 36, "city": "rome", "mood": "good", "mail": "a@x"},
    "bob": {"name": "bob", "age": 20, "note": "old"},
    "cyd": {"name": "cyd", "city": "oslo"},
    "dan": {"name": "dan", "age": 1},
}
# What happens after the edit: who is changed, who comes, who goes.
CHANGES: dict[str, tuple[dict[str, dict[str, Any]], tuple[str, ...]]] = {
    "ours": ({"bob": {"city": "kiel"}, "eve": {"name": "eve", "age": 5}}, ()),
    "theirs": ({"cyd": {"city": "bonn", "mail": "c@x"}, "fay": {"name": "fay"}}, ("dan",)),
}


def apply(people: dict[str, dict[str, Any]], side: str) -> dict[str, dict[str, Any]]:
    changed, gone = CHANGES[side]
    after = {key: {**values, **changed.get(key, {})} for key, values in people.items()}
    after |= {key: values for key, values in changed.items() if key not in people}
    return {key: values for key, values in after.items() if key not in gone}


def filled(people: dict[str, dict[str, Any]], model: Model) -> dict[str, dict[str, Any]]:
    defaults = {key: prop.filled for key, prop in model.props.items() if prop.filled is not None}
    return {key: {**defaults, **values} for key, values in people.items()}


def oracle(ours: str, theirs: str) -> tuple[Model, dict[str, dict[str, Any]]] | None:
    """The merged schema and people; None where the two edits clash."""
    if frozenset((ours, theirs)) in CLASHES:
        return None
    model = EDITS[ours](BASE)
    if ours != theirs:
        model = merge_models(model, EDITS[theirs](BASE))
    people = filled(apply(apply(PEOPLE, "ours"), "theirs"), model)
    return model, Data(people).named(model)


def merge_models(ours: Model, theirs: Model) -> Model:
    """Property by property: what one side changed is taken."""
    props: dict[str, Prop] = {}
    for key in {**ours.props, **theirs.props}:
        before, mine, other = BASE.props.get(key), ours.props.get(key), theirs.props.get(key)
        states = [mine, other] if mine == before else [other, mine]
        chosen = states[1] if states[0] == before else merge_props(before, mine, other)
        if chosen is not None:
            props[key] = chosen
    return Model(
        props,
        theirs.type_name if ours.type_name == BASE.type_name else ours.type_name,
        (*ours.rules, *theirs.rules),
        (*ours.more, *theirs.more),
    )


def merge_props(before: Prop | None, mine: Prop | None, other: Prop | None) -> Prop | None:
    """Both changed it: the name of one, the type of the other, or enums with all their values."""
    if mine is None or other is None or before is None:
        return mine or other
    name = other.name if mine.name == before.name else mine.name
    return Prop(name, "merged", mine.filled)


def make(tmp_path: Path) -> Engine:
    engine = new_engine(tmp_path / "g", schema=BASE.text())
    write(engine, {"Person": PEOPLE, "Knows": {"k1": {"from": "ada", "to": "bob"}}})
    graph = EmbeddedGraph(engine)
    for side, (changed, gone) in CHANGES.items():
        for number, (edit, change) in enumerate(EDITS.items()):
            branch = f"{side}-{number}"
            branch_off(engine, branch)
            model = change(BASE)
            if edit != "nothing":
                graph.apply_schema(model.text(), branch=branch)
            people = filled(apply(PEOPLE, side), model)
            rows = Data({key: people[key] for key in changed}).named(model)
            write(engine, {model.type_name: rows}, {model.type_name: gone}, branch=branch)
    return engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return make(tmp_path_factory.mktemp("schemas"))


NUMBERS = {edit: number for number, edit in enumerate(EDITS)}


@pytest.mark.parametrize("ours", EDITS)
def test_every_pair_of_schema_changes_is_merged_as_the_oracle_says(
    engine: Engine, ours: str
) -> None:
    graph = EmbeddedGraph(engine)
    for theirs in EDITS:
        target = f"merge-{NUMBERS[ours]}-{NUMBERS[theirs]}"
        branch_off(engine, target, f"ours-{NUMBERS[ours]}")
        expected = oracle(ours, theirs)
        source = f"theirs-{NUMBERS[theirs]}"
        if expected is None:
            with pytest.raises(MergeConflict) as raised:
                graph.merge(source, into=target)
            kinds = {each["kind"] for each in raised.value.details["merge_conflicts"]}
            assert kinds == {"schema"}, (ours, theirs)
            continue
        graph.merge(source, into=target)
        model, people = expected
        state = state_of(engine, target)
        assert state[model.type_name] == people, (ours, theirs)
        assert set(state["Knows"]) == {"k1"}
        assert set(state) == {model.type_name, "Knows", "Place", *(["Pet"] if model.more else [])}
        check_rules(graph, target, model)
        # The merge brought everything: nothing is left to merge.
        assert graph.merge(source, into=target).commit is None


def check_rules(graph: EmbeddedGraph, target: str, model: Model) -> None:
    catalog = graph.at(target).catalog
    entity = catalog.node(model.type_name)
    assert entity is not None
    assert [prop.name for prop in entity.properties if prop.name not in model_names(model)] == []
    assert bool(entity.uniques) == ("@unique(mail)" in model.rules)
    assert bool(entity.ranges) == any(rule.startswith("@range") for rule in model.rules)


def model_names(model: Model) -> set[str]:
    return {prop.name for prop in model.props.values()}


def test_the_graph_is_whole_after_all_of_it(engine: Engine) -> None:
    require_whole(engine)


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
@pytest.mark.parametrize(
    ("ours", "theirs", "name"),
    [
        ("rename age to years", "rename age to alter", {"ours": "years", "theirs": "alter"}),
        ("drop note", "rename note", {"ours": None, "theirs": "remark"}),
        ("rename note", "drop note", {"ours": "remark", "theirs": None}),
    ],
)
def test_a_strategy_decides_between_definitions(
    engine: Engine, ours: str, theirs: str, name: dict[str, str | None], strategy: str
) -> None:
    target = f"{strategy}-{NUMBERS[ours]}-{NUMBERS[theirs]}"
    branch_off(engine, target, f"ours-{NUMBERS[ours]}")
    EmbeddedGraph(engine).merge(f"theirs-{NUMBERS[theirs]}", into=target, strategy=strategy)
    entity = engine.snapshot(target).catalog.node("Person")
    assert entity is not None
    candidates = {"years", "alter", "remark", "note"} - {"note" if "note" in ours + theirs else ""}
    found = {prop.name for prop in entity.properties} & candidates
    expected = name[strategy]
    assert found - {"note"} == ({expected} if expected else set())
    assert set(state_of(engine, target)["Person"]) == {"ada", "bob", "cyd", "eve", "fay"}


def test_values_of_a_property_that_the_other_side_dropped_are_a_conflict(engine: Engine) -> None:
    graph = EmbeddedGraph(engine)
    branch_off(engine, "noted", "ours-0")
    write(engine, {"Person": {"bob": {"name": "bob", "age": 20, "note": "new"}}}, branch="noted")
    source = f"theirs-{NUMBERS['drop note']}"
    (found,) = graph.merge(source, into="noted", preview=True).conflicts
    assert found.kind == "schema"
    assert "values of property note" in found.message
    for strategy, there in (("ours", True), ("theirs", False)):
        branch_off(engine, f"noted-{strategy}", "noted")
        graph.merge(source, into=f"noted-{strategy}", strategy=strategy)
        person = engine.snapshot(f"noted-{strategy}").catalog.node("Person")
        assert person is not None
        assert ("note" in person.by_name) == there


def test_rows_that_break_a_rule_of_the_other_side_are_conflicts(engine: Engine) -> None:
    graph = EmbeddedGraph(engine)
    branch_off(engine, "twice", "ours-0")
    people = {"gus": {"name": "gus", "mail": "c@x", "age": 500}}
    write(engine, {"Person": people}, branch="twice")
    unique = graph.merge(f"theirs-{NUMBERS['mail is unique']}", into="twice", preview=True)
    assert [found.kind for found in unique.conflicts] == ["unique_violation"]
    aged = graph.merge(f"theirs-{NUMBERS['age in range']}", into="twice", preview=True)
    assert [found.kind for found in aged.conflicts] == ["value_constraint_violation"]
    assert aged.conflicts[0].id == "gus"
    # The other way round: the rule is ours, the rows are theirs.
    for edit, kind in (
        ("mail is unique", "unique_violation"),
        ("age in range", "value_constraint_violation"),
    ):
        branch_off(engine, f"ruled-{NUMBERS[edit]}", f"theirs-{NUMBERS[edit]}")
        preview = graph.merge("twice", into=f"ruled-{NUMBERS[edit]}", preview=True)
        assert [found.kind for found in preview.conflicts] == [kind]


def test_a_type_that_one_side_dropped_and_the_other_uses_is_a_conflict(engine: Engine) -> None:
    graph = EmbeddedGraph(engine)
    branch_off(engine, "placeless")
    graph.apply_schema(BASE.text().replace(PLACE, ""), branch="placeless")
    branch_off(engine, "travelled")
    write(engine, {"Place": {"rome": {"name": "rome"}}}, branch="travelled")
    (found,) = graph.merge("placeless", into="travelled", preview=True).conflicts
    assert (found.kind, found.entity.name) == ("schema", "Place")
    branch_off(engine, "untravelled")
    graph.merge("placeless", into="untravelled")
    assert "Place" not in state_of(engine, "untravelled")
    for strategy, there in (("ours", True), ("theirs", False)):
        branch_off(engine, f"travelled-{strategy}", "travelled")
        graph.merge("placeless", into=f"travelled-{strategy}", strategy=strategy)
        assert ("Place" in state_of(engine, f"travelled-{strategy}")) == there


def test_differences_cross_schema_changes_in_the_schema_of_each_side(engine: Engine) -> None:
    renamed_branch = f"ours-{NUMBERS['rename age to years']}"
    found = {change.id: change for change in diff(engine, DiffRequest("main", renamed_branch))}
    assert set(found) == {"bob", "eve"}
    before, after = found["bob"].before, found["bob"].after
    assert before is not None
    assert after is not None
    assert before.properties["age"] == after.properties["years"] == 20
    assert found["bob"].changed == ("city",)
    with_default = f"ours-{NUMBERS['add with default']}"
    defaulted = {change.id: change for change in diff(engine, DiffRequest("main", with_default))}
    assert defaulted["ada"].changed == ("kind",)
    dropped = diff(engine, DiffRequest("main", f"ours-{NUMBERS['drop note']}"))
    without = {change.id: change.changed for change in dropped}
    assert without == {"bob": ("city", "note"), "eve": ()}


def test_commits_are_picked_and_reverted_across_schema_changes(engine: Engine) -> None:
    graph = EmbeddedGraph(engine)
    target = f"ours-{NUMBERS['rename age to years']}"
    branch_off(engine, "picker", target)
    older = {"ada": {"name": "ada", "age": 40, "city": "rome"}}
    commit = write(engine, {"Person": older}, branch="theirs-0")
    assert commit is not None
    graph.cherry_pick(commit.id, into="picker")
    assert state_of(engine, "picker")["Person"]["ada"]["years"] == 40
    graph.revert(commit.id, branch="picker")
    assert state_of(engine, "picker")["Person"]["ada"]["years"] == 36
    renaming = engine.snapshot(target).manifest.commit.parent
    assert renaming is not None
    graph.revert(renaming.id, branch="picker")
    assert state_of(engine, "picker")["Person"]["ada"]["age"] == 36
