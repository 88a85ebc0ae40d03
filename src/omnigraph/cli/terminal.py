"""Adapt output to the encoding, width and colours of the terminal."""

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
    "adapt_drawing",
    "cell_width",
    "colorize",
    "escape_controls",
    "is_terminal",
    "prepare_streams",
    "shorten",
    "supports_unicode",
    "terminal_width",
    "write_error",
    "write_lines",
]

# Bidirectional controls, which change the apparent order of the following text.
_BIDI_CONTROLS = frozenset(
    "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
# Box-drawing characters and their ASCII replacements.
_ASCII_STROKES = str.maketrans("│├└─", "||`-")
_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "yellow": "33", "green": "32", "cyan": "36"}


def prepare_streams() -> None:
    """Escape characters that the terminal encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class OutputFailed(OSError):
    """A write to stdout failed."""


@contextlib.contextmanager
def _to_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.errno, error.strerror) from error


def write_lines(lines: Iterable[str]) -> None:
    """Print lines to stdout, each as soon as it is available."""
    for line in lines:
        with _to_stdout():
            print(line)


class BytesOutput(io.RawIOBase):
    """Stdout as a binary file; a closed stdout discards the bytes."""

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
    """Print a line to stderr, ignoring failures."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def supports_unicode(stream: TextIO | None) -> bool:
    """Return whether the stream encodes all of Unicode."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "").startswith("utf")


def adapt_drawing(lines: Iterable[str], stream: TextIO | None) -> Iterator[str]:
    """Replace box-drawing characters that the stream cannot encode."""
    plain = not supports_unicode(stream)
    return (line.translate(_ASCII_STROKES) if plain else line for line in lines)


def terminal_width(stream: TextIO | None) -> int | None:
    """Return the number of columns, or None without a limit.

    ``COLUMNS`` takes precedence, as in other programs.
    """
    configured = os.environ.get("COLUMNS", "")
    if configured.isdecimal() and int(configured) > 0:
        return int(configured)
    if not is_terminal(stream) or stream is None:
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def colorize(text: str, style: str, stream: TextIO | None) -> str:
    """Return the text in a style, if the terminal supports colours."""
    wanted = is_terminal(stream) and "NO_COLOR" not in os.environ
    if not wanted or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def escape_controls(text: str) -> str:
    """Escape control characters: data must not move the cursor."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Zl", "Zp"} or char in _BIDI_CONTROLS


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def cell_width(text: str) -> int:
    """Return the width of a text: wide characters take two columns, combining ones none."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def shorten(text: str, width: int, *, mark: str = "…") -> str:
    """Truncate the text to a width and append ``mark``."""
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
    """Return whether the stream is a terminal."""
    return stream is not None and stream.isatty()
