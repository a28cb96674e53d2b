"""The items of the list of skills: their groups, texts and state labels."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.skill import READ_ONLY_SOURCES, SkillRow
from ui.style.number_formats import short_folder

PROPOSED = "proposed"
ARCHIVED = "archived"
GROUP_ORDER = ("library", "folder", "home", "package", "builtin", ARCHIVED)


@dataclass(frozen=True, slots=True)
class SkillGroupHeading:
    """The heading of a group. Only the group of archived skills can be collapsed; `is_open` is false while it is."""

    key: str
    title: str
    count: int = 0
    is_open: bool = True

    @property
    def foldable(self) -> bool:
        return self.key == ARCHIVED


@dataclass(frozen=True, slots=True)
class SkillItem:
    """A skill in the list. `unsaved` means that the skill has unsaved changes."""

    row: SkillRow
    unsaved: bool = False


@dataclass(frozen=True, slots=True)
class ProposalItem:
    """An open proposal. `action` describes the change; `source` is the title of the session it was learned from."""

    id: str
    target: str
    action: str
    source: str = ""


class StateChip(NamedTuple):
    """A small framed label beside the name of an item. `token` names its color in the theme."""

    text: str
    token: str


SkillListItem = SkillGroupHeading | SkillItem | ProposalItem


def group_skills(
    rows: Iterable[SkillRow],
    proposed: Iterable[ProposalItem],
    *,
    query: str = "",
    folder: str = "",
    unsaved: Collection[str] = (),
    archive_open: bool = False,
) -> list[SkillListItem]:
    """Filter skills and proposals by the words of `query`, group them, and sort pinned skills first.

    `archive_open` means that the group of archived skills is expanded.
    """
    items: list[SkillListItem] = []
    proposals = [proposal for proposal in proposed if _matches(query, proposal.target, proposal.source)]
    if proposals:
        items += [SkillGroupHeading(PROPOSED, _tr("Proposed"), len(proposals)), *proposals]
    groups: dict[str, list[SkillRow]] = {key: [] for key in GROUP_ORDER}
    for row in sorted(rows, key=lambda row: (not row.pinned, row.name, row.key)):
        if _matches(query, row.name, row.description):
            groups[ARCHIVED if row.state == "archived" else row.source].append(row)
    for key, members in groups.items():
        if members:
            is_open = key != ARCHIVED or archive_open or bool(query)
            count = len(members) if key == ARCHIVED else 0
            items.append(SkillGroupHeading(key, _group_title(key, folder), count=count, is_open=is_open))
            if is_open:
                items += [SkillItem(row, unsaved=row.key in unsaved) for row in members]
    return items


def second_line(row: SkillRow) -> str:
    """Return the second line of an item: where the skill is, then its usage, why it is unusable, or its description."""
    used = ""
    if row.use_count:
        used = _tr("used once") if row.use_count == 1 else _tr("used {}×").format(row.use_count)
    match row.state:
        case "untrusted":
            parts = [_location(row), _tr("not trusted yet")]
        case "changed":
            parts = [_location(row), _tr("changed since you trusted it")]
        case "broken":
            parts = [row.error or _tr("cannot be used")]
        case "shadowed":
            parts = [_tr("another skill takes precedence"), _location(row)]
        case "archived":
            parts = [_tr("archived"), used]
        case _:
            parts = [_location(row), used, "" if used and row.source not in READ_ONLY_SOURCES else row.description]
    return " · ".join(" ".join(part.split()) for part in parts if part)


def state_chip(row: SkillRow) -> StateChip | None:
    """Return the chip that shows the state of a skill; None for an enabled or archived skill."""
    chips = {
        "disabled": StateChip(_tr("disabled"), "third"),
        "untrusted": StateChip(_tr("untrusted"), "waiting"),
        "changed": StateChip(_tr("changed"), "waiting"),
        "broken": StateChip(_tr("broken"), "failed"),
        "shadowed": StateChip(_tr("shadowed"), "third"),
    }
    return chips.get(row.state)


def accessible_text(item: SkillListItem) -> str:
    """Return the text of an item for screen readers."""
    match item:
        case SkillGroupHeading():
            state = _tr("expanded") if item.is_open else _tr("collapsed")
            parts = (item.title, str(item.count or ""), state if item.foldable else "")
            return ", ".join(part for part in parts if part)
        case ProposalItem():
            return ", ".join((item.target, _tr("proposed"), item.action, item.source))
        case SkillItem():
            row = item.row
            pinned = _tr("pinned") if row.pinned else ""
            unsaved = _tr("unsaved changes") if item.unsaved else ""
            return ", ".join(filter(None, (row.name, state_label(row.state), pinned, unsaved, second_line(row))))


def state_label(state: str) -> str:
    labels = {
        "enabled": _tr("enabled"),
        "disabled": _tr("disabled"),
        "untrusted": _tr("not trusted yet"),
        "changed": _tr("changed since you trusted it"),
        "archived": _tr("archived"),
        "shadowed": _tr("another skill takes precedence"),
        "broken": _tr("broken"),
    }
    return labels.get(state, state)


def _group_title(key: str, folder: str) -> str:
    if key == "folder" and folder:
        return _tr("From this folder · {}").format(short_folder(folder, str(Path.home())))
    titles = {
        "library": _tr("Yours"),
        "folder": _tr("From this folder"),
        "home": _tr("From your home folder"),
        "package": _tr("From packages"),
        "builtin": _tr("Built in"),
        ARCHIVED: _tr("Archived"),
    }
    return titles[key]


def _location(row: SkillRow) -> str:
    """Return the end of the path to the skill, such as `.agents/skills`; "" in the library and for built-in skills."""
    if row.source not in {"folder", "home"} or not row.path:
        return ""
    parts = Path(row.path).parts
    for parent, name in pairwise(parts):
        if name == "skills":
            return f"{parent}/{name}"
    return row.path


def _matches(query: str, *texts: str) -> bool:
    """Return whether the texts together contain every word of the query."""
    text = " ".join(texts).casefold()
    return all(word in text for word in query.casefold().split())


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
