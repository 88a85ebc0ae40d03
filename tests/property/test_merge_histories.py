"""Random histories on two branches, merged, against a model of plain dictionaries.

The model merges states entity by entity and property by property, then looks for edges without a
node, values that are not unique and sources with too many edges. It knows nothing of pins, files or
differences.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.api.change_pages import DiffRequest
from omnigraph.api.merges import MergeOutcome, MergeRequest
from omnigraph.errors import ValidationFailure
from omnigraph.history.diff import diff
from omnigraph.merging.merge import merge_branches
from omnigraph.merging.resolutions import parse_choices
from omnigraph.testing.examples import examples
from omnigraph.testing.histories import State, branch_off, state_of, write
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.session.engine import Engine

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I64?
    tags: [String]?
}

node Place {
    name: String @key
    size: F64?
}

edge Knows: Person -> Person @card(0..2) {
    since: I64?
}

edge LivesIn: Person -> Place {
    since: I64?
    @key(src, dst)
}
"""
PEOPLE, PLACES = ("a", "b", "c", "d"), ("x", "y")
CARD_MAX = 2
FRIENDSHIPS = [f"{one}-{other}-0" for one in "ab" for other in PEOPLE]
# Where the two lines part; d is not there yet.
BASE: State = {
    "Person": {
        "a": {"name": "a", "mail": "m1", "age": 0},
        "b": {"name": "b", "age": 1, "tags": ["t"]},
        "c": {"name": "c"},
    },
    "Place": {"x": {"name": "x", "size": 0.5}, "y": {"name": "y"}},
    "Knows": {
        "a-b-0": {"from": "a", "to": "b", "since": 1},
        "b-c-0": {"from": "b", "to": "c"},
    },
    "LivesIn": {'["a","x"]': {"from": "a", "to": "x", "since": 1}},
}

Op = tuple[Any, ...]
Commit = list[Op]


def spelled(*ends: str) -> str:
    return "[" + ",".join(f'"{end}"' for end in ends) + "]"


people = st.fixed_dictionaries(
    {},
    optional={
        "mail": st.sampled_from(["m1", "m2"]),
        "age": st.integers(0, 2),
        "tags": st.lists(st.sampled_from(["t", "u"]), max_size=2),
    },
)
since = st.fixed_dictionaries({}, optional={"since": st.integers(0, 2)})
operations = st.one_of(
    st.tuples(st.just("put"), st.just("Person"), st.sampled_from(PEOPLE), people),
    st.tuples(
        st.just("put"),
        st.just("Place"),
        st.sampled_from(PLACES),
        st.fixed_dictionaries({}, optional={"size": st.sampled_from([0.5, 1.5])}),
    ),
    st.tuples(
        st.just("knows"), st.sampled_from("ab"), st.sampled_from(PEOPLE), st.integers(0, 1), since
    ),
    st.tuples(st.just("lives"), st.sampled_from(PEOPLE), st.sampled_from(PLACES), since),
    st.tuples(st.just("drop"), st.just("Person"), st.sampled_from(PEOPLE)),
    st.tuples(st.just("drop"), st.just("Place"), st.sampled_from(PLACES)),
    st.tuples(st.just("drop"), st.just("Knows"), st.sampled_from(FRIENDSHIPS)),
)
histories = st.lists(st.lists(operations, min_size=1, max_size=2), min_size=1, max_size=7)


def play(engine: Engine, branch: str, history: list[Commit]) -> None:
    """Write the commits that the schema allows; the others are refused whole."""
    for commit in history:
        upserts: dict[str, dict[str, Any]] = {}
        deletes: dict[str, set[str]] = {}
        for op in commit:
            kind, key, values = read(op)
            if values is None:
                upserts.get(kind, {}).pop(key, None)
                deletes.setdefault(kind, set()).add(key)
            elif key not in deletes.get(kind, ()):
                upserts.setdefault(kind, {})[key] = values
        try:
            write(engine, upserts, deletes, branch=branch)
        except ValidationFailure:
            continue


def read(op: Op) -> tuple[str, str, dict[str, Any] | None]:
    match op:
        case ("put", kind, key, values):
            return kind, key, {"name": key, **values}
        case ("knows", source, target, number, values):
            key = f"{source}-{target}-{number}"
            return "Knows", key, {"from": source, "to": target, **values}
        case ("lives", source, target, values):
            return "LivesIn", spelled(source, target), {"from": source, "to": target, **values}
        case ("drop", kind, key):
            return kind, key, None
        case _:
            raise AssertionError(op)


# --- the model -----------------------------------------------------------------------------------


def model_merge(base: State, ours: State, theirs: State) -> tuple[State, set[tuple[str, str, str]]]:
    """The merged state, ours where the two disagree, and the disagreements."""
    merged: State = {}
    conflicts = set()
    for kind in base:
        merged[kind] = {}
        for key in {*base[kind], *ours[kind], *theirs[kind]}:
            states = (base[kind].get(key), ours[kind].get(key), theirs[kind].get(key))
            result, conflict = model_entity(*states)
            if conflict is not None:
                conflicts.add((conflict, kind, key))
            if result is not None:
                merged[kind][key] = result
    return merged, conflicts


