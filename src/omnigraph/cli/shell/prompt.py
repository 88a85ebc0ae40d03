"""Reading statements from a person, or from a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from omnigraph.cli.config import home_directory
from omnigraph.cli.failures import report
from omnigraph.cli.shell.statements import is_whole
from omnigraph.cli.shell.words import DELIMITERS, complete
from omnigraph.cli.terminal import write_error, write_lines
from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.cli.shell.session import Session

__all__ = ["converse", "run_script"]

_HISTORY_FILE = "history"
_HISTORY_LINES = 2_000


def converse(session: Session) -> None:
    """Ask until there is nothing more to ask. Ctrl-C drops the line, Ctrl-D leaves."""
    with _line_editing(session) as editing:
        while not session.over:
            editing.before = ""
            try:
                text = _statement(session, editing)
            except EOFError:
                write_lines([""])
                return
            except KeyboardInterrupt:
                write_lines([""])
                continue
            try:
                session.do(text)
            except KeyboardInterrupt:
                write_error("interrupted")
            except GraphError as error:
                report(error, as_json=False)


def run_script(session: Session) -> None:
    """The statements of stdin; the first that fails ends it."""
    text = ""
    for line in sys.stdin:
        text += line
        if is_whole(text):
            session.do(text)
            text = ""
        if session.over:
            return
    session.do(text)


def _statement(session: Session, editing: _Editing) -> str:
    text = ""
    while True:
        prompt = "... " if text else f"{session.target}> "
        text += f"{input(prompt)}\n"
        if is_whole(text):
            return text
        editing.before = text


class _Editing:
    """Completion as readline wants it: one candidate per call."""

    def __init__(self, session: Session, readline: Any) -> None:
        self._session = session
        self._readline = readline
        self._found: list[str] = []
        # The lines of the statement before this one.
        self.before = ""

    def complete(self, word: str, state: int) -> str | None:
        if state == 0:
            line = self._readline.get_line_buffer()[: self._readline.get_begidx()]
            try:
                self._found = complete(self.before + line, word, self._session.words)
            except GraphError:
                self._found = []
        return self._found[state] if state < len(self._found) else None


@contextlib.contextmanager
def _line_editing(session: Session) -> Iterator[_Editing]:
    """History and completion, where the system has them."""
    try:
        import readline  # noqa: PLC0415 - not there on every system
    except ImportError:
        yield _Editing(session, None)
        return
    editing = _Editing(session, readline)
    readline.set_completer_delims(DELIMITERS)
    readline.set_completer(editing.complete)
    # macOS has libedit behind the same name, with another language for its settings.
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")
    history = home_directory() / _HISTORY_FILE
    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    try:
        yield editing
    finally:
        readline.set_completer(None)
        with contextlib.suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.set_history_length(_HISTORY_LINES)
            readline.write_history_file(history)
            history.chmod(0o600)
