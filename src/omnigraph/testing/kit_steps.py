"""Steps of a test process, as data."""

from __future__ import annotations

import json
import os
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.api.merges import MergeRequest, PickRequest, ResetRequest
from omnigraph.api.names import MAIN
from omnigraph.api.schemas import DesiredSchema, SchemaRequest
from omnigraph.api.writes import LoadRequest, MutationRequest, parse_mode
from omnigraph.errors import GraphError, OutcomeUnknown
from omnigraph.evolution.apply import apply_schema
from omnigraph.frozen import frozen
from omnigraph.graph.open import clone_graph
from omnigraph.loading import load
from omnigraph.maintenance.indexes import ensure_indices
from omnigraph.merging.cherry_pick import cherry_pick, revert
from omnigraph.merging.merge import merge_branches
from omnigraph.merging.reset import reset_branch
from omnigraph.mutation.mutate import run_mutation
from omnigraph.runtime import faults
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.testing.kit import FAST, Add, AddUnless, Remove, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between
from omnigraph.versioning import branches, layout, tags
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from omnigraph.runtime.limits import Limits
    from omnigraph.session.engine import Engine
    from omnigraph.writer.plan import Writer

__all__ = [
    "VERBS",
    "WRITE_POINTS",
    "Here",
    "ScriptStep",
    "Setting",
    "StepOutcome",
    "play",
    "step",
]


# The fault points of a short write, in order.
WRITE_POINTS = tuple(
    point
    for point in faults.POINTS
    if point.startswith(("attempt.", "publish.")) and point != "attempt.announced"
)


@frozen
class ScriptStep:
    """A verb of ``VERBS`` and its arguments."""

    verb: str
    arguments: dict[str, Any] = field(default_factory=dict)


def step(verb: str, **arguments: Any) -> ScriptStep:
    if verb not in VERBS:
        raise KeyError(verb)
    return ScriptStep(verb, arguments)


@frozen
class StepOutcome:
    """The outcome of a step.

    ``done``: acknowledged. ``failed``: a definite failure. ``unknown``: it may have been published.
    A step without an outcome died with its process.
    """

    step: ScriptStep
    ending: str
    value: Any = None
    code: str | None = None
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        return self.ending == "done"


class Setting(Protocol):
    """The environment in which steps run."""

    fault: str
    limits: Limits
    storage_options: Mapping[str, str]

    def report(self, outcome: StepOutcome) -> None: ...

    def wait(self) -> None: ...


class Here:
    """Runs steps in this process and keeps their outcomes."""

    def __init__(self, fault: str = "", limits: Limits = FAST) -> None:
        self.fault = fault
        self.limits = limits
        self.storage_options: Mapping[str, str] = {}
        self.outcomes: list[StepOutcome] = []

    def report(self, outcome: StepOutcome) -> None:
        self.outcomes.append(outcome)

    def wait(self) -> None:
        """Return at once: there is no parent process to wait for."""


def play(
    uri: str, steps: Sequence[ScriptStep], setting: Setting, engine: Engine | None = None
) -> None:
    """Run steps in order; a failing step does not end the run."""
    stage = _Stage(uri, setting, engine)
    if not any(item.verb == "arm" for item in steps):
        stage.arm()
    try:
        for item in steps:
            setting.report(stage.run(item))
    finally:
        faults.clear()


class _Stage:
    def __init__(self, uri: str, setting: Setting, engine: Engine | None) -> None:
        self.uri = uri
        self.setting = setting
        self._engine = engine

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("the graph is not open: play the step `open` first")
        return self._engine

    @engine.setter
    def engine(self, engine: Engine) -> None:
        self._engine = engine

    def arm(self) -> None:
        for order in filter(None, self.setting.fault.split(",")):
            point, _, rest = order.partition("=")
            kind, _, passage = rest.partition("@")
            faults.arm(point, kind, passage=int(passage or 1))

    def run(self, item: ScriptStep) -> StepOutcome:
        started = SYSTEM_CLOCK.monotonic()
        ending, value, code = "done", None, None
        try:
            value = VERBS[item.verb](self, **item.arguments)
        except OutcomeUnknown as error:
            ending, value, code = "unknown", error.details.get("commit_id"), error.code
        except GraphError as error:
            ending, value, code = "failed", str(error), error.code
        except faults.InjectedFault:
            ending, code = "failed", "injected"
        return StepOutcome(item, ending, value, code, SYSTEM_CLOCK.monotonic() - started)

    def write(self, request: WriteRequest, writer: Writer, *, long: bool = False) -> str | None:
        transactions = self.engine.transactions
        manifest = (transactions.run_long if long else transactions.run)(request, writer)
        return manifest.commit.id if manifest else None


def _init(stage: _Stage, *, force: bool = False, durability: str = "process") -> str:
    stage.engine = new_engine(
        stage.uri,
        durability=durability,
        limits=stage.setting.limits,
        force=force,
        storage_options=stage.setting.storage_options or None,
    )
    return stage.engine.root.stamp.graph_id


def _open(stage: _Stage, *, read_only: bool = False, counted: bool = False) -> int:
    stage.engine = open_engine(
        stage.uri,
        read_only=read_only,
        limits=stage.setting.limits,
        storage_options=stage.setting.storage_options or None,
        wrap_tables=Between if counted else None,
        wrap_objects=Between if counted else None,
    )
    return os.getpid()


def _arm(stage: _Stage) -> None:
    stage.arm()


def _wait(stage: _Stage) -> None:
    stage.setting.wait()


def _unguarded(stage: _Stage) -> None:
    """Disable the lease and other optimisations that only avoid redundant work."""
    stage.engine.transactions.locks.enabled = False
    stage.engine.transactions.leases.enabled = False


