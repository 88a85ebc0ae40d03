"""What the workers of a storm reported, held against the history that the graph shows."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from tests.fault.storm.model import Broken, Replay
from tests.fault.storm.worker import contents_of

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.errors import NotFound
from omnigraph.graph.open import open_graph
from omnigraph.testing.kit import open_engine
from omnigraph.testing.verify import check_graph

__all__ = ["Record"]

# What a correct graph may answer to the operations of a worker.
_EXPECTED = {
    "KeyConflict", "ValidationFailure", "Conflict", "StaleHead", "PinChanged", "NotFound",
    "AlreadyExists", "SchemaFailure", "OperationVoid", "OutcomeUnknown",
}  # fmt: skip
_WITHOUT_COMMIT = {"read", "log", "feed", "index", "tag"}


class Record:
    """Operations and their endings."""

    def __init__(self, uri: str, options: dict[str, Any]) -> None:
        self.uri, self.options = uri, options
        # Whether the storage of the workers fails now and then.
        self.faulty = False
        self.findings: list[str] = []
        self.failures: Counter[str] = Counter()
        self.operations: dict[str, dict[str, Any]] = {}
        # Operation → its endings, one per try.
        self.endings: dict[str, list[tuple[str, Any]]] = {}
        self._reads: list[tuple[str, Any]] = []

    @property
    def acknowledged(self) -> int:
        return sum(ending == "ok" for tries in self.endings.values() for ending, _ in tries)

    def note(self, ending: str, name: str | None, value: Any) -> None:
        """One report of a worker."""
        if ending == "start":
            self.operations[str(name)] = value
            return
        operation = self.operations.get(str(name), {})
        if name is not None:
            self.endings.setdefault(name, []).append((ending, value))
        if ending == "bug" or (ending == "ended" and not self.faulty):
            self.findings.append(f"{ending} {operation}: {value}")
        elif ending in {"fail", "aside"}:
            self.failures[f"{operation.get('do', 'create')} {value}"] += 1
            self._require_expected(operation, str(value))
        elif ending == "ok" and operation["do"] in {"read", "log", "feed"}:
            self._reads.append((operation["do"], (operation["branch"], value)))

    def _require_expected(self, operation: dict[str, Any], value: str) -> None:
        if operation.get("do") == "feed" and "change_cursor.rejected" in value:
            return  # its branch was deleted and begun anew between two pages
        if value.split(maxsplit=1)[0] not in _EXPECTED:
            self.findings.append(f"{operation}: {value}")

    def judge(self, *, whole: bool = True) -> list[str]:
        """Compare everything that was reported with what the graph shows; all findings so far."""
        graph = open_graph(self.uri, **self.options)
        commits = self._commits(graph)
        replay = Replay(commits)
        try:
            replay.run()
        except Broken as broken:
            self.findings.append(str(broken))
            return self.findings
        self._judge_contents(graph, replay)
        self._judge_endings(commits)
        self._judge_reads(replay)
        if whole:
            engine = open_engine(self.uri, storage_options=self.options.get("storage_options"))
            self.findings += check_graph(engine)
        return self.findings

    def _commits(self, graph: Any) -> dict[str, dict[str, Any]]:
        found = {}
        for commit in graph.commits.graph(limit=10**6):
            found[str(commit.id)] = {
                "parent": commit.parent.id if commit.parent else None,
                "merged": commit.merged_parent.id if commit.merged_parent else None,
                "time": commit.time_micros,
                "kind": commit.kind.value,
                "message": commit.message,
                "branch": commit.branch,
            }
        return found

    def _judge_contents(self, graph: Any, replay: Replay) -> None:
        branches = [info.ref.name for info in graph.branches.list()]
        commits = sorted(replay.states)
        chosen = random.Random(len(commits)).sample(commits, min(10, len(commits)))
        targets = [*branches, *chosen]
        for target in targets:
            try:
                listed = graph.commits.list(CommitFilter(target=target))
            except NotFound as error:
                self.findings.append(f"target {target}: {error}")
                continue
            head = str(listed.commits[0].id)
            if [str(commit.id) for commit in listed] != self._line(replay, head):
                self.findings.append(f"the log of {target} is not its line of first parents")
            self._compare(f"target {target}", head, contents_of(graph, target), replay)

    def _line(self, replay: Replay, head: str) -> list[str]:
        line: list[str] = []
        name: str | None = head
        while name is not None:
            line.append(name)
            name = replay.commits[name]["parent"]
        return line

    def _compare(self, where: str, commit: str, found: Any, replay: Replay) -> None:
        state = replay.states.get(commit)
        if state is None:
            self.findings.append(f"{where}: commit {commit} is not in the history")
            return
        for part in ("items", "links", "owned"):
            wanted = getattr(state, part)
            if found[part] != wanted:
                odd = {
                    key: (found[part].get(key), wanted.get(key))
                    for key in {**found[part], **wanted}
                    if found[part].get(key) != wanted.get(key)
                }
                self.findings.append(f"{where}, commit {commit}: {part} (found, expected): {odd}")

    def _judge_endings(self, commits: dict[str, dict[str, Any]]) -> None:
        made: dict[str, list[str]] = {}
        for name, body in commits.items():
            if (body["message"] or "").startswith("{"):
                made.setdefault(json.loads(body["message"])["i"], []).append(name)
        for name, endings in self.endings.items():
            if self.operations[name]["do"] not in _WITHOUT_COMMIT:
                problem = self._problem_of(name, endings, made.get(name, []))
                if problem is not None:
                    self.findings.append(f"{problem}: {self.operations[name]} {endings}")

    def _problem_of(
        self, name: str, endings: list[tuple[str, Any]], landed: list[str]
    ) -> str | None:
        if len(landed) > 1:
            return f"committed {len(landed)} times as {landed}"
        for value in (value for ending, value in endings if ending == "ok"):
            if value is not None and value not in landed:
                return f"LOST commit {value}"
            if value is None and landed:
                return f"acknowledged without effect, and committed as {landed}"
        failed = {ending for ending, _ in endings} == {"fail"}
        # A renewal may merge and then fail to delete.
        if landed and failed and self.operations[name]["do"] != "renew":
            return f"FAILED, and committed as {landed}"
        return None

    def _judge_reads(self, replay: Replay) -> None:
        for do, (branch, value) in self._reads:
            if do == "read":
                self._compare(f"a read of {branch}", value[0], value[1], replay)
            elif value and value[0] in replay.commits:
                if value != self._line(replay, value[0]):
                    self.findings.append(f"a {do} of {branch} was cut short or wrong: {value}")
            elif value:
                self.findings.append(f"a {do} of {branch} shows {value[0]}, which is gone")
        self._reads.clear()
