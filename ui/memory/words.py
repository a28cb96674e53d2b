"""How memories and proposals are put into words: kinds, places, authors, what became of them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QCoreApplication

from core.domain.memory import KINDS, Author, Change, Kind, Memory
from core.domain.proposal import Proposal
from ui.visible import visible

KIND_INKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "preference": "accent",
        "heuristic": "thinking",
        "knowledge": "network",
        "outcome": "done",
        "anti-pattern": "failed",
    }
)
LINE: Final = 33  # letters that fit beside the list
TitleOf = Callable[[str], str]


def tr(text: str) -> str:
    return QCoreApplication.translate("memory", text)


def kind_words(kind: Kind) -> str:
    return {
        "preference": tr("preference"),
        "heuristic": tr("heuristic"),
        "knowledge": tr("knowledge"),
        "outcome": tr("outcome"),
        "anti-pattern": tr("anti-pattern"),
    }[kind]


def kind_told(kind: Kind) -> str:
    """What this kind is for, for somebody who chooses one."""
    return {
        "preference": tr("How you like things."),
        "heuristic": tr("What to do in a certain case."),
        "knowledge": tr("How things are."),
        "outcome": tr("What was tried, and how it went."),
        "anti-pattern": tr("What not to do, and what instead."),
    }[kind]


def part_words(name: str) -> str:
    """The name of a field."""
    return {
        "about": tr("About"), "when": tr("When"), "do": tr("Do"), "source": tr("Source"), "task": tr("Task"),
        "tried": tr("Tried"), "tools": tr("Tools"), "status": tr("Ended"), "verdict": tr("Verdict"),
        "error": tr("Error"), "seconds": tr("Seconds"), "what": tr("Do not"), "why": tr("Because"),
        "instead": tr("Instead"),
    }.get(name, name)  # fmt: skip


def folder_words(folder: str) -> str:
    """A folder as it is shown, with ~ for home."""
    home = str(Path.home())
    return visible("~" + folder.removeprefix(home) if folder == home or folder.startswith(f"{home}/") else folder)


def reach_words(memory: Memory, title_of: TitleOf) -> str:
    """For whom it is."""
    place = memory.said.place
    match memory.said.reach:
        case "everywhere":
            return tr("every folder")
        case "folder":
            return folder_words(place)
        case "agent":
            return tr("the agent {}").format(visible(place))
        case _:
            return tr("the session {}").format(visible(title_of(place) or place))


def author_words(author: Author) -> str:
    return {
        "person": tr("written by you"),
        "agent": tr("noted by the agent"),
        "review": tr("learnt by looking back"),
        "run": tr("noted at the end of a run"),
        "import": tr("imported"),
    }[author]


def source_words(memory: Memory, title_of: TitleOf) -> str:
    """Where it comes from, on one line."""
    title = title_of(memory.session) if memory.session else ""
    return " · ".join(part for part in (visible(title), author_words(memory.author)) if part)


def helped_words(memory: Memory) -> str:
    """How often it helped, of the uses that somebody judged."""
    uses = memory.uses
    if judged := uses.good + uses.bad:
        return tr("{} of {} helped").format(uses.good, judged)
    if uses.used:
        return tr("used once") if uses.used == 1 else tr("used {} times").format(uses.used)
    return tr("not used yet")


def in_lines(text: str) -> str:
    """A sentence over several short lines, so that a difference shows the part that is another."""
    return "\n".join(wrap(visible(text), LINE)) + "\n"


def change_words(change: Change) -> str:
    """A version, in a few words."""
    did = {
        "kept": tr("Kept"),
        "seen again": tr("Learnt again"),
        "edited": tr("Edited"),
        "pinned": tr("Pinned"),
        "unpinned": tr("Unpinned"),
        "archived": tr("Archived"),
        "restored": tr("Restored"),
        "forgotten": tr("Forgotten"),
        "linked": tr("Another says otherwise"),
        "undone": tr("Change {} taken back").format(change.back),
    }[change.did]
    by = {
        "person": tr("by you"),
        "agent": tr("by the agent"),
        "review": tr("by looking back"),
        "run": tr("at the end of a run"),
        "import": tr("by an import"),
    }[change.by]
    return f"{change.number} · {did} {by}"


def wanted_words(proposal: Proposal) -> str:
    """What a proposal would do."""
    said = {
        "create": tr("new"),
        "patch": tr("edit"),
        "file": tr("file"),
        "archive": tr("archive"),
        "merge": tr("merge"),
    }
    return said[proposal.what]


def wanted_kind(proposal: Proposal) -> Kind | None:
    """The kind of memory that a proposal would make; None where it changes one."""
    try:
        kind = json.loads(proposal.about or "{}").get("kind", "")
    except (ValueError, AttributeError):
        return None
    return next((one for one in KINDS if one == kind), None)
