"""Versioned core: the table versions of each commit, and the commits of each branch.

In reading order: ``names`` and ``layout`` define names and paths; ``stamp`` guards the format;
``manifest`` is one graph commit, ``manifest_store`` the numbered manifests of branches; ``refs``
are branches and tags on disk; ``root`` bundles an open graph; ``heads`` finds the newest commit of
a branch, ``damage`` and ``head_check`` decide about a damaged or missing one; ``chain`` walks back
from a head; ``invariants`` and ``publish`` make a commit visible; ``table_creation``, ``branches``
and ``tags`` build on it; ``texts`` validates actors and messages;
``ancestry`` orders commits, ``branch_line`` finds one by position or time, and ``lineage`` by id or
parents; ``targets`` resolves a target to a commit, and ``snapshot`` opens it. ``format_1`` and
``format_2`` read earlier formats, ``migrations`` raise them, and ``upgraded_view`` shows them to
readers.
"""
