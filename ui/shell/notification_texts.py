"""The title and text of desktop notifications."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from core.domain.sessions import SessionRow
from ui.ask.full_text import one_line
from ui.ask.inbox import WaitingRequest, summarize
from ui.text.plain_text import markdown_to_plain_text

MAX_TEXT: Final = 160
MAX_TITLE: Final = 40  # characters of the title of a session, where several are named
MAX_NAMED: Final = 3
# Title by status of the run; any other status means that it failed.
OUTCOMES: Final = {"done": "Finished", "limit": "Limit reached"}


class NotificationText(NamedTuple):
    title: str
    text: str


def notification_text(new: Sequence[WaitingRequest]) -> NotificationText:
    """Return the text of a notification about new requests: that of a single one, or the number of several."""
    if len(new) == 1:
        waiting = new[0]
        title = _shorten(waiting.row.title) or "Journeyman"
        return NotificationText(title, _shorten(summarize(waiting.request).bar_text))
    session_titles = list(dict.fromkeys(_shorten(waiting.row.title, MAX_TITLE) for waiting in new))
    named = ", ".join(session_titles[:MAX_NAMED])
    unnamed_count = len(session_titles) - MAX_NAMED
    text = f"{named} +{unnamed_count}" if unnamed_count > 0 else named
    return NotificationText(f"Journeyman ({len(new)})", _shorten(text))


def ended_text(rows: Sequence[SessionRow], last_reply: str = "") -> NotificationText:
    """Return the text of the notification that runs have ended.

    `last_reply` belongs to the last of `rows`.
    """
    if len(rows) == 1:
        row = rows[0]
        detail = markdown_to_plain_text(last_reply) if row.status == "done" else row.activity
        outcome = OUTCOMES.get(row.status, "Failed")
        text = f"{outcome}: {detail}" if detail else outcome
        return NotificationText(_shorten(row.title) or "Journeyman", _shorten(text))
    failed = sum(row.status not in OUTCOMES for row in rows)
    finished = len(rows) - failed
    counts = []
    if finished:
        counts.append(f"{finished} finished")
    if failed:
        counts.append(f"{failed} failed")
    titles = ", ".join(dict.fromkeys(_shorten(row.title, MAX_TITLE) for row in rows[:MAX_NAMED]))
    return NotificationText(f"Journeyman: {', '.join(counts)}", _shorten(titles))


def _shorten(text: str, max_length: int = MAX_TEXT) -> str:
    """Return the text shortened to one line, without characters that a desktop could treat as markup."""
    line = " ".join(one_line(text).split()).replace("<", "‹").replace(">", "›")
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"
