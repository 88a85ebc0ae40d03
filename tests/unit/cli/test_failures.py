"""What a user sees when something goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from omnigraph.cli.exits import exit_code_of
from omnigraph.errors import InvalidInput, InvariantBroken, NotFound, PreconditionFailed

Cli = Callable[..., Any]


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make the next open raise."""

    def break_with(error: BaseException) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("omnigraph.graph.open.open_graph", refuse)

    return break_with


def test_exit_codes_follow_the_error() -> None:
    assert exit_code_of(NotFound("x.y", "")) == 1
    assert exit_code_of(InvalidInput("usage.x", "")) == 2
    assert exit_code_of(PreconditionFailed("commit.precondition", "")) == 4


@pytest.mark.parametrize("error", [InvariantBroken(3, "torn\nview"), ZeroDivisionError("x")])
def test_a_bug_is_one_line_that_asks_to_be_reported(
    cli: Cli, breaking: Callable[[BaseException], None], error: Exception
) -> None:
    breaking(error)
    outcome = cli("status", "x", "--json")
    assert outcome.code == 1
    assert outcome.err.startswith("error [internal] internal error, please report it: ")
    assert len(outcome.err.splitlines()) == 1
    assert json.loads(outcome.out)["code"] == "internal"


def test_a_traceback_is_shown_on_request(
    cli: Cli, breaking: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_DEBUG", "1")
    breaking(ZeroDivisionError("x"))
    assert "Traceback" in cli("status", "x").err


def test_an_interrupt_is_exit_code_130(cli: Cli, breaking: Callable[[BaseException], None]) -> None:
    breaking(KeyboardInterrupt())
    outcome = cli("status", "x")
    assert (outcome.code, outcome.err) == (130, "interrupted\n")


def test_an_operating_system_error_is_told_without_asking_for_a_report(
    cli: Cli, breaking: Callable[[BaseException], None]
) -> None:
    breaking(OSError(28, "No space left on device"))
    outcome = cli("status", "x")
    assert outcome.code == 1
    assert outcome.err == "error [io.failed] [Errno 28] No space left on device\n"
