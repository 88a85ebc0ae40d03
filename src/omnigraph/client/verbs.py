"""The verbs of a graph, as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.arrow_stream import read_stream
from omnigraph.api.commits import WriterKind, commit_id_of
from omnigraph.api.entities import ExportResult, opened
from omnigraph.api.names import MAIN
from omnigraph.api.schemas import DesiredSchema
from omnigraph.api.targets import is_branch_target, target_text
from omnigraph.api.wire_values import to_wire
from omnigraph.catalog.diff import plan_migration
from omnigraph.catalog.model import EntityKind
from omnigraph.client import decoding as answers
from omnigraph.client import history_decoding as histories
from omnigraph.client.entity_verbs import EntityVerbs, place_of
from omnigraph.client.records import ndjson_of, needs_catalog
from omnigraph.client.requests import HttpRequest, Steps, get, path_of, post
from omnigraph.client.results import ARROW_FIRST, result_of, spool
from omnigraph.errors import Unsupported
from omnigraph.evolution.backfill import parse_backfill
from omnigraph.language.source import DEFAULT_SOURCE_NAME
from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.api.change_pages import EntityHistory
    from omnigraph.api.commits import Commit
    from omnigraph.api.merges import MergeResult, PickResult
    from omnigraph.api.queries import Explanation
    from omnigraph.api.results import QueryResult, QueryStream
    from omnigraph.api.schemas import SchemaResult
    from omnigraph.api.status import Status
    from omnigraph.api.targets import Target
    from omnigraph.api.writes import LoadResult, MutationResult
    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.runtime.budget import Budget

__all__ = ["GraphVerbs", "ReadVerbs", "not_served"]


def not_served(what: str) -> Unsupported:
    return Unsupported(
        "client.not_served",
        f"a server does not offer {what}",
        remedy="open the storage of the graph itself",
    )


class ReadVerbs(EntityVerbs):
    """Everything that reads, at one target."""

    def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002 - the server names its sources
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> Steps[QueryResult]:
        """Answer a read query, with typed values."""
        body = self._query(text, params, name, traversal, budget)
        return result_of((yield post("/query", body, repeatable=True, headers=_ARROW)))

    def stream(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
        budget: Budget | None = None,
    ) -> Steps[QueryStream]:
        """Answer a read query batch by batch; what does not fit in memory waits on disk."""
        held = spool()
        body = self._query(text, params, name, None, budget)
        yield post("/query", body, repeatable=True, headers=_ARROW, sink=held.write)
        held.seek(0)
        return read_stream(held)

    def explain(
        self,
        text: str,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
        traversal: str | None = None,
    ) -> Steps[Explanation]:
        """How a query would be answered now; nothing is read."""
        body = self._query(text, None, name, traversal)
        return answers.explanation_of((yield post("/explain", body, repeatable=True)).body)

    def profile(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> Steps[Explanation]:
        """Answer a query and tell the rows, time and bytes of every step."""
        body = self._query(text, params, name, traversal, budget)
        return answers.explanation_of((yield post("/profile", body, repeatable=True)).body)

    def snapshot(self) -> Steps[dict[str, Any]]:
        """Which dataset versions this target consists of, and how many entities each holds."""
        return dict((yield get("/snapshot", **place_of(self._target))).body)

    def plan_schema(
        self,
        schema: str,
        *,
        source_name: str = "<schema>",
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
    ) -> Steps[MigrationPlan]:
        """The steps from the schema at this target to another one; changes nothing."""
        if not is_branch_target(self._target):
            raise not_served("plans for anything but a branch")
        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        shown = yield from self.planned(wanted)
        said = post("/schema/plan", _wanted(wanted, self._target), repeatable=True)
        return histories.RemotePlan(shown.steps, (yield said).body)

    def export(
        self,
        out: Any,
        *,
        format: str = "ndjson",  # noqa: A002
        types: Sequence[str] = (),
    ) -> Steps[ExportResult]:
        """Write everything at this target, or some types, to a path or an open binary file."""
        if format != "ndjson":
            raise not_served(f"exports as {format}")
        # One commit, whatever happens to the branch meanwhile.
        found = yield from self.snapshot()
        commit = found["graph_commit_id"]
        body = {"snapshot": commit, "type_names": list(types) or None}
        with opened(out) as file:
            yield post("/export", body, repeatable=True, sink=file.write)
        counts = tuple(
            (EntityKind(each["entity_kind"]), each["type_name"], each["entity_count"])
            for each in found["datasets"]
            if not types or each["type_name"] in types
        )
        return ExportResult(self._target, commit, counts)

    def _query(
        self,
        text: str,
        params: Mapping[str, Any] | None,
        name: str | None,
        traversal: str | None,
        budget: Budget | None = None,
    ) -> dict[str, Any]:
        asked = {
            "query": text,
            "name": name,
            "traversal": traversal,
            "budget": None if budget is None else _limits(budget),
            **place_of(self._target),
        }
        return asked if params is None else {**asked, "params": _wire(params)}

    def planned(self, wanted: DesiredSchema) -> Steps[MigrationPlan]:
        """The plan as it would be made here, to be shown step by step."""
        accepted = yield from self.catalog()
        found = yield from self.snapshot()
        desired = wanted.build(accepted)
        given = parse_backfill(wanted.backfill, accepted, desired)
        empty = {each["type_name"] for each in found["datasets"] if not each["entity_count"]}
        return plan_migration(
            accepted,
            desired,
            allow_data_loss=wanted.allow_data_loss,
            empty_types=[each.id for each in accepted.types.values() if each.name in empty],
            backfill=given.spelled,
        )


class GraphVerbs(ReadVerbs):
    """Everything that a graph can be asked for."""

    def status(self) -> Steps[Status]:
        """What this graph is, how large it is, and what needs attention."""
        return answers.status_of((yield get("/status")).body)

    def mutate(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
    ) -> Steps[MutationResult]:
        """Run a mutation query as one commit on a branch.

        Without an ``idempotency_key`` one is made up, so that a lost reply can be asked for again.
        """
        answers.refuse_actor(actor)
        body = {
            "query": text,
            "name": name,
            "params": _wire(params or {}),
            "branch": branch,
            "message": message,
            "dry_run": dry_run,
        }
        path = "/mutate" if if_commit is None else "/mutate/if-graph-commit"
        headers = _write_headers(if_commit, idempotency_key, dry_run=dry_run)
        return answers.mutation_of((yield post(path, body, repeatable=True, headers=headers)).body)

    def load(
        self,
        source: Any,
        *,
        mode: str,
        branch: str = MAIN,
        from_: str | None = None,
        type: str | None = None,  # noqa: A002
        format: str | None = None,  # noqa: A002
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        progress: Any = None,  # noqa: ARG002 - one request makes no progress to tell of
    ) -> Steps[LoadResult]:
        """Load many entities as one commit on a branch, or leave the graph as it is.

        ``source`` is JSON lines (a path or several, an open file, bytes), records, a table or a
        data frame of one ``type``, or a mapping from type names to such.
        """
        answers.refuse_actor(actor)
        catalog = (yield from self.catalog()) if needs_catalog(source) else None
        said = get(
            "/load/ndjson",
            branch=branch,
            from_=from_,
            mode=mode,
            type=type,
            message=message,
            if_commit=if_commit,
            dry_run=dry_run,
        )
        request = HttpRequest(
            "POST",
            said.path,
            said.query,
            content=ndjson_of(source, format=format, catalog=catalog),
            headers={
                "Content-Type": "application/x-ndjson",
                **_write_headers(None, idempotency_key, dry_run=dry_run),
            },
            repeatable=True,
        )
        return answers.load_of((yield request).body)

    def apply_schema(
        self,
        schema: str,
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        dry_run: bool = False,
        source_name: str = "<schema>",
    ) -> Steps[SchemaResult]:
        """Make ``schema`` the schema of a branch: checks, rewrites and catalog in one commit."""
        answers.refuse_actor(actor)
        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        shown = yield from ReadVerbs(branch).planned(wanted)
        body = {
            **_wanted(wanted, branch),
            "message": message,
            "if_commit": if_commit,
            "dry_run": dry_run,
        }
        # Applying a schema twice is the same as once.
        answer = yield post("/schema/apply", body, repeatable=if_commit is None)
        return histories.schema_result_of(answer.body, shown)

    def diff(
        self,
        before: Target,
        after: Target,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> Steps[histories.RemoteDiff]:
        """What differs between two targets: iterate over it, or ask for its ``summary``."""
        ends = {"from": target_text(before), "to": target_text(after)}
        said = {**ends, "kind": kinds, "type": types, "op": ops}
        return histories.diff_of((yield get("/diff", **_lists(said))).body)

    def blame(
        self,
        type: str,  # noqa: A002
        id: str,  # noqa: A002
        *,
        target: Target = MAIN,
        limit: int = 1_000,
    ) -> Steps[EntityHistory]:
        """Every commit that changed one entity, newest first."""
        entity = (yield from ReadVerbs(target).catalog()).entity(type)
        # A type that is not there is told by the server, in its words.
        kind = "node" if entity is None else entity.kind.value
        path = f"/entities{path_of(kind, type, id)}/history"
        return histories.history_of((yield get(path, limit=limit, **place_of(target))).body)

    def merge(
        self,
        source: str,
        *,
        into: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        delete_branch: bool = False,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> Steps[MergeResult]:
        """Merge a branch into another, entity by entity and property by property, as one commit."""
        answers.refuse_actor(actor)
        body = {
            "source": source,
            "target": into,
            "preview": preview,
            **_choices(strategy, resolutions),
            "delete_branch": delete_branch,
            "message": message,
            "if_commit": if_commit,
        }
        return histories.merge_of((yield post("/branches/merge", body, repeatable=preview)).body)

    def revert(
        self,
        commit_id: str | Commit,
        *,
        branch: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> Steps[PickResult]:
        """Undo on a branch what one commit did, and keep what happened since."""
        answers.refuse_actor(actor)
        conditions = {"preview": preview, "message": message, "if_commit": if_commit}
        body = {"branch": branch, **conditions, **_choices(strategy, resolutions)}
        return (yield from _picked("/revert", WriterKind.REVERT, commit_id, body))

    def cherry_pick(
        self,
        commit_id: str | Commit,
        *,
        into: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> Steps[PickResult]:
        """Do on a branch what one commit did elsewhere."""
        answers.refuse_actor(actor)
        conditions = {"preview": preview, "message": message, "if_commit": if_commit}
        body = {"branch": into, **conditions, **_choices(strategy, resolutions)}
        return (yield from _picked("/cherry-pick", WriterKind.CHERRY_PICK, commit_id, body))

    def stored_queries(self) -> Steps[list[dict[str, Any]]]:
        """The stored queries that the server shows, with their typed parameters."""
        return list((yield get("/queries")).body["queries"])

    def invoke_query(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        target: str = MAIN,
        if_commit: str | None = None,
        expect_mutation: bool | None = None,
    ) -> Steps[QueryResult | MutationResult]:
        """Run a stored query by its name; it answers as ``query`` or as ``mutate`` does."""
        body = {
            "params": _wire(params or {}),
            **place_of(target),
            "expect_mutation": expect_mutation,
        }
        path = f"/queries{path_of(name)}"
        headers = {} if if_commit is None else {"Omnigraph-If-Graph-Commit": if_commit}
        if if_commit is not None:
            path = f"{path}/if-graph-commit"
        answer = yield post(path, body, headers=headers, repeatable=expect_mutation is False)
        if isinstance(answer.body, dict) and "affected_nodes" in answer.body:
            return answers.mutation_of(answer.body)
        return result_of(answer)


_ARROW = {"Accept": ARROW_FIRST}


def _write_headers(
    if_commit: str | None, idempotency_key: str | None, *, dry_run: bool
) -> dict[str, str]:
    headers = {}
    if if_commit is not None:
        headers["Omnigraph-If-Graph-Commit"] = if_commit
    if not dry_run or idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key or new_ulid()
    return headers


def _wire(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_wire(value) for name, value in params.items()}


def _wanted(wanted: DesiredSchema, branch: str) -> dict[str, Any]:
    return {
        "schema_source": wanted.text,
        "branch": branch,
        "allow_data_loss": wanted.allow_data_loss,
        "backfill": dict(wanted.backfill),
    }


def _picked(
    route: str, kind: WriterKind, commit_id: str | Commit, body: dict[str, Any]
) -> Steps[PickResult]:
    """What became of one commit that was undone, or done elsewhere."""
    asked = {"commit": commit_id_of(commit_id), **body}
    answer = yield post(route, asked, repeatable=bool(body["preview"]))
    return histories.pick_of(answer.body, kind)


def _choices(
    strategy: str | None, resolutions: Sequence[Mapping[str, Any]] | None
) -> dict[str, Any]:
    """How conflicts are decided."""
    return {
        "strategy": strategy,
        "resolutions": None if resolutions is None else list(resolutions),
    }


def _lists(said: Mapping[str, Any]) -> dict[str, Any]:
    """Sequences as lists, so that each of their items is said."""
    return {
        key: list(value) if not isinstance(value, str) else value for key, value in said.items()
    }


def _limits(budget: Budget) -> dict[str, Any]:
    """A budget as a request tells it; the server has one of its own, and keeps to the tighter."""
    if budget.cancellation is not None:
        # Leaving it out silently would change what is done.
        raise not_served("tokens to cancel with; see `operations`")
    limits = {"rows": budget.rows, "seconds": budget.seconds, "memory_bytes": budget.memory_bytes}
    return {name: limit for name, limit in limits.items() if limit is not None}
