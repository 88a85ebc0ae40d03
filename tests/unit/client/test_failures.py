"""Every code that the source raises comes back as the class that it was raised with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.client.failures import class_of, error_of
from omnigraph.server.problems import problem_of

SOURCE = Path(omnigraph.__file__).parent
KINDS = [name for name in errors.__all__ if name not in ("GraphError", "InvariantBroken")]
RAISED = re.compile(rf'\b({"|".join(KINDS)})\(\s*f?"([a-z_]+\.[a-z_]+)"')
# Only whoever has the storage, a terminal or a process of its own meets these.
LOCAL = re.compile(
    r"(usage|serve|spark|kit|token|queries|policy|uri|file|fmt|clone|embed|source|client|object|"
    r"table|params|mapping|config|scope|profile|alias|credentials|server|shell|doctor|new|analytics|"
    r"pipeline|query)\.|graph\.(bad|half|being|remains)|result\.|storage\.|param\."
)


def raised() -> list[tuple[str, str]]:
    found = {
        (kind, code)
        for path in SOURCE.rglob("*.py")
        for kind, code in RAISED.findall(path.read_text(encoding="utf-8"))
        if not LOCAL.match(code)
    }
    return sorted(found)


@pytest.mark.parametrize(("kind", "code"), raised())
def test_a_code_keeps_its_class_over_the_wire(kind: str, code: str) -> None:
    raised_as = getattr(errors, kind)
    problem = problem_of(raised_as(code, "said"))
    back = class_of(problem.status, code, problem.body("1"))
    if issubclass(raised_as, errors.StorageFault):
        assert back is errors.StorageFault
        return
    # What the caller does about it is the same.
    assert issubclass(back, raised_as) or issubclass(raised_as, back)
    assert back is raised_as or (kind, code) in LOOSE


# A class above or below: nobody would act differently.
LOOSE = {("StaleHead", "schema.changed")}


def test_details_and_remedy_come_back() -> None:
    made = errors.PreconditionFailed(
        "commit.precondition", "moved", details={"expected": "A", "actual": "B"}, remedy="re-read"
    )
    problem = problem_of(made)
    back = error_of(problem.status, problem.body("1"))
    assert (type(back), back.code, back.message) == (type(made), made.code, made.message)
    assert (back.details, back.remedy) == (made.details, made.remedy)


def test_an_answer_in_other_words_is_not_believed() -> None:
    for body in (None, "<html>", {"message": "hi"}):
        assert error_of(502, body).code == "client.bad_answer"
