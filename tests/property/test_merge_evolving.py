"""Random histories of schema and data on two branches, merged again and again, against an oracle.

The oracle knows a branch as definitions and rows by the identity of properties. It merges the
definitions one by one and says where they clash, finds values that one side changed and the other
dropped, and merges the rows property by property. It knows nothing of tables, columns or files.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.catalog.model import ID
from omnigraph.datatypes.types import spell_type
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.testing.examples import examples
from omnigraph.testing.histories import branch_off, write
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from omnigraph.catalog.model import NodeType
    from omnigraph.session.engine import Engine

SCHEMA = "node T0 { key: String @key  a: String?  b: I32?  c: String? }"
NAMES, ROWS, TYPES = "abcd", "uvwxyz", ("T0", "T1", "T2")
Step = tuple[Any, ...]

edits = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(NAMES), st.sampled_from(["String", "I32"])),
    st.tuples(st.just("drop"), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("widen"), st.sampled_from(NAMES)),
    st.tuples(st.just("call"), st.sampled_from(TYPES)),
)
changes = st.one_of(
    st.tuples(
        st.just("put"),
        st.sampled_from(ROWS),
        st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2)),
    ),
    st.tuples(st.just("delete"), st.sampled_from(ROWS)),
)
histories = st.lists(st.one_of(edits, changes, changes), min_size=1, max_size=6)


# --- playing -------------------------------------------------------------------------------------


def play(engine: Engine, branch: str, history: list[Step]) -> None:
    """Do what the branch allows; a step that means nothing there is left out."""
    for step in history:
        entity = node_of(engine, branch)
        match step:
            case ("put", key, values):
                write(engine, {entity.name: {key: row_of(entity, key, values)}}, branch=branch)
            case ("delete", key):
                write(engine, {}, {entity.name: [key]}, branch=branch)
            case _:
                text = edited(entity, step)
                if text is not None:
                    EmbeddedGraph(engine).apply_schema(text, branch=branch)


def node_of(engine: Engine, target: str) -> NodeType:
    (entity,) = engine.snapshot(target).catalog.nodes
    return entity


def row_of(entity: NodeType, key: str, values: dict[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"key": key}
    for name, value in values.items():
        if name in entity.by_name:
            is_text = spell_type(entity.by_name[name].dtype) == "String"
            row[name] = f"text {value}" if is_text else value
    return row


def edited(entity: NodeType, step: Step) -> str | None:
    """The schema after an edit; None: the edit means nothing here."""
    lines = {p.name: f"{p.name}: {spell_type(p.dtype)}?" for p in entity.properties}
    lines["key"], head = "key: String @key", entity.name
    match step:
        case ("add", name, kind) if name not in lines:
            lines[name] = f"{name}: {kind}?"
        case ("drop", name) if name in lines:
            del lines[name]
        case ("rename", old, new) if old in lines and new not in lines:
            kind = spell_type(entity.by_name[old].dtype)
            lines[old] = f'{new}: {kind}? @rename_from("{old}")'
        case ("widen", name) if "I32" in lines.get(name, ""):
            lines[name] = f"{name}: I64?"
        case ("call", name) if name != head:
            head = f'{name} @rename_from("{head}")'
        case _:
            return None
    return f"node {head} {{ {'  '.join(lines.values())} }}"


# --- the oracle ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """A branch: what the type is called, its properties and its rows, by identity."""

    name: str
    props: dict[str, tuple[str, str]]
    rows: dict[str, dict[str, Any]]

    def seen(self, props: set[str]) -> dict[str, dict[str, Any]]:
        """The rows with some properties only; what has no value is left out."""
        return {key: {p: v for p, v in row.items() if p in props} for key, row in self.rows.items()}


def side_of(engine: Engine, target: str) -> Side:
    entity = node_of(engine, target)
    rows: dict[str, dict[str, Any]] = {}
    for row in engine.snapshot(target).table(entity.id).scan().to_pylist():
        values: dict[str, Any] = {prop.id: row[prop.column] for prop in entity.properties}
        rows[row[ID.column]] = {key: value for key, value in values.items() if value is not None}
    props = {str(prop.id): (prop.name, spell_type(prop.dtype)) for prop in entity.properties}
    return Side(entity.name, props, rows)


class Clash(Exception):
    """Somebody has to decide about definitions."""


def pick(base: Any, ours: Any, theirs: Any) -> Any:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    raise Clash


def merge_props(base: Side, ours: Side, theirs: Side) -> dict[str, tuple[str, str]]:
    merged = {}
    for key in {**ours.props, **theirs.props}:
        states = [side.props.get(key) for side in (base, ours, theirs)]
        if None in states:
            found = pick(*states)
        else:
            found = tuple(pick(*parts) for parts in zip(*states, strict=True))
        if found is not None:
            merged[key] = found
    if max(Counter(name for name, _ in merged.values()).values()) > 1:
        raise Clash
    return merged


def merge_row(base: Any, ours: Any, theirs: Any) -> tuple[Any, str | None]:
    if theirs in (ours, base):
        return ours, None
    if ours == base:
        return theirs, None
    if base is None:
        return ours, "divergent_insert"
    if ours is None or theirs is None:
        return ours, "delete_vs_update"
    merged, disputed = {}, False
    for key in {*base, *ours, *theirs}:
        before, mine, other = base.get(key), ours.get(key), theirs.get(key)
        disputed |= mine != before and other not in (mine, before)
        chosen = other if mine == before else mine
        if chosen is not None:
            merged[key] = chosen
    return merged, "divergent_update" if disputed else None


def oracle(base: Side, ours: Side, theirs: Side) -> tuple[Side, set[tuple[str, str]]]:
    """The merged branch, and the rows about which the two disagree. Raises ``Clash``."""
    name = pick(base.name, ours.name, theirs.name)
    props = merge_props(base, ours, theirs)
    for side in (ours, theirs):
        for lost in side.props.keys() & base.props.keys() - props.keys():
            for key, row in side.rows.items():
                if base.rows.get(key, {}).get(lost) != row.get(lost):
                    raise Clash
    states = [side.seen(set(props)) for side in (base, ours, theirs)]
    rows, conflicts = {}, set()
    for key in {*states[0], *states[1], *states[2]}:
        row, conflict = merge_row(*(state.get(key) for state in states))
        if conflict is not None:
            conflicts.add((conflict, key))
        if row is not None:
            rows[key] = row
    return Side(name, props, rows), conflicts


# --- the test ------------------------------------------------------------------------------------


def check_chosen(result: Side, base: Side, ours: Side, theirs: Side) -> None:
    """However it was decided: no value comes from nowhere, and none goes that nobody touched."""
    for key, row in result.rows.items():
        before = base.rows.get(key)
        for prop in result.props:
            told = [side.rows[key].get(prop) for side in (base, ours, theirs) if key in side.rows]
            assert row.get(prop) in told, (key, prop)
            # A side that dropped the property, or the row, has not changed the value.
            having = [side for side in (ours, theirs) if prop in side.props and key in side.rows]
            if before is not None and prop in base.props and having:
                changed = [side for side in having if side.rows[key].get(prop) != before.get(prop)]
                assert changed or row.get(prop) == before.get(prop), (key, prop)


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
@given(st.lists(st.tuples(histories, histories), min_size=1, max_size=2))
def test_schemas_and_rows_are_merged_as_the_oracle_says(
    rounds: list[tuple[list[Step], list[Step]]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        engine = new_engine(Path(place) / "g", schema=SCHEMA)
        graph = EmbeddedGraph(engine)
        entity = node_of(engine, "main")
        write(engine, {"T0": {key: row_of(entity, key, {"a": 0, "b": 0, "c": 0}) for key in "uvw"}})
        branch_off(engine, "dev")
        base = side_of(engine, "dev")
        for number, (left, right) in enumerate(rounds):
            play(engine, "main", left)
            play(engine, "dev", right)
            ours, theirs = side_of(engine, "main"), side_of(engine, "dev")
            told = graph.merge("dev", preview=True).conflicts
            expected = None
            try:
                expected, conflicts = oracle(base, ours, theirs)
            except Clash:
                assert {conflict.kind for conflict in told} == {"schema"}
            else:
                assert {(str(each.kind), str(each.id)) for each in told} == conflicts
            if told:
                for strategy in ("theirs", "ours"):
                    target = f"{strategy}-{number}"
                    branch_off(engine, target)
                    graph.merge("dev", into=target, strategy=strategy)
                    check_chosen(side_of(engine, target), base, ours, theirs)
                graph.merge("dev", strategy="ours")
            else:
                graph.merge("dev")
                assert side_of(engine, "main") == expected
            # The next merge begins where this one has seen dev.
            base = theirs
        require_whole(engine)
