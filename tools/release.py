"""Build a release: the version comes from the tag, the notes from the changelog.

``python tools/release.py v1.2.3`` builds wheel and sdist into ``dist/packages`` from a copy of the
tracked files in which ``__version__`` is that of the tag, and writes the notes of the release to
``dist/NOTES.md``. The checkout itself is not changed.
"""

import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+|\.dev\d+)?)")
VERSION_LINE = re.compile(r'^__version__ = ".*"$', re.MULTILINE)


class ReleaseRefused(Exception):
    """The release cannot be built; the message names the remedy."""


def version_of(tag: str) -> str:
    """Return the version that a tag names."""
    match = TAG.fullmatch(tag)
    if match is None:
        raise ReleaseRefused(f"{tag!r} is not a tag of the form v1.2.3, v1.2.3rc1 or v1.2.3.dev1")
    return match[1]


def notes_of(changelog: str, version: str) -> str:
    """Return the section of a version, or of what is unreleased for a pre-release."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    by_title = {section.split("\n", 1)[0].split()[0]: section for section in sections}
    found = by_title.get(version)
    if found is None and re.search(r"[a-z]", version):
        found = by_title.get("Unreleased")
    if found is None:
        raise ReleaseRefused(f"CHANGELOG.md has no section '## {version}'; rename '## Unreleased'")
    return found.split("\n", 1)[1].strip() + "\n"


def stamp(source: str, version: str) -> str:
    """Return the text of the package's ``__init__`` with another version."""
    stamped, count = VERSION_LINE.subn(f'__version__ = "{version}"', source)
    if count != 1:
        raise ReleaseRefused("src/omnigraph/__init__.py has no single __version__ line")
    return stamped


def export_checkout(target: Path) -> None:
    """Copy the tracked files of HEAD."""
    git = ["git", "-C", str(ROOT), "archive", "--format=tar", "HEAD"]
    archive = subprocess.run(git, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(target, filter="data")


def build(tag: str) -> None:
    """Write ``dist/packages`` and ``dist/NOTES.md``."""
    version = version_of(tag)
    notes = notes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    out = ROOT / "dist" / "packages"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as copy:
        export_checkout(Path(copy))
        package = Path(copy, "src", "omnigraph", "__init__.py")
        package.write_text(stamp(package.read_text(encoding="utf-8"), version), encoding="utf-8")
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
        subprocess.run(command, cwd=copy, check=True)
    (ROOT / "dist" / "NOTES.md").write_text(notes, encoding="utf-8")
    print(f"built {version} in {out.relative_to(ROOT)}")


def main() -> int:
    """Build the release of the tag on the command line."""
    if len(sys.argv) != 2:
        print("usage: python tools/release.py v1.2.3", file=sys.stderr)
        return 2
    try:
        build(sys.argv[1])
    except ReleaseRefused as refusal:
        print(f"release refused: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
