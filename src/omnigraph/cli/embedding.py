"""Embeds the records of a file of JSON lines into another file.

The spec is JSON: ``{"dimension": 384, "types": {"Note": {"target": "vec", "fields": ["body"]}}}``.
Two or more fields are joined by lines ``name: value``; a single one is embedded as it is, so that
its vector is that of ``@embed``. Other records and unknown fields pass unchanged.

Records are embedded in chunks, and every chunk enters the cache of the provider: a run that was
interrupted repeats no request when it is started again.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from omnigraph.errors import GraphError, InvalidInput
from omnigraph.frozen import frozen
from omnigraph.ports.embeddings import EmbeddingTask
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.runtime.files import open_atomically
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from omnigraph.ports.embeddings import Embedder

__all__ = [
    "EmbedJob",
    "EmbedMode",
    "EmbedProgress",
    "EmbedResult",
    "EmbedSpec",
    "Selector",
    "parse_selector",
    "read_seed",
    "read_spec",
    "run_job",
]

_CHUNK_RECORDS = 256
_DIMENSION_MAX = 65_536
_OUTPUT = "build/seed.embedded.jsonl"


class EmbedMode(StrEnum):
    """Which of the selected records are embedded."""

    MISSING = "fill_missing"
    ALL = "reembed_all"
    CLEAN = "clean"


@frozen
class TypeSpec:
    """The field of the vector, and the fields of its text."""

    target: str
    fields: tuple[str, ...]


@frozen
class EmbedSpec:
    """The dimension of all vectors, and the fields of each type."""

    dimension: int
    types: Mapping[str, TypeSpec]


@frozen
class Selector:
    """A condition on a field, of one type or of all."""

    type_name: str | None
    field: str
    value: str

    def matches(self, type_name: str, data: Mapping[str, Any]) -> bool:
        if self.type_name not in (None, type_name) or self.field not in data:
            return False
        return _spell(data[self.field]) == self.value


@frozen
class EmbedJob:
    """A run: files, spec, mode and selection."""

    source: Path
    target: Path
    spec: EmbedSpec
    mode: EmbedMode = EmbedMode.MISSING
    types: frozenset[str] = frozenset()
    selectors: tuple[Selector, ...] = ()

    def selects(self, type_name: str, data: Mapping[str, Any]) -> bool:
        if self.types and type_name not in self.types:
            return False
        return not self.selectors or any(each.matches(type_name, data) for each in self.selectors)

    @property
    def replaces(self) -> bool:
        """Whether existing vectors are replaced."""
        return self.mode is EmbedMode.ALL or bool(self.selectors)


@frozen
class EmbedProgress:
    """The state of a run."""

    read_bytes: int
    total_bytes: int
    embedded: int
    seconds: float
    done: bool = False

    def line(self) -> str:
        share = self.read_bytes / self.total_bytes if self.total_bytes else 1.0
        rate = self.embedded / self.seconds if self.seconds else 0.0
        left = self.seconds * (1 - share) / share if share else 0.0
        rest = "" if self.done else f", {left:,.0f} s left"
        return f"{share:4.0%} {self.embedded:,} embedded, {rate:,.0f}/s{rest}"


@frozen
class EmbedResult:
    """The counts of a run."""

    job: EmbedJob
    model: str
    records: int
    selected: int
    embedded: int
    cleaned: int

    def to_json(self) -> dict[str, Any]:
        job = self.job
        selected = job.mode is EmbedMode.MISSING and job.selectors
        return {
            "input": str(job.source),
            "output": str(job.target),
            "records": self.records,
            "selected_records": self.selected,
            "embedded_records": self.embedded,
            "cleaned_records": self.cleaned,
            "mode": "reembed_selected" if selected else str(job.mode),
            "dimension": job.spec.dimension,
            "model": self.model,
        }


def parse_selector(text: str) -> Selector:
    """Parse ``FIELD=VALUE`` or ``TYPE:FIELD=VALUE``."""
    left, mark, value = text.partition("=")
    type_name, colon, field = left.rpartition(":")
    if not mark or not field.strip() or (colon and not type_name.strip()):
        raise InvalidInput(
            "usage.bad_selector",
            f"--select {text[:80]!r} is not a condition",
            remedy="write FIELD=VALUE or TYPE:FIELD=VALUE",
        )
    return Selector(type_name.strip() or None, field.strip(), value.strip())


def read_spec(path: Path) -> EmbedSpec:
    """Read and validate a spec."""
    try:
        return _spec_of(parse_json(_read(path)), path)
    except ValueError as error:
        raise _bad_spec(path, f"it is not JSON: {error}") from error


def read_seed(path: Path) -> tuple[Path, Path, EmbedSpec]:
    """Read a manifest: input, output and spec; its paths are relative to it."""
    import yaml  # noqa: PLC0415 - for this option only

    try:
        body = yaml.safe_load(_read(path))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _bad_spec(path, "it is not YAML") from error
    body = body if isinstance(body, dict) else {}
    source = _text_at(body, "sources", "raw_seed")
    if source is None:
        raise _bad_spec(path, "it has no sources.raw_seed")
    target = _text_at(body, "artifacts", "embedded_seed") or _OUTPUT
    return path.parent / source, path.parent / target, _spec_of(body.get("embeddings"), path)


def run_job(
    job: EmbedJob, *, progress: Callable[[EmbedProgress], None] | None = None
) -> EmbedResult:
    """Embed the selected records; the target appears when it is complete."""
    embedder = None if job.mode is EmbedMode.CLEAN else _embedder()
    run = _Run(job, embedder)
    try:
        total = job.source.stat().st_size
        job.target.parent.mkdir(parents=True, exist_ok=True)
        with job.source.open("rb") as source, open_atomically(job.target) as target:
            run.convert(source, target, total, progress)
    except OSError as error:
        place = error.filename or job.source
        raise InvalidInput(
            "embed.file", f"cannot read or write {place}: {error.strerror or error}"
        ) from error
    model = "" if embedder is None else str(getattr(embedder, "model", ""))
    return EmbedResult(job, model, run.records, run.selected, run.embedded, run.cleaned)


class _Run:
    def __init__(self, job: EmbedJob, embedder: Embedder | None) -> None:
        self.job = job
        self.embedder = embedder
        self.records = self.selected = self.embedded = self.cleaned = 0
        self._read_bytes = 0

    def convert(
        self,
        source: BinaryIO,
        target: BinaryIO,
        total: int,
        progress: Callable[[EmbedProgress], None] | None,
    ) -> None:
        started = SYSTEM_CLOCK.monotonic()
        for chunk in self._chunks(source):
            for record in self._finish(chunk):
                target.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            if progress is not None:
                seconds = SYSTEM_CLOCK.monotonic() - started
                progress(EmbedProgress(self._read_bytes, total, self.embedded, seconds))
        if progress is not None:
            seconds = SYSTEM_CLOCK.monotonic() - started
            progress(EmbedProgress(total, total, self.embedded, seconds, done=True))

    def _chunks(self, source: BinaryIO) -> Iterator[list[tuple[dict[str, Any], str | None]]]:
        """Yield records with the text to embed, if there is one."""
        chunk: list[tuple[dict[str, Any], str | None]] = []
        for number, line in enumerate(source, 1):
            self._read_bytes += len(line)
            if line.strip():
                self.records += 1
                record = _record(line, number)
                chunk.append((record, self._text_of(record, number)))
            if len(chunk) >= _CHUNK_RECORDS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _text_of(self, record: dict[str, Any], number: int) -> str | None:
        """Select a record, clean it if wanted, and return its text, if it is to be embedded."""
        type_name = record.get("type")
        if not isinstance(type_name, str):
            return None
        data = record.get("data")
        if not isinstance(data, dict):
            raise _bad_record(number, "the record has no object `data`")
        spec = self.job.spec.types.get(type_name)
        if not self.job.selects(type_name, data):
            return None
        self.selected += 1
        if spec is None:
            return None
        if self.job.mode is EmbedMode.CLEAN:
            self.cleaned += spec.target in data
            data.pop(spec.target, None)
            return None
        if data.get(spec.target) and not self.job.replaces:
            return None
        return _text(spec, data)

    def _finish(
        self, chunk: Sequence[tuple[dict[str, Any], str | None]]
    ) -> Iterator[dict[str, Any]]:
        texts = [text for _, text in chunk if text is not None]
        vectors = iter(self._embed(texts) if texts else ())
        for record, text in chunk:
            if text is not None:
                target = self.job.spec.types[record["type"]].target
                record["data"][target] = list(next(vectors))
                self.embedded += 1
            yield record

    def _embed(self, texts: list[str]) -> Sequence[Sequence[float]]:
        embedder = cast("Embedder", self.embedder)
        dim = self.job.spec.dimension
        return embedder.embed(texts, model=None, dim=dim, task=EmbeddingTask.DOCUMENT)


def _embedder() -> Embedder:
    from omnigraph.graph.open import require_embedder  # noqa: PLC0415 - loads the engine

    return require_embedder()


def _record(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise _bad_record(number, f"the line is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise _bad_record(number, "the line is not a JSON object")
    return record


def _text(spec: TypeSpec, data: Mapping[str, Any]) -> str | None:
    parts = [(name, _spell(data[name])) for name in spec.fields if name in data]
    filled = [(name, text) for name, text in parts if text]
    if not filled:
        return None
    if len(spec.fields) == 1:
        return filled[0][1]
    return "\n".join(f"{name}: {text}" for name, text in filled)


def _spell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return ", ".join(filter(None, map(_spell, value)))
        case _:
            return json.dumps(value, ensure_ascii=False)


def _spec_of(body: Any, path: Path) -> EmbedSpec:
    if not isinstance(body, dict):
        raise _bad_spec(path, "it has no embeddings: an object with dimension and types")
    dimension, types = body.get("dimension"), body.get("types")
    if type(dimension) is not int or not 0 < dimension <= _DIMENSION_MAX:
        raise _bad_spec(path, f"dimension is not a whole number from 1 to {_DIMENSION_MAX}")
    if not isinstance(types, dict) or not types:
        raise _bad_spec(path, "types is not an object with a type in it")
    return EmbedSpec(dimension, {str(name): _type_spec(name, types[name], path) for name in types})


def _type_spec(name: Any, body: Any, path: Path) -> TypeSpec:
    target = body.get("target") if isinstance(body, dict) else None
    fields = body.get("fields") if isinstance(body, dict) else None
    if (
        not isinstance(target, str)
        or not isinstance(fields, list)
        or not fields
        or not all(isinstance(each, str) for each in fields)
        or target in fields
    ):
        raise _bad_spec(path, f"{name} needs a target and a list of other fields")
    return TypeSpec(target, tuple(fields))


def _text_at(body: Mapping[str, Any], section: str, key: str) -> str | None:
    found = body.get(section)
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) and value else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidInput("file.unreadable", f"cannot read {path}: {why}") from error


def _bad_spec(path: Path, why: str) -> GraphError:
    return InvalidInput(
        "embed.bad_spec",
        f"{path}: {why}",
        remedy='write {"dimension": 384, "types": {"Note": {"target": "vec", "fields": ["body"]}}}',
    )


def _bad_record(number: int, why: str) -> GraphError:
    return InvalidInput(
        "embed.bad_record",
        f"line {number}: {why}",
        remedy='write {"type": "Note", "data": {…}} on every line',
        details={"line": number},
    )
