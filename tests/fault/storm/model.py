"""What a history of operations leads to: a model that shares no code with the product.

An operation is plain data, and its text travels as the message of its commit. Replaying the
messages along the commits predicts the contents of the graph at each of them, and shows every
commit that should have been refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MODEL_SCHEMA", "Broken", "Replay", "State", "Step", "statement_text"]

# (op, arguments ...)
Step = tuple[Any, ...]

OWN_MAX = 2
MODEL_SCHEMA = f"""
node Item {{
    key: String @key
    a: I64?
    b: I64?
    u: String? @unique
}}

edge Link: Item -> Item {{
    w: I64?
    @key(src, dst)
}}

edge Own: Item -> Item @card(0..{OWN_MAX})
"""
_PROPERTIES = ("a", "b", "u")
Values = dict[str, Any]


class Broken(Exception):
    """A commit that no correct engine publishes."""


@dataclass
class State:
    """The contents of one commit."""

    items: dict[str, Values] = field(default_factory=dict)
    links: dict[tuple[str, str], Any] = field(default_factory=dict)
    owned: dict[tuple[str, str], int] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.items), dict(self.links), dict(self.owned))

    def apply(self, step: Step) -> None:
        """Change the state as one statement does; ``Broken`` where it must be refused."""
        getattr(self, f"_{step[0]}")(*step[1:])

    def require_rules(self) -> None:
        taken = [row["u"] for row in self.items.values() if row["u"] is not None]
        if len(taken) != len(set(taken)):
            raise Broken("a unique value is there twice")
        for ends in (*self.links, *self.owned):
            for end in ends:
                if end not in self.items:
                    raise Broken(f"an edge ends at {end}, which is not there")
        count: dict[str, int] = {}
        for (source, _), number in self.owned.items():
            count[source] = count.get(source, 0) + number
        if any(number > OWN_MAX for number in count.values()):
            raise Broken("a node owns too much")

    def _put(self, key: str, value: int) -> None:
        self.items[key] = {**self.items.get(key, dict.fromkeys(_PROPERTIES)), "a": value}

    def _create(self, key: str, value: int, unique: str | None) -> None:
        if key in self.items:
            raise Broken(f"{key} was created twice")
        self.items[key] = {"a": value, "b": None, "u": unique}

    def _set(self, key: str, name: str, value: Any) -> None:
        if key in self.items:
            self.items[key] = {**self.items[key], name: value}

    def _del(self, key: str) -> None:
        self.items.pop(key, None)
        self.links = {ends: w for ends, w in self.links.items() if key not in ends}
        self.owned = {ends: n for ends, n in self.owned.items() if key not in ends}

    def _link(self, source: str, target: str, weight: int) -> None:
        self.links[source, target] = weight

    def _unlink(self, source: str) -> None:
        self.links = {ends: w for ends, w in self.links.items() if ends[0] != source}

    def _own(self, source: str, target: str) -> None:
        self.owned[source, target] = self.owned.get((source, target), 0) + 1


def statement_text(step: Step) -> str:
    """One statement of the query language."""
    verb, *rest = step
    if verb == "put":
        return f'insert Item {{ key: "{rest[0]}", a: {rest[1]} }}'
    if verb == "create":
        unique = "" if rest[2] is None else f', u: "{rest[2]}"'
        return f'create Item {{ key: "{rest[0]}", a: {rest[1]}{unique} }}'
    if verb == "set":
        value = json.dumps(rest[2])
        return f'update Item set {{ {rest[1]}: {value} }} where key = "{rest[0]}"'  # noqa: S608
    if verb == "del":
        return f'delete Item where key = "{rest[0]}"'
    if verb == "link":
        return f'insert Link {{ from: "{rest[0]}", to: "{rest[1]}", w: {rest[2]} }}'
    if verb == "unlink":
        return f'delete Link where from = "{rest[0]}"'
    return f'insert Own {{ from: "{rest[0]}", to: "{rest[1]}" }}'


@dataclass
class Replay:
    """The states of a set of commits, each a mapping as the product shows it in JSON."""

    commits: dict[str, dict[str, Any]]
    states: dict[str, State] = field(default_factory=dict)
    pasts: dict[str, frozenset[str]] = field(default_factory=dict)

    def parents(self, commit: str) -> list[str]:
        body = self.commits[commit]
        return [name for name in (body["parent"], body["merged"]) if name is not None]

    def run(self) -> None:
        """Replay all commits in the order of their times."""
        for name in sorted(self.commits, key=lambda name: self.commits[name]["time"]):
            past = frozenset({name})
            for parent in self.parents(name):
                if parent not in self.pasts:
                    raise Broken(f"commit {name} is not later than its parent {parent}")
                past |= self.pasts[parent]
            self.pasts[name] = past
            try:
                self.states[name] = self._state(name)
                self.states[name].require_rules()
            except Broken as broken:
                raise Broken(f"commit {name} {self.commits[name]}: {broken}") from broken

    def _state(self, name: str) -> State:
        body = self.commits[name]
        if body["parent"] is None:
            return State()
        before = self.states[body["parent"]]
        if body["kind"] == "merge":
            return self._merged(body)
        state = before.copy()
        if body["kind"] in {"mutation", "load"}:
            for step in json.loads(body["message"])["steps"]:
                state.apply(tuple(step))
        return state

    def _merged(self, body: dict[str, Any]) -> State:
        ours, theirs = body["parent"], body["merged"]
        common = self.pasts[ours] & self.pasts[theirs]
        base = self.states[max(common, key=lambda name: self.commits[name]["time"])]
        left, right = self.states[ours], self.states[theirs]
        items = {}
        for key in {**base.items, **left.items, **right.items}:
            row = _merge_rows(base.items.get(key), left.items.get(key), right.items.get(key))
            if row is not None:
                items[key] = row
        return State(
            items,
            _merge_values(base.links, left.links, right.links),
            _merge_values(base.owned, left.owned, right.owned),
        )


def _merge_rows(base: Values | None, ours: Values | None, theirs: Values | None) -> Values | None:
    if ours == base or theirs is None or ours is None or base is None:
        return theirs if ours == base else ours
    return {name: theirs[name] if ours[name] == base[name] else ours[name] for name in _PROPERTIES}


def _merge_values(base: Any, ours: Any, theirs: Any) -> Any:
    found = {}
    for key in {**base, **ours, **theirs}:
        chosen = theirs if ours.get(key) == base.get(key) else ours
        if chosen.get(key) is not None:
            found[key] = chosen[key]
    return found
