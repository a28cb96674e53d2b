"""Sessions as lines of a list: which group each belongs to, in which order, and what its second line says."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import QCoreApplication

from core.domain.exchanged import agent_of
from core.domain.sessions import SessionRow
from core.domain.steps import verb
from ui.figures import short_folder
from ui.widgets.times import day_name, midnight_of, moment, short_age, short_time

WAITING, RUNNING, PINNED, FOUND = "waiting", "running", "pinned", "found"
ARCHIVED, TRASH = "archived", "trash"
FOLDABLE = frozenset({ARCHIVED, TRASH})  # out of the way until they are opened
SHORT = 2  # digits
NAME = 20  # of a folder, where there is little room


@dataclass(frozen=True, slots=True)
class Hit:
    """A session whose text holds the words searched for, and the place where it does."""

    session_id: str
    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """The line above a group; a count is shown where it asks for attention. `opened` says so of one that folds."""

    key: str
    title: str
    count: int = 0
    opened: bool = True

    @property
    def folds(self) -> bool:
        return self.key in FOLDABLE


@dataclass(frozen=True, slots=True)
class Line:
    """One session as it is listed: `found` is what matched a search, `seq` the line of its journal that holds it."""

    row: SessionRow
    found: str = ""
    seq: int = 0


def arrange(rows: Iterable[SessionRow], now: int, opened: Collection[str] = FOLDABLE) -> list[Heading | Line]:
    """Group and order: who waits, what runs, what is pinned, then by day, newest first; what is put away last."""
    today = moment(now).date()
    groups: dict[str, list[SessionRow]] = {WAITING: [], RUNNING: [], PINNED: []}
    away: dict[str, list[SessionRow]] = {ARCHIVED: [], TRASH: []}
    day, midnight = "", now + 1
    for row in sorted(rows, key=_order, reverse=True):
        if row.parent and row.status != WAITING:  # a sub-agent is seen in its parent, unless it wants something
            continue
        if group := _group_of(row):
            (away if group in away else groups)[group].append(row)
            continue
        if not day or row.updated < midnight:  # newest first: a day is looked up once, not for each of its sessions
            when = moment(row.updated)
            day, midnight = day_name(when.date(), today), midnight_of(when)
        groups.setdefault(day, []).append(row)
    named = [*groups.items(), *away.items()]
    return [item for key, members in named if members for item in _group(key, members, opened)]


def _group_of(row: SessionRow) -> str:
    """The group that is not a day's."""
    if row.trashed:
        return TRASH
    if row.status in (WAITING, RUNNING):
        return row.status
    if row.archived:
        return ARCHIVED
    return PINNED if row.pinned else ""


def moves(before: SessionRow, after: SessionRow) -> bool:
    """Whether a change may put a session in another place of the list."""
    told = (before.title, before.folder, _group_of(before)) == (after.title, after.folder, _group_of(after))
    return not (told and before.status == after.status and _order(before) == _order(after))


def arrange_hits(rows: Sequence[SessionRow], hits: Sequence[Hit], words: str, now: int) -> list[Heading | Line]:
    """Sessions whose title or folder matches, then those whose text does."""
    matching = [row for row in rows if matches(row, words) and not row.parent]
    listed = arrange(matching, now)
    named = {row.id for row in matching}
    known = {row.id: row for row in rows}
    found = [
        Line(known[hit.session_id], hit.text, hit.seq) for hit in _first_each(hits, named) if hit.session_id in known
    ]
    if found:
        listed.append(Heading(FOUND, _tr("Found in the text"), len(found)))
        listed.extend(found)
    return listed


def matches(row: SessionRow, words: str) -> bool:
    """Every word appears in the title or the folder. A short number begins a word of the title or is one of the folder,
    for folders are full of digits."""
    title, folder = row.title.casefold(), row.folder.casefold()
    text = f"{title} {folder}"
    return all(
        any(one.startswith(word) for one in _words(title)) or word in _words(folder)
        if word.isdigit() and len(word) <= SHORT
        else word in text
        for word in words.casefold().split()
    )


