"""The codes that compiling a query may answer with."""

from __future__ import annotations

from omnigraph.compiler.rules import RULES

__all__ = ["CODES", "RETIRED_CODES"]

# Code → what must hold, in the order of the numbers.
CODES: dict[str, str] = {rule.code: rule.meaning for rule in RULES}

# Numbers that meant something elsewhere and are never given to another rule.
RETIRED_CODES = {
    "T9": "A block uses a variable of the block around it.",
    "T18": "Ordering by an alias beside `nearest` is allowed.",
}
