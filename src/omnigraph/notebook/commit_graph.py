"""Render the commit graph as SVG: newest commit first, one lane per line of development."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.notebook.markup import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Dot", "draw_history"]

_ROW, _LANE, _MARGIN, _RADIUS = 26, 18, 14, 5
_CHAR = 7.2
_COLOURS = ("#0969da", "#1a7f37", "#9a6700", "#8250df", "#cf222e", "#1b7c83")


@frozen
class Dot:
    """A commit with the branches and tags that point to it (``names``)."""

    id: str
    parents: tuple[str, ...]
    text: str
    names: tuple[str, ...] = ()


def draw_history(dots: Sequence[Dot]) -> str:
    """Render commits; children must precede their parents."""
    lanes = _lanes(dots)
    rows = {dot.id: row for row, dot in enumerate(dots)}
    left = _MARGIN + (max(lanes.values(), default=0) + 1) * _LANE
    longest = max((len(_label(dot)) for dot in dots), default=0)
    width, height = left + longest * _CHAR + _MARGIN, len(dots) * _ROW + _MARGIN
    body = [*_links(dots, lanes, rows), *_dots(dots, lanes, left)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'role="img" font-family="monospace" font-size="12" fill="currentColor">'
        f"{''.join(body)}</svg>"
    )


def _lanes(dots: Sequence[Dot]) -> dict[str, int]:
    """Assign lanes: the lane of the first child that expects the commit, else a free one."""
    expected: list[str | None] = []
    lanes: dict[str, int] = {}
    for dot in dots:
        lane = expected.index(dot.id) if dot.id in expected else _free_lane(expected)
        lanes[dot.id] = lane
        expected[:] = [None if wanted == dot.id else wanted for wanted in expected]
        for parent in dot.parents:
            if parent in expected:
                continue
            target = lane if expected[lane] is None else _free_lane(expected)
            expected[target] = parent
    return lanes


def _free_lane(expected: list[str | None]) -> int:
    if None not in expected:
        expected.append(None)
    return expected.index(None)


def _at(lane: int, row: int) -> tuple[int, int]:
    return _MARGIN + lane * _LANE, _MARGIN + row * _ROW


def _links(dots: Sequence[Dot], lanes: dict[str, int], rows: dict[str, int]) -> Iterator[str]:
    for dot in dots:
        x, y = _at(lanes[dot.id], rows[dot.id])
        for parent in dot.parents:
            if parent not in rows:
                # The parent is not drawn: the line leaves the picture.
                dashed = f'{_stroke(lanes[dot.id])} stroke-dasharray="2 2"'
                yield f'<path d="M{x} {y}v{_ROW // 2}" {dashed}/>'
                continue
            to_x, to_y = _at(lanes[parent], rows[parent])
            # Follow the right lane of the two and bend at its end.
            lane = max(lanes[dot.id], lanes[parent])
            path = (
                f"M{x} {y}L{to_x} {to_y}"
                if x == to_x
                else f"M{x} {y}C{x} {y + _ROW} {to_x} {y} {to_x} {y + _ROW}L{to_x} {to_y}"
                if to_x > x
                else f"M{x} {y}L{x} {to_y - _ROW}C{x} {to_y} {to_x} {to_y - _ROW} {to_x} {to_y}"
            )
            yield f'<path d="{path}" {_stroke(lane)}/>'


def _stroke(lane: int) -> str:
    return f'fill="none" stroke-width="2" stroke="{_COLOURS[lane % len(_COLOURS)]}"'


def _dots(dots: Sequence[Dot], lanes: dict[str, int], left: int) -> Iterator[str]:
    for row, dot in enumerate(dots):
        x, y = _at(lanes[dot.id], row)
        colour = _COLOURS[lanes[dot.id] % len(_COLOURS)]
        yield f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="{colour}"/>'
        names = f'<tspan font-weight="bold">{escape(_names(dot))}</tspan>' if dot.names else ""
        yield f'<text x="{left}" y="{y + 4}">{names}{escape(dot.text)}</text>'


def _names(dot: Dot) -> str:
    return f"({', '.join(dot.names)}) " if dot.names else ""


def _label(dot: Dot) -> str:
    return f"{_names(dot)}{dot.text}"
