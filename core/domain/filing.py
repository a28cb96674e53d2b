"""What a person does with a session as a thing in a list: facts that are no part of any run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filing:
    """Any of them."""


@dataclass(frozen=True, slots=True)
class SessionRenamed(Filing):
    title: str


@dataclass(frozen=True, slots=True)
class SessionPinned(Filing):
    pinned: bool


@dataclass(frozen=True, slots=True)
class SessionArchived(Filing):
    archived: bool


@dataclass(frozen=True, slots=True)
class SessionTrashed(Filing):
    trashed: bool


TITLE = 80
ENDS = (". ", "? ", "! ", "; ")


def title_of(task: str) -> str:
    """What a session is called until a person names it: the first thing the task says, short enough for a list."""
    first = next((part for part in map(str.strip, task[:4000].splitlines()) if part.strip("#*->` ")), "")
    words = " ".join(first.lstrip("#*->` ").split())
    if len(words) <= TITLE:
        return words
    for end in ENDS:
        if 12 <= (place := words.find(end)) < TITLE:
            return words[:place]
    return words[: TITLE - 1].rsplit(" ", 1)[0].rstrip(",.:;–-") + "…"
