"""Types as an SVG: a box per node type with its properties, an arrow per edge type.

An edge type that leads back to its own type is a line in the box: a loop beside it would run into
what leads elsewhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.pictures.markup import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Arrow", "Box", "draw_types"]

_LINE, _CHAR, _PAD, _GAP = 16, 7.2, 8, 90
_PROPERTIES_MAX = 12


@frozen
class Box:
    """A node type, and the edge types that lead from it to itself."""

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
    """An edge type, between node types by name."""

    name: str
    begin: str
    end: str


@frozen
class _Place:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    def border_towards(self, x: float, y: float) -> tuple[float, float]:
        """Where a line from the middle to a point outside leaves the box."""
        mid_x, mid_y = self.middle
        dx, dy = x - mid_x, y - mid_y
        scale = min(
            self.width / 2 / abs(dx) if dx else math.inf,
            self.height / 2 / abs(dy) if dy else math.inf,
        )
        return mid_x + dx * scale, mid_y + dy * scale


def draw_types(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """The picture of a schema."""
    loops = [arrow for arrow in arrows if arrow.begin == arrow.end]
    arrows = [arrow for arrow in arrows if arrow.begin != arrow.end]
    boxes = [_with_loops(box, loops) for box in boxes]
    # A name stands on its arrow, between the boxes.
    room = max((len(arrow.name) * _CHAR for arrow in arrows), default=0) + 3 * _PAD
    places = _places(boxes, max(_GAP, room))
    right = max((place.x + place.width for place in places.values()), default=0)
    bottom = max((place.y + place.height for place in places.values()), default=0)
    body = [*_arrows(arrows, places), *(part for box in boxes for part in _box(box, places))]
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


def _places(boxes: Sequence[Box], gap: float) -> dict[str, _Place]:
    """A grid, about as wide as high; a row is as high as its highest box."""
    columns = max(1, math.ceil(math.sqrt(len(boxes))))
    places: dict[str, _Place] = {}
    y = float(_PAD)
    for start in range(0, len(boxes), columns):
        row = boxes[start : start + columns]
        x = float(_PAD)
        for box in row:
            longest = max(map(len, (box.name, *box.lines)))
            place = _Place(
                x, y, longest * _CHAR + 2 * _PAD, (len(box.lines) + 1) * _LINE + 2 * _PAD
            )
            places[box.name] = place
            x += place.width + gap
        y += max(places[box.name].height for box in row) + _GAP / 2
    return places


def _box(box: Box, places: dict[str, _Place]) -> Iterator[str]:
    place = places[box.name]
    yield (
        f'<rect x="{place.x:.0f}" y="{place.y:.0f}" width="{place.width:.0f}" '
        f'height="{place.height:.0f}" rx="4" fill="none" stroke="currentColor"/>'
    )
    for number, line in enumerate((box.name, *box.lines)):
        weight = ' font-weight="bold"' if not number else ""
        y = place.y + _PAD + (number + 0.75) * _LINE
        yield f'<text x="{place.x + _PAD:.0f}" y="{y:.0f}"{weight}>{escape(line)}</text>'


def _arrows(arrows: Sequence[Arrow], places: dict[str, _Place]) -> Iterator[str]:
    drawn: dict[frozenset[str], int] = {}
    for arrow in arrows:
        pair = frozenset((arrow.begin, arrow.end))
        # Several edges between the same types are drawn beside each other.
        number = drawn[pair] = drawn.get(pair, -1) + 1
        begin, end = places[arrow.begin], places[arrow.end]
        (x1, y1), (x2, y2) = begin.border_towards(*end.middle), end.border_towards(*begin.middle)
        shift = 14 * number
        yield (
            f'<line x1="{x1:.0f}" y1="{y1 + shift:.0f}" x2="{x2:.0f}" y2="{y2 + shift:.0f}" '
            f'stroke="currentColor" marker-end="url(#omnigraph-tip)"/>'
        )
        x, y = (x1 + x2) / 2, (y1 + y2) / 2 + shift
        # Above a line that lies, beside one that stands.
        steep = abs(y2 - y1) > abs(x2 - x1)
        yield _label(arrow.name, x + 6, y + 4, "start") if steep else _label(arrow.name, x, y - 4)


def _label(text: str, x: float, y: float, anchor: str = "middle") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'
