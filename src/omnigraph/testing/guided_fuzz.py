"""Coverage-guided fuzzing: an input that reaches new code is mutated further.

Hypothesis draws inputs independently of the code under test; this loop is guided by it alone.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from random import Random  # noqa: TID251 - only its type: the caller brings a seeded one
    from types import FrameType
    from typing import Any

__all__ = ["fuzz"]

_Arc = tuple[str, int, int]


def fuzz(
    check: Callable[[str], object],
    seeds: Sequence[str],
    *,
    package: Path,
    rounds: int,
    random: Random,
) -> list[str]:
    """Call ``check`` with mutations of the seeds; return those that reach new code.

    ``check`` raises on a failure, and the exception carries the input as a note. ``package`` is the
    directory whose coverage is measured.
    """
    pool = list(seeds)
    words = sorted({word for seed in seeds for word in seed.split()})
    with _arcs(str(package)) as known:
        for seed in seeds:
            _run(check, seed)
    found: list[str] = []
    for _ in range(rounds):
        text = _mutate(random.choice(pool), pool, words, random)
        with _arcs(str(package)) as reached:
            _run(check, text)
        if not reached <= known:
            known |= reached
            pool.append(text)
            found.append(text)
    return found


def _run(check: Callable[[str], object], text: str) -> None:
    try:
        check(text)
    except BaseException as error:
        error.add_note(f"input: {text!r}")
        raise


def _mutate(text: str, pool: Sequence[str], words: Sequence[str], random: Random) -> str:
    """Apply a few edits: cut, repeat, splice in a slice of another input, insert a word."""
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(text))
        end = min(len(text), start + random.choice((0, 1, 2, 5, 20)))
        other = random.choice(pool)
        at = random.randint(0, len(other))
        piece = random.choice(
            (
                "",
                text[start:end] * 2,
                other[at : at + random.choice((1, 10, 40))],
                f" {random.choice(words)} ",
                chr(random.randint(1, 0x2FF)),
            )
        )
        text = text[:start] + piece + text[end:]
    return text


@contextmanager
def _arcs(directory: str) -> Iterator[set[_Arc]]:
    """Collects the line transitions inside a directory for the duration of the context."""
    seen: set[_Arc] = set()

    def enter_function(frame: FrameType, _event: str, _arg: object) -> Any:
        file = frame.f_code.co_filename
        previous = frame.f_code.co_firstlineno

        def step(frame: FrameType, _event: str, _arg: object) -> Any:
            nonlocal previous
            seen.add((file, previous, frame.f_lineno))
            previous = frame.f_lineno
            return step

        return step if file.startswith(directory) else None

    outer = sys.gettrace()
    sys.settrace(enter_function)
    try:
        yield seen
    finally:
        sys.settrace(outer)
