"""What the rest relies on of a ``@frozen`` class, each beside the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import threading
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from omnigraph.frozen import frozen

T = TypeVar("T")


@frozen
class Point:
    """A place."""

    x: float
    y: float = 0.0
    tags: tuple[str, ...] = ()

    @property
    def far(self) -> bool:
        return self.x > 9


@dataclass(frozen=True, slots=True)
class Standard:
    """A place."""

    x: float
    y: float = 0.0
    tags: tuple[str, ...] = ()


@frozen
class Empty:
    pass


@frozen
class One:
    only: Any


@frozen
class Other:
    only: Any


@frozen
class Choosy:
    name: str
    seen: list[str] = field(default_factory=list, compare=False)
    secret: str = field(default="s3", repr=False)


@frozen
class Deep(Point):
    z: float = 0.0


@frozen
class Checked:
    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("less than nothing")


@frozen
class Box(Generic[T]):
    content: T


@frozen
class OwnWords:
    name: str

    def __repr__(self) -> str:
        return "mine"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7


def test_a_constructor_takes_positions_names_and_defaults() -> None:
    assert (Point(1).x, Point(1).y, Point(1).tags) == (1, 0.0, ())
    assert Point(1, tags=("a",), y=2) == Point(1, 2, ("a",))


@pytest.mark.parametrize(
    "call", [lambda cls: cls(), lambda cls: cls(1, 2, (), 4), lambda cls: cls(1, who=2)]
)
def test_a_wrong_call_is_refused_in_the_same_words(call: Any) -> None:
    with pytest.raises(TypeError) as ours:
        call(Point)
    with pytest.raises(TypeError) as theirs:
        call(Standard)
    assert str(ours.value) == str(theirs.value).replace("Standard", "Point")


def test_the_constructor_is_written_once_and_before_no_use() -> None:
    @frozen
    class Late:
        a: int

    stub = Late.__init__
    first = Late(1)
    written = Late.__init__
    assert written is not stub
    assert (first, Late.__init__) == (Late(1), written)
    assert written.__qualname__.endswith("Late.__init__")


def test_a_constructor_may_be_written_by_several_threads_at_once() -> None:
    @frozen
    class Raced:
        a: int
        b: int = 2

    made: list[Raced] = []
    barrier = threading.Barrier(8)

    def make() -> None:
        barrier.wait()
        made.append(Raced(1))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [Raced(1, 2)] * 8


def test_nothing_can_be_set_or_deleted_and_nothing_added() -> None:
    point: Any = Point(1)
    for name in ("x", "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(point, name, 2)
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_values_are_equal_by_class_and_fields() -> None:
    assert Point(1, 2) == Point(1.0, 2.0)
    assert Point(1, 2) != Point(1, 3)
    one: object = One(1)
    assert one != Other(1)
    point: object = Point(1)
    assert point != Standard(1)
    assert Empty() == Empty()
    assert {Point(1): "a"}[Point(1)] == "a"
    assert hash(Empty()) == hash(Empty())


def test_a_value_without_a_number_equals_itself() -> None:
    assert One(math.nan) == One(math.nan)  # the same object inside, as in a tuple
    assert One(math.nan) != One(float("nan"))


def test_fields_may_be_left_out_of_comparison_and_words() -> None:
    assert Choosy("a", ["x"]) == Choosy("a", ["y"])
    assert hash(Choosy("a", ["x"])) == hash(Choosy("a", ["y"]))
    assert repr(Choosy("a")) == "Choosy(name='a', seen=[])"
    assert Choosy("a").seen is not Choosy("a").seen


def test_it_is_printed_like_a_dataclass() -> None:
    assert repr(Point(1, tags=("a",))) == repr(Standard(1, tags=("a",))).replace(
        "Standard", "Point"
    )
    assert repr(Empty()) == "Empty()"


def test_dataclass_functions_know_it() -> None:
    known = dataclasses.is_dataclass(Point)
    assert known
    assert [(each.name, each.type) for each in fields(Point)] == [
        (each.name, each.type) for each in fields(Standard)
    ]
    point: Any = Point(1, 2)
    assert replace(point, x=5) == Point(5, 2)
    assert asdict(Box(Point(1))) == {"content": {"x": 1, "y": 0.0, "tags": ()}}
    with pytest.raises(TypeError):
        replace(Point(1), who=2)  # type: ignore[call-arg]


def test_a_pattern_takes_it_apart() -> None:
    match Deep(1, 2, (), 3):
        case Deep(x, y, _, z):
            assert (x, y, z) == (1, 2, 3)
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize("value", [Point(1, 2, ("a",)), Empty(), Deep(1, z=4), Box((1, 2))])
def test_it_survives_pickling_and_copying(value: object) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) == value  # noqa: S301 - our own
    assert copy.copy(value) == copy.deepcopy(value) == value


def test_it_inherits_fields_slots_and_methods() -> None:
    assert Deep(10, 2, ("a",), 3).far
    assert vars(Deep)["__slots__"] == ("z",)
    assert isinstance(Deep(1), Point)
    assert Deep(1) != Point(1)


def test_a_plain_class_below_it_constructs_as_its_base() -> None:
    @frozen
    class Base:
        a: int

    class Plain(Base):
        pass

    assert Plain(3).a == 3
    assert Base(3).a == 3


def test_a_check_after_construction_is_made() -> None:
    assert Checked(1).count == 1
    with pytest.raises(ValueError, match="less than nothing"):
        Checked(-1)


def test_what_a_class_says_itself_is_kept() -> None:
    assert (repr(OwnWords("a")), hash(OwnWords("a")), OwnWords("a") == 3) == ("mine", 7, True)
    assert (Point.__doc__, Point.__name__, Point.__module__) == ("A place.", "Point", __name__)


def test_what_it_does_not_know_is_refused_where_it_is_declared() -> None:
    def without_parameter() -> None:
        @frozen
        class _Bad:
            a: int = field(init=False)

    def by_name_only() -> None:
        @frozen
        class _Bad:
            a: int = field(kw_only=True)

    def of_the_class() -> None:
        @frozen
        class _Bad:
            a: ClassVar[int] = 1

    for declare in (without_parameter, by_name_only, of_the_class):
        with pytest.raises(TypeError, match="not supported by @frozen"):
            declare()
