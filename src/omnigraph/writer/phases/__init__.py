"""The phases of a write transaction, in order.

- ``capture``: one snapshot, and the condition of the request;
- ``prepare``: the change is computed, validated and staged;
- ``arm``: the intent;
- ``commit_tables``: one detached version per table;
- ``publish``: the commit becomes visible;
- ``finish``: the intent is removed;
- ``preconditions``: checks between phases;
- ``abort``: the end of a failed transaction.

Nothing before ``arm`` leaves more than unreferenced files. Nothing before ``publish`` is visible.
"""

from __future__ import annotations

from omnigraph.writer.phases.arm import arm
from omnigraph.writer.phases.capture import capture
from omnigraph.writer.phases.commit_tables import commit_tables
from omnigraph.writer.phases.finish import finish
from omnigraph.writer.phases.prepare import prepare
from omnigraph.writer.phases.publish import publish

__all__ = ["COMMITTING", "PHASES", "PREPARING"]

PREPARING = (capture, prepare)
COMMITTING = (arm, commit_tables, publish, finish)
PHASES = (*PREPARING, *COMMITTING)
