"""The events that organize sessions in the list; they are not part of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionMetadataEvent:
    """Base of the events that leave a session's activity time, and so its place in the list, unchanged."""


@dataclass(frozen=True, slots=True)
class SessionRenamed(SessionMetadataEvent):
    """The user changed the title of the session."""

    title: str


@dataclass(frozen=True, slots=True)
class SessionPinned(SessionMetadataEvent):
    """The user pinned the session to the top of the list, or unpinned it."""

    pinned: bool


@dataclass(frozen=True, slots=True)
class SessionArchived(SessionMetadataEvent):
    """The user archived the session, which hides it from the list, or restored it."""

    archived: bool


@dataclass(frozen=True, slots=True)
class SessionTrashed(SessionMetadataEvent):
    """The user moved the session to the trash, or restored it."""

    trashed: bool


TITLE_LIMIT = 80
SENTENCE_ENDS = (". ", "? ", "! ", "; ")


def initial_title(task: str) -> str:
    """Return the initial title of a session: the first sentence of its task, shortened for a list."""
    first = next((part for part in map(str.strip, task[:4000].splitlines()) if part.strip("#*->` ")), "")
    words = " ".join(first.lstrip("#*->` ").split())
    if len(words) <= TITLE_LIMIT:
        return words
    for end in SENTENCE_ENDS:
        if 12 <= (place := words.find(end)) < TITLE_LIMIT:
            return words[:place]
    return words[: TITLE_LIMIT - 1].rsplit(" ", 1)[0].rstrip(",.:;–-") + "…"
