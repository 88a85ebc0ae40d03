"""A process of a storm: makes operations up, runs them, and reports each ending at once."""

from __future__ import annotations

import json
import os
import random
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fault.storm.model import MODEL_SCHEMA, Step, statement_text

import omnigraph
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.errors import AlreadyExists, GraphError, NotFound, OutcomeUnknown
from omnigraph.server.serve import ServeRequest, make_server, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from omnigraph.api.graph import Graph

__all__ = ["Life", "contents_of", "serve", "work"]

KEYS = 12
SIDE = "dev"
COMMON = [f"c{number}" for number in range(4)]
Operation = dict[str, Any]
# (ending, operation, value)
Report = tuple[str, str | None, Any]
_DELETES = ("del", "unlink")


class Life:
    """What one worker does: picklable, and the same for the same seed."""

    def __init__(
        self, name: str, uri: str, seed: int, *, count: int = 30, fault: str = "", **options: Any
    ) -> None:
        self.name, self.uri, self.seed, self.count, self.fault = name, uri, seed, count, fault
        self.options = options
        # Operations of earlier lives whose outcome is open: sent again with their keys.
        self.again: list[Operation] = []
        self.schemas = True
        # So many threads share one open graph.
        self.threads = 1
        # A file with the addresses of servers: operations go through one of them.
        self.servers = ""


def work(life: Life, pipe: Connection) -> None:
    """Live: open the graph, run operations, report."""
    os.environ["OMNIGRAPH_FAULT"] = life.fault
    latch = threading.Lock()

    def send(report: Report) -> None:
        with latch:
            pipe.send(report)

    try:
        graph = None if life.servers else omnigraph.open(life.uri, **life.options)
        workers = [_Worker(life, send, graph, number) for number in range(life.threads)]
        threads = [threading.Thread(target=_live, args=(each, send)) for each in workers[1:]]
        for thread in threads:
            thread.start()
        _live(workers[0], send)
        for thread in threads:
            thread.join()
    except GraphError as error:
        send(("ended", None, f"{error.code}: {error}"))


def serve(uri: str, fault: str, pipe: Connection) -> None:
    """Be a server until killed; its address goes through the pipe."""
    os.environ["OMNIGRAPH_FAULT"] = fault
    request = ServeRequest([f"g={uri}"], unauthenticated=True)
    with serving(make_server(request, {})) as url:
        pipe.send(url)
        threading.Event().wait()


def _live(worker: _Worker, send: Callable[[Report], None]) -> None:
    try:
        worker.run()
    except BaseException:  # noqa: BLE001 - a bug is a finding, and the parent collects it
        send(("bug", None, traceback.format_exc()))


def contents_of(graph: Graph, target: str) -> dict[str, Any]:
    """Everything at a target, in the shape of the model."""
    at = graph.at(target)
    items = at.nodes("Item").to_pylist()
    owned: dict[tuple[str, str], int] = {}
    for row in at.edges("Own").to_pylist():
        ends = (row["src"], row["dst"])
        owned[ends] = owned.get(ends, 0) + 1
    return {
        "items": {row["key"]: {name: row[name] for name in ("a", "b", "u")} for row in items},
        "links": {(row["src"], row["dst"]): row["w"] for row in at.edges("Link").to_pylist()},
        "owned": owned,
    }


