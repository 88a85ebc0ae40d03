"""Every writer, failing at every fault point, in three ways.

Guards INV-2, INV-4 and INV-5. For each scenario the points that it passes are found by running it
once; then it is run again for each of them with an exception, with a storage error and with a
SIGKILL. Afterwards the graph is opened anew, must be whole, must show what was acknowledged and
nothing that was reported as failed, and must take the next write.

A later writer joins by one line in ``SCENARIOS``.
"""

from __future__ import annotations

import ast
import inspect
import shutil
from dataclasses import dataclass
from functools import partial
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.errors import AlreadyExists, NotFound
from omnigraph.graph.open import clone_graph
from omnigraph.runtime import faults
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.faults import POINTS
from omnigraph.testing.aging import age
from omnigraph.testing.kit import add, ids_of, new_engine, open_engine, table_of
from omnigraph.testing.kit_steps import Here, play
from omnigraph.testing.processes import ProcessGroup, Script, ScriptStep, StepOutcome, step
from omnigraph.testing.verify import check_graph
from omnigraph.versioning import layout
from omnigraph.versioning.branches import open_branches
from omnigraph.versioning.stamp import FORMAT
from omnigraph.writer.phases import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

KINDS = ("raise", "storage", "kill")
# A point that one scenario passes often is tried at its first passage only, unless --whole.
PASSAGES_MAX = 1


@dataclass(frozen=True)
class Scenario:
    """``before`` makes the graph, then ``act`` runs under a fault.

    ``crashes`` are steps that a child dies of while the graph is made, with the point it dies at:
    how recovery gets something to do; ``then`` follows them, without recovery in between. What the
    crashed steps add must be visible in the end (``appears``), or must not (``vanishes``).
    """

    name: str
    act: tuple[ScriptStep, ...]
    before: tuple[ScriptStep, ...] = ()
    crashes: tuple[tuple[str, ScriptStep], ...] = ()
    then: tuple[ScriptStep, ...] = ()
    blank: bool = False
    appears: tuple[str, ...] = ()
    vanishes: tuple[str, ...] = ()
    # The format that the graph is aged to before the act.
    format: int | None = None
    # Whether a power cut has torn the newest version of the lineage.
    torn: bool = False


OPEN = step("open")
ONE = step("add", ids={"Person": ["one"]})
SIDE = step("add", ids={"Person": ["side"]}, branch="dev")
SEVERAL = step("add", ids={"Person": ["a", "b"], "Place": ["here"], "Knows": ["a>b"]})
DEV = step("branch", name="dev")
# A type comes, one goes; properties come with a value, become wider, and go.
EVOLVE = step(
    "evolve",
    schema="""
    node Person { name: String @key  age: I64?  kind: String @default("x") }
    node Pet { name: String @key }
    edge Knows: Person -> Person { since: I64? }
    """,
)
# On the other branch a type and a property come, and nothing goes.
EXTEND_ASIDE = step(
    "evolve",
    schema="""
    node Person { name: String @key  age: I64?  kind: String @default("x") }
    node Place { name: String @key }
    node Pet { name: String @key }
    edge Knows: Person -> Person { since: I64? }
    """,
    branch="dev",
)
CLONE = step("clone", suffix="-copy")
NEW_PEOPLE = (
    {"type": "Person", "data": {"name": "x"}},
    {"type": "Person", "data": {"name": "y"}},
    {"edge": "Knows", "id": "x>y", "from": "x", "to": "y"},
)
LOAD = step("load", records=NEW_PEOPLE)
LOAD_ONTO_NEW = step("load", records=NEW_PEOPLE, branch="new", from_="main")
LOAD_CHANGES = step("load", records=(*NEW_PEOPLE, {"delete": "Person", "id": "a"}), mode="merge")
OVERWRITE = step("load", records=NEW_PEOPLE, mode="overwrite")
MUTATE = step(
    "mutate", text='query q() { insert Person { name: "x" } insert Person { name: "y" } }'
)
MUTATE_AWAY = step("mutate", text='query q() { delete Person where name = "a" or name = "old" }')
SEVERAL_ASIDE = step(
    "add", ids={"Person": ["c", "d"], "Place": ["there"], "Knows": ["c>d"]}, branch="dev"
)
MERGE = step("merge", source="dev")
MERGE_AND_DELETE = step("merge", source="dev", delete_branch=True)
REVERT = step("revert")
REVERT_EVOLUTION = step("revert", target="main")
PICK = step("pick", target="dev")
RESET = step("reset", to="main@v2")

