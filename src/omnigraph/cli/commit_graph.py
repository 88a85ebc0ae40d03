"""Draw the commit graph beside the text of the commits, newest first.

Each line of development has a lane, two columns wide. A lane expects one commit: the parent of the
last one drawn in it. Lanes that expect the same commit join above it; a merge opens or joins a lane
below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Node", "draw"]


@frozen
class Node:
    """A commit with its parents and the lines of text beside it."""

    id: str
    parents: tuple[str, ...]
    text: Sequence[str]


def draw(nodes: Iterable[Node]) -> Iterator[str]:
    """Draw nodes; children must precede their parents."""
    lanes: list[str | None] = []
    for node in nodes:
        waiting = [lane for lane, wanted in enumerate(lanes) if wanted == node.id]
        home = waiting[0] if waiting else _free_lane(lanes)
        for lane in reversed(waiting[1:]):
            yield _link(lanes, home, lane, ending=True).rstrip()
            lanes[lane] = None
        lanes[home] = node.id
        _trim_free_lanes(lanes)
        text = iter(node.text)
        yield _beside(_row(lanes, {2 * home: "*"}), next(text, ""))
        lanes[home] = node.parents[0] if node.parents else None
        for parent in node.parents[1:]:
            if parent == lanes[home]:
                continue
            lane = lanes.index(parent) if parent in lanes else _free_lane(lanes)
            yield _beside(_link(lanes, home, lane), next(text, ""))
            lanes[lane] = parent
        for line in text:
            yield _beside(_row(lanes), line)


def _free_lane(lanes: list[str | None]) -> int:
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)


def _trim_free_lanes(lanes: list[str | None]) -> None:
    while lanes[-1] is None:
        lanes.pop()


def _row(lanes: Sequence[str | None], marks: dict[int, str] | None = None) -> str:
    """Draw one character per lane and one between; ``marks`` overwrite them."""
    cells = [" "] * (2 * len(lanes) - 1)
    for lane, wanted in enumerate(lanes):
        cells[2 * lane] = "|" if wanted is not None else " "
    for column, mark in (marks or {}).items():
        cells[column] = mark
    return "".join(cells)


def _link(lanes: Sequence[str | None], home: int, lane: int, *, ending: bool = False) -> str:
    """Draw a line from ``home`` down to ``lane``, or back if ``lane`` ends."""
    left, right = sorted((home, lane))
    falls_right = lane > home and not ending
    between = range(2 * left + 1, 2 * right - 1)
    marks = {column: "_" for column in between if column % 2 or lanes[column // 2] is None}
    marks[2 * right - 1] = "\\" if falls_right else "/"
    if ending:
        marks[2 * lane] = " "
    return _row(lanes, marks)


def _beside(drawing: str, text: str) -> str:
    return f"{drawing} {text}".rstrip()
