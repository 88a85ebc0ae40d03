"""Payloads of the ledger: schemas, queries and policies as content-addressed objects."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.resources import digest_of, kind_of
from omnigraph.errors import GraphError, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.ports.objects import ObjectStore

__all__ = ["Catalogue", "PayloadState"]

_SUFFIXES = {"query": "gq", "policy": "yaml", "schema": "pg"}


class PayloadState(StrEnum):
    """The result of comparing a payload with its digest."""

    WHOLE = "whole"
    MISSING = "catalog_payload_missing"
    MISMATCH = "catalog_payload_mismatch"
    UNREADABLE = "catalog_payload_read_error"


class Catalogue:
    """The payloads of one cluster root."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def publish(self, address: str, digest: str, body: bytes) -> None:
        """Write a payload, unless it exists; a payload with other content is replaced."""
        key = _payload_key(address, digest)
        if not self._objects.put_if_absent(key, body):
            self._objects.put(key, body)

    def read(self, address: str, digest: str) -> bytes | None:
        """Return a payload; None if it is missing or does not match its digest."""
        try:
            body = self._objects.get(_payload_key(address, digest))
        except NotFound:
            return None
        return body if digest_of(body) == digest else None

    def check(self, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, PayloadState]:
        """Compare all payloads of a ledger with their digests."""
        return {
            address: self._state(address, str(entry["digest"]))
            for address, entry in sorted(entries.items())
            if kind_of(address) in _SUFFIXES
        }

    def _state(self, address: str, digest: str) -> PayloadState:
        try:
            body = self._objects.get(_payload_key(address, digest))
        except NotFound:
            return PayloadState.MISSING
        except GraphError:
            return PayloadState.UNREADABLE
        return PayloadState.WHOLE if digest_of(body) == digest else PayloadState.MISMATCH


def _payload_key(address: str, digest: str) -> str:
    kind = kind_of(address)
    path = address.replace(".", "/")
    return f"__cluster/resources/{path}/{digest}.{_SUFFIXES[kind]}"
