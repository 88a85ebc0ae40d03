"""Validate the regular expressions of ``@check``.

Python, Arrow (RE2) and Spark (Java) evaluate a pattern, so it may only use constructs that have
the same meaning in all three. Classes such as ``\\d`` and ``\\w`` are ASCII, and the whole value
must match.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from omnigraph.catalog.matching import expanded_size, max_repetitions, parse_pattern

if TYPE_CHECKING:
    from omnigraph.catalog.matching import PatternNode

__all__ = ["PATTERN_CHARS_MAX", "compile_pattern", "pattern_problem"]

PATTERN_CHARS_MAX = 1_000
_REPEAT_MAX = 1_000
_DEPTH_MAX = 32
_EXPANDED_MAX = 10_000

_TOKEN = re.compile(
    r"""
      \\ (?P<escape> . )
    | \[ (?P<class> \^? \]? (?: \\. | [^\]\\] )* ) \]
    | \( \? (?P<special> <[=!] | P?<[A-Za-z_] | P= | [imsx-]*: | [aiLmsux-]+\) | . )
    | (?P<open> \( )
    | (?P<close> \) )
    | \{ (?P<counts> [0-9]+ (?: ,[0-9]* )? ) \} (?P<counted_suffix> [+] )?
    | [*+?] (?P<suffix> [+] )
    | (?P<brace> \{ )
    | (?s: . )
    """,
    re.VERBOSE,
)
_SHARED_ESCAPES = frozenset("dDwWsSbBAntrfx")
_CLASS_OPERATORS = ("[", "&&", "--", "~~", "||")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for Python; use ``fullmatch`` with it."""
    return re.compile(pattern, re.ASCII)


def pattern_problem(pattern: str) -> str | None:
    """Return the reason why a pattern cannot be used, or None."""
    if len(pattern) > PATTERN_CHARS_MAX:
        return f"it has {len(pattern)} characters; the limit is {PATTERN_CHARS_MAX}"
    if reason := _not_shared(pattern):
        return reason
    try:
        compile_pattern(pattern)
    except re.error as error:
        return f"it does not compile: {error}"
    return _too_large(parse_pattern(pattern))


def _too_large(node: PatternNode) -> str | None:
    """Report patterns that RE2 would expand too far: nested counts multiply."""
    if max_repetitions(node) > _REPEAT_MAX:
        return f"it repeats something more than {_REPEAT_MAX} times"
    if expanded_size(node) > _EXPANDED_MAX:
        return f"it has more than {_EXPANDED_MAX:,} characters once its counts are expanded"
    return None


def _not_shared(pattern: str) -> str | None:
    """Report the first construct that one of the engines lacks or reads differently."""
    depth = 0
    for part in _TOKEN.finditer(pattern):
        depth += _depth_change(part)
        if depth > _DEPTH_MAX:
            return f"its groups are nested more than {_DEPTH_MAX} deep"
        if reason := _token_problem(part):
            return reason
    return None


def _depth_change(part: re.Match[str]) -> int:
    if part["close"]:
        return -1
    special = part["special"]
    return 1 if part["open"] or (special is not None and not special.endswith(")")) else 0


def _token_problem(part: re.Match[str]) -> str | None:
    if part["escape"]:
        return _escape_problem(part["escape"])
    if part["class"] is not None:
        return _class_problem(part["class"])
    if part["special"]:
        return _group_problem(part["special"])
    if part["counts"]:
        largest = max(int(count) for count in part["counts"].split(",") if count)
        if largest > _REPEAT_MAX:
            return f"it repeats something more than {_REPEAT_MAX} times"
    if part["suffix"] or part["counted_suffix"]:
        return f"possessive repetition `{part[0]}` is not shared by all engines"
    if part["brace"]:
        return "a literal `{` must be written `\\{`"
    return None


def _escape_problem(char: str) -> str | None:
    if char.isdigit():
        return f"the backreference or octal `\\{char}` is not shared by all engines"
    if char.isalpha() and char not in _SHARED_ESCAPES:
        return f"the escape `\\{char}` is not shared by all engines"
    return None


def _class_problem(inside: str) -> str | None:
    bare = re.sub(r"\\.", "", inside)
    if found := next((operator for operator in _CLASS_OPERATORS if operator in bare), None):
        return f"`{found}` inside `[…]` means different things; escape it with a backslash"
    escapes = re.findall(r"\\(.)", inside)
    if "b" in escapes:
        return "`\\b` inside `[…]` is not shared by all engines"
    return next(filter(None, map(_escape_problem, escapes)), None)


def _group_problem(special: str) -> str | None:
    if special in ("=", "!", "<=", "<!"):
        return "lookaround is not shared by all engines"
    if special == ":" or re.fullmatch(r"[ims]+:", special):
        return None
    if special == "P=":
        return "backreferences are not shared by all engines"
    if special.startswith(("P<", "<")):
        return "named groups are spelled differently by the engines; use `(?:…)`"
    return f"the group `(?{special}` is not shared by all engines"