def _add(
    stage: _Stage,
    *,
    ids: Mapping[str, Sequence[str]],
    branch: str = MAIN,
    reads: Sequence[str] = (),
    reprepares: bool = True,
    long: bool = False,
) -> str | None:
    """Add entities; the commit message lists them, so that lineage can be compared with tables."""
    message = json.dumps({name: list(keys) for name, keys in ids.items()})
    writer = Add(ids, reads=reads, reprepares=reprepares)
    return stage.write(WriteRequest(branch, message=message), writer, long=long)


def _add_counted(stage: _Stage, **arguments: Any) -> tuple[str | None, int, int]:
    """Add entities; report the table commits and manifest swaps of a counted graph."""
    tables, objects = stage.engine.root.tables, stage.engine.root.objects
    if not (isinstance(tables, Between) and isinstance(objects, Between)):
        raise TypeError("open the graph with `counted`")
    tables.calls.clear()
    objects.calls.clear()
    commit = _add(stage, **arguments)
    swaps = [
        key
        for verb, key in objects.calls
        if verb == "put_if_absent" and layout.manifest_number(key)
    ]
    return commit, [verb for verb, _ in tables.calls].count("commit"), len(swaps)


def _add_unless(stage: _Stage, *, key: str, to: str, unless: str) -> str | None:
    return stage.write(WriteRequest(MAIN), AddUnless(key, to=to, unless=unless))


def _remove(stage: _Stage, *, ids: Sequence[str], branch: str = MAIN) -> str | None:
    return stage.write(WriteRequest(branch), Remove("Person", ids))


def _load(
    stage: _Stage,
    *,
    records: Sequence[Mapping[str, Any]],
    mode: str = "append",
    branch: str = MAIN,
    from_: str | None = None,
) -> str | None:
    request = LoadRequest(records, parse_mode(mode), branch, from_)
    done = load(stage.engine, request).commit
    return done.id if done else None


def _mutate(stage: _Stage, *, text: str, branch: str = MAIN) -> str | None:
    done = run_mutation(stage.engine, MutationRequest(text, branch=branch)).commit
    return done.id if done else None


def _create_branch(stage: _Stage, *, name: str, source: str = MAIN) -> str:
    engine = stage.engine
    manifest = engine.resolver.resolve(source)
    return branches.create_branch(engine.root, engine.heads, name, manifest).incarnation


def _delete_branch(stage: _Stage, *, name: str, force: bool = False) -> None:
    branches.delete_branch(stage.engine.root, stage.engine.heads, name, force=force)


def _tag(stage: _Stage, *, name: str, target: str = MAIN) -> str:
    manifest = stage.engine.resolver.resolve(target)
    return tags.create_tag(stage.engine.root, name, manifest).commit


def _merge(
    stage: _Stage, *, source: str, into: str = MAIN, delete_branch: bool = False
) -> str | None:
    request = MergeRequest(source, into, delete_branch=delete_branch)
    done = merge_branches(stage.engine, request).commit
    return done.id if done else None


def _revert(stage: _Stage, *, target: str = MAIN) -> str | None:
    """Revert the commit at the head of a target, on main."""
    commit = stage.engine.snapshot(target).commit_id
    done = revert(stage.engine, PickRequest(commit)).commit
    return done.id if done else None


def _pick(stage: _Stage, *, target: str) -> str | None:
    """Cherry-pick the commit at the head of a target to main."""
    commit = stage.engine.snapshot(target).commit_id
    done = cherry_pick(stage.engine, PickRequest(commit)).commit
    return done.id if done else None


def _reset(stage: _Stage, *, to: str, branch: str = MAIN) -> str | None:
    done = reset_branch(stage.engine, ResetRequest(branch, to)).commit
    return done.id if done else None


def _evolve(stage: _Stage, *, schema: str, branch: str = MAIN) -> str | None:
    done = apply_schema(stage.engine, SchemaRequest(DesiredSchema(schema), branch))
    return done.commit.id if done.commit else None


def _clone(stage: _Stage, *, suffix: str) -> int:
    """Copy the graph to its path with a suffix."""
    options = stage.setting.storage_options or None
    target = f"{stage.uri}{suffix}"
    return clone_graph(stage.uri, target, storage_options=options, incremental=True).commits


def _sweep(stage: _Stage) -> list[tuple[str, str]]:
    return [(row.operation_id, row.outcome.value) for row in stage.engine.recovery.sweep()]


def _archive(stage: _Stage) -> int:
    stage.engine.lineage.refresh()
    return stage.engine.lineage.archive()


def _ids(stage: _Stage, *, target: str = MAIN, of: str = "Person") -> list[str]:
    return ids_of(stage.engine, target, of=of)


def _sleep(stage: _Stage, *, seconds: float) -> None:
    stage.engine.root.clock.sleep(seconds)


def _index(stage: _Stage, *, branch: str = MAIN) -> str | None:
    done = ensure_indices(stage.engine, branch, force=True)
    return done.commit.id if done.commit else None


VERBS: dict[str, Callable[..., Any]] = {
    "init": _init,
    "open": _open,
    "arm": _arm,
    "wait": _wait,
    "unguarded": _unguarded,
    "add": _add,
    "add_counted": _add_counted,
    "add_unless": _add_unless,
    "remove": _remove,
    "load": _load,
    "mutate": _mutate,
    "branch": _create_branch,
    "unbranch": _delete_branch,
    "tag": _tag,
    "evolve": _evolve,
    "clone": _clone,
    "merge": _merge,
    "revert": _revert,
    "pick": _pick,
    "reset": _reset,
    "index": _index,
    "sweep": _sweep,
    "archive": _archive,
    "ids": _ids,
    "sleep": _sleep,
}
