"""Tags: names for commits that never move and that cleanup respects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.names import parse_tag_name
from omnigraph.api.refs import TagRef
from omnigraph.errors import AlreadyExists, NotFound
from omnigraph.runtime.faults import reach
from omnigraph.versioning.refs import new_nonce
from omnigraph.versioning.texts import require_actor

if TYPE_CHECKING:
    from omnigraph.versioning.manifest import Manifest
    from omnigraph.versioning.root import GraphRoot

__all__ = ["create_tag", "delete_tag", "require_tag"]


def create_tag(
    root: GraphRoot, name: str, manifest: Manifest, *, actor: str | None = None
) -> TagRef:
    """Name a commit. The name must be free, among branches too: a target is one or the other."""
    root.require_writable()
    parse_tag_name(name)
    require_actor(actor)
    _require_no_branch(root, name)
    root.require_in_place()
    root.store.make_durable(manifest.incarnation, manifest.version)
    tag = TagRef(
        name=name,
        commit=manifest.commit.id,
        incarnation=manifest.incarnation,
        version=manifest.version,
        created_at_micros=root.clock.now_micros(),
        actor=actor,
        nonce=new_nonce(),
    )
    if not root.refs.add_tag(tag):
        raise AlreadyExists(
            "tag.exists",
            f"tag {name!r} exists already",
            remedy="tags never move: delete it first, or choose another name",
        )
    reach("tag.written")
    try:
        # Whoever of two creators looks last sees both: a target is a branch or a tag.
        _require_no_branch(root, name)
    except AlreadyExists:
        root.refs.remove_tag(name)
        raise
    return tag


def _require_no_branch(root: GraphRoot, name: str) -> None:
    branch = root.refs.branch(name)
    if branch is not None and branch.open:
        raise AlreadyExists("branch.exists", f"{name!r} is the name of a branch already")


def delete_tag(root: GraphRoot, name: str) -> None:
    root.require_writable()
    require_tag(root, name)
    root.refs.remove_tag(name)


def require_tag(root: GraphRoot, name: str) -> TagRef:
    tag = root.refs.tag(parse_tag_name(name))
    if tag is None:
        raise NotFound(
            "tag.missing", f"there is no tag {name!r}", remedy="see `omnigraph tag list`"
        )
    return tag
