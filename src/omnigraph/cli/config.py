"""Read the configuration file: ``config.yaml`` in ``~/.omnigraph``, or in ``OMNIGRAPH_HOME``.

A missing file is empty. An unknown key causes a warning, so that an older release can read a newer
file. Profiles and aliases are validated on use.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.cli.render import Format
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.runtime.credentials import home_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Alias", "Config", "ConnectionProfile", "Defaults", "read_config"]

_FILE = "config.yaml"
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
# Sections of named entries.
_NAMED = frozenset({"servers", "clusters", "profiles", "aliases"})
_LAYOUTS = ("truncate", "wrap")


@frozen
class Defaults:
    """Defaults of the command line."""

    output: Format | None = None
    server: str | None = None
    store: str | None = None
    graph: str | None = None
    column_width: int | None = None
    wraps: bool = False


@frozen
class ConnectionProfile:
    """A named address: exactly one of server, cluster and store."""

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
    """A named stored query of a server, with some of its parameters."""

    name: str
    server: str
    query: str
    graph: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    format: Format | None = None


@frozen
class Config:
    """The parsed configuration file."""

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

    def profile(self, name: str) -> ConnectionProfile:
        """Return a validated profile by name."""
        body = self._entry("profile", self._profiles, name)
        fields = {key: _text(self.path, f"profiles.{name}.{key}", body[key]) for key in body}
        bound = [key for key in ("server", "cluster", "store") if fields.get(key)]
        if len(bound) != 1:
            raise InvalidInput(
                "config.bad_profile",
                f"{self.path}: profile {name!r} binds {' and '.join(bound) or 'nothing'}",
                remedy="a profile has exactly one of server, cluster and store",
            )
        if "store" in bound and fields.get("default_graph"):
            raise _graph_of_store(self.path, f"profiles.{name}")
        return ConnectionProfile(
            name,
            fields.get("server"),
            fields.get("cluster"),
            fields.get("store"),
            fields.get("default_graph"),
        )

    def alias(self, name: str) -> Alias:
        """Return a validated alias by name."""
        body = self._entry("alias", self._aliases, name)
        key_path = f"aliases.{name}"
        fields = {
            key: _text(self.path, f"{key_path}.{key}", body[key])
            for key in ("server", "graph", "query", "format")
            if body.get(key) is not None
        }
        missing = [key for key in ("server", "query") if not fields.get(key)]
        if missing:
            raise _bad(self.path, f"{key_path}.{missing[0]}", "is missing")
        args, params = body.get("args") or [], body.get("params") or {}
        if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
            raise _bad(self.path, f"{key_path}.args", "is not a list of names")
        if not isinstance(params, dict):
            raise _bad(self.path, f"{key_path}.params", "is not a mapping")
        return Alias(
            name,
            fields["server"],
            fields["query"],
            fields.get("graph"),
            tuple(args),
            params,
            _format(self.path, f"{key_path}.format", fields.get("format")),
        )

    def _entry(self, what: str, entries: Mapping[str, Any], name: str) -> dict[str, Any]:
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise InvalidInput(
                f"config.{what}_missing",
                f"{what} {name!r} does not exist in {self.path}",
                remedy=f"known: {known}",
            )
        body = entries[name]
        if not isinstance(body, dict):
            section = "profiles" if what == "profile" else "aliases"
            raise _bad(self.path, f"{section}.{name}", "is not a mapping")
        return body


def read_config() -> Config:
    """Read the configuration file; a missing one is empty."""
    path = home_directory() / _FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput("config.unreadable", f"cannot read {path}: {why}") from error
    return parse_config(path, text)


def parse_config(path: Path, text: str) -> Config:
    """Parse a configuration; ``path`` is for messages."""
    import yaml  # noqa: PLC0415 - imported only if the file exists

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
            raise _bad(path, f"servers.{name}.url", "is not an http:// or https:// address")
        found[str(name)] = url.rstrip("/")
    return found


def _defaults(path: Path, section: dict[str, Any]) -> Defaults:
    server = _optional(path, "defaults.server", section.get("server"))
    store = _optional(path, "defaults.store", section.get("store"))
    graph = _optional(path, "defaults.default_graph", section.get("default_graph"))
    if server and store:
        raise InvalidInput(
            "config.two_addresses",
            f"{path}: defaults contain both a server and a store",
            remedy="keep one; use a profile for the other",
        )
    if store and graph:
        raise _graph_of_store(path, "defaults")
    width = section.get("table_max_column_width")
    if width is not None and (not isinstance(width, int) or isinstance(width, bool) or width < 1):
        raise _bad(path, "defaults.table_max_column_width", "is not a positive integer")
    layout = section.get("table_cell_layout") or _LAYOUTS[0]
    if layout not in _LAYOUTS:
        raise _bad(
            path, "defaults.table_cell_layout", f"is {layout!r}, not {' or '.join(_LAYOUTS)}"
        )
    output = _optional(path, "defaults.output", section.get("output"))
    return Defaults(
        _format(path, "defaults.output", output), server, store, graph, width, layout == "wrap"
    )


def _graph_of_store(path: Path, key_path: str) -> InvalidInput:
    return InvalidInput(
        "config.graph_of_store",
        f"{path}: {key_path} has a store and a default_graph",
        remedy="a store is one graph: leave default_graph out",
    )


def _format(path: Path, key_path: str, given: str | None) -> Format | None:
    known = [each.value for each in Format]
    if given is not None and given not in known:
        raise _bad(path, key_path, f"is {given!r}, not one of {', '.join(known)}")
    return Format(given) if given is not None else None


def _optional(path: Path, key_path: str, value: Any) -> str | None:
    return None if value is None else _text(path, key_path, value)


def _text(path: Path, key_path: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _bad(path, key_path, "is not a non-empty string")
    return value


def _bad(path: Path, key_path: str, what: str) -> InvalidInput:
    return InvalidInput("config.bad_value", f"{path}: {key_path} {what}")
