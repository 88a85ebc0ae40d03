"""A remote graph, asynchronous: the one definition of its methods; ``remote`` drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from omnigraph.api.commits import Commit, WriterKind, commit_id_of
from omnigraph.api.names import MAIN
from omnigraph.api.schemas import DesiredSchema, SchemaResult
from omnigraph.api.targets import Target, target_text
from omnigraph.api.writes import parse_mode
from omnigraph.client import decoding as answers
from omnigraph.client import history_decoding as histories
from omnigraph.client.graph_selection import list_graphs
from omnigraph.client.namespaces_async import (
    AsyncBranches,
    AsyncChanges,
    AsyncCommits,
    AsyncOperations,
    AsyncTags,
)
from omnigraph.client.reads_async import AsyncRemoteGraphAt
from omnigraph.client.records import ndjson_of, needs_catalog
from omnigraph.client.request_bodies import (
    choices_body,
    encoded_params,
    query_lists,
    schema_body,
    target_body,
    write_headers,
)
from omnigraph.client.requests import HttpRequest, get, path_of, post
from omnigraph.client.results import result_of
from omnigraph.language.source import DEFAULT_SOURCE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.api.change_pages import EntityHistory
    from omnigraph.api.merges import MergeResult, PickResult
    from omnigraph.api.results import QueryResult
    from omnigraph.api.status import Status
    from omnigraph.api.writes import LoadResult, MutationResult
    from omnigraph.client.connection import Connection

__all__ = ["AsyncRemoteGraph"]


class AsyncRemoteGraph(AsyncRemoteGraphAt):
    """A remote graph. ``schema`` and ``catalog`` are calls here, since they are awaited."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.branches = AsyncBranches(connection)
        self.tags = AsyncTags(connection)
        self.commits = AsyncCommits(connection)
        self.changes = AsyncChanges(connection)
        self.operations = AsyncOperations(connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncRemoteGraph {self.uri}>"

    @property
    def uri(self) -> str:
        return self._connection.address.uri

    def at(self, target: Target) -> AsyncRemoteGraphAt:
        """The graph at a target; the first call reports a missing one."""
        return AsyncRemoteGraphAt(self._connection, target)

    async def served_graphs(self) -> list[str]:
        """List the graphs of the server by name."""
        return await list_graphs(self._send)

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        await self._connection.transport.close()

    async def status(self) -> Status:
        """Return the identity, size, heads and problems of the graph."""
        return answers.status_of(await self._get("/status"))

    async def mutate(
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
    ) -> MutationResult:
        """Run a mutation query as one commit on a branch.

        A missing ``idempotency_key`` is generated, so that a request whose reply is lost can be
        repeated.
        """
        answers.refuse_actor(actor)
        body = {
            "query": text,
            "name": name,
            "params": encoded_params(params or {}),
            "branch": branch,
            "message": message,
            "dry_run": dry_run,
        }
        path = "/mutate" if if_commit is None else "/mutate/if-graph-commit"
        headers = write_headers(if_commit, idempotency_key, dry_run=dry_run)
        return answers.mutation_of(await self._post(path, body, repeatable=True, headers=headers))

    async def load(
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
    ) -> LoadResult:
        """Load entities as one commit on a branch; a failed load has no effect.

        ``source`` is JSON lines (a path or several, an open file, bytes), records, a table or a
        data frame of one ``type``, or a mapping from type names to such.
        """
        answers.refuse_actor(actor)
        catalog = (await self.catalog()) if needs_catalog(source) else None
        said = get(
            "/load/ndjson",
            branch=branch,
            from_=from_,
            mode=parse_mode(mode).value,
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
                **write_headers(None, idempotency_key, dry_run=dry_run),
            },
            repeatable=True,
        )
        return answers.load_of((await self._send(request)).body)

    async def apply_schema(
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
    ) -> SchemaResult:
        """Make ``schema`` the schema of a branch: checks, rewrites and catalog in one commit."""
        answers.refuse_actor(actor)
        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        shown = await self.at(branch).planned(wanted)
        body = {
            **schema_body(wanted, branch),
            "message": message,
            "if_commit": if_commit,
            "dry_run": dry_run,
        }
        # Applying a schema is idempotent.
        answer = await self._send(post("/schema/apply", body, repeatable=if_commit is None))
        return histories.schema_result_of(answer.body, shown)

    async def diff(
        self,
        before: Target,
        after: Target,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> histories.RemoteDiff:
        """Return the difference between two targets; iterate over it, or read its ``summary``."""
        ends = {"from": target_text(before), "to": target_text(after)}
        said = {**ends, "kind": kinds, "type": types, "op": ops}
        return histories.diff_of(await self._get("/diff", **query_lists(said)))

    async def blame(
        self,
        type: str,  # noqa: A002
        id: str,  # noqa: A002
        *,
        target: Target = MAIN,
        limit: int = 1_000,
    ) -> EntityHistory:
        """List the commits that changed one entity, newest first, without discarded changes."""
        entity = (await self.at(target).catalog()).entity(type)
        # The server reports a missing type.
        kind = "node" if entity is None else entity.kind.value
        path = f"/entities{path_of(kind, type, id)}/history"
        return histories.history_of(await self._get(path, limit=limit, **target_body(target)))

    async def merge(
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
    ) -> MergeResult:
        """Merge a branch into another, entity by entity and property by property, as one commit."""
        answers.refuse_actor(actor)
        body = {
            "source": source,
            "target": into,
            "preview": preview,
            **choices_body(strategy, resolutions),
            "delete_branch": delete_branch,
            "message": message,
            "if_commit": if_commit,
        }
        return histories.merge_of(await self._post("/branches/merge", body, repeatable=preview))

    async def revert(
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
    ) -> PickResult:
        """Undo the changes of one commit on a branch; later changes are kept."""
        answers.refuse_actor(actor)
        conditions = {"preview": preview, "message": message, "if_commit": if_commit}
        body = {"branch": branch, **conditions, **choices_body(strategy, resolutions)}
        return await self._picked("/revert", WriterKind.REVERT, commit_id, body)

    async def cherry_pick(
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
    ) -> PickResult:
        """Apply the changes of one commit of another branch."""
        answers.refuse_actor(actor)
        conditions = {"preview": preview, "message": message, "if_commit": if_commit}
        body = {"branch": into, **conditions, **choices_body(strategy, resolutions)}
        return await self._picked("/cherry-pick", WriterKind.CHERRY_PICK, commit_id, body)

    async def stored_queries(self) -> list[dict[str, Any]]:
        """List the exposed stored queries with their typed parameters."""
        return list((await self._get("/queries"))["queries"])

    async def invoke_query(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        target: str = MAIN,
        if_commit: str | None = None,
        expect_mutation: bool | None = None,
    ) -> QueryResult | MutationResult:
        """Run a stored query by its name; the result is that of ``query`` or of ``mutate``."""
        body = {
            "params": encoded_params(params or {}),
            **target_body(target),
            "expect_mutation": expect_mutation,
        }
        path = f"/queries{path_of(name)}"
        headers = {} if if_commit is None else {"Omnigraph-If-Graph-Commit": if_commit}
        if if_commit is not None:
            path = f"{path}/if-graph-commit"
        answer = await self._send(
            post(path, body, headers=headers, repeatable=expect_mutation is False)
        )
        if isinstance(answer.body, dict) and "affected_nodes" in answer.body:
            return answers.mutation_of(answer.body)
        return result_of(answer)

    async def _picked(
        self, route: str, kind: WriterKind, commit_id: str | Commit, body: dict[str, Any]
    ) -> PickResult:
        """Decode the result of a revert or cherry-pick."""
        asked = {"commit": commit_id_of(commit_id), **body}
        answer = await self._send(post(route, asked, repeatable=bool(body["preview"])))
        return histories.pick_of(answer.body, kind)
