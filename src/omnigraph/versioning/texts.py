"""Actor and message of a commit. It is kept for ever, so it is checked."""

from __future__ import annotations

from omnigraph.errors import InvalidInput

__all__ = ["require_actor", "require_message"]

# Both lie in every copy of the manifest and in the lineage, which is read as a whole.
_ACTOR_LENGTH_MAX = 255
_MESSAGE_LENGTH_MAX = 65_536


def require_actor(actor: object) -> None:
    problem = _problem_with(actor, _ACTOR_LENGTH_MAX)
    if problem is not None:
        raise InvalidInput(
            "commit.bad_actor",
            f"the actor of a commit {problem}",
            remedy=f"give a text of at most {_ACTOR_LENGTH_MAX} characters, or none",
        )


def require_message(message: object) -> None:
    problem = _problem_with(message, _MESSAGE_LENGTH_MAX)
    if problem is not None:
        raise InvalidInput(
            "commit.bad_message",
            f"the message of a commit {problem}",
            remedy=f"give a text of at most {_MESSAGE_LENGTH_MAX} characters, or none",
        )


def _problem_with(text: object, length_max: int) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return f"is a text, not {type(text).__name__}"
    if len(text) > length_max:
        return f"has {len(text)} characters; {length_max} are allowed"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate), which no file can keep"
    return None
