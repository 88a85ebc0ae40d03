"""Detect complete statements and commands in the input of the shell."""

from __future__ import annotations

import re

__all__ = ["NAME", "as_command", "as_document", "is_command", "is_complete", "without_end"]

# The name of a statement without ``query NAME() { … }`` around it.
NAME = "shell"
# Commands that need no colon.
_PLAIN_COMMANDS = {"help": ":help", "quit": ":quit", "exit": ":quit"}
_HEAD = re.compile(r"\s*query\b")
# Matches strings and comments as a whole, so that their content is ignored.
_MARKS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|[{}();]|"', re.DOTALL)
_OPENING, _CLOSING = frozenset("{("), frozenset("})")


def is_command(text: str) -> bool:
    """Return whether the text is a command: it starts with a colon, or is help, quit or exit."""
    return text.lstrip().startswith(":") or text.strip() in _PLAIN_COMMANDS


def as_command(text: str) -> str:
    """Return the command with its colon."""
    return _PLAIN_COMMANDS.get(text.strip(), text.strip())


def is_complete(text: str) -> bool:
    """Return whether the input is complete.

    A command is one line; a query ends with its brace; other statements end with ``;`` or an empty
    line."""
    if not text.strip() or is_command(text):
        return True
    depth, opened, last = 0, False, ""
    for mark in _MARKS.findall(text):
        if mark == '"':
            return False
        depth += (mark in _OPENING) - (mark in _CLOSING)
        opened = opened or mark == "{"
        last = last if mark.startswith("//") else mark
    if depth > 0:
        return False
    ended = last == ";" and without_end(text) != text.rstrip()
    return ended or text.endswith("\n\n") or bool(_HEAD.match(text) and opened)


def without_end(text: str) -> str:
    """Remove the final ``;`` of a statement."""
    return text.rstrip().removesuffix(";").rstrip()


def as_document(text: str) -> str:
    """Wrap a statement in a named query, if it is not one."""
    body = without_end(text)
    return body if _HEAD.match(body) else f"query {NAME}() {{\n{body}\n}}"
