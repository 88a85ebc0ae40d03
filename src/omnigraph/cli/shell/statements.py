"""When what was typed is a whole statement, and what it is."""

from __future__ import annotations

import re

__all__ = ["NAME", "as_command", "as_document", "is_command", "is_whole", "without_end"]

# What a statement without ``query NAME() { … }`` around it is called.
NAME = "shell"
# Words that nobody means as the beginning of a statement.
_PLAIN_COMMANDS = {"help": ":help", "quit": ":quit", "exit": ":quit"}
_HEAD = re.compile(r"\s*query\b")
# Strings and comments whole, so that what is in them counts for nothing.
_MARKS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|[{}();]|"', re.DOTALL)
_OPENING, _CLOSING = frozenset("{("), frozenset("})")


def is_command(text: str) -> bool:
    """Commands of the prompt begin with a colon; those to get help or out need none."""
    return text.lstrip().startswith(":") or text.strip() in _PLAIN_COMMANDS


def as_command(text: str) -> str:
    """The command with its colon."""
    return _PLAIN_COMMANDS.get(text.strip(), text.strip())


def is_whole(text: str) -> bool:
    """A command is one line; a query ends with its brace; anything else with ``;`` or an empty
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
    """The statement without the ``;`` that ended it."""
    return text.rstrip().removesuffix(";").rstrip()


def as_document(text: str) -> str:
    """The statement as a query that has a name."""
    body = without_end(text)
    return body if _HEAD.match(body) else f"query {NAME}() {{\n{body}\n}}"