# What is there after a step, and what is not any more.
EFFECTS: tuple[tuple[ScriptStep, dict[str, list[str]], dict[str, list[str]]], ...] = (
    (LOAD, {"Person": ["x", "y"], "Knows": ["x>y"]}, {}),
    (LOAD_ONTO_NEW, {"Person": ["x", "y"], "Knows": ["x>y"]}, {}),
    (LOAD_CHANGES, {"Person": ["x"], "Knows": ["x>y"]}, {"Person": ["a"], "Knows": ["a>b"]}),
    (OVERWRITE, {"Person": ["x"], "Knows": ["x>y"]}, {"Person": ["b", "old"], "Knows": ["a>b"]}),
    (MUTATE, {"Person": ["x", "y"]}, {}),
    (MUTATE_AWAY, {}, {"Person": ["a", "old"], "Knows": ["a>b"]}),
    (MERGE, {"Person": ["c", "d"], "Place": ["there"], "Knows": ["c>d"]}, {}),
    (MERGE_AND_DELETE, {"Person": ["c", "d"], "Place": ["there"], "Knows": ["c>d"]}, {}),
    (REVERT, {}, {"Person": ["a", "b"], "Place": ["here"], "Knows": ["a>b"]}),
    (PICK, {"Person": ["c", "d"], "Place": ["there"], "Knows": ["c>d"]}, {}),
    (RESET, {}, {"Person": ["a", "b"], "Place": ["here"], "Knows": ["a>b"]}),
    (REVERT_EVOLUTION, {"Place": ["here"]}, {}),
)

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("insert into one table", (ONE,)),
    Scenario("insert into three tables", (SEVERAL,)),
    Scenario("insert as a long job", (step("add", ids={"Person": ["one"]}, long=True),)),
    Scenario("insert above another branch", (ONE,), before=(DEV, SIDE)),
    Scenario("delete entities", (step("remove", ids=["old"]),)),
    Scenario("build indexes above another branch", (step("index"),), before=(DEV, SIDE)),
    Scenario("extend indexes", (step("index"),), before=(step("index"), SEVERAL)),
    Scenario("load", (LOAD,)),
    Scenario("load above another branch", (LOAD,), before=(DEV, SIDE)),
    Scenario("load replacements and deletions", (LOAD_CHANGES,), before=(SEVERAL,)),
    Scenario("load instead of everything", (OVERWRITE,), before=(SEVERAL,)),
    Scenario("load onto a new branch", (LOAD_ONTO_NEW,)),
    Scenario("mutate: insert", (MUTATE,)),
    Scenario("mutate: delete nodes with their edges", (MUTATE_AWAY,), before=(SEVERAL,)),
    Scenario("create a branch", (DEV,)),
    Scenario("delete a branch", (step("unbranch", name="dev"),), before=(DEV, SIDE)),
    Scenario("merge: three-way", (MERGE,), before=(DEV, SEVERAL_ASIDE, SEVERAL)),
    Scenario("merge: fast-forward", (MERGE,), before=(DEV, SEVERAL_ASIDE)),
    Scenario(
        "merge: schemas that differ",
        (MERGE,),
        before=(DEV, EXTEND_ASIDE, SEVERAL_ASIDE, SEVERAL),
    ),
    Scenario("merge and delete the branch", (MERGE_AND_DELETE,), before=(DEV, SEVERAL_ASIDE, ONE)),
    Scenario("revert a commit", (REVERT,), before=(SEVERAL,)),
    Scenario("revert a change of the schema", (REVERT_EVOLUTION,), before=(SEVERAL, EVOLVE)),
    Scenario("pick a commit", (PICK,), before=(DEV, SEVERAL_ASIDE, SEVERAL)),
    Scenario("reset a branch", (RESET,), before=(SEVERAL,)),
    Scenario("tag a commit", (step("tag", name="v1"),)),
    Scenario("create a graph", (step("init"),), blank=True),
    Scenario("apply a schema", (EVOLVE,), before=(SEVERAL,)),
    Scenario("apply a schema above another branch", (EVOLVE,), before=(DEV, SIDE)),
    Scenario("clone", (CLONE,), before=(DEV, SIDE)),
    Scenario("clone again", (CLONE,), before=(DEV, CLONE, SIDE)),
    Scenario("migrate format 1", (OPEN,), before=(DEV, SIDE), format=1),
    Scenario("migrate format 2", (OPEN,), before=(DEV, SIDE), format=2),
    Scenario("index the lineage", (step("archive"),)),
    Scenario(
        "roll forward", (OPEN,), crashes=(("attempt.tables_committed", ONE),), appears=("one",)
    ),
    Scenario(
        "roll back", (OPEN,), crashes=(("attempt.before_table_commit", ONE),), vanishes=("one",)
    ),
    Scenario(
        "settle what was published",
        (OPEN,),
        crashes=(("attempt.published", ONE),),
        appears=("one",),
    ),
    Scenario(
        "roll several operations forward and back",
        (OPEN,),
        before=(DEV,),
        crashes=(
            ("attempt.tables_committed", SIDE),
            ("attempt.before_table_commit", ONE),
        ),
        vanishes=("one",),
    ),
    Scenario(
        "set a torn version of the lineage aside",
        (step("archive"),),
        before=(step("archive"), ONE),
        torn=True,
    ),
    Scenario(
        "discard an operation of a deleted branch",
        (OPEN,),
        before=(DEV,),
        crashes=(("attempt.tables_committed", SIDE),),
        then=(step("unbranch", name="dev"),),
    ),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


