"""Builds the lines in the list of memories, and decides which memories a tab and a scope filter contain."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from core.domain.memory import DAY, EVERYWHERE, Memory, RelevanceLevel
from core.domain.proposal import Proposal
from ui.memory.texts import (
    TitleOf,
    kind_label,
    proposal_action_label,
    proposed_kind,
    scope_text,
    source_text,
    tr,
    usage_text,
)
from ui.text.visible import visible
from ui.widgets.time_formats import short_date, to_local_time

if TYPE_CHECKING:
    from core.engine.services.memory_results import MemoryListing

NEW_DURATION: Final = 2 * DAY  # how long a memory that agents learned is marked as new
# The tabs that are not for one kind of memory.
ALL: Final = "all"
LOW_RELEVANCE: Final = "low-relevance"
ARCHIVED: Final = "archived"
PROPOSED: Final = "proposed"
# Relevance levels of the memories in the tab for low relevance.
LOW_LEVELS: Final[tuple[RelevanceLevel, ...]] = ("low", "decayed")
EVERY_FOLDER: Final = "*"  # the scope filter for memories that apply in every folder; any other filter is a folder


class MemoryLine(NamedTuple):
    """A memory or proposal in the list.

    `key` is the ID of a memory, or `proposal/` and the ID of a proposal. `relevance` is a number from 0 to 1; None for
    a proposal.
    """

    key: str
    kind: str
    title: str
    text: str
    subtitle: str
    chip: str = ""
    relevance: float | None = None
    usage: str = ""
    day: str = ""
    pinned: bool = False

    @property
    def accessible_text(self) -> str:
        """The text for screen readers."""
        relevance = tr("relevance {}%").format(round(self.relevance * 100)) if self.relevance is not None else ""
        pinned = tr("pinned") if self.pinned else ""
        parts = (self.title, self.chip, pinned, self.text, self.subtitle, relevance, self.usage, self.day)
        return ", ".join(part for part in parts if part)


PROPOSAL_PREFIX: Final = "proposal/"


def is_in_tab(listed: "MemoryListing", tab: str) -> bool:
    """Return whether a tab contains a memory. `tab` is `ALL`, `LOW_RELEVANCE`, `ARCHIVED`, or a kind of memory."""
    memory = listed.memory
    if tab == ARCHIVED:
        return memory.status != "active"
    if memory.status != "active":
        return False
    if tab == LOW_RELEVANCE:
        return listed.state in LOW_LEVELS
    return tab in (ALL, memory.content.kind)


def scope_folders(listed: "Sequence[MemoryListing]") -> list[str]:
    """Return the folders to which memories are limited, sorted and without duplicates."""
    return sorted({listing.memory.content.scope_id for listing in listed if listing.memory.content.scope == "folder"})


def matches_scope(memory: Memory, scope_filter: str) -> bool:
    """Return whether a memory matches a scope filter: a folder, `EVERY_FOLDER`, or "" for all memories."""
    content = memory.content
    if not scope_filter:
        return True
    return content.scope == EVERYWHERE[0] if scope_filter == EVERY_FOLDER else content.scope_id == scope_filter


def merge_listings(first: "Iterable[MemoryListing]", second: "Iterable[MemoryListing]") -> "list[MemoryListing]":
    """Concatenate two lists of memories.

    If both have a memory, it keeps its position in the first list, with the newer entry of the second.
    """
    return list({listing.memory.id: listing for listing in (*first, *second)}.values())


def memory_line(listed: "MemoryListing", title_of: TitleOf, now: int) -> MemoryLine:
    memory = listed.memory
    details = [source_text(memory, title_of)]
    if memory.content.scope != EVERYWHERE[0]:
        details.append(scope_text(memory, title_of))
    return MemoryLine(
        key=memory.id,
        kind=memory.content.kind,
        title=kind_label(memory.content.kind),
        text=visible(memory.content.text),
        subtitle=" · ".join(details),
        chip=_chip(memory, now),
        relevance=listed.relevance,
        usage=usage_text(memory),
        day=_day(memory.created_at, now),
        pinned=memory.pinned,
    )


def proposal_line(proposal: Proposal, title_of: TitleOf, now: int) -> MemoryLine:
    title = title_of(proposal.session) if proposal.session else ""
    source = tr("from “{}”").format(visible(title)) if title else ""
    reason = visible(proposal.reason).removesuffix(".")
    kind = proposed_kind(proposal)
    return MemoryLine(
        key=f"{PROPOSAL_PREFIX}{proposal.id}",
        kind=kind or "",
        title=kind_label(kind) if kind else tr("memory"),
        text=visible(proposal.text) or tr("Archive this memory"),
        subtitle=" · ".join(part for part in (reason, source) if part),
        chip=proposal_action_label(proposal),
        day=_day(proposal.created_at, now),
    )


def _chip(memory: Memory, now: int) -> str:
    if memory.status == "forgotten":
        return tr("forgotten")
    if memory.conflicts:
        return tr("conflict")
    is_new = now - memory.created_at < NEW_DURATION and memory.author != "user"
    return tr("new") if is_new else ""


def _day(at: int, now: int) -> str:
    if to_local_time(at).date() == to_local_time(now).date():
        return tr("today")
    return short_date(at)
