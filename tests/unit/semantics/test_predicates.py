"""Predicates on a single row, as the ``where`` of a mutation uses them."""

import datetime as dt
from collections.abc import Mapping

import pytest

from omnigraph.datatypes.types import (
    BOOL,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.errors import InvalidInput, InvariantBroken, Unsupported
from omnigraph.ir.expressions import (
    Aggregate,
    AggregateFunc,
    And,
    Compare,
    CompareOp,
    Const,
    Exists,
    Expr,
    InList,
    IsNull,
    ListContains,
    MakeList,
    Not,
    Now,
    Or,
    ParamRef,
    PropertyRef,
    RankFusion,
    Score,
    ScoreFunc,
    Slot,
    StringMatch,
    StringOp,
    TextFunc,
    TextMatch,
    Value,
)
from omnigraph.ir.queries import Block
from omnigraph.semantics.predicates import matches

NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
F32 = ScalarType(Scalar.F32)

ROW: dict[str, Value] = {
    "@id": "ada",
    "name": "Ada Lovelace",
    "age": 36,
    "nick": None,
    "ratio": 0.10000000149011612,
    "seen": NOW,
}
TAGS = {"tags": ["math", "poetry"], "holes": ["math", None]}


def prop(name: str, dtype: DataType = STRING) -> PropertyRef:
    return PropertyRef(Slot(0), name, dtype, nullable=True)


def text(value: str | None) -> Const:
    return Const(value, STRING)


def truth(expr: Expr, params: Mapping[str, Value] | None = None) -> bool | None:
    values: dict[str, object] = {**ROW, **TAGS}
    return matches(expr, values, params or {}, NOW)


NULL_TEST = Compare(CompareOp.EQ, prop("nick"), text("x"))
TRUE_TEST = Compare(CompareOp.EQ, prop("@id"), text("ada"))
FALSE_TEST = Compare(CompareOp.NE, prop("@id"), text("ada"))


def test_a_comparison_with_a_null_property_is_unknown() -> None:
    assert truth(NULL_TEST) is None
    assert truth(Not(NULL_TEST)) is None
    assert truth(Compare(CompareOp.NE, prop("nick"), text("x"))) is None


def test_logic_has_three_truths() -> None:
    assert truth(And((NULL_TEST, FALSE_TEST))) is False
    assert truth(And((NULL_TEST, TRUE_TEST))) is None
    assert truth(Or((NULL_TEST, TRUE_TEST))) is True
    assert truth(Or((NULL_TEST, FALSE_TEST))) is None
    assert truth(Not(FALSE_TEST)) is True


def test_is_null_is_never_unknown() -> None:
    assert truth(IsNull(prop("nick"), negated=False)) is True
    assert truth(IsNull(prop("nick"), negated=True)) is False
    assert truth(IsNull(prop("name"), negated=False)) is False


def test_parameters_and_now_are_values() -> None:
    age = Compare(CompareOp.GT, prop("age", I64), ParamRef("n", I64, nullable=True))
    assert truth(age, {"n": 35}) is True
    assert truth(age, {"n": None}) is None
    assert truth(Compare(CompareOp.EQ, prop("seen", DATETIME), Now())) is True


def test_numbers_of_different_types_are_compared_as_numbers() -> None:
    assert truth(Compare(CompareOp.LT, prop("age", I64), Const(36.5, F64))) is True
    assert truth(Compare(CompareOp.EQ, prop("age", I64), Const(36.0, F64))) is True


def test_a_single_precision_literal_equals_what_was_stored() -> None:
    assert truth(Compare(CompareOp.EQ, prop("ratio", F32), Const(0.1, F32))) is True
    assert truth(Compare(CompareOp.EQ, prop("ratio", F32), Const(0.1, F64))) is False


def test_contains_and_starts_with_are_exact_and_never_patterns() -> None:
    def match(op: StringOp, needle: str | None) -> bool | None:
        return truth(StringMatch(op, prop("name"), text(needle)))

    assert match(StringOp.CONTAINS, "Love") is True
    assert match(StringOp.CONTAINS, "love") is False
    assert match(StringOp.CONTAINS, "L%e") is False
    assert match(StringOp.CONTAINS, "") is True
    assert match(StringOp.STARTS_WITH, "Ada") is True
    assert match(StringOp.STARTS_WITH, "da") is False
    assert match(StringOp.CONTAINS, None) is None
    assert truth(StringMatch(StringOp.CONTAINS, prop("nick"), text("a"))) is None


def test_operands_of_a_string_match_are_positional() -> None:
    assert truth(StringMatch(StringOp.CONTAINS, text("say ada!"), prop("@id"))) is True
    assert truth(StringMatch(StringOp.CONTAINS, prop("@id"), text("say ada!"))) is False


def in_list(item: Expr, *options: str | None) -> InList:
    return InList(item, MakeList(tuple(text(option) for option in options), STRING))


def test_in_follows_sql_where_there_are_nulls() -> None:
    assert truth(in_list(prop("@id"), "bo", "ada")) is True
    assert truth(in_list(prop("@id"), "ada", None)) is True
    assert truth(in_list(prop("@id"), "bo", None)) is None
    assert truth(in_list(prop("@id"), "bo")) is False
    assert truth(in_list(prop("nick"), "bo")) is None
    assert truth(in_list(prop("@id"))) is False


def test_in_takes_a_list_parameter() -> None:
    strings = ListType(Scalar.STRING)
    inside = InList(prop("@id"), ParamRef("ids", strings, nullable=True))
    assert truth(inside, {"ids": ("ada", "bo")}) is True
    assert truth(inside, {"ids": ()}) is False
    assert truth(inside, {"ids": None}) is None


def test_a_list_property_contains_an_item() -> None:
    def contains(name: str, item: str | None) -> bool | None:
        return truth(ListContains(prop(name, ListType(Scalar.STRING)), text(item)))

    assert contains("tags", "math") is True
    assert contains("tags", "music") is False
    assert contains("tags", None) is None
    assert contains("holes", "math") is True
    assert contains("holes", "music") is None
    assert contains("nick", "math") is None


def text_match(func: TextFunc, query: str | None, edits: Expr | None = None) -> TextMatch:
    return TextMatch(func, prop("name"), text(query), edits)


def test_text_predicates_work_on_words() -> None:
    assert truth(text_match(TextFunc.SEARCH, "lovelace byron")) is True
    assert truth(text_match(TextFunc.SEARCH, "love")) is False
    assert truth(text_match(TextFunc.MATCH_TEXT, "ada lovelace")) is True
    assert truth(text_match(TextFunc.MATCH_TEXT, "lovelace ada")) is False
    assert truth(text_match(TextFunc.SEARCH, None)) is None
    assert truth(TextMatch(TextFunc.SEARCH, prop("nick"), text("ada"), None)) is None


def test_fuzzy_allows_two_edits_unless_told() -> None:
    assert truth(text_match(TextFunc.FUZZY, "lvelce")) is True
    assert truth(text_match(TextFunc.FUZZY, "lvelce", Const(1, I64))) is False
    assert truth(text_match(TextFunc.FUZZY, "lvelace", Const(1, I64))) is True
    unset = ParamRef("edits", I64, nullable=True)
    assert truth(text_match(TextFunc.FUZZY, "lvelce", unset), {"edits": None}) is True


@pytest.mark.parametrize("edits", [0, 3, -1])
def test_fuzzy_refuses_other_numbers_of_edits(edits: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        truth(text_match(TextFunc.FUZZY, "ada", Const(edits, I64)))
    assert caught.value.code == "search.edits"


NEAREST = Score(ScoreFunc.NEAREST, prop("v", VectorType(2)), Const((1.0, 0.0), VectorType(2)))


@pytest.mark.parametrize(
    "expr",
    [
        Exists(Block((), (), ()), negated=False),
        Compare(CompareOp.LT, NEAREST, Const(0.5, F64)),
        Compare(CompareOp.LT, RankFusion((NEAREST,), Const(60, I64)), Const(0.5, F64)),
    ],
)
def test_what_needs_more_than_the_row_is_refused(expr: Expr) -> None:
    with pytest.raises(Unsupported) as caught:
        truth(expr)
    assert caught.value.code == "mutation.beyond_the_row"


def test_an_aggregate_inside_a_predicate_is_a_bug_of_the_compiler() -> None:
    count = Aggregate(AggregateFunc.COUNT, None, distinct=False, dtype=I64)
    with pytest.raises(InvariantBroken):
        truth(Compare(CompareOp.GT, count, Const(0, I64)))


def test_a_bare_boolean_property_is_a_predicate() -> None:
    flag = PropertyRef(Slot(0), "flag", BOOL, nullable=True)
    assert matches(flag, {"flag": True}, {}, NOW) is True
    assert matches(flag, {"flag": None}, {}, NOW) is None