def make_template(scenario: Scenario, path: Path, crew: ProcessGroup) -> None:
    """The graph that every case of a scenario starts from."""
    if scenario.blank:
        return
    engine = new_engine(path)
    add(engine, ["old"])
    here = Here()
    play(str(path), scenario.before, here, engine)
    for point, doomed in scenario.crashes:
        child = crew.start(Script(str(path), (OPEN, step("arm"), doomed), f"{point}=kill"))
        child.join()
        assert child.was_killed, f"{doomed} never passed {point}"
    play(str(path), scenario.then, here, engine)
    assert all(outcome.is_done for outcome in here.outcomes), here.outcomes
    if scenario.format is not None:
        age(path, scenario.format)
    if scenario.torn:
        tear_lineage(path)


def tear_lineage(path: Path) -> None:
    newest = open_engine(path, read_only=True).root.tables.latest_version(layout.LINEAGE_TABLE)
    manifest = path / layout.LINEAGE_TABLE / "_versions" / manifest_name(newest)
    manifest.write_bytes(manifest.read_bytes()[:100])


def steps_of(scenario: Scenario) -> tuple[ScriptStep, ...]:
    """Opening is part of the act only where it is the act."""
    opens = scenario.blank or OPEN in scenario.act[:1]
    return (step("arm"), *scenario.act) if opens else (OPEN, step("arm"), *scenario.act)


def passages_of(scenario: Scenario, path: Path) -> dict[str, int]:
    """How often a scenario passes each point when nothing goes wrong."""
    passed: dict[str, int] = {}

    def count(point: str) -> None:
        passed[point] = passed.get(point, 0) + 1

    faults._armed.update({point: partial(count, point) for point in POINTS})
    here = Here()
    play(str(path), steps_of(scenario), here)
    assert all(outcome.is_done for outcome in here.outcomes), here.outcomes
    return passed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_writer_that_fails_at_any_point_leaves_a_whole_graph(
    name: str, kind: str, tmp_path: Path, crew: ProcessGroup, pytestconfig: pytest.Config
) -> None:
    scenario = BY_NAME[name]
    template = tmp_path / "template"
    make_template(scenario, template, crew)
    passages = passages_of(scenario, copy_of(template, tmp_path / "trace"))
    whole = pytestconfig.getoption("--whole")
    most = 1_000 if whole else PASSAGES_MAX
    turn = KINDS.index(kind) + list(BY_NAME).index(name)
    problems = []
    for at, (point, count) in enumerate(passages.items()):
        # By default the kinds of failure take turns: each point of each writer meets one of them.
        if not whole and (at + turn) % 2:
            continue
        for passage in range(1, min(count, most) + 1):
            case = f"{point}={kind}@{passage}"
            path = copy_of(template, tmp_path / f"{point}-{passage}")
            outcomes = fail_at(scenario, path, case, crew)
            problems += [f"{case}: {problem}" for problem in examine(scenario, path, outcomes)]
    assert not problems, "\n".join(problems)


