"""Any batch, loaded at once, is judged as a small model judges it record by record."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.errors import KeyConflict, ValidationFailure
from omnigraph.graph.open import init_graph

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from omnigraph.api.graph import Graph

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    @range(age, 0..9)
}
node Note {
    text: String?
}
edge Knows: Person -> Person @card(0..2) {
    since: I32?
}
edge Owns: Person -> Note {
    share: I32
    @key(src, dst)
}
edge Leads: Person -> Person @card(1..2)
"""
# Leads is required of everybody, so that new people need an edge: used by some examples only.
RELAXED = SCHEMA.replace("Leads: Person -> Person @card(1..2)", "Leads: Person -> Person")
EDGES = {
    "Knows": ("Person", "Person", 0, 2),
    "Owns": ("Person", "Note", 0, None),
    "Leads": ("Person", "Person", 1, 2),
}

Rows = dict[str, dict[str, Any]]
# A new row that names nothing.
BLANK: dict[str, dict[str, Any]] = {
    "Person": {"name": None, "mail": None, "age": None},
    "Note": {"text": None},
    "Knows": {"src": None, "dst": None, "since": None},
    "Owns": {"src": None, "dst": None, "share": None},
    "Leads": {"src": None, "dst": None},
}


# --- the model ---------------------------------------------------------------------------------


@dataclass
class Model:
    """The graph as plain dictionaries, and the rules as loops."""

    strict: bool
    tables: dict[str, Rows] = field(
        default_factory=lambda: {name: {} for name in ("Person", "Note", *EDGES)}
    )

    def load(self, mode: str, records: list[dict[str, Any]]) -> set[str]:
        """Load a batch; the rules that it breaks, in which case nothing changes."""
        broken: set[str] = set()
        readable = []
        for record in records:
            faults = self.faults_of(record, mode)
            broken |= faults
            if not faults & {"type", "delete"}:
                readable.append(record)
        batch, deleted, repeated, anew = self.settle(readable)
        if repeated and mode != "merge":
            broken.add("key")
        after, conflict = self.after(mode, batch, deleted, anew)
        owned = (after["Owns"][key] for key in batch.get("Owns", {}))
        broken |= {"required" for row in owned if row["share"] is None}
        broken |= self.broken_uniques(after, batch)
        if len(readable) == len(records):
            broken |= self.broken_edges(after)
        if broken:
            return broken
        if conflict:
            return {"exists"}
        self.tables = after
        return set()

    @staticmethod
    def faults_of(record: dict[str, Any], mode: str) -> set[str]:
        if "delete" in record:
            return set() if mode == "merge" else {"delete"}
        faults = set()
        data = record.get("data", {})
        for name in ("age", "since", "share"):
            if isinstance(data.get(name), str):
                faults.add("type")
        if isinstance(data.get("age"), int) and not 0 <= data["age"] <= 9:
            faults.add("range")
        if record.get("edge") == "Owns" and data.get("share", 0) is None:
            faults.add("required")
        return faults

    @staticmethod
    def settle(
        records: list[dict[str, Any]],
    ) -> tuple[dict[str, Rows], dict[str, set[str]], bool, set[tuple[str, str]]]:
        """What a batch names of every id since its last deletion, and ids with a deletion."""
        anew = set()
        batch: dict[str, Rows] = {}
        deleted: dict[str, set[str]] = {}
        repeated = False
        for record in records:
            if "delete" in record:
                kind, key = record["delete"], record["id"]
                batch.get(kind, {}).pop(key, None)
                deleted.setdefault(kind, set()).add(key)
                anew.add((kind, key))
                continue
            kind, key, row = row_of(record)
            repeated |= key in batch.get(kind, {})
            rows = batch.setdefault(kind, {})
            rows[key] = {**rows.get(key, {}), **row}
            deleted.get(kind, set()).discard(key)
        return batch, deleted, repeated, anew

    def after(
        self,
        mode: str,
        batch: dict[str, Rows],
        deleted: dict[str, set[str]],
        anew: set[tuple[str, str]],
    ) -> tuple[dict[str, Rows], bool]:
        after = deepcopy(self.tables)
        conflict = False
        for kind, keys in deleted.items():
            for key in keys & after[kind].keys():
                del after[kind][key]
                for edge, (source, target, _, _) in EDGES.items():
                    for end, node in (("src", source), ("dst", target)):
                        for found in [k for k, r in after[edge].items() if r[end] == key]:
                            if node == kind:
                                del after[edge][found]
        for kind, rows in batch.items():
            if mode == "overwrite":
                after[kind] = {}
            for key, row in rows.items():
                conflict |= mode == "append" and key in after[kind]
                keeps = mode == "merge" and (kind, key) not in anew
                stored = self.tables[kind].get(key, {}) if keeps else {}
                after[kind][key] = {**BLANK[kind], **stored, **row}
        return after, conflict

    @staticmethod
    def broken_uniques(after: dict[str, Rows], batch: dict[str, Rows]) -> set[str]:
        mails = Counter(row["mail"] for row in after["Person"].values() if row["mail"])
        new = {after["Person"][key]["mail"] for key in batch.get("Person", {})}
        return {"unique"} if any(mails[mail] > 1 for mail in new if mail) else set()

    def broken_edges(self, after: dict[str, Rows]) -> set[str]:
        broken = set()
        for edge, (source, target, low, high) in EDGES.items():
            counts = Counter(row["src"] for row in after[edge].values())
            for row in after[edge].values():
                if row["src"] not in after[source] or row["dst"] not in after[target]:
                    broken.add("endpoint")
            if edge == "Leads" and not self.strict:
                continue
            if any(counts[key] < low for key in after[source]):
                broken.add("cardinality")
            if high is not None and any(count > high for count in counts.values()):
                broken.add("cardinality")
        return broken


