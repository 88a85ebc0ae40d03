"""The operator's file: ``config.yaml`` in ``~/.omnigraph``, or where ``OMNIGRAPH_HOME`` says.

A file that is not there says nothing. A key that nobody knows is told and ignored, so that an older
program can live with a newer file. Profiles and aliases are checked when they are used.
"""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.cli.render import Format
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Alias", "Config", "Defaults", "Profile", "home_directory", "read_config"]

HOME_VARIABLE = "OMNIGRAPH_HOME"
_FILE = "config.yaml"
# As systems say of users that have none.
_NO_HOME = Path("/nonexistent/.omnigraph")
_KNOWN = {
    "operator": frozenset({"actor"}),
    "defaults": frozenset(
        {
            "output",
            "server",
            "store",
            "default_graph",
            "table_max_column_width",
            "table_cell_layout",
        }
    ),
    "servers": frozenset({"url"}),
    "clusters": frozenset({"root"}),
    "profiles": frozenset({"server", "cluster", "store", "default_graph"}),
    "aliases": frozenset({"server", "graph", "query", "args", "params", "format"}),
}
# Sections of named entries, rather than of keys.
_NAMED = frozenset({"servers", "clusters", "profiles", "aliases"})
_LAYOUTS = ("truncate", "wrap")


@frozen
class Defaults:
    """What holds when a command line does not say."""

    output: Format | None = None
    server: str | None = None
    store: str | None = None
    graph: str | None = None
    column_width: int | None = None
    wraps: bool = False


@frozen
class Profile:
    """A name for an address; exactly one of the three is set."""

    name: str
    server: str | None = None
    cluster: str | None = None
    store: str | None = None
    graph: str | None = None

    @property
    def binding(self) -> str:
        return "server" if self.server else "cluster" if self.cluster else "store"

    @property
    def target(self) -> str:
        return self.server or self.cluster or self.store or ""


@frozen
class Alias:
    """A name for a stored query of a server, with some of its parameters."""

    name: str
    server: str
    query: str
    graph: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    format: Format | None = None


@frozen
class Config:
    """The file, read."""

    path: Path
    actor: str | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    warnings: tuple[str, ...] = ()
    _profiles: Mapping[str, Any] = field(default_factory=dict)
    _aliases: Mapping[str, Any] = field(default_factory=dict)

    @property
    def profile_names(self) -> list[str]:
        return sorted(self._profiles)

    @property
    def alias_names(self) -> list[str]:
        return sorted(self._aliases)

    def profile(self, name: str) -> Profile:
        """A profile by its name, or an error that says what is wrong with it."""
        body = self._entry("profile", self._profiles, name)
        words = {key: _text(self.path, f"profiles.{name}.{key}", body[key]) for key in body}
        bound = [key for key in ("server", "cluster", "store") if words.get(key)]
        if len(bound) != 1:
            raise InvalidInput(
                "config.bad_profile",
                f"{self.path}: profile {name!r} binds {' and '.join(bound) or 'nothing'}",
                remedy="a profile has exactly one of server, cluster and store",
            )
        if "store" in bound and words.get("default_graph"):
            raise _graph_of_store(self.path, f"profiles.{name}")
        return Profile(
            name,
            words.get("server"),
            words.get("cluster"),
            words.get("store"),
            words.get("default_graph"),
        )

    def alias(self, name: str) -> Alias:
        """An alias by its name, or an error that says what is wrong with it."""
        body = self._entry("alias", self._aliases, name)
        place = f"aliases.{name}"
        words = {
            key: _text(self.path, f"{place}.{key}", body[key])
            for key in ("server", "graph", "query", "format")
            if body.get(key) is not None
        }
        missing = [key for key in ("server", "query") if not words.get(key)]
        if missing:
            raise _bad(self.path, f"{place}.{missing[0]}", "is missing")
        args, params = body.get("args") or [], body.get("params") or {}
        if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
            raise _bad(self.path, f"{place}.args", "is not a list of names")
        if not isinstance(params, dict):
            raise _bad(self.path, f"{place}.params", "is not a mapping")
        return Alias(
            name,
            words["server"],
            words["query"],
            words.get("graph"),
            tuple(args),
            params,
            _format(self.path, f"{place}.format", words.get("format")),
        )

    def _entry(self, what: str, entries: Mapping[str, Any], name: str) -> dict[str, Any]:
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise InvalidInput(
                f"config.{what}_missing",
                f"there is no {what} {name!r} in {self.path}",
                remedy=f"known: {known}",
            )
        body = entries[name]
        if not isinstance(body, dict):
            section = "profiles" if what == "profile" else "aliases"
            raise _bad(self.path, f"{section}.{name}", "is not a mapping")
        return body