def copy_of(template: Path, path: Path) -> Path:
    """The template under another name, with the clone that it may have."""
    for suffix in ("", CLONE.arguments["suffix"]):
        if template.with_name(f"{template.name}{suffix}").exists():
            shutil.copytree(f"{template}{suffix}", f"{path}{suffix}")
    return path


def fail_at(scenario: Scenario, path: Path, fault: str, crew: ProcessGroup) -> list[StepOutcome]:
    """Run the act under a fault; the outcomes of the steps that ended."""
    steps = steps_of(scenario)
    if "=kill" not in fault:
        here = Here(fault)
        play(str(path), steps, here)
        return here.outcomes
    child = crew.start(Script(str(path), steps, fault))
    outcomes = child.join()
    assert child.was_killed, f"{fault} was not reached: {outcomes}"
    return outcomes


def examine(scenario: Scenario, path: Path, outcomes: list[StepOutcome]) -> list[str]:
    """What is wrong with the graph after the fault."""
    if scenario.blank:
        return examine_creation(path, outcomes)
    engine = settled(path)
    problems = check_graph(engine)
    endings = {id(outcome.step): outcome for outcome in outcomes}
    for item in scenario.act:
        problems += CHECKS.get(item.verb, nothing_to_check)(engine, item, endings.get(id(item)))
    people = set(ids_of(engine))
    problems += [f"{key} did not appear" for key in scenario.appears if key not in people]
    problems += [f"{key} did not vanish" for key in scenario.vanishes if key in people]
    return problems + write_again(path)


def settled(path: Path) -> Engine:
    """Open, and sweep until nothing is pending: what this process left needs a term to be old."""
    engine = open_engine(path)
    deadline = SYSTEM_CLOCK.monotonic() + 5
    while engine.recovery.pending() and SYSTEM_CLOCK.monotonic() < deadline:
        SYSTEM_CLOCK.sleep(0.05)
        engine.recovery.sweep()
    return engine


def write_again(path: Path) -> list[str]:
    """Every open branch takes another write, and the graph stays whole."""
    engine = open_engine(path)
    before = {
        branch: set(ids_of(engine, branch)) for branch in open_branches(engine.root, engine.heads)
    }
    for branch, known in before.items():
        add(engine, ["again"], branch=branch)
        if set(ids_of(engine, branch)) != known | {"again"}:
            return [f"writing again to {branch} changed something else"]
    return check_graph(open_engine(path))


def examine_creation(path: Path, outcomes: list[StepOutcome]) -> list[str]:
    """A half-made graph cannot be opened, and is made anew when it is told to."""
    made = any(outcome.is_done and outcome.step.verb == "init" for outcome in outcomes)
    try:
        engine = open_engine(path)
    except NotFound as error:
        if made:
            return [f"an acknowledged graph is not there: {error}"]
    else:
        return check_graph(engine) + write_again(path)
    with pytest.raises(AlreadyExists):
        new_engine(path)
    new_engine(path, force=True)
    return check_graph(open_engine(path)) + write_again(path)


