"""T20: ``match_text`` and ``bm25`` look for text in a String property."""

from __future__ import annotations

from omnigraph.compiler.rules.rule import Rule

RULE = Rule("T20", "`match_text` and `bm25` look for a text in a String property.")