def _words(text: str) -> list[str]:
    return re.split(r"[\W_]+", text)


def second_line(row: SessionRow, home: str, *, short: bool = False) -> str:
    """Where the session works and what it is doing, asking, or how it ended; `short` of the folder only its name."""
    place = row.called or short_folder(row.folder, home)
    if short and not row.called:
        place = _last_part(place)
    whose = _tr("from {}").format(agent_of(row.source)) if row.source and not row.called else ""
    origin = _tr("fork") if row.origin else ""  # it has the title and folder of the one it came from
    return " · ".join(part for part in (whose, place, origin, _doing(row)) if part)


def _last_part(place: str) -> str:
    name = PurePath(place).name
    if len(name) > NAME:
        name = f"{name[: NAME // 2]}…{name[-NAME // 3 :]}"
    return min(place, f"…/{name}", key=len)


def side_text(row: SessionRow, now: int) -> str:
    """How long it waits, what it costs so far, or when it ended."""
    if row.status == WAITING:
        return short_age(row.updated, now)
    if row.status == RUNNING:
        return f"${row.cost:.2f}" if row.cost else ""
    return short_time(row.updated, now)


def status_words(status: str) -> str:
    """A status as read aloud."""
    said = {
        "waiting": _tr("waiting for you"),
        "running": _tr("running"),
        "done": _tr("done"),
        "failed": _tr("failed"),
        "stopped": _tr("stopped"),
        "limit": _tr("limit met"),
        "interrupted": _tr("interrupted"),
        "paused": _tr("paused"),
    }
    return said.get(status, status)


def _doing(row: SessionRow) -> str:
    match row.status:
        case "waiting":
            asks = _tr("wants: {}") if row.doing_kind == "consent" else _tr("asks: {}")
            return asks.format(row.doing) if row.doing else _tr("asks you")
        case "running":
            step = _tr("step {}").format(row.steps) if row.steps else _tr("starting")
            doing = f"{verb(row.doing_kind, 'running').lower()} {row.doing}".strip() if row.doing_kind else ""
            return " · ".join(part for part in (step, doing) if part)
        case "done":
            return _steps(row.steps)
        case "failed":
            return _tr("failed: {}").format(row.doing) if row.doing else _tr("failed")
        case _:
            said = status_words(row.status)
            return _tr("{what} at step {number}").format(what=said, number=row.steps) if row.steps else said


def _steps(count: int) -> str:
    if not count:
        return _tr("not started")
    return _tr("1 step") if count == 1 else _tr("{} steps").format(f"{count:,}")


def _order(row: SessionRow) -> tuple[int, str]:
    # A running session is touched by every fact: ordered by its start, two of them do not keep changing places.
    return (row.opened if row.status == RUNNING else row.updated, row.id)


def _group(key: str, members: list[SessionRow], opened: Collection[str]) -> list[Heading | Line]:
    titles = {
        WAITING: _tr("Waiting for you"),
        RUNNING: _tr("Running"),
        PINNED: _tr("Pinned"),
        ARCHIVED: _tr("Archived"),
        TRASH: _tr("Trash"),
    }
    count = len(members) if key in titles and key != PINNED else 0
    if key == WAITING:
        count = sum(max(1, row.waiting) for row in members)  # as the status line counts: questions, not sessions
    shown = key not in FOLDABLE or key in opened
    lines = [Line(row) for row in members] if shown else []
    return [Heading(key, titles.get(key, key), count, shown), *lines]


def _first_each(hits: Sequence[Hit], without: set[str]) -> list[Hit]:
    first: dict[str, Hit] = {}
    for hit in hits:
        if hit.session_id not in without:
            first.setdefault(hit.session_id, hit)
    return list(first.values())


def _tr(text: str) -> str:
    return QCoreApplication.translate("sessions", text)
