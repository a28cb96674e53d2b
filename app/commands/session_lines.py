"""The lines in which `sessions` prints sessions. It imports little, so that they are printed at once."""

from datetime import datetime

TYPE_CHECKING = False  # importing typing takes noticeable time
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.domain.sessions import SessionRow

EMPTY_TEXTS = {
    "": "No sessions.",
    "all": "No sessions.",
    "archived": "No archived sessions.",
    "trash": "The trash is empty.",
}


def list_lines(rows: "Iterable[SessionRow]", which: str) -> "Iterator[str]":
    """Yield a line for each session of the list `which`: when it was updated, its status and its title."""
    listed = [row for row in rows if is_listed(row, which)]
    for row in listed:
        when = datetime.fromtimestamp(row.updated_at / 1e6).astimezone().strftime("%Y-%m-%d %H:%M")
        pinned = "* " if row.pinned else ""
        yield f"{row.id}  {when}  {row.status:11}  {pinned}{_title(row)}"
    if not listed:
        yield EMPTY_TEXTS[which]


def is_listed(row: "SessionRow", which: str) -> bool:
    """Return whether a session is in the list `which`; archived and trashed sessions are listed only on request."""
    if which == "trash":
        return row.trashed > 0
    if row.trashed:
        return False
    return which == "all" or (row.archived > 0) == (which == "archived")


def _title(row: "SessionRow") -> str:
    """Return the title of a session. That of a sub-agent is indented, with the agent's name in front."""
    return f"{'  ' * row.depth}↳ {row.subagent}: {row.title}" if row.parent else row.title
