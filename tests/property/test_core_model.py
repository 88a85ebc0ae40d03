"""A versioned graph against a model that fits on a page.

Guards INV-3, INV-6 and INV-16: branches, tags and the past are what a few dictionaries say they
are, whatever is created, written, deleted, reopened, moved and copied, in any order.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from omnigraph.errors import AlreadyExists, Conflict, InvalidInput, NotFound
from omnigraph.runtime.clock import format_micros
from omnigraph.testing.kit import FAST, Add, Remove, ids_of, new_engine, open_engine
from omnigraph.testing.verify import check_graph
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.versioning.tags import create_tag, delete_tag
from omnigraph.writer.plan import WriteRequest

TYPES = ("Person", "Place")
NAMES = st.sampled_from(["main", "dev", "Dev", "a/b", "v1", "x.y"])
KEYS = st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3)

# What a snapshot holds: the ids of each type.
State = dict[str, frozenset[str]]


@dataclass
class ModelBranch:
    incarnation: str
    forked_from: str | None
    # Commit ids with their states, oldest first; manifest version n is commits[n - 1].
    commits: list[tuple[str, State]] = field(default_factory=list)

    @property
    def state(self) -> State:
        return self.commits[-1][1]


class VersionedGraph(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="omnigraph-model-"))
        self.moves = 0

    @initialize()
    def create(self) -> None:
        self.path = self.home / "graph-0"
        self.engine = new_engine(self.path)
        head = self.engine.resolver.resolve("main")
        empty: State = dict.fromkeys(TYPES, frozenset())
        self.branches = {
            "main": ModelBranch(head.incarnation, None, [(head.commit.id, empty)]),
        }
        self.tags: dict[str, tuple[str, State]] = {}
        self.number = 0

    def teardown(self) -> None:
        problems = check_graph(open_engine(self.path)) if hasattr(self, "path") else []
        shutil.rmtree(self.home)
        assert problems == []

    # --- writing ---

    @rule(name=NAMES, keys=KEYS, of=st.sampled_from([("Person",), ("Place",), TYPES]))
    def add(self, name: str, keys: set[str], of: tuple[str, ...]) -> None:
        fresh = {}
        for kind in of:
            self.number += 1
            fresh[kind] = [f"{key}{self.number}" for key in sorted(keys)]
        branch = self.branches.get(name)
        if branch is None:
            with pytest.raises(NotFound):
                self.engine.transactions.run(WriteRequest(name), Add(fresh))
            return
        manifest = self.engine.transactions.run(WriteRequest(name), Add(fresh))
        assert manifest is not None
        state = {kind: ids | set(fresh.get(kind, ())) for kind, ids in branch.state.items()}
        branch.commits.append((manifest.commit.id, state))

    @rule(name=NAMES, data=st.data())
    def remove(self, name: str, data: st.DataObject) -> None:
        branch = self.branches.get(name)
        if branch is None:
            return
        people = sorted(branch.state["Person"])
        gone = data.draw(st.sets(st.sampled_from([*people, "nobody"]), max_size=3))
        manifest = self.engine.transactions.run(WriteRequest(name), Remove("Person", gone))
        left = branch.state["Person"] - gone
        assert (manifest is None) == (left == branch.state["Person"]), "no effect, no commit"
        if manifest is not None:
            branch.commits.append((manifest.commit.id, {**branch.state, "Person": left}))

    @rule(name=NAMES, keys=KEYS)
    def add_on_a_condition_that_is_false(self, name: str, keys: set[str]) -> None:
        branch = self.branches.get(name)
        if branch is None or len(branch.commits) == 1:
            return
        before = branch.commits[-2][0]
        with pytest.raises(Conflict):
            self.engine.transactions.run(
                WriteRequest(name, if_commit=before), Add({"Person": sorted(keys)})
            )

    # --- branches and tags ---

    @rule(name=NAMES, data=st.data())
    def branch_off(self, name: str, data: st.DataObject) -> None:
        target, commit, state = self.draw_target(data)
        engine = self.engine
        source = engine.resolver.resolve(target)
        if name in self.branches or name in self.tags:
            with pytest.raises(AlreadyExists):
                create_branch(engine.root, engine.heads, name, source)
            return
        ref = create_branch(engine.root, engine.heads, name, source)
        self.branches[name] = ModelBranch(ref.incarnation, ref.fork_incarnation, [(commit, state)])

    @rule(name=NAMES, force=st.booleans())
    def delete(self, name: str, force: bool) -> None:
        root, heads = self.engine.root, self.engine.heads
        branch = self.branches.get(name)
        expected: type[Exception] | None = None
        if name == "main":
            expected = InvalidInput
        elif branch is None:
            expected = NotFound
        elif not force and any(
            other.forked_from == branch.incarnation for other in self.branches.values()
        ):
            expected = Conflict
        if expected is not None:
            with pytest.raises(expected):
                delete_branch(root, heads, name, force=force)
            return
        delete_branch(root, heads, name, force=force)
        del self.branches[name]

    @rule(name=NAMES, data=st.data())
    def tag(self, name: str, data: st.DataObject) -> None:
        target, commit, state = self.draw_target(data)
        manifest = self.engine.resolver.resolve(target)
        if name in self.branches or name in self.tags:
            with pytest.raises(AlreadyExists):
                create_tag(self.engine.root, name, manifest)
            return
        assert create_tag(self.engine.root, name, manifest).commit == commit
        self.tags[name] = (commit, state)

    @rule(name=NAMES)
    def untag(self, name: str) -> None:
        if name not in self.tags:
            with pytest.raises(NotFound):
                delete_tag(self.engine.root, name)
            return
        delete_tag(self.engine.root, name)
        del self.tags[name]

    # --- the directory ---

    @rule()
    def reopen(self) -> None:
        self.engine = open_engine(self.path)

    @rule()
    def open_with_a_short_memory(self) -> None:
        """Every head is listed anew and nothing stays decoded."""
        limits = type(FAST)(head_relist_seconds=0.0, manifest_cache=1, catalog_cache=1)
        self.engine = open_engine(self.path, limits=limits)

    @rule()
    def move(self) -> None:
        self.path = self.path.rename(self.next_home())
        self.engine = open_engine(self.path)

    @rule()
    def copy(self) -> None:
        self.path = Path(shutil.copytree(self.path, self.next_home()))
        self.engine = open_engine(self.path)

    @rule()
    def lose_the_lineage(self) -> None:
        """It is derived: built again from the manifests when somebody asks."""
        self.engine.lineage.refresh()
        self.engine.lineage.archive()
        shutil.rmtree(self.path / layout.LINEAGE_TABLE, ignore_errors=True)

    @rule()
    def index_the_lineage(self) -> None:
        self.engine.lineage.refresh()
        self.engine.lineage.archive()

    # --- reading ---

    @rule(data=st.data())
    def read_the_past(self, data: st.DataObject) -> None:
        target, commit, state = self.draw_target(data)
        assert self.engine.resolver.resolve(target).commit.id == commit
        assert self.state_at(target) == state

    @rule(data=st.data())
    @precondition(lambda self: len(self.branches) > 1)
    def compare_two_branches(self, data: st.DataObject) -> None:
        left, right = data.draw(st.permutations(sorted(self.branches)))[:2]
        mine = [commit for commit, _ in self.branches[left].commits]
        theirs = [commit for commit, _ in self.branches[right].commits]
        lineage = self.engine.lineage
        base = lineage.merge_base(mine[-1], theirs[-1])
        assert base is not None
        assert base == lineage.merge_base(theirs[-1], mine[-1])
        assert lineage.is_ancestor(base.id, mine[-1])
        assert lineage.is_ancestor(base.id, theirs[-1])

    @invariant()
    def every_branch_is_what_the_model_says(self) -> None:
        if not hasattr(self, "engine"):
            return
        assert open_branches(self.engine.root, self.engine.heads) == sorted(self.branches)
        for name, branch in self.branches.items():
            assert self.state_at(name) == branch.state, name

    @invariant()
    def every_tag_is_what_the_model_says(self) -> None:
        if not hasattr(self, "engine"):
            return
        assert sorted(tag.name for tag in self.engine.root.refs.tags()) == sorted(self.tags)

    # --- drawing ---

    def draw_target(self, data: st.DataObject) -> tuple[str, str, State]:
        """Any way to name a point of history, with what it means."""
        name = data.draw(st.sampled_from(sorted(self.branches)))
        branch = self.branches[name]
        at = data.draw(st.integers(0, len(branch.commits) - 1))
        commit, state = branch.commits[at]
        way = data.draw(st.sampled_from(["branch", "commit", "version", "time", "tag"]))
        match way:
            case "commit":
                return commit.lower(), commit, state
            case "version":
                return f"{name}@v{at + 1}", commit, state
            case "time":
                moment = self.engine.lineage.get(commit).time_micros
                return f"{name}@{format_micros(moment)}", commit, state
            case "tag" if self.tags:
                tag = data.draw(st.sampled_from(sorted(self.tags)))
                return tag, *self.tags[tag]
            case _:
                return name, branch.commits[-1][0], branch.state

    def state_at(self, target: str) -> State:
        return {kind: frozenset(ids_of(self.engine, target, of=kind)) for kind in TYPES}

    def next_home(self) -> Path:
        self.moves += 1
        return self.home / f"graph-{self.moves}"


TestVersionedGraph = VersionedGraph.TestCase
TestVersionedGraph.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.slow
def test_many_more_histories_of_a_versioned_graph() -> None:
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415 - the sweep only

    run_state_machine_as_test(
        VersionedGraph,
        settings=settings(TestVersionedGraph.settings, max_examples=300, stateful_step_count=60),
    )
