"""Read statements from a terminal or a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from omnigraph.cli.failures import report
from omnigraph.cli.shell.completion import DELIMITERS, complete
from omnigraph.cli.shell.statements import is_complete
from omnigraph.cli.terminal import write_error, write_lines
from omnigraph.errors import GraphError
from omnigraph.runtime.credentials import home_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.cli.shell.session import ShellSession

__all__ = ["run_interactive", "run_script"]

_HISTORY_FILE = "history"
_HISTORY_LINES = 2_000


def run_interactive(session: ShellSession) -> None:
    """Execute statements until the end of input. Ctrl-C discards the line, Ctrl-D exits."""
    with _line_editing(session) as editing:
        while not session.closed:
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
                session.execute(text)
            except KeyboardInterrupt:
                write_error("interrupted")
            except GraphError as error:
                report(error, as_json=False)


def run_script(session: ShellSession) -> None:
    """Execute the statements of stdin up to the first failure."""
    text = ""
    for line in sys.stdin:
        text += line
        if is_complete(text):
            session.execute(text)
            text = ""
        if session.closed:
            return
    session.execute(text)


def _statement(session: ShellSession, editing: _Editing) -> str:
    text = ""
    while True:
        prompt = "... " if text else f"{session.target}> "
        text += f"{input(prompt)}\n"
        if is_complete(text):
            return text
        editing.before = text


class _Editing:
    """The completer of readline: one candidate per call."""

    def __init__(self, session: ShellSession, readline: Any) -> None:
        self._session = session
        self._readline = readline
        self._found: list[str] = []
        # The earlier lines of the statement.
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
def _line_editing(session: ShellSession) -> Iterator[_Editing]:
    """Enable history and completion, where readline is available."""
    try:
        import readline  # noqa: PLC0415 - not available on every system
    except ImportError:
        yield _Editing(session, None)
        return
    editing = _Editing(session, readline)
    readline.set_completer_delims(DELIMITERS)
    readline.set_completer(editing.complete)
    # On macOS, readline may be libedit, which has another configuration syntax.
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