def model_entity(base: Any, ours: Any, theirs: Any) -> tuple[Any, str | None]:
    if theirs in (ours, base):
        return ours, None
    if ours == base:
        return theirs, None
    if base is None:
        return ours, "divergent_insert"
    if ours is None or theirs is None:
        return ours, "delete_vs_update"
    merged, disputed = {}, False
    for name in {*base, *ours, *theirs}:
        before, mine, other = base.get(name), ours.get(name), theirs.get(name)
        chosen = other if mine == before else mine
        disputed |= other not in (mine, before) and mine != before
        if chosen is not None:
            merged[name] = chosen
    return merged, "divergent_update" if disputed else None


def broken_rules(state: State) -> Iterator[tuple[str, str, str]]:
    """What a state breaks among the rules of the schema."""
    for kind, target in (("Knows", "Person"), ("LivesIn", "Place")):
        for key, edge in state[kind].items():
            if edge["from"] not in state["Person"] or edge["to"] not in state[target]:
                yield "orphan_edge", kind, key
    mails = Counter(person["mail"] for person in state["Person"].values() if "mail" in person)
    for key, person in state["Person"].items():
        if mails[person.get("mail", "")] > 1:
            yield "unique_violation", "Person", key
    for source, count in Counter(edge["from"] for edge in state["Knows"].values()).items():
        if count > CARD_MAX:
            yield "cardinality_violation", "Knows", source


def told_by(engine: Engine, source: str, target: str) -> set[tuple[str, str, str]]:
    preview = merge_branches(engine, MergeRequest(source, target, preview=True))
    found: set[tuple[str, str, str]] = set()
    for conflict in preview.conflicts:
        if conflict.kind == "unique_violation":
            # The model names both, whoever is said to have come first.
            found |= {
                ("unique_violation", "Person", who or "") for who in (conflict.id, conflict.other)
            }
        else:
            who = conflict.id if conflict.id is not None else conflict.other or ""
            found.add((conflict.kind.value, conflict.entity.name, who))
    return found


RELAXED = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)


@RELAXED
@given(histories, histories)
def test_a_merge_of_random_histories_is_what_the_model_says(
    left: list[Commit], right: list[Commit]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        write(engine, BASE)
        branch_off(engine, "left")
        base = state_of(engine)
        assert base == BASE
        play(engine, "main", left)
        play(engine, "left", right)
        ours, theirs = state_of(engine), state_of(engine, "left")
        merged, conflicts = model_merge(base, ours, theirs)
        conflicts |= set(broken_rules(merged))
        assert told_by(engine, "left", "main") == conflicts
        if not conflicts:
            merge_branches(engine, MergeRequest("left"))
            assert state_of(engine) == merged
            check_merged(engine)
            return
        for strategy in ("theirs", "ours"):
            branch_off(engine, strategy)
            merge_branches(engine, MergeRequest("left", strategy, parse_choices(strategy, None)))
            result = state_of(engine, strategy)
            assert not list(broken_rules(result))
            check_untouched(result, (base, ours, theirs), strategy)
        require_whole(engine)


def check_merged(engine: Engine) -> None:
    """After a merge there is nothing left to merge, in either direction."""
    again = merge_branches(engine, MergeRequest("left"))
    assert again.outcome is MergeOutcome.UP_TO_DATE
    back = merge_branches(engine, MergeRequest("main", "left"))
    assert back.outcome in (MergeOutcome.FAST_FORWARD, MergeOutcome.UP_TO_DATE)
    assert list(diff(engine, DiffRequest("main", "left"))) == []
    require_whole(engine)


def check_untouched(result: State, states: tuple[State, State, State], strategy: str) -> None:
    """Whatever the strategy does, an entity is in a state that one of the sides, or the merge of
    both by property, gives it."""
    base, ours, theirs = states
    for kind in result:
        for key in {*ours[kind], *theirs[kind], *result[kind]}:
            found = result[kind].get(key)
            one, other = ours[kind].get(key), theirs[kind].get(key)
            allowed = [one, other]
            before = base[kind].get(key)
            if None not in (before, one, other):
                allowed.append(model_entity(before, one, other)[0])
                allowed.append(model_entity(before, other, one)[0])
            assert found in allowed, (strategy, kind, key)


@RELAXED
@given(histories, histories)
def test_both_directions_of_a_merge_without_conflicts_give_the_same(
    left: list[Commit], right: list[Commit]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        write(engine, BASE)
        for name in ("left", "right", "there", "back"):
            branch_off(engine, name)
        play(engine, "left", left)
        play(engine, "right", right)
        if merge_branches(engine, MergeRequest("left", "right", preview=True)).conflicts:
            return
        for name, first, second in (("there", "left", "right"), ("back", "right", "left")):
            merge_branches(engine, MergeRequest(first, name))
            merge_branches(engine, MergeRequest(second, name))
        assert state_of(engine, "there") == state_of(engine, "back")
        assert list(diff(engine, DiffRequest("there", "back"))) == []
        require_whole(engine)
