"""The events that organize sessions in the list; they are not part of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionMetadataEvent:
    """Base of events that do not count as activity, so that the session keeps its position in the list."""


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
MIN_SENTENCE = 12  # characters; a shorter first sentence is not used alone as a title
SENTENCE_ENDS = (". ", "? ", "! ", "; ")


def initial_title(task: str) -> str:
    """Return the initial title of a session: the first sentence of its task, shortened for a list."""
    first_line = next((part for part in map(str.strip, task[:4000].splitlines()) if part.strip("#*->` ")), "")
    title = " ".join(first_line.lstrip("#*->` ").split())
    if len(title) <= TITLE_LIMIT:
        return title
    for ending in SENTENCE_ENDS:
        if MIN_SENTENCE <= (position := title.find(ending)) < TITLE_LIMIT:
            return title[:position]
    return title[: TITLE_LIMIT - 1].rsplit(" ", 1)[0].rstrip(",.:;–-") + "…"
