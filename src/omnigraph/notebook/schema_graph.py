"""Render types as SVG: a box per node type with its properties, an arrow per edge type.

An edge type from a node type to itself is a line of text in the box: a drawn loop would cross other
arrows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.notebook.markup import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Arrow", "Box", "draw_types"]

_LINE, _CHAR, _PAD, _GAP = 16, 7.2, 8, 90
_PROPERTIES_MAX = 12


@frozen
class Box:
    """A node type and the edge types from it to itself."""

    name: str
    properties: tuple[str, ...]
    loops: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        shown = self.properties[:_PROPERTIES_MAX]
        more = len(self.properties) - len(shown)
        hidden = [f"… {more} more"] if more else []
        return (*shown, *hidden, *(f"↻ {name}" for name in self.loops))


@frozen
class Arrow:
    """An edge type between two node types, by name."""

    name: str
    begin: str
    end: str


@frozen
class _Rectangle:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    def border_towards(self, x: float, y: float) -> tuple[float, float]:
        """Return the intersection of the border with a line from the middle to a point."""
        mid_x, mid_y = self.middle
        dx, dy = x - mid_x, y - mid_y
        scale = min(
            self.width / 2 / abs(dx) if dx else math.inf,
            self.height / 2 / abs(dy) if dy else math.inf,
        )
        return mid_x + dx * scale, mid_y + dy * scale


def draw_types(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """Render a schema."""
    loops = [arrow for arrow in arrows if arrow.begin == arrow.end]
    arrows = [arrow for arrow in arrows if arrow.begin != arrow.end]
    boxes = [_with_loops(box, loops) for box in boxes]
    # The gap must fit the names of the arrows.
    room = max((len(arrow.name) * _CHAR for arrow in arrows), default=0) + 3 * _PAD
    layout = _layout(boxes, max(_GAP, room))
    right = max((rectangle.x + rectangle.width for rectangle in layout.values()), default=0)
    bottom = max((rectangle.y + rectangle.height for rectangle in layout.values()), default=0)
    body = [*_arrows(arrows, layout), *(part for box in boxes for part in _box(box, layout))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + _PAD:.0f}" '
        f'height="{bottom + _PAD:.0f}" role="img" font-family="monospace" font-size="12" '
        f'fill="currentColor"><defs><marker id="omnigraph-tip" viewBox="0 0 10 10" refX="9" '
        f'refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        f'<path d="M0 0L10 5L0 10z"/></marker></defs>{"".join(body)}</svg>'
    )


def _with_loops(box: Box, loops: Sequence[Arrow]) -> Box:
    own = tuple(arrow.name for arrow in loops if arrow.begin == box.name)
    return Box(box.name, box.properties, own)


def _layout(boxes: Sequence[Box], gap: float) -> dict[str, _Rectangle]:
    """Arrange the boxes in a square grid; the highest box determines the height of a row."""
    columns = max(1, math.ceil(math.sqrt(len(boxes))))
    layout: dict[str, _Rectangle] = {}
    y = float(_PAD)
    for start in range(0, len(boxes), columns):
        row = boxes[start : start + columns]
        x = float(_PAD)
        for box in row:
            longest = max(map(len, (box.name, *box.lines)))
            rectangle = _Rectangle(
                x, y, longest * _CHAR + 2 * _PAD, (len(box.lines) + 1) * _LINE + 2 * _PAD
            )
            layout[box.name] = rectangle
            x += rectangle.width + gap
        y += max(layout[box.name].height for box in row) + _GAP / 2
    return layout


def _box(box: Box, layout: dict[str, _Rectangle]) -> Iterator[str]:
    rectangle = layout[box.name]
    yield (
        f'<rect x="{rectangle.x:.0f}" y="{rectangle.y:.0f}" width="{rectangle.width:.0f}" '
        f'height="{rectangle.height:.0f}" rx="4" fill="none" stroke="currentColor"/>'
    )
    for number, line in enumerate((box.name, *box.lines)):
        weight = ' font-weight="bold"' if not number else ""
        y = rectangle.y + _PAD + (number + 0.75) * _LINE
        yield f'<text x="{rectangle.x + _PAD:.0f}" y="{y:.0f}"{weight}>{escape(line)}</text>'


def _arrows(arrows: Sequence[Arrow], layout: dict[str, _Rectangle]) -> Iterator[str]:
    drawn: dict[frozenset[str], int] = {}
    for arrow in arrows:
        pair = frozenset((arrow.begin, arrow.end))
        # Offset parallel edges.
        number = drawn[pair] = drawn.get(pair, -1) + 1
        begin, end = layout[arrow.begin], layout[arrow.end]
        (x1, y1), (x2, y2) = begin.border_towards(*end.middle), end.border_towards(*begin.middle)
        shift = 14 * number
        yield (
            f'<line x1="{x1:.0f}" y1="{y1 + shift:.0f}" x2="{x2:.0f}" y2="{y2 + shift:.0f}" '
            f'stroke="currentColor" marker-end="url(#omnigraph-tip)"/>'
        )
        x, y = (x1 + x2) / 2, (y1 + y2) / 2 + shift
        # Above a flat line, beside a steep one.
        steep = abs(y2 - y1) > abs(x2 - x1)
        yield _label(arrow.name, x + 6, y + 4, "start") if steep else _label(arrow.name, x, y - 4)


def _label(text: str, x: float, y: float, anchor: str = "middle") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'
