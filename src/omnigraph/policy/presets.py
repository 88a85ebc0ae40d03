"""Built-in bundles, such as ``preset:team``."""

from __future__ import annotations

from omnigraph.errors import InvalidInput

__all__ = ["PRESETS", "PRESET_PREFIX", "preset_text"]

PRESET_PREFIX = "preset:"

_READ_ONLY = """\
# Every named actor may read; no actor may change anything.
version: 1
rules:
  - id: everyone-reads
    allow:
      actors: {group: everyone}
      actions: [read]
"""

_TEAM = """\
# A small team: every named actor may work on every branch. Only administrators may delete protected
# branches and run maintenance. `default` is the actor of a server with a single token.
version: 1
groups:
  administrators: [admin, default]
protected_branches: [main]
rules:
  - id: everyone-works
    allow:
      actors: {group: everyone}
      actions: [read, export, change, invoke_query, branch_create, branch_merge, schema_apply]
  - id: everyone-deletes-unprotected
    allow:
      actors: {group: everyone}
      actions: [branch_delete]
      target_branch_scope: unprotected
  - id: administrators-keep-up
    allow:
      actors: {group: administrators}
      actions: [admin, branch_delete]
"""

_REVIEW = """\
# Work on branches, merge by review: every named actor may read everything and change unprotected
# branches; only maintainers may merge into `main` and `release/*`.
version: 1
groups:
  maintainers: [admin, default, maintainer]
protected_branches: [main, "release/*"]
rules:
  - id: everyone-reads
    allow:
      actors: {group: everyone}
      actions: [read, export, invoke_query]
  - id: everyone-changes-unprotected
    allow:
      actors: {group: everyone}
      actions: [change]
      branch_scope: unprotected
  - id: everyone-branches-unprotected
    allow:
      actors: {group: everyone}
      actions: [branch_create, branch_merge, branch_delete, schema_apply]
      target_branch_scope: unprotected
  - id: maintainers-merge
    allow:
      actors: {group: maintainers}
      actions: [branch_create, branch_merge, branch_delete, schema_apply, admin]
"""

PRESETS = {"read-only": _READ_ONLY, "review": _REVIEW, "team": _TEAM}


def preset_text(name: str) -> str:
    """Return the text of a preset by name, with or without ``preset:``."""
    found = PRESETS.get(name.removeprefix(PRESET_PREFIX))
    if found is None:
        raise InvalidInput(
            "policy.unknown_preset",
            f"preset {name!r} does not exist",
            remedy=f"one of: {', '.join(PRESET_PREFIX + each for each in sorted(PRESETS))}",
        )
    return found
