"""Check a commit message: a capitalised subject of at most 72 characters without a full stop."""

import sys
from pathlib import Path

SUBJECT_CHARACTERS_MAX = 72


def problems_of(message: str) -> list[str]:
    """Return every rule that the message breaks."""
    lines = message.splitlines() or [""]
    subject = lines[0]
    found = []
    if not subject.strip():
        found.append("the subject is empty")
    if len(subject) > SUBJECT_CHARACTERS_MAX:
        found.append(f"the subject has {len(subject)} of {SUBJECT_CHARACTERS_MAX} characters")
    if subject[:1].islower():
        found.append("the subject begins with a small letter")
    if subject.endswith("."):
        found.append("the subject ends with a full stop")
    if len(lines) > 1 and lines[1].strip():
        found.append("the second line is not empty")
    return found


def main() -> int:
    """Print the problems of the message in the named file; exit with 1 if there are any."""
    found = problems_of(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
