"""Validate positions and arguments of known annotations; unknown ones are kept as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.codes import SchemaCode
from omnigraph.datatypes.types import STRING, VectorType
from omnigraph.language.diagnostics import Diagnostic, Severity, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.catalog.draft import AnyDraft, SchemaDraft
    from omnigraph.language.pg.ast import Annotation, PropertyDecl

__all__ = ["CHECKS", "check_spelling"]

_ON_PROPERTIES = ("embed", "default")
# Annotations that take one non-empty string.
_STRING_ANNOTATIONS = ("description", "instruction", "rename_from", "embed")
_KNOWN = ("embed", "default", "description", "instruction", "rename_from")
_KEYWORDS = {"embed": ("model",)}
_EXAMPLES = {
    "embed": '@embed("text", model="…")',
    "default": "@default(0)",
    "description": '@description("…")',
    "instruction": '@instruction("…")',
    "rename_from": '@rename_from("old_name")',
}
_CONSTRAINTS = ("key", "unique", "index", "range", "check", "card")


def check_positions(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft in schema.types:
        for annotation in draft.decl.annotations:
            if annotation.name in _ON_PROPERTIES:
                yield _misplaced(annotation, "move it to a property")
            elif annotation.name == "rename_from" and draft.kind == "interface":
                yield _misplaced(
                    annotation, "an interface has no data: rename it without the annotation"
                )


def _misplaced(annotation: Annotation, remedy: str) -> Diagnostic:
    return Diagnostic(
        SchemaCode.ANNOTATION_PLACE,
        f"`@{annotation.name}` is not allowed here",
        annotation.span,
        remedy,
    )


def check_embed_positions(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft, prop, annotation in _embeds(schema):
        if not isinstance(prop.dtype, VectorType):
            yield Diagnostic(
                SchemaCode.ANNOTATION_PLACE,
                f"{draft.spell(prop)} is not a Vector, so `@embed` is not allowed here",
                annotation.span,
                f'declare a vector beside it: `{prop.name}_embedding: Vector(768) @embed("…")`',
            )


def check_embed_sources(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for draft, _, annotation in _embeds(schema):
        name = annotation.args[0] if annotation.args else None
        if not isinstance(name, str):
            continue
        source = draft.by_name.get(name)
        if source is None or source.dtype != STRING:
            texts = [prop.name for prop in draft.properties if prop.dtype == STRING]
            yield Diagnostic(
                SchemaCode.EMBED_SOURCE,
                f"{draft.spell(source)} is not a String"
                if source
                else f"`{draft.name}` has no property `{name}`",
                annotation.span,
                did_you_mean(name, texts) or "name a String property of the same type",
            )


def check_repeated_annotations(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for given in _annotation_lists(schema):
        seen: set[str] = set()
        for annotation in given:
            if annotation.name in seen and annotation.name in _KNOWN:
                yield Diagnostic(
                    SchemaCode.REPEATED_ANNOTATION,
                    f"`@{annotation.name}` is repeated",
                    annotation.span,
                    "keep one",
                )
            seen.add(annotation.name)


def check_arguments(schema: SchemaDraft) -> Iterator[Diagnostic]:
    for given in _annotation_lists(schema):
        for annotation in given:
            if annotation.name in _KNOWN and (reason := _wrong_arguments(annotation)):
                yield Diagnostic(
                    SchemaCode.ANNOTATION_ARGUMENTS,
                    f"`@{annotation.name}` {reason}",
                    annotation.span,
                    f"write `{_EXAMPLES[annotation.name]}`",
                )


def _wrong_arguments(annotation: Annotation) -> str | None:
    if len(annotation.args) != 1:
        return f"takes one value, not {len(annotation.args)}"
    value = annotation.args[0]
    if annotation.name in _STRING_ANNOTATIONS and not (isinstance(value, str) and value.strip()):
        return "takes a non-empty string"
    allowed = _KEYWORDS.get(annotation.name, ())
    for key, named in annotation.kwargs:
        if key not in allowed:
            return f"does not take `{key}`"
        if not (isinstance(named, str) and named.strip()):
            return f"takes a non-empty string for `{key}`"
    return None


def check_spelling(schema: SchemaDraft) -> Iterator[Diagnostic]:
    """Yield warnings for unknown annotations that resemble known ones."""
    for given in _annotation_lists(schema):
        for annotation in given:
            if annotation.name in _KNOWN:
                continue
            if remedy := did_you_mean(annotation.name, (*_KNOWN, *_CONSTRAINTS)):
                yield Diagnostic(
                    SchemaCode.PROBABLE_MISSPELLING,
                    f"unknown annotation `@{annotation.name}` is kept but has no effect",
                    annotation.span,
                    remedy,
                    Severity.WARNING,
                )


def _annotation_lists(schema: SchemaDraft) -> Iterator[Iterable[Annotation]]:
    for draft in schema.types:
        yield draft.decl.annotations
        for prop in draft.decl.properties:
            yield prop.annotations


def _embeds(schema: SchemaDraft) -> Iterator[tuple[AnyDraft, PropertyDecl, Annotation]]:
    for draft in schema.types:
        for prop in draft.properties:
            for annotation in prop.annotations:
                if annotation.name == "embed":
                    yield draft, prop, annotation


CHECKS = (
    check_positions,
    check_embed_positions,
    check_embed_sources,
    check_repeated_annotations,
    check_arguments,
)
