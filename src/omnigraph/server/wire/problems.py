"""The body of unsuccessful responses."""

from __future__ import annotations

from typing import Any, Literal

from omnigraph.server.wire.base import EntityKind, WireOutput

__all__ = [
    "BlobRange",
    "ChangeFeedGap",
    "ErrorOutput",
    "KeyConflictOutput",
    "ManifestConflict",
    "OutcomeUnknownOutput",
    "PreconditionFailure",
    "PublishedDatasetVersionConflict",
    "ReadSetConflict",
    "ResourceLimit",
]


class ManifestConflict(WireOutput):
    """Another commit changed a table that the write depends on. `table_key` is `node:Person` or
    `edge:Knows`; the versions are those of the snapshot's `published_dataset_version`."""

    table_key: str
    expected: int
    actual: int


class PublishedDatasetVersionConflict(WireOutput):
    """The manifest conflict, in the form that released clients expect."""

    entity_kind: EntityKind
    type_name: str
    expected_published_dataset_version: int
    actual_published_dataset_version: int


class ReadSetConflict(WireOutput):
    """The read set of the write has changed."""

    member: str
    expected: str | None = None
    actual: str | None = None


class KeyConflictOutput(WireOutput):
    """A strict insert of an id that exists."""

    entity_kind: EntityKind | None = None
    type_name: str | None = None
    entity_id: str | None = None


class ResourceLimit(WireOutput):
    """A limit, and the size that would exceed it."""

    name: str
    limit: float | None = None
    actual: float | None = None


class PreconditionFailure(WireOutput):
    """The branch is not at the commit of the precondition."""

    expected: str | None = None
    actual: str | None = None


class ChangeFeedGap(WireOutput):
    """Cleanup has removed history that the feed needs."""

    first_unreadable_commit_id: str
    cursor: str | None = None


class OutcomeUnknownOutput(WireOutput):
    """The commit may have been published: look it up before repeating the request."""

    graph_commit_id: str | None = None


class BlobRange(WireOutput):
    """The size of the blob, which the range exceeds."""

    size: int


class ErrorOutput(WireOutput):
    """An error. `code` is coarse and closed; `reason` is fine and stable."""

    error: str
    reason: str
    request_id: str
    code: (
        Literal[
            "unauthorized",
            "forbidden",
            "bad_request",
            "not_found",
            "method_not_allowed",
            "conflict",
            "too_many_requests",
            "internal",
        ]
        | None
    ) = None
    remedy: str | None = None
    details: dict[str, Any] | None = None
    merge_conflicts: list[dict[str, Any]] | None = None
    manifest_conflict: ManifestConflict | None = None
    published_dataset_version_conflict: PublishedDatasetVersionConflict | None = None
    read_set_conflict: ReadSetConflict | None = None
    key_conflict: KeyConflictOutput | None = None
    resource_limit: ResourceLimit | None = None
    precondition_failure: PreconditionFailure | None = None
    change_feed_gap: ChangeFeedGap | None = None
    outcome_unknown: OutcomeUnknownOutput | None = None
    blob_range: BlobRange | None = None
