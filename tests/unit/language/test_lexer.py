"""Tokens, and what the lexer says about text that has none."""

from __future__ import annotations

import pytest

from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.lexer import (
    MAX_NAME_LENGTH,
    MAX_SOURCE_CHARS,
    Token,
    TokenKind,
    independent,
    quote_string,
    tokenize,
)
from omnigraph.language.source import Source, Span


def tokens_of(text: str) -> list[Token]:
    tokens, problems = tokenize(Source(text))
    assert problems == []
    assert tokens[-1].kind is TokenKind.EOF
    return tokens[:-1]


def problems_of(text: str) -> list[Diagnostic]:
    return tokenize(Source(text))[1]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("name", TokenKind.IDENT, "name"),
        ("_x9", TokenKind.IDENT, "_x9"),
        ("Person", TokenKind.TYPE_NAME, "Person"),
        ("$p", TokenKind.VARIABLE, "p"),
        ("$_", TokenKind.VARIABLE, "_"),
        ("42", TokenKind.INT, 42),
        ("18446744073709551615", TokenKind.INT, 18446744073709551615),
        ("2.5", TokenKind.FLOAT, 2.5),
        ("1e3", TokenKind.FLOAT, 1000.0),
        ("1.5E-3", TokenKind.FLOAT, 0.0015),
        ("2e+2", TokenKind.FLOAT, 200.0),
        ('"a b"', TokenKind.STRING, "a b"),
        ("->", TokenKind.PUNCT, "->"),
        ("$", TokenKind.PUNCT, "$"),
    ],
)
def test_a_token_has_its_kind_text_and_value(
    text: str, kind: TokenKind, value: str | int | float
) -> None:
    [token] = tokens_of(f"  {text} ")
    assert (token.kind, token.text, token.value) == (kind, text, value)
    assert token.span == Span(2, 2 + len(text))


def test_punctuation_is_read_greedily() -> None:
    text = "{ } ( ) [ ] : , . .. ... -> < > <= >= != = ? @ * - + ; |"
    assert [token.text for token in tokens_of(text)] == text.split()
    assert [token.text for token in tokens_of("0..9")] == ["0", "..", "9"]
    assert [token.text for token in tokens_of("1.5..2.5")] == ["1.5", "..", "2.5"]
    assert [token.text for token in tokens_of("a<=b")] == ["a", "<=", "b"]


def test_space_and_comments_are_skipped() -> None:
    text = "\ufeffa // to the end\n\t/* over\nlines */ b /**/ c"
    assert [token.text for token in tokens_of(text)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\" \\ \/ \n\t\r\b\f"', '" \\ / \n\t\r\b\f'),
        (r'"\u00e9"', "é"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\u0041"', "\\u0041"),
        ('"// not a comment"', "// not a comment"),
        ('""', ""),
    ],
)
def test_strings_are_unescaped(text: str, value: str) -> None:
    assert tokens_of(text)[0].value == value


@pytest.mark.parametrize("text", ['a"b', "back\\slash", "line\nbreak", "\u2028", "\x00\x1f", "é😀"])
def test_what_is_quoted_reads_as_it_was(text: str) -> None:
    assert tokens_of(quote_string(text))[0].value == text


@pytest.mark.parametrize(
    ("text", "code", "span"),
    [
        ("a # b", "syntax.illegal_character", Span(2, 3)),
        ("a ÄÖ b", "syntax.illegal_character", Span(2, 4)),
        ("a ! b", "syntax.illegal_character", Span(2, 3)),
        ("'a'", "syntax.illegal_character", Span(0, 1)),
        ("\x00", "syntax.illegal_character", Span(0, 1)),
        ("a ^ b", "syntax.illegal_character", Span(2, 3)),
        ('a "b\nc', "syntax.unterminated_string", Span(2, 4)),
        ('"a\\', "syntax.unterminated_string", Span(0, 3)),
        ("a /* b", "syntax.unterminated_comment", Span(2, 4)),
        (r'"\q"', "syntax.bad_escape", Span(1, 3)),
        (r'"\u12"', "syntax.bad_escape", Span(1, 3)),
        (r'"\ud83d!"', "syntax.bad_escape", Span(1, 7)),
        (r'"\ude00"', "syntax.bad_escape", Span(1, 7)),
        ("1e999", "syntax.number_too_large", Span(0, 5)),
        ("9" * 5000, "syntax.number_too_large", Span(0, 5000)),
        ("a" * (MAX_NAME_LENGTH + 1), "syntax.name_too_long", Span(0, MAX_NAME_LENGTH + 1)),
        ("$" + "a" * MAX_NAME_LENGTH, "syntax.name_too_long", Span(0, MAX_NAME_LENGTH + 1)),
        ("a \ud800 b", "syntax.not_unicode", Span(2, 3)),
    ],
)
def test_what_is_no_token_is_reported_with_code_place_and_remedy(
    text: str, code: str, span: Span
) -> None:
    found = problems_of(text)
    assert [each.code for each in found][:1] == [code]
    assert found[0].span == span
    assert found[0].remedy


def test_the_lexer_goes_on_after_an_error() -> None:
    tokens, problems = tokenize(Source("a # b ' c \"open\nd"))
    assert [token.text for token in tokens] == ["a", "b", "c", '"open', "d", ""]
    assert [found.code for found in problems] == [
        "syntax.illegal_character",
        "syntax.illegal_character",
        "syntax.unterminated_string",
    ]


def test_too_large_a_text_is_not_read_at_all() -> None:
    tokens, problems = tokenize(Source("a " * MAX_SOURCE_CHARS))
    assert [token.kind for token in tokens] == [TokenKind.EOF]
    assert [found.code for found in problems] == ["syntax.too_large"]


def test_a_lexical_error_explains_the_syntactic_ones_on_its_line() -> None:
    source = Source("a #\nb\n")
    lexical = problems_of(source.text)
    same_line = Diagnostic("P000", "m", Span(0, 1), "r")
    other_line = Diagnostic("P000", "m", Span(4, 5), "r")
    assert independent(source, lexical, [same_line, other_line]) == [*lexical, other_line]


def test_an_open_comment_explains_everything_after_it() -> None:
    source = Source("a\n/* b\nc")
    lexical = problems_of(source.text)
    before, after = (
        Diagnostic("P000", "m", Span(0, 1), "r"),
        Diagnostic("P000", "m", Span(7, 8), "r"),
    )
    assert independent(source, lexical, [before, after]) == [*lexical, before]
