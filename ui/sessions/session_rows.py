"""Groups and sorts the sessions in the list, and builds their texts."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.import_events import source_program
from core.domain.search_query import matches_filters, parse_query
from core.domain.sessions import FAILED_REQUEST, SessionRow, needs_decision
from core.domain.steps import verb
from core.store.search import match_pattern
from ui.base.pausing import PAUSING, displayed_status
from ui.style.icons import status_icon
from ui.style.number_formats import short_folder
from ui.widgets.text_parts import TextPart
from ui.widgets.time_formats import day_heading, short_age, short_time, start_of_day, to_local_time

WAITING, RUNNING, PINNED, FOUND = "waiting", "running", "pinned", "found"
ARCHIVED, TRASH = "archived", "trash"
COLLAPSIBLE = frozenset({ARCHIVED, TRASH})  # groups that are collapsed until the user expands them
SHORT_NUMBER_DIGITS = 2
MAX_FOLDER_NAME_CHARS = 20  # characters of the folder name in `second_line` if `short` is true


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A match of a full-text search: the session, the matching text, and the sequence number of the event."""

    session_id: str
    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class SessionHeading:
    """The heading of a group. A `count` of 0 is not shown; `expanded` matters only for groups that can be collapsed."""

    key: str
    title: str
    count: int = 0
    expanded: bool = True

    @property
    def collapsible(self) -> bool:
        return self.key in COLLAPSIBLE


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session in the list. For a match of a full-text search, it has the excerpt, its event and the query.

    `seq` is the sequence number of the event.
    """

    row: SessionRow
    match: str = ""
    seq: int = 0
    query: str = ""


@dataclass(frozen=True, slots=True)
class PageItem:
    """A memory or skill that was found: its page and its ID there, its title, an excerpt, and the query."""

    page: str
    target: str
    title: str
    match: str
    query: str


class SecondLine(NamedTuple):
    """Where a session works and comes from, and what it is doing or asking, or how it ended."""

    place: str
    activity: str


ListItem = SessionHeading | SessionLine | PageItem


def session_icon(row: SessionRow) -> str:
    """Return the name of a session's icon: that of its status, or a shield if a permission request is waiting."""
    needs_permission = row.status == "waiting" and row.activity_kind == "permission"
    return "shield-question-mark" if needs_permission else status_icon(displayed_status(row))


def group_sessions(rows: Iterable[SessionRow], now: int, expanded: Collection[str] = COLLAPSIBLE) -> list[ListItem]:
    """Group sessions in this order: waiting, running, pinned, one group per day (newest first), archived, trash."""
    today = to_local_time(now).date()
    groups: dict[str, list[SessionRow]] = {WAITING: [], RUNNING: [], PINNED: []}
    collapsed_groups: dict[str, list[SessionRow]] = {ARCHIVED: [], TRASH: []}
    day, midnight = "", now + 1
    for row in sorted(rows, key=_sort_key, reverse=True):
        # A sub-agent is shown only within its parent session, unless it waits for the user.
        if row.parent and row.status != WAITING:
            continue
        if group := _group_of(row):
            (collapsed_groups if group in collapsed_groups else groups)[group].append(row)
            continue
        # The sessions are sorted, so the name of each day is computed only once.
        if not day or row.updated_at < midnight:
            updated = to_local_time(row.updated_at)
            day, midnight = day_heading(updated.date(), today), start_of_day(updated)
        groups.setdefault(day, []).append(row)
    all_groups = [*groups.items(), *collapsed_groups.items()]
    return [item for key, members in all_groups if members for item in _group(key, members, expanded)]


def _group_of(row: SessionRow) -> str:
    """Return the group of a session; "" if it belongs to the group of a day."""
    if row.trashed:
        return TRASH
    if row.status in (WAITING, RUNNING):
        return row.status
    if needs_decision(row):
        return WAITING
    if row.archived:
        return ARCHIVED
    return PINNED if row.pinned else ""


def changes_position(before: SessionRow, after: SessionRow) -> bool:
    """Return whether the change of a session from `before` to `after` may move it in the list."""

    def position(row: SessionRow) -> tuple[object, ...]:
        return row.title, row.folder, row.status, _group_of(row), _sort_key(row)

    return position(before) != position(after)


def group_hits(
    rows: Sequence[SessionRow], hits: Sequence[SessionHit], query: str, now: int, page_items: Sequence[PageItem] = ()
) -> list[ListItem]:
    """Return the results of a search: sessions with a matching title or folder, full-text matches, memories and skills.

    Sessions and matches must also fit the filters in the query. Memories and skills are grouped by their page.
    """
    parsed, today = parse_query(query), to_local_time(now).date()
    fitting = [row for row in rows if matches_filters(parsed, row, today)]
    # A filter for a kind of step asks for steps, so sessions with a matching title are not listed.
    matching = [row for row in fitting if matches(row, parsed.words) and not row.parent and not parsed.step_kinds]
    items = group_sessions(matching, now)
    matching_ids = {row.id for row in matching}
    rows_by_id = {row.id: row for row in fitting}
    found_lines = [
        SessionLine(rows_by_id[hit.session_id], match=hit.text, seq=hit.seq, query=parsed.words)
        for hit in _first_per_session(hits, matching_ids)
        if hit.session_id in rows_by_id
    ]
    if found_lines:
        title = _tr("Found in the text") if parsed.words else _tr("Found steps")
        items += [SessionHeading(FOUND, title, len(found_lines)), *found_lines]
    for page, title in (("memory", _tr("Memories")), ("skills", _tr("Skills"))):
        if found := [item for item in page_items if item.page == page]:
            items += [SessionHeading(page, title, len(found)), *found]
    return items