def check_added(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    """Acknowledged: all of it is visible. Failed: none of it. Otherwise: all or nothing."""
    branch = item.arguments.get("branch", "main")
    seen = {
        key in ids_of(engine, branch, of=name)
        for name, ids in item.arguments["ids"].items()
        for key in ids
    }
    return judge_visibility(seen, outcome)


def judge_visibility(seen: set[bool], outcome: StepOutcome | None) -> list[str]:
    if len(seen) != 1:
        return ["a part of a commit is visible"]
    visible = seen.pop()
    if outcome is not None and outcome.is_done and not visible:
        return ["an acknowledged commit is not visible"]
    if outcome is not None and outcome.ending == "failed" and visible:
        return [f"a commit that failed with {outcome.code} is visible"]
    return []


def check_changed(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    """The same for a change that also takes away; a branch that it would make may be missing."""
    branch = item.arguments.get("branch", "main")
    made = item.arguments.get("from_") is not None
    if made and branch not in open_branches(engine.root, engine.heads):
        return ["an acknowledged branch is missing"] if outcome and outcome.is_done else []
    if made and outcome is not None and outcome.ending == "failed":
        return [f"the branch of a load that failed with {outcome.code} is still there"]
    there, gone = next((there, gone) for found, there, gone in EFFECTS if found is item)
    seen = {
        (key in held(engine, branch, name)) is present
        for present, ids in ((True, there), (False, gone))
        for name, keys in ids.items()
        for key in keys
    }
    return judge_visibility(seen, outcome)


def held(engine: Engine, branch: str, name: str) -> list[str]:
    """The ids of a type; none where the schema does not have it."""
    has_it = engine.snapshot(branch).catalog.entity(name) is not None
    return ids_of(engine, branch, of=name) if has_it else []


def check_removed(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    left = set(item.arguments["ids"]) & set(ids_of(engine))
    if outcome is not None and outcome.is_done and left:
        return ["an acknowledged deletion is not visible"]
    if outcome is not None and outcome.ending == "failed" and not left:
        return [f"a deletion that failed with {outcome.code} is visible"]
    return []


def check_branch(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    is_open = item.arguments["name"] in open_branches(engine.root, engine.heads)
    if outcome is not None and outcome.is_done and is_open != (item.verb == "branch"):
        return [f"{item.verb} was acknowledged and had no effect"]
    return []


def check_tag(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    tag = engine.root.refs.tag(item.arguments["name"])
    return ["an acknowledged tag is missing"] if outcome and outcome.is_done and not tag else []


def check_evolved(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    """The old schema with the old rows, or the new one with the new."""
    catalog = engine.snapshot().catalog
    is_new = catalog.node("Pet") is not None
    if is_new == (catalog.node("Place") is not None):
        return ["a part of a schema is visible"]
    if is_new and set(table_of(engine).scan(["kind"])["kind"].to_pylist()) != {"x"}:
        return ["the new schema has rows without their new value"]
    if outcome is not None and outcome.is_done and not is_new:
        return ["an acknowledged schema is not visible"]
    if outcome is not None and outcome.ending == "failed" and is_new:
        return [f"a schema that failed with {outcome.code} is visible"]
    return []


def check_cloned(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    """A copy can be used once it is acknowledged; cloning again finishes what was begun."""
    uri = engine.root.objects.uri
    copy = f"{uri}{item.arguments['suffix']}"
    problems = check_graph(open_engine(copy)) if outcome is not None and outcome.is_done else []
    clone_graph(uri, copy, incremental=True)
    finished = open_engine(copy)
    problems += check_graph(finished)
    for branch in open_branches(engine.root, engine.heads):
        if ids_of(finished, branch) != ids_of(engine, branch):
            problems.append(f"the copy of {branch} shows something else")
    return problems


def nothing_to_check(engine: Engine, item: ScriptStep, outcome: StepOutcome | None) -> list[str]:
    return []


CHECKS = {
    "add": check_added,
    "remove": check_removed,
    "load": check_changed,
    "mutate": check_changed,
    "merge": check_changed,
    "revert": check_changed,
    "pick": check_changed,
    "reset": check_changed,
    "branch": check_branch,
    "unbranch": check_branch,
    "tag": check_tag,
    "evolve": check_evolved,
    "clone": check_cloned,
}


# --- nothing is left out -------------------------------------------------------------------------


def test_every_fault_point_is_passed_by_a_scenario(tmp_path: Path, crew: ProcessGroup) -> None:
    passed: set[str] = set()
    for number, scenario in enumerate(SCENARIOS):
        path = tmp_path / str(number)
        make_template(scenario, path, crew)
        passed |= set(passages_of(scenario, path))
    # Applies of clusters have a sweep of their own.
    own = {point for point in POINTS if not point.startswith(("cluster.", "delete."))}
    assert own - passed == set()


def test_every_migration_step_has_a_scenario() -> None:
    assert {scenario.format for scenario in SCENARIOS} - {None} == set(range(1, FORMAT))


def test_every_phase_has_a_fault_point_after_its_effect() -> None:
    """After a call that may leave something behind, or relies on it, a point is reached."""
    for phase in PHASES:
        steps = [call for call in calls_in_order(phase) if call in LASTING_CALLS or call == "reach"]
        assert steps, phase.__name__
        assert steps[-1] == "reach", phase.__name__


LASTING_CALLS = frozenset(
    {"capture_snapshot", "prepare", "arm", "commit", "sync", "publish", "remove"}
)


def calls_in_order(function: object) -> list[str]:
    """The names of the functions that a function calls, in the order of its text."""
    tree = ast.parse(dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return [
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in found
    ]
