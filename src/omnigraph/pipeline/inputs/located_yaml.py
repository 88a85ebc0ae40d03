"""YAML parsing: plain values whose texts hold their file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph.errors import InvalidInput, Unsupported

__all__ = ["location_prefix", "parse_yaml"]


class LocatedText(str):
    """A text with its position in a file."""

    __slots__ = ("place",)

    place: str


def location_prefix(text: object) -> str:
    """Return ``pipeline.yaml, line 7: `` for a text with a position; otherwise nothing."""
    return f"{text.place}: " if isinstance(text, LocatedText) else ""


def parse_yaml(text: str, path: str) -> Any:
    """Parse the values of a file. A duplicate key is ambiguous and refused."""
    try:
        import yaml  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise Unsupported(
            "mapping.yaml_missing",
            "PyYAML is not installed",
            remedy="pip install 'omnigraph-py[spark]'",
        ) from error
    name = Path(path).name

    class Loader(yaml.SafeLoader):
        pass

    def location(node: Any) -> str:
        return f"{name}, line {node.start_mark.line + 1}"

    def construct_text(loader: Any, node: Any) -> LocatedText:
        found = LocatedText(loader.construct_scalar(node))
        found.place = location(node)
        return found

    def construct_object(loader: Any, node: Any) -> dict[Any, Any]:
        seen: dict[str, Any] = {}
        for key, _ in node.value:
            if key.value in seen:
                raise InvalidInput(
                    "mapping.bad",
                    f"{location(key)}: the key {key.value!r} already occurs on line "
                    f"{seen[key.value].start_mark.line + 1}",
                    remedy="remove one of them",
                )
            seen[key.value] = key
        found: dict[Any, Any] = loader.construct_mapping(node, deep=True)
        return found

    Loader.add_constructor("tag:yaml.org,2002:str", construct_text)
    Loader.add_constructor("tag:yaml.org,2002:map", construct_object)
    try:
        # A safe loader that constructs nothing but plain values and texts.
        return yaml.load(text, Loader)  # noqa: S506
    except RecursionError as error:
        raise InvalidInput(
            "mapping.bad_yaml",
            f"{path} is not a mapping: its values are nested too deeply",
            remedy="a mapping has fewer than ten levels; check brackets and indentation",
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark is not None else path
        what = getattr(error, "problem", None) or str(error)
        raise InvalidInput(
            "mapping.bad_yaml",
            f"{where} is not YAML: {what}",
            remedy="check indentation, quotes and brackets there",
        ) from error
