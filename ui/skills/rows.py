"""Skills as lines of a list: which group each belongs to, what its second line says, and how its state is shown."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from core.domain.skill import SkillRow
from ui.figures import short_folder

PROPOSED, ARCHIVED = "proposed", "archived"
ORDER = ("library", "folder", "home", "builtin", ARCHIVED)


@dataclass(frozen=True, slots=True)
class Heading:
    """The line above a group; `opened` says so of the one that folds."""

    key: str
    title: str
    count: int = 0
    opened: bool = True

    @property
    def folds(self) -> bool:
        return self.key == ARCHIVED


@dataclass(frozen=True, slots=True)
class Line:
    """One skill as it is listed; `unsaved` has text that is not saved."""

    row: SkillRow
    unsaved: bool = False


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change that waits for a word."""

    id: str
    target: str
    what: str
    about: str = ""


Item = Heading | Line | Proposed


def arrange(
    rows: Iterable[SkillRow],
    proposed: Iterable[Proposed],
    *,
    words: str = "",
    folder: str = "",
    unsaved: Collection[str] = (),
    opened: bool = False,
) -> list[Item]:
    """Group and order: what waits for a word, then one's own, those of the folder, of the home, built in, put away."""
    found: list[Item] = []
    waiting = [each for each in proposed if _holds(words, each.target, each.about)]
    if waiting:
        found += [Heading(PROPOSED, _tr("Proposed"), len(waiting)), *waiting]
    groups: dict[str, list[SkillRow]] = {key: [] for key in ORDER}
    for row in sorted(rows, key=lambda row: (not row.pinned, row.name, row.key)):
        if _holds(words, row.name, row.description):
            groups[ARCHIVED if row.state == "archived" else row.source].append(row)
    for key, members in groups.items():
        if members:
            shown = key != ARCHIVED or opened or bool(words)
            found.append(Heading(key, _title(key, folder), len(members) if key == ARCHIVED else 0, shown))
            found += [Line(row, row.key in unsaved) for row in members if shown]
    return found


def second_line(row: SkillRow) -> str:
    """Where it stands and what of it matters: use, trust, or what it is for."""
    used = _tr("used once") if row.uses == 1 else _tr("used {}×").format(row.uses) if row.uses else ""
    match row.state:
        case "untrusted":
            said = [_place(row), _tr("not trusted yet")]
        case "changed":
            said = [_place(row), _tr("changed since it was trusted")]
        case "broken":
            said = [row.trouble or _tr("cannot be used")]
        case "shadowed":
            said = [_tr("another one goes before it"), _place(row)]
        case "archived":
            said = [_tr("put away"), used]
        case _:
            said = [_place(row), used, "" if used and row.source != "builtin" else row.description]
    return " · ".join(" ".join(part.split()) for part in said if part)


def chip(row: SkillRow) -> tuple[str, str]:
    """A word at the right of the first line, and the token of its colour; none for a skill that is simply on."""
    words = {
        "off": (_tr("off"), "third"),
        "untrusted": (_tr("off"), "waiting"),
        "changed": (_tr("changed"), "waiting"),
        "broken": (_tr("broken"), "failed"),
        "shadowed": (_tr("hidden"), "third"),
    }
    return words.get(row.state, ("", ""))


def spoken(item: Item) -> str:
    """A line as it is read aloud."""
    match item:
        case Heading():
            state = (_tr("open") if item.opened else _tr("closed")) if item.folds else ""
            return ", ".join(part for part in (item.title, str(item.count or ""), state) if part)
        case Proposed():
            return ", ".join((item.target, _tr("proposed"), item.what, item.about))
        case Line():
            row = item.row
            said = [row.name, state_words(row.state), _tr("pinned") if row.pinned else ""]
            said += [_tr("not saved") if item.unsaved else "", second_line(row)]
            return ", ".join(part for part in said if part)


def state_words(state: str) -> str:
    """A state in words."""
    said = {
        "on": _tr("on"),
        "off": _tr("off"),
        "untrusted": _tr("not trusted yet"),
        "changed": _tr("changed since it was trusted"),
        "archived": _tr("put away"),
        "shadowed": _tr("another one goes before it"),
        "broken": _tr("broken"),
    }
    return said.get(state, state)


def _title(key: str, folder: str) -> str:
    if key == "folder" and folder:
        return _tr("From this folder · {}").format(short_folder(folder, str(Path.home())))
    titles = {
        "library": _tr("Yours"),
        "folder": _tr("From this folder"),
        "home": _tr("From your home"),
        "builtin": _tr("Built in"),
        ARCHIVED: _tr("Archived"),
    }
    return titles[key]


def _place(row: SkillRow) -> str:
    """`.agents/skills`: the end of where it lies."""
    if row.source not in {"folder", "home"} or not row.place:
        return ""
    parts = Path(row.place).parts
    return next(("/".join(parts[at : at + 2]) for at in range(len(parts) - 1) if parts[at + 1] == "skills"), row.place)


def _holds(words: str, *texts: str) -> bool:
    text = " ".join(texts).casefold()
    return all(word in text for word in words.casefold().split())


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