def home_directory() -> Path:
    """Where the operator's files are."""
    said = Path(os.environ.get(HOME_VARIABLE) or "~/.omnigraph")
    try:
        return said.expanduser()
    except RuntimeError:
        # A user without a home, as in a container: there is nothing to read, and writing fails.
        return _NO_HOME


def read_config() -> Config:
    """The operator's file; empty when there is none."""
    path = home_directory() / _FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput("config.unreadable", f"{path} cannot be read: {why}") from error
    return parse_config(path, text)


def parse_config(path: Path, text: str) -> Config:
    """The file from its text; ``path`` is for messages."""
    import yaml  # noqa: PLC0415 - only who has such a file pays for it

    try:
        body = yaml.safe_load(text) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput("config.bad_yaml", f"{path} is not YAML: {error}") from error
    if not isinstance(body, dict):
        raise _bad(path, "the file", "is not a mapping")
    sections = {name: _section(path, body, name) for name in _KNOWN}
    return Config(
        path,
        _optional(path, "operator.actor", sections["operator"].get("actor")),
        _servers(path, sections["servers"]),
        _defaults(path, sections["defaults"]),
        tuple(f"{path}: unknown key {key}" for key in _unknown_keys(body)),
        sections["profiles"],
        sections["aliases"],
    )


def _section(path: Path, body: dict[str, Any], name: str) -> dict[str, Any]:
    section = body.get(name) or {}
    if not isinstance(section, dict):
        raise _bad(path, name, "is not a mapping")
    return section


def _unknown_keys(body: dict[str, Any]) -> Iterator[str]:
    for name, section in body.items():
        if name not in _KNOWN:
            yield str(name)
        elif name in _NAMED:
            for entry, keys in (section or {}).items():
                known = keys if isinstance(keys, dict) else {}
                yield from (f"{name}.{entry}.{key}" for key in known if key not in _KNOWN[name])
        else:
            yield from (f"{name}.{key}" for key in section or {} if key not in _KNOWN[name])


def _servers(path: Path, section: dict[str, Any]) -> dict[str, str]:
    found = {}
    for name, body in section.items():
        url = _text(
            path, f"servers.{name}.url", body.get("url") if isinstance(body, dict) else None
        )
        if not url.startswith(("http://", "https://")):
            raise _bad(path, f"servers.{name}.url", "is no http:// or https:// address")
        found[str(name)] = url.rstrip("/")
    return found


def _defaults(path: Path, section: dict[str, Any]) -> Defaults:
    server = _optional(path, "defaults.server", section.get("server"))
    store = _optional(path, "defaults.store", section.get("store"))
    graph = _optional(path, "defaults.default_graph", section.get("default_graph"))
    if server and store:
        raise InvalidInput(
            "config.two_addresses",
            f"{path}: defaults name both a server and a store",
            remedy="keep one; profiles can hold the other",
        )
    if store and graph:
        raise _graph_of_store(path, "defaults")
    width = section.get("table_max_column_width")
    if width is not None and (not isinstance(width, int) or isinstance(width, bool) or width < 1):
        raise _bad(path, "defaults.table_max_column_width", "is no positive number")
    layout = section.get("table_cell_layout") or _LAYOUTS[0]
    if layout not in _LAYOUTS:
        raise _bad(
            path, "defaults.table_cell_layout", f"is {layout!r}, not {' or '.join(_LAYOUTS)}"
        )
    output = _optional(path, "defaults.output", section.get("output"))
    return Defaults(
        _format(path, "defaults.output", output), server, store, graph, width, layout == "wrap"
    )


def _graph_of_store(path: Path, place: str) -> InvalidInput:
    return InvalidInput(
        "config.graph_of_store",
        f"{path}: {place} has a store and a default_graph",
        remedy="a store is one graph: leave default_graph out",
    )


def _format(path: Path, place: str, said: str | None) -> Format | None:
    known = [each.value for each in Format]
    if said is not None and said not in known:
        raise _bad(path, place, f"is {said!r}, not one of {', '.join(known)}")
    return Format(said) if said is not None else None


def _optional(path: Path, place: str, value: Any) -> str | None:
    return None if value is None else _text(path, place, value)


def _text(path: Path, place: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _bad(path, place, "is no text")
    return value


def _bad(path: Path, place: str, what: str) -> InvalidInput:
    return InvalidInput("config.bad_value", f"{path}: {place} {what}")
