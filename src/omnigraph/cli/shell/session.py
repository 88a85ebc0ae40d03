"""Execute the statements and commands of the shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.cli.commits import History, commit_lines, names_by_commit
from omnigraph.cli.inputs import read_text
from omnigraph.cli.render import Format, plural
from omnigraph.cli.shell.completion import CompletionWords, completion_words_of
from omnigraph.cli.shell.statements import as_command, as_document, is_command
from omnigraph.cli.stored import print_query_result
from omnigraph.cli.terminal import adapt_drawing, write_lines
from omnigraph.errors import InvalidInput
from omnigraph.language.gq.ast import Mutation
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import Source
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.api.graph import Graph
    from omnigraph.cli.invocation import Invocation

__all__ = ["HELP", "ShellSession"]

_MAIN = "main"
_LOG_COMMITS = 10
HELP = """\
A query or mutation ends with its closing brace; without `query name() { … }` around it, with ;
or an empty line.

  :branch [NAME]     switch to a branch, or list branches
  :at TARGET         read a commit, tag, BRANCH@TIME or BRANCH@vN
  :types             list types and properties
  :schema            print the schema as .pg
  :params JSON       set values for $parameters
  :file FILE         open a file of queries
  :run NAME [JSON]   run a query of the file
  :explain TEXT      show the plan of a query
  :format FORMAT     set table, kv, csv, jsonl or json
  :log               list the last commits
  :help, :quit"""


class ShellSession:
    """An open graph and the current target of the shell."""

    def __init__(self, call: Invocation, graph: Graph) -> None:
        self._call = call
        self._graph = graph
        self._params: dict[str, Any] = {}
        self._file: tuple[str, str] | None = None
        self._words: CompletionWords | None = None
        self.target = _MAIN
        self.closed = False
        self._commands: dict[str, Callable[[str], None]] = {
            ":at": self._at,
            ":branch": self._branch,
            ":explain": self._explain,
            ":file": self._open,
            ":format": self._format,
            ":help": lambda _: write_lines(HELP.splitlines()),
            ":log": self._log,
            ":params": self._set_params,
            ":quit": self._quit,
            ":run": self._run,
            ":schema": lambda _: write_lines([self._graph.at(self.target).schema.rstrip()]),
            ":types": self._types,
        }

    @property
    def words(self) -> CompletionWords:
        """Return the completion words, read again after a change."""
        if self._words is None:
            branches = [info.ref.name for info in self._graph.branches.list()]
            schema = self._graph.at(self.target).schema
            self._words = completion_words_of(schema, branches=branches, commands=self._commands)
        return self._words

    def execute(self, text: str) -> None:
        """Execute one complete statement."""
        if not text.strip():
            return
        if is_command(text):
            name, _, rest = as_command(text).partition(" ")
            command = self._commands.get(name)
            if command is None:
                raise InvalidInput(
                    "shell.unknown_command", f"unknown command {name}", remedy="see :help"
                )
            command(rest.strip())
        else:
            self._run_query(as_document(text), None, "<input>", self._params)

    def _run_query(self, text: str, name: str | None, source: str, params: dict[str, Any]) -> None:
        queries = parse_queries(Source(text, source)).queries
        chosen = [query for query in queries if name in (None, query.name)]
        if len(chosen) != 1 or not isinstance(chosen[0].body, Mutation):
            used = (
                params
                if name
                else _declared_params(params, chosen[0])
                if len(chosen) == 1
                else params
            )
            result = self._graph.at(self.target).query(text, used, name=name, source_name=source)
            print_query_result(self._call, result.to_json())
            return
        done = self._graph.mutate(
            text,
            params if name else _declared_params(params, chosen[0]),
            name=name,
            branch=self.target,
            actor=self._call.actor,
            source_name=source,
        )
        self._words = None
        commit = f": {done.commit.id}" if done.commit else ""
        changed = f"{plural(done.affected_nodes, 'node')}, {plural(done.affected_edges, 'edge')}"
        write_lines([f"{changed} on {done.branch}{commit}"])

    def _branch(self, name: str) -> None:
        if not name:
            write_lines(info.ref.name for info in self._graph.branches.list())
            return
        self._at(name)

    def _at(self, target: str) -> None:
        self._graph.at(target or _MAIN)
        self.target, self._words = target or _MAIN, None

    def _types(self, _: str) -> None:
        for name, properties in self.words.properties.items():
            write_lines([f"{name}: {', '.join(properties)}" if properties else name])

    def _set_params(self, text: str) -> None:
        self._params = _parse_params(text)

    def _open(self, path: str) -> None:
        text = read_text(path)
        names = [query.name for query in parse_queries(Source(text, path)).queries]
        self._file = (path, text)
        write_lines([", ".join(names)])

    def _run(self, text: str) -> None:
        name, _, params = text.partition(" ")
        if self._file is None or not name:
            raise InvalidInput(
                "shell.nothing_to_run",
                "no query is open",
                remedy="use :file FILE first, then :run NAME",
            )
        path, queries = self._file
        self._run_query(
            queries, name, path, _parse_params(params) if params.strip() else self._params
        )

    def _explain(self, text: str) -> None:
        found = self._graph.at(self.target).explain(as_document(text))
        write_lines(adapt_drawing(str(found).splitlines(), sys.stdout))

    def _format(self, name: str) -> None:
        known = [each.value for each in Format]
        if name not in known:
            raise InvalidInput(
                "shell.unknown_format",
                f"unknown format {name!r}",
                remedy=f"one of: {', '.join(known)}",
            )
        self._call.formats.append(name)

    def _log(self, _: str) -> None:
        wanted = CommitFilter(target=self.target, limit=_LOG_COMMITS, hide_maintenance=True)
        names = names_by_commit(History(self._graph, shows_all=False))
        for commit in self._graph.commits.list(wanted).commits:
            write_lines(commit_lines(commit, names))

    def _quit(self, _: str) -> None:
        self.closed = True


def _declared_params(params: dict[str, Any], query: Any) -> dict[str, Any]:
    """Return the stored parameters that a query declares."""
    declared = {param.name for param in query.params}
    return {name: value for name, value in params.items() if name in declared}


def _parse_params(text: str) -> dict[str, Any]:
    try:
        found = parse_json(text or "{}")
    except ValueError as error:
        raise InvalidInput("params.bad_json", f"invalid JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput("params.not_object", "parameters must be one JSON object")
    return found
