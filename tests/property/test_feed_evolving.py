"""A replica that keeps entities by name and follows the feed equals the graph through renames."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.testing.examples import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph import Graph

RELAXED = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck)
)
TYPES = ("P", "Q", "R", "S")
PROPERTIES = ("u", "v", "w", "x")
BRANCH = "names"


@dataclass
class Type:
    """A type of the schema that a history writes; names of one apply refer to the one before."""

    name: str
    properties: dict[str, str | None] = field(default_factory=dict)
    was: str | None = None

    def render(self) -> str:
        was = f' @rename_from("{self.was}")' if self.was else ""
        lines = [f"node {self.name}{was} {{", "  k: String @key"]
        for name, before in self.properties.items():
            renamed = f' @rename_from("{before}")' if before else ""
            lines.append(f"  {name}: I64?{renamed}")
        return "\n".join([*lines, "}"])

    def settle(self) -> None:
        self.was = None
        self.properties = dict.fromkeys(self.properties)


def edit(types: list[Type], step: tuple[str, int, int]) -> bool:
    """Change the model in place; False: the step does not apply."""
    verb, first, second = step
    free = [name for name in TYPES if name not in {each.name for each in types}]
    chosen = types[first % len(types)]
    names = list(chosen.properties)
    unused = [name for name in PROPERTIES if name not in names]
    match verb:
        case "create type" if free:
            types.append(Type(free[0], {"u": None}))
        case "drop type" if len(types) > 1:
            types.remove(chosen)
        case "rename type" if free:
            chosen.was, chosen.name = chosen.name, free[second % len(free)]
        case "create property" if unused:
            chosen.properties[unused[second % len(unused)]] = None
        case "drop property" if names:
            del chosen.properties[names[second % len(names)]]
        case "rename property" if names and unused:
            old, new = names[second % len(names)], unused[0]
            del chosen.properties[old]
            chosen.properties[new] = old
        case _:
            return False
    return True


verbs = st.sampled_from(
    [
        "create type",
        "drop type",
        "rename type",
        "exchange",
        "rename aside",
        "create property",
        "drop property",
        "rename property",
        "write",
        "write",
        "delete",
    ]
)
histories = st.lists(st.tuples(verbs, st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=8)


def play(graph: Graph, types: list[Type], step: tuple[str, int, int]) -> None:
    verb, first, second = step
    entity = types[first % len(types)]
    if verb == "delete":
        delete(graph, entity, second)
    elif verb == "write":
        write(graph, entity, second, first + second)
    elif verb == "exchange":
        exchange(graph, types, entity, second)
    elif verb == "rename aside":
        rename_aside(graph, types, step)
    elif edit(types, step):
        define(graph, types)


def write(graph: Graph, entity: Type, key: int, value: int, branch: str = "main") -> None:
    values = "".join(f", {name}: {value}" for name in entity.properties)
    query = f'query q() {{ insert {entity.name} {{ k: "e{key}"{values} }} }}'
    graph.mutate(query, branch=branch)


def delete(graph: Graph, entity: Type, key: int, branch: str = "main") -> None:
    graph.mutate(f'query q() {{ delete {entity.name} where k = "e{key}" }}', branch=branch)


def write_aside(graph: Graph, entity: Type, number: int) -> None:
    """Insert or update one entity and delete another under the names that the branch gave them."""
    write(graph, entity, number + 1, 10 + number, BRANCH)
    delete(graph, entity, number, BRANCH)


def rename_aside(graph: Graph, types: list[Type], step: tuple[str, int, int]) -> None:
    """Rename a type and one of its properties on a branch, and write there before the merge."""
    _, first, second = step
    entity = types[first % len(types)]
    graph.branches.create(BRANCH)
    # An entity that only the target has makes it a merge of two lines.
    write(graph, entity, 9, second)
    for verb in ("rename type", "rename property"):
        edit(types, (verb, first, second))
    define(graph, types, BRANCH)
    write_aside(graph, entity, second)
    graph.merge(BRANCH, delete_branch=True)


def define(graph: Graph, types: list[Type], branch: str = "main") -> None:
    graph.apply_schema("\n".join(each.render() for each in types), branch=branch)
    for each in types:
        each.settle()


def exchange(graph: Graph, types: list[Type], first: Type, number: int) -> None:
    """Let two types exchange their names in one commit; a single type gives its to a new one."""
    graph.branches.create(BRANCH)
    name = first.name
    free = next(each for each in (*TYPES, "T") if each not in {each.name for each in types})
    first.was, first.name = name, free
    define(graph, types, BRANCH)
    if len(types) > 1:
        second = types[types.index(first) - 1]
        taken = second.name
        second.was, second.name = taken, name
        define(graph, types, BRANCH)
        first.was, first.name = free, taken
    else:
        types.append(Type(name, {"v": None}))
    define(graph, types, BRANCH)
    write_aside(graph, first, number)
    if len(types) > 1:
        delete(graph, types[types.index(first) - 1], number + 1, BRANCH)
    graph.merge(BRANCH, delete_branch=True)


State = dict[str, dict[str, dict[str, Any]]]


class Replica:
    """Entities by the name of their type, with properties by name; follows JSON of the feed."""

    def __init__(self) -> None:
        self.state: State = {}
        # Identities are never used again, and a block may continue on the next page.
        self.dropped: set[str] = set()
        # The state before the block, which images of old rows are compared with.
        self.commit = ""
        self.parent: State = {}
        self.names: dict[str, str] = {}

    def apply(self, block: Mapping[str, Any]) -> None:
        events = block.get("schema_changes", ())
        if block["cause"]["graph_commit_id"] != self.commit:
            self.commit = block["cause"]["graph_commit_id"]
            self.parent = copy.deepcopy(self.state)
            self.names = {
                change["type"]["name"]: change["previous_name"]
                for change in events
                if change["op"] == "rename_type"
            }
        self._define(events)
        self._redefine(events)
        for change in block["changes"]:
            if change["type"]["id"] not in self.dropped:
                self._change(change)

    def _define(self, events: Sequence[Mapping[str, Any]]) -> None:
        renamed = {
            change["previous_name"]: change["type"]["name"]
            for change in events
            if change["op"] == "rename_type"
        }
        for change in events:
            if change["op"] == "drop_type":
                self.dropped.add(change["type"]["id"])
                del self.state[change["type"]["name"]]
        self.state = {renamed.get(name, name): found for name, found in self.state.items()}
        for change in events:
            if change["op"] == "create_type":
                assert change["type"]["name"] not in self.state
                self.state[change["type"]["name"]] = {}

    def _change(self, change: Mapping[str, Any]) -> None:
        name, key = change["type"]["name"], change["id"]
        entities = self.state[name]
        if "before" in change:
            parent = self.parent[self.names.get(name, name)][key]
            assert change["before"]["properties"] == parent
        if change["op"] == "delete":
            del entities[key]
            return
        new = change["after"]["properties"]
        if change["op"] == "update":
            differing = {each for each in new if new[each] != entities[key][each]}
            assert differing <= {*change["changed"]}
        entities[key] = dict(new)

    def _redefine(self, changes: Sequence[Mapping[str, Any]]) -> None:
        by_type: dict[str, list[Mapping[str, Any]]] = {}
        for change in changes:
            if "property" in change:
                by_type.setdefault(change["type"]["name"], []).append(change)
        for name, found in by_type.items():
            gone = {
                each.get("previous_name", each["property"]["name"])
                for each in found
                if each["op"] != "create_property"
            }
            moved = {
                each["previous_name"]: each["property"]["name"]
                for each in found
                if each["op"] == "rename_property"
            }
            new = {
                each["property"]["name"]: None for each in found if each["op"] == "create_property"
            }
            for key, row in self.state[name].items():
                kept = {each: value for each, value in row.items() if each not in gone}
                kept |= {moved[each]: value for each, value in row.items() if each in moved}
                self.state[name][key] = new | kept


def state_of(graph: Graph) -> State:
    state: State = {}
    for entity in graph.at("main").catalog.nodes:
        fields = ", ".join(f"$n.{prop.name} as {prop.name}" for prop in entity.properties)
        rows = graph.query(f"query q() {{ match {{ $n: {entity.name} }} return {{ {fields} }} }}")
        state[entity.name] = {row["k"]: row for row in rows.rows()}
    return state


@RELAXED
@given(histories, st.integers(1, 3))
def test_a_replica_by_name_equals_the_graph(steps: list[tuple[str, int, int]], limit: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        types = [Type("P", {"u": None})]
        graph = omnigraph.init(Path(place) / "g", types[0].render(), durability="process")
        for step in steps:
            play(graph, types, step)
        replica = Replica()
        page = graph.changes.poll(start="beginning", limit=limit, commits=2)
        while True:
            for block in page.to_json()["blocks"]:
                replica.apply(block)
            if page.next_page_token is not None:
                page = graph.changes.poll(page_token=page.next_page_token, limit=limit)
            elif not page.caught_up:
                page = graph.changes.poll(cursor=page.cursor, limit=limit, commits=2)
            else:
                break
        assert replica.state == state_of(graph)