def split_by_query(text: str, query: str) -> list[TextPart]:
    """Split an excerpt into the parts that match the query and those that do not."""
    parts: list[TextPart] = []
    end = 0
    for match in match_pattern(query).finditer(text) if query else ():
        if match.group():
            parts += [TextPart(text[end : match.start()], False), TextPart(match.group(), True)]
            end = match.end()
    parts.append(TextPart(text[end:], False))
    return [part for part in parts if part.text]


def matches(row: SessionRow, query: str) -> bool:
    """Return whether each word of the query occurs in the title, the folder or the error of a session.

    A number of one or two digits must begin a word of the title or be a whole word of the folder, because paths contain
    many digits.
    """
    title, folder = row.title.casefold(), row.folder.casefold()
    error = row.activity.casefold() if row.status in {"failed", "paused", "interrupted"} else ""
    text = f"{title} {folder} {error}"

    def occurs(word: str) -> bool:
        if word.isdigit() and len(word) <= SHORT_NUMBER_DIGITS:
            return any(title_word.startswith(word) for title_word in _words(title)) or word in _words(folder)
        return word in text

    return all(map(occurs, query.casefold().split()))


def _words(text: str) -> list[str]:
    return re.split(r"[\W_]+", text)


def second_line(row: SessionRow, home: str, *, short: bool = False) -> str:
    """Return the second line of a session: its folder, and what it is doing or asking, or how it ended."""
    return " · ".join(filter(None, second_line_parts(row, home, short=short)))


def second_line_parts(row: SessionRow, home: str, *, short: bool = False) -> SecondLine:
    """Return the parts of the second line. `short` shortens the name of the folder."""
    folder_text = row.subagent or short_folder(row.folder, home)
    if short and not row.subagent:
        folder_text = _folder_name(folder_text)
    source = _tr("from {}").format(source_program(row.imported_from)) if row.imported_from and not row.subagent else ""
    # Distinguishes a fork from its origin, which has the same title and folder.
    origin = _tr("fork") if row.forked_from else ""
    return SecondLine(" · ".join(filter(None, (source, folder_text, origin))), _activity(row))


def _folder_name(path: str) -> str:
    name = PurePath(path).name
    if len(name) > MAX_FOLDER_NAME_CHARS:
        name = f"{name[: MAX_FOLDER_NAME_CHARS // 2]}…{name[-MAX_FOLDER_NAME_CHARS // 3 :]}"
    return min(path, f"…/{name}", key=len)


def side_text(row: SessionRow, now: int) -> str:
    """Return the text at the right of a session: how long it has waited, its cost so far, or when it ended."""
    if row.status == WAITING:
        return short_age(row.updated_at, now)
    if row.status == RUNNING:
        return f"${row.cost:.2f}" if row.cost else ""
    return short_time(row.updated_at, now)


def status_text(status: str) -> str:
    """Return a status as text for screen readers."""
    texts = {
        "waiting": _tr("waiting for you"),
        "running": _tr("running"),
        PAUSING: _tr("pausing"),
        "done": _tr("done"),
        "failed": _tr("failed"),
        "stopped": _tr("stopped"),
        "limit": _tr("limit reached"),
        "interrupted": _tr("interrupted"),
        "paused": _tr("paused"),
    }
    return texts.get(status, status)


def _activity(row: SessionRow) -> str:
    match row.status:
        case "waiting":
            template = _tr("needs approval: {}") if row.activity_kind == "permission" else _tr("asks: {}")
            return template.format(row.activity) if row.activity else _tr("asks you")
        case "running" if row.activity_kind == PAUSING:
            return _tr("pausing after this turn")
        case "running":
            step = _tr("step {}").format(row.steps) if row.steps else _tr("starting")
            doing = f"{verb(row.activity_kind, 'running').lower()} {row.activity}".strip() if row.activity_kind else ""
            return " · ".join(part for part in (step, doing) if part)
        case "done":
            return _steps(row.steps)
        case "failed":
            return _tr("failed: {}").format(row.activity) if row.activity else _tr("failed")
        case "paused" if row.activity_kind == FAILED_REQUEST:
            return _tr("request failed: {}").format(row.activity)
        case _:
            status = status_text(row.status)
            return _tr("{what} at step {number}").format(what=status, number=row.steps) if row.steps else status


def _steps(count: int) -> str:
    if not count:
        return _tr("not started")
    return _tr("1 step") if count == 1 else _tr("{} steps").format(f"{count:,}")


def _sort_key(row: SessionRow) -> tuple[int, str]:
    # Sorted by start: if sorted by the last event, running sessions would swap places all the time.
    return (row.created_at if row.status == RUNNING else row.updated_at, row.id)


def _group(key: str, members: list[SessionRow], expanded_keys: Collection[str]) -> list[ListItem]:
    titles = {
        WAITING: _tr("Waiting for you"),
        RUNNING: _tr("Running"),
        PINNED: _tr("Pinned"),
        ARCHIVED: _tr("Archived"),
        TRASH: _tr("Trash"),
    }
    count = len(members) if key in titles and key != PINNED else 0
    expanded = key not in COLLAPSIBLE or key in expanded_keys
    lines = [SessionLine(row) for row in members] if expanded else []
    return [SessionHeading(key, titles.get(key, key), count, expanded), *lines]


def _first_per_session(hits: Sequence[SessionHit], without: set[str]) -> list[SessionHit]:
    first: dict[str, SessionHit] = {}
    for hit in hits:
        if hit.session_id not in without:
            first.setdefault(hit.session_id, hit)
    return list(first.values())


def _tr(text: str) -> str:
    return QCoreApplication.translate("sessions", text)
