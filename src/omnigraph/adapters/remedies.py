"""What can be done about a disk that refuses to be written to."""

from __future__ import annotations

__all__ = ["remedy_for"]

_READ = "Reading works with read_only=True; ask whoever owns it, or `clone` it to another place."
_REMEDIES = (
    ("Permission denied", f"You may not write there. {_READ}"),
    ("Read-only file system", _READ),
    ("No space left on device", "Make room and try again: nothing was published."),
    ("Too many open files", "Raise the limit of open files (ulimit -n)."),
)


def remedy_for(reason: str) -> str | None:
    """The way out of what the system said, if it is a plain one."""
    return next((told for said, told in _REMEDIES if said in reason), None)
