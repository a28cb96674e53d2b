"""Texts that describe memories and proposals: kinds, scopes, authors, usage and changes."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QCoreApplication

from core.domain.memory import MEMORY_KINDS, Memory, MemoryAuthor, MemoryChange, MemoryKind
from core.domain.proposal import Proposal
from ui.text.visible import visible

KIND_COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "preference": "accent",
        "heuristic": "thinking",
        "knowledge": "network",
        "outcome": "done",
        "anti-pattern": "failed",
    }
)
WRAP_WIDTH: Final = 33  # characters that fit in a line of the diff beside the list
TitleOf = Callable[[str], str]


def tr(text: str) -> str:
    return QCoreApplication.translate("memory", text)


def kind_label(kind: MemoryKind) -> str:
    return {
        "preference": tr("preference"),
        "heuristic": tr("heuristic"),
        "knowledge": tr("knowledge"),
        "outcome": tr("outcome"),
        "anti-pattern": tr("anti-pattern"),
    }[kind]


def kind_description(kind: MemoryKind) -> str:
    """Return the explanation of a kind of memory, which is shown where the user chooses one."""
    return {
        "preference": tr("What you prefer."),
        "heuristic": tr("What to do in a particular case."),
        "knowledge": tr("A fact."),
        "outcome": tr("What was tried, and the result."),
        "anti-pattern": tr("What not to do, and what to do instead."),
    }[kind]


def field_label(name: str) -> str:
    """Return the label of a field of a memory. An unknown field keeps its name."""
    return {
        "about": tr("About"),
        "when": tr("When"),
        "do": tr("Do"),
        "source": tr("Source"),
        "task": tr("Task"),
        "tried": tr("Tried"),
        "tools": tr("Tools"),
        "status": tr("Result"),
        "rating": tr("Rating"),
        "error": tr("Error"),
        "seconds": tr("Seconds"),
        "what": tr("Do not"),
        "why": tr("Reason"),
        "instead": tr("Instead"),
        "run": tr("Run"),
        "least": tr("Lesson after"),
    }.get(name, name)


def field_text(name: str, value: str) -> str:
    """Return the value of a field for display."""
    return tr("{} similar runs").format(value) if name == "least" else value


def folder_label(folder: str) -> str:
    """Return the path of a folder for display, with `~` for the home folder."""
    home = str(Path.home())
    return visible("~" + folder.removeprefix(home) if folder == home or folder.startswith(f"{home}/") else folder)


def scope_text(memory: Memory, title_of: TitleOf) -> str:
    """Return in which folder or session a memory applies, or that it applies everywhere."""
    return _scope_text(memory.content.scope, memory.content.scope_id, title_of)


def _scope_text(scope: str, scope_id: str, title_of: TitleOf) -> str:
    match scope:
        case "everywhere":
            return tr("every folder")
        case "folder":
            return folder_label(scope_id)
        case "agent":
            return tr("the agent {}").format(visible(scope_id))
        case _:
            return tr("the session {}").format(visible(title_of(scope_id) or scope_id))


def author_text(author: MemoryAuthor) -> str:
    return {
        "user": tr("written by you"),
        "agent": tr("saved by the agent"),
        "review": tr("learned in a review"),
        "run": tr("recorded at the end of a run"),
        "import": tr("imported"),
    }[author]


def source_text(memory: Memory, title_of: TitleOf) -> str:
    """Return the session from which a memory was learned, and its author, on one line."""
    title = title_of(memory.session) if memory.session else ""
    return " · ".join(part for part in (visible(title), author_text(memory.author)) if part)


def usage_text(memory: Memory) -> str:
    """Return how many of the rated uses of a memory helped; without ratings, how often it was used."""
    uses = memory.usage
    if rated := uses.good_runs + uses.bad_runs:
        return tr("{} of {} helped").format(uses.good_runs, rated)
    if uses.use_count:
        return tr("used once") if uses.use_count == 1 else tr("used {} times").format(uses.use_count)
    return tr("not used yet")


def wrap_for_diff(text: str) -> str:
    """Wrap a sentence into short lines, so that a diff by lines shows which part of it has changed."""
    return "\n".join(wrap(visible(text), WRAP_WIDTH)) + "\n"


def change_text(change: MemoryChange) -> str:
    """Return one line about a change: its number, what was done, and by whom."""
    did = {
        "created": tr("Created"),
        "reinforced": tr("Learned again"),
        "edited": tr("Edited"),
        "pinned": tr("Pinned"),
        "unpinned": tr("Unpinned"),
        "archived": tr("Archived"),
        "restored": tr("Restored"),
        "forgotten": tr("Forgotten"),
        "conflict_found": tr("Conflict found"),
        "undone": tr("Change {} undone").format(change.undoes),
    }[change.action]
    by = {
        "user": tr("by you"),
        "agent": tr("by the agent"),
        "review": tr("by a review"),
        "run": tr("at the end of a run"),
        "import": tr("by an import"),
    }[change.author]
    return f"{change.number} · {did} {by}"


def proposal_action_label(proposal: Proposal) -> str:
    """Return a word for what a proposal would do, such as `new` or `merge`."""
    names = {
        "create": tr("new"),
        "patch": tr("change"),
        "write_file": tr("file"),
        "archive": tr("archive"),
        "merge": tr("merge"),
    }
    return names[proposal.action]


def proposal_title(proposal: Proposal) -> str:
    """Return the title of a proposal, such as `New memory · Knowledge`."""
    kind = proposed_kind(proposal)
    titles = {
        "create": tr("New memory"),
        "patch": tr("Change to a memory"),
        "archive": tr("Archive a memory"),
        "merge": tr("Merge memories"),
    }
    title = titles.get(proposal.action, tr("Memory"))
    return f"{title} · {kind_label(kind).capitalize()}" if kind else title


def acceptance_text(proposal: Proposal, title_of: TitleOf) -> str:
    """Return a sentence that says what happens if the proposal is accepted."""
    if proposal.action == "archive":
        return tr("If you accept it, the memory is archived: agents no longer receive it. You can undo that.")
    if proposal.target:
        return tr("If you accept it, agents receive the new text instead of the old one. You can undo that.")
    details = _proposal_details(proposal)
    scope = _scope_text(str(details.get("scope") or "everywhere"), str(details.get("scope_id") or ""), title_of)
    return tr("If you accept it, agents receive it when it fits the task. Applies to {}. You can undo that.").format(
        scope
    )


def proposed_kind(proposal: Proposal) -> MemoryKind | None:
    """Return the kind of the memory that a proposal would create; None if it changes an existing one."""
    kind = _proposal_details(proposal).get("kind", "")
    return next((memory_kind for memory_kind in MEMORY_KINDS if memory_kind == kind), None)


def _proposal_details(proposal: Proposal) -> dict[str, object]:
    """Return the parsed details of a proposal; an empty dict if they are not a JSON object."""
    try:
        details = json.loads(proposal.details or "{}")
    except ValueError:
        return {}
    return details if isinstance(details, dict) else {}
