"""Random reads whose patterns have independent components."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from omnigraph.ir.queries import Block
from omnigraph.testing.random_reads import blocks, reads

if TYPE_CHECKING:
    from omnigraph.ir.queries import ReadIR

__all__ = ["product_reads"]

# Slots of one component and of its inner blocks precede the first slot of the next one.
_SLOTS = 200


@st.composite
def _independent_blocks(draw: st.DrawFn) -> Block:
    """Draw two or three patterns without common slots, in one block."""
    count = draw(st.sampled_from([2, 2, 3]))
    most = 2 if count == 2 else 1
    parts = [draw(blocks(first=_SLOTS * place, most=most)) for place in range(count)]
    slots = draw(st.permutations([slot for part in parts for slot in part.slots]))
    hops = draw(st.permutations([hop for part in parts for hop in part.hops]))
    filters = draw(st.permutations([each for part in parts for each in part.filters]))
    return Block(tuple(slots), tuple(hops), tuple(filters))


def product_reads() -> st.SearchStrategy[ReadIR]:
    """Draw a read of a cross product, with or without aggregates."""
    return reads(_independent_blocks())