def fresh_id() -> str:
    return f"fresh {next(_numbers)}"


_numbers = itertools.count()


def row_of(record: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    data = record.get("data", {})
    if record.get("type") == "Person":
        return "Person", data["name"], data
    if record.get("type") == "Note":
        return "Note", record.get("id", fresh_id()), data
    kind, ends = record["edge"], {"src": record["from"], "dst": record["to"]}
    if kind == "Owns":
        key = json.dumps([record["from"], record["to"]], separators=(",", ":"))
        return kind, key, {**ends, **data}
    key = record.get("id", fresh_id())
    return kind, key, {**ends, **data}


# --- batches -----------------------------------------------------------------------------------

names = st.sampled_from("abcd")
rarely_wrong = st.sampled_from([None, 1, 2, 3, 9, 1, 2, 3, 9, 10, -1, "x"])
people = st.fixed_dictionaries(
    {"name": names},
    optional={"mail": st.sampled_from([None, "m", "n"]), "age": rarely_wrong},
).map(lambda data: {"type": "Person", "data": data})
notes = st.builds(
    lambda key, text: {"type": "Note", **({"id": key} if key else {}), "data": {"text": text}},
    st.sampled_from([None, "x", "y"]),
    st.sampled_from([None, "t"]),
)
knows = st.builds(
    lambda a, b, key: {"edge": "Knows", "from": a, "to": b, **({"id": key} if key else {})},
    names,
    names,
    st.sampled_from([None, "k", "l"]),
)
owns = st.builds(
    lambda a, b, share: {"edge": "Owns", "from": a, "to": b, "data": {"share": share}},
    names,
    st.sampled_from("xy"),
    st.sampled_from([1, 1, 1, None, "x"]),
)
leads = st.builds(
    lambda a, b, key: {"edge": "Leads", "from": a, "to": b, "id": key},
    names,
    names,
    st.sampled_from("pqrs"),
)
deletes = st.builds(
    lambda kind, key: {"delete": kind, "id": key},
    st.sampled_from(["Person", "Person", "Note", "Knows"]),
    st.sampled_from("abcxk"),
)
batches = st.tuples(
    st.sampled_from(["append", "merge", "merge", "overwrite"]),
    st.lists(st.one_of(people, people, people, notes, knows, owns, leads, deletes), max_size=7),
)


def content(graph: Graph) -> dict[str, Counter[str]]:
    """Everything in the graph; fresh ids are left out."""
    lines: list[bytes] = []

    class Sink:
        def write(self, data: bytes) -> None:
            lines.extend(data.splitlines())

    graph.export(Sink())
    found: dict[str, Counter[str]] = {name: Counter() for name in ("Person", "Note", *EDGES)}
    for line in lines:
        record = json.loads(line)
        kind = record.get("type") or record["edge"]
        _, key, row = row_of(record)
        found[kind][shown(key, row)] += 1
    return found


def shown(key: str, row: dict[str, Any]) -> str:
    return repr(("fresh" if len(key) > 20 or key.startswith("fresh") else key, sorted(row.items())))


def expected(model: Model) -> dict[str, Counter[str]]:
    return {
        kind: Counter(shown(key, row) for key, row in rows.items())
        for kind, rows in model.tables.items()
    }


def run(graph: Graph, mode: str, records: list[dict[str, Any]]) -> set[str]:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    try:
        graph.load(data, mode=mode)
    except ValidationFailure as failure:
        return set(failure.details["counts"])
    except KeyConflict:
        return {"exists"}
    return set()


@given(st.lists(batches, min_size=1, max_size=4), st.booleans())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_batch_is_judged_as_the_model_judges_it(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, list[dict[str, Any]]]],
    strict: bool,
) -> None:
    uri: Path = tmp_path_factory.mktemp("model") / "g.omni"
    graph = init_graph(uri, SCHEMA if strict else RELAXED, durability="process")
    model = Model(strict)
    for mode, records in steps:
        assert run(graph, mode, records) == model.load(mode, records)
        assert content(graph) == expected(model)