class _Worker:
    def __init__(
        self, life: Life, send: Callable[[Report], None], graph: Graph | None, number: int
    ) -> None:
        self._life = life
        self._name = f"{life.name}.{number}"
        self._send = send
        self._chance = random.Random(life.seed + number)
        self._graph: Graph = self._connect() if graph is None else graph

    def _connect(self) -> Graph:
        url = self._chance.choice(json.loads(Path(self._life.servers).read_text()))
        return omnigraph.open(url, graph="g", timeout=20)

    def run(self) -> None:
        self._send(("open", None, None))
        for operation in self._life.again:
            self._run(operation)
        self._life.again = []
        for number in range(self._life.count):
            operation = self._operation(number)
            for _ in range(6):
                # Sent again to another server where nobody answered.
                if not self._run(operation) or not operation.get("key"):
                    break
        self._send(("done", None, None))

    def _run(self, operation: Operation) -> bool:
        """Run an operation; whether it may be repeated because no server answered."""
        self._send(("start", operation["i"], operation))
        try:
            value = getattr(self, f"_do_{operation['do']}")(operation)
        except OutcomeUnknown as error:
            self._send(("unknown", operation["i"], error.code))
            if self._life.servers:
                self._graph = self._connect()
            return True
        except GraphError as error:
            if error.code.startswith("client."):
                self._send(("unknown", operation["i"], error.code))
                self._graph = self._connect()
                return True
            self._send(("fail", operation["i"], f"{type(error).__name__} {error.code}"))
            if isinstance(error, NotFound) and error.code == "branch.missing":
                self._make_side()
        except Exception:  # noqa: BLE001 - see above
            self._send(("bug", operation["i"], traceback.format_exc()))
        else:
            self._send(("ok", operation["i"], value))
        return False

    def _operation(self, number: int) -> Operation:
        chance = self._chance
        name = f"{self._name}-{number}"
        branch = chance.choice(("main", "main", SIDE))
        do = chance.choices(
            ("mutate", "load", "merge", "renew", "schema", "read", "log", "feed", "index", "tag"),
            (55, 8, 6, 2, 2 if self._life.schemas else 0, 8, 5, 4, 2, 2),
        )[0]
        operation: Operation = {"i": name, "do": do, "branch": branch}
        if do == "mutate":
            operation["steps"] = self._steps(branch)
            operation["key"] = name if chance.random() < 0.5 else None
        elif do == "load":
            rows = chance.randrange(1, 8)
            operation["steps"] = [("put", f"{branch[0]}{name}x{row}", row) for row in range(rows)]
        return operation

    def _steps(self, branch: str) -> list[Step]:
        chance = self._chance
        many = chance.choices((1, 2, 3), (70, 20, 10))[0]
        steps = [self._step(branch) for _ in range(many)]
        # A mutation may not both delete and write.
        deletes = steps[0][0] in _DELETES
        return [step for step in steps if (step[0] in _DELETES) is deletes]

    def _step(self, branch: str) -> Step:
        chance = self._chance
        key, other = (f"{branch[0]}{chance.randrange(KEYS)}" for _ in range(2))
        value = chance.randrange(1_000_000)
        verb = chance.choices(
            ("put", "create", "set", "common", "unique", "del", "link", "unlink", "own"),
            (30, 8, 12, 14, 6, 8, 16, 4, 10),
        )[0]
        if verb == "put":
            return ("put", key, value)
        if verb == "create":
            unique = f"{branch[0]}u{chance.randrange(3)}" if chance.random() < 0.5 else None
            return ("create", key, value, unique)
        if verb == "set":
            return ("set", key, "b", value)
        if verb == "common":
            return ("set", chance.choice(COMMON), chance.choice("ab"), value)
        if verb == "unique":
            return ("set", key, "u", f"{branch[0]}u{chance.randrange(3)}")
        if verb in {"del", "unlink"}:
            return (verb, key)
        if verb == "link":
            return ("link", key, other, value)
        return ("own", key, other)

    def _do_mutate(self, operation: Operation) -> str | None:
        body = "\n".join(f"    {statement_text(step)}" for step in operation["steps"])
        done = self._graph.mutate(
            f"query q() {{\n{body}\n}}",
            branch=operation["branch"],
            message=json.dumps({"i": operation["i"], "steps": operation["steps"]}),
            idempotency_key=operation.get("key"),
        )
        return done.commit.id if done.commit else None

    def _do_load(self, operation: Operation) -> str | None:
        rows = [{"type": "Item", "data": {"key": k, "a": a}} for _, k, a in operation["steps"]]
        done = self._graph.load(
            rows,
            mode="append",
            branch=operation["branch"],
            message=json.dumps({"i": operation["i"], "steps": operation["steps"]}),
            idempotency_key=operation["i"],
        )
        return done.commit.id if done.commit else None

    def _do_merge(self, operation: Operation) -> str | None:
        text = json.dumps({"i": operation["i"]})
        done = self._graph.merge(SIDE, strategy="ours", message=text)
        return done.commit.id if done.commit else None

    def _do_renew(self, operation: Operation) -> str | None:
        """Merge the side branch, delete it, and begin it anew."""
        text = json.dumps({"i": operation["i"]})
        done = self._graph.merge(SIDE, strategy="ours", message=text, delete_branch=True)
        self._make_side()
        return done.commit.id if done.commit else None

    def _make_side(self) -> None:
        try:
            self._graph.branches.create(SIDE)
        except AlreadyExists:
            pass
        except GraphError as error:
            self._send(("aside", None, f"branch: {type(error).__name__} {error.code}"))

    def _do_schema(self, operation: Operation) -> str | None:
        extra = self._chance.randrange(4)
        schema = MODEL_SCHEMA
        if extra:
            schema = schema.replace("b: I64?\n", f"b: I64?\n    x{extra}: I64?\n")
        if extra == 3:
            schema += "\nnode Other {\n    name: String\n}\n"
        text = json.dumps({"i": operation["i"]})
        done = self._graph.apply_schema(schema, message=text)
        return done.commit.id if done.commit else None

    def _do_read(self, operation: Operation) -> Any:
        """What a snapshot holds; the parent compares."""
        head = self._graph.commits.list(CommitFilter(target=operation["branch"], limit=1))
        commit = str(head.commits[0].id)
        return (commit, contents_of(self._graph, commit))

    def _do_log(self, operation: Operation) -> Any:
        found = self._graph.commits.list(CommitFilter(target=operation["branch"]))
        return [str(commit.id) for commit in found]

    def _do_feed(self, operation: Operation) -> Any:
        """The whole feed of a branch, newest first like a log."""
        found: list[str] = []
        where: dict[str, Any] = {"start": "beginning"}
        while True:
            page = self._graph.changes.poll(branch=operation["branch"], commits=512, **where)
            for block in page.blocks:
                if found[-1:] != [str(block.commit.id)]:
                    found.append(str(block.commit.id))
            if page.cursor and page.caught_up:
                return found[::-1]
            where = {"cursor": page.cursor} if page.cursor else {"page_token": page.next_page_token}

    def _do_index(self, operation: Operation) -> None:
        self._graph.ensure_indices(branch=operation["branch"], force=True)

    def _do_tag(self, operation: Operation) -> None:
        self._graph.tags.create(f"t-{operation['i']}", at=operation["branch"])
