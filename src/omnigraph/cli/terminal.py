"""What the place that we print to can show: letters, width, colours."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

__all__ = [
    "BytesOutput",
    "OutputFailed",
    "cell_width",
    "columns_of",
    "draw_plainly",
    "escape_controls",
    "is_terminal",
    "paint",
    "prepare_streams",
    "shorten",
    "spells_unicode",
    "write_error",
    "write_lines",
]

# Characters that turn the direction of writing: what follows them is not what it seems.
_DIRECTIONS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# What a tree is drawn with, and what stands for it where only ASCII can be shown.
_PLAIN_STROKES = str.maketrans("│├└─", "||`-")
_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "yellow": "33", "green": "32", "cyan": "36"}


def prepare_streams() -> None:
    """What the terminal cannot spell is escaped, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class OutputFailed(OSError):
    """Stdout cannot be written: no verb is to blame, and nothing more can be said there."""


@contextlib.contextmanager
def _to_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.errno, error.strerror) from error


def write_lines(lines: Iterable[str]) -> None:
    """Print lines to stdout, each as soon as it is known."""
    for line in lines:
        with _to_stdout():
            print(line)


class BytesOutput(io.RawIOBase):
    """Stdout as a binary file. When nobody listens there, bytes go the way of texts: nowhere."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if sys.stdout is not None:
            with _to_stdout():
                sys.stdout.buffer.write(data)
        return len(data)

    def flush(self) -> None:
        if sys.stdout is not None:
            with _to_stdout():
                sys.stdout.flush()


def write_error(line: str) -> None:
    """Print a line to stderr. Nobody listening there changes nothing about the outcome."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def spells_unicode(stream: TextIO | None) -> bool:
    """Whether the stream can carry every character."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "").startswith("utf")


def draw_plainly(lines: Iterable[str], stream: TextIO | None) -> Iterator[str]:
    """Lines of a drawing, in strokes that the stream can carry."""
    plain = not spells_unicode(stream)
    return (line.translate(_PLAIN_STROKES) if plain else line for line in lines)


def columns_of(stream: TextIO | None) -> int | None:
    """How many columns there are; None where lines may be as long as they like.

    ``COLUMNS`` wins, as it does for other programs.
    """
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    if not is_terminal(stream) or stream is None:
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def paint(text: str, style: str, stream: TextIO | None) -> str:
    """The text in a style, on a terminal that wants colours."""
    wanted = is_terminal(stream) and "NO_COLOR" not in os.environ
    if not wanted or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def escape_controls(text: str) -> str:
    """One line without control characters: data must not move the cursor of whoever reads it."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Zl", "Zp"} or char in _DIRECTIONS


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def cell_width(text: str) -> int:
    """How many columns a text takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def shorten(text: str, width: int, *, mark: str = "…") -> str:
    """The text, cut to a width; ``mark`` says that something is missing."""
    if cell_width(text) <= width:
        return text
    room = max(0, width - cell_width(mark))
    taken = 0
    for index, char in enumerate(text):
        taken += _char_width(char)
        if taken > room:
            return text[:index] + mark[:width]
    return text


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it."""
    return stream is not None and stream.isatty()
