"""``@frozen``: a frozen, slotted dataclass that is cheap to declare.

The standard library generates and compiles six methods per class, used or not. For the two hundred
classes that a query loads, this took as long as the rest of the query. Here the methods are shared,
and a constructor is compiled on its first call (ADR-0030).

The classes are dataclasses for every other purpose: ``fields``, ``replace``, ``asdict``, patterns
of ``match``, copies and pickles work as usual. Not supported, because no value needs it: ``order``,
``kw_only``, ``init=False`` fields, and class variables.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from inspect import get_annotations
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["frozen"]

_Class = TypeVar("_Class", bound=type)
# Attributes that a class creates for itself, and that a copy must not inherit.
_OWN = ("__dict__", "__weakref__")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: _Class) -> _Class:
    """Make a frozen dataclass with slots from an annotated class."""
    own = {name: _field(cls, name, kind) for name, kind in get_annotations(cls).items()}
    fields = {**_fields(cls), **own}
    body = {name: each for name, each in vars(cls).items() if name not in {*_OWN, *own}}
    body |= {
        "__qualname__": cls.__qualname__,
        "__slots__": tuple(name for name in own if name not in _fields(cls)),
        "__match_args__": tuple(fields),
        "__dataclass_fields__": fields,
        "__dataclass_params__": _Model.__dataclass_params__,  # type: ignore[attr-defined]
        "__frozen_key__": _key(name for name, each in fields.items() if each.compare),
    }
    made = type(cls)(cls.__name__, cls.__bases__, {**_SHARED, **body})
    if "__init__" not in body:
        made.__init__ = _written_when_called(made)  # type: ignore[misc]
    return made


@dataclass(frozen=True, slots=True)
class _Model:
    """The fields of a class as the standard library defines them, for the shared methods."""

    only: None = None


def _field(cls: type, name: str, kind: Any) -> Field[Any]:
    given = cls.__dict__.get(name, MISSING)
    found: Field[Any] = given if isinstance(given, Field) else field(default=given)
    if not found.init or found.kw_only is True or str(kind).startswith("ClassVar"):
        raise TypeError(f"{cls.__qualname__}.{name} is not supported by @frozen; use @dataclass")
    found.name, found.type, found.kw_only = name, kind, False
    found._field_type = _fields(_Model)["only"]._field_type  # type: ignore[attr-defined]  # noqa: SLF001 - by this a dataclass knows its fields
    return found


def _fields(cls: type) -> dict[str, Field[Any]]:
    return getattr(cls, "__dataclass_fields__", {})


def _key(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the values to compare as a tuple, in which NaN equals itself by identity."""
    match tuple(names):
        case ():
            return lambda _: ()
        case (name,):
            get = attrgetter(name)
            return lambda value: (get(value),)
        case several:
            return attrgetter(*several)


def _written_when_called(cls: type) -> Callable[..., None]:
    def __init__(self: object, *values: object, **named: object) -> None:  # noqa: N807 - it is that method
        cls.__init__ = _constructor(cls)  # type: ignore[misc]
        cls.__init__(self, *values, **named)  # type: ignore[misc]

    return __init__


def _constructor(cls: type) -> Callable[..., None]:
    """Compile the constructor, which sets the slots of a frozen object."""
    scope: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = ["self"], ["pass"]
    for name, each in _fields(cls).items():
        scope[f"set_{name}"] = getattr(cls, name).__set__
        value, default = name, ""
        if each.default_factory is not MISSING:
            scope[f"make_{name}"] = each.default_factory
            value, default = f"make_{name}() if {name} is MISSING else {name}", "=MISSING"
        elif each.default is not MISSING:
            scope[f"default_{name}"] = each.default
            default = f"=default_{name}"
        parameters.append(name + default)
        lines.append(f"set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines), scope)  # noqa: S102 - names of fields only
    method: Callable[..., None] = scope["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__module__ = cls.__module__
    return method


def _eq(self: Any, other: Any) -> object:
    if other.__class__ is not self.__class__:
        return NotImplemented
    key: Callable[[Any], tuple[Any, ...]] = self.__class__.__frozen_key__
    return key(self) == key(other)


def _hash(self: Any) -> int:
    return hash(self.__class__.__frozen_key__(self))


def _repr(self: Any) -> str:
    shown = (name for name, each in self.__dataclass_fields__.items() if each.repr)
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{self.__class__.__qualname__}({inside})"


def _setattr(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED = {
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _Model.__getstate__,
    "__setstate__": _Model.__setstate__,  # type: ignore[attr-defined]
}
