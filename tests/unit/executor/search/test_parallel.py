"""Work shared between threads is done once, by whoever has time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.executor.search import parallel as sharing
from omnigraph.executor.search.parallel import in_chunks


@pytest.mark.parametrize("total", [0, 1, 10, 11, 1_000])
def test_every_item_is_worked_on_once(total: int) -> None:
    done: list[int] = []
    lock = threading.Lock()

    def work(chunk: slice) -> None:
        with lock:
            done.extend(range(*chunk.indices(total)))

    in_chunks(total, 10, work)
    assert sorted(done) == list(range(total))


def test_a_helper_that_never_runs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    pool = ThreadPoolExecutor(1)
    pool.submit(release.wait)
    monkeypatch.setattr(sharing, "_pool", lambda: pool)
    monkeypatch.setattr(sharing, "_helpers", lambda: 1)
    done: list[slice] = []
    in_chunks(30, 10, done.append)
    assert len(done) == 3
    release.set()


def test_what_goes_wrong_reaches_the_caller() -> None:
    def fail(_: slice) -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        in_chunks(100, 10, fail)
