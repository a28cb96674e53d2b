"""The lines of the page: memories and proposals as plain values, sorted into tabs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from core.domain.memory import DAY, Memory
from core.domain.proposal import Proposal
from ui.memory.words import TitleOf, helped_words, kind_words, reach_words, source_words, tr, wanted_kind, wanted_words
from ui.visible import visible
from ui.widgets.times import moment, short_time

if TYPE_CHECKING:
    from core.engine.memory import Listed

NEW: Final = 2 * DAY
ALL, FADING, ARCHIVE, PROPOSED = "all", "fading", "archive", "proposed"


class Line(NamedTuple):
    """`key` is the id of a memory, or that of a proposal after `proposal/`. `strength` is below 0 where it has none."""

    key: str
    kind: str
    title: str
    text: str
    under: str
    chip: str = ""
    strength: float = -1.0
    helped: str = ""
    when: str = ""
    pinned: bool = False

    @property
    def spoken(self) -> str:
        """The whole line for a screen reader."""
        strong = tr("strength {} %").format(round(self.strength * 100)) if self.strength >= 0 else ""
        pinned = tr("pinned") if self.pinned else ""
        parts = (self.title, self.chip, pinned, self.text, self.under, strong, self.helped, self.when)
        return ", ".join(part for part in parts if part)


PREFIX: Final = "proposal/"


def belongs(listed: "Listed", tab: str) -> bool:
    """Does it stand under this tab?"""
    memory = listed.memory
    if tab == ARCHIVE:
        return memory.standing != "active"
    if memory.standing != "active":
        return False
    if tab == FADING:
        return listed.state in ("weak", "fading")
    return tab in (ALL, memory.said.kind)


def places(listed: "Sequence[Listed]") -> list[str]:
    """The folders that some are for."""
    return sorted({one.memory.said.place for one in listed if one.memory.said.reach == "folder"})


def is_for(memory: Memory, place: str) -> bool:
    """`place` is a folder, a star for what is for everywhere, or empty for no matter which."""
    said = memory.said
    return not place or (said.reach == "everywhere" if place == "*" else said.place == place)


def line(listed: "Listed", title_of: TitleOf, now: int) -> Line:
    memory = listed.memory
    under = [source_words(memory, title_of)]
    if memory.said.reach != "everywhere":
        under.append(reach_words(memory, title_of))
    return Line(
        memory.id, memory.said.kind, kind_words(memory.said.kind), visible(memory.said.text), " · ".join(under),
        _chip(memory, now), listed.strength, helped_words(memory), _day(memory.made, now), memory.pinned,
    )  # fmt: skip


def wanted(proposal: Proposal, title_of: TitleOf, now: int) -> Line:
    title = title_of(proposal.session) if proposal.session else ""
    source = tr("from “{}”").format(visible(title)) if title else ""
    under = " · ".join(part for part in (visible(proposal.reason), source) if part)
    text = visible(proposal.text) or tr("No longer to be told")
    kind = wanted_kind(proposal) or ""
    return Line(
        f"{PREFIX}{proposal.id}", kind, wanted_words(proposal), text, under, tr("review"), when=_day(proposal.made, now)
    )


def _chip(memory: Memory, now: int) -> str:
    if memory.standing == "forgotten":
        return tr("forgotten")
    if memory.links:
        return tr("contradicted")
    return tr("new") if now - memory.made < NEW and memory.author != "person" else ""


def _day(at: int, now: int) -> str:
    if moment(at).date() == moment(now).date():
        return tr("today")
    return short_time(at, max(now, at + 8 * DAY))
