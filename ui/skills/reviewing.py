"""A change of a skill that somebody proposed: shown beside what stands there, kept, edited first, or rejected."""

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from core.domain.proposal import Proposal
from core.domain.skill import MAIN
from core.timeline.difference import difference
from ui.page import Say, Start
from ui.skills.desk import Desk
from ui.skills.door import Door
from ui.skills.rows import Proposed
from ui.skills.works import Works

PREFIX = "proposal/"


class Shown(Protocol):
    """What of the page is needed here."""

    desk: Desk
    works: Works

    def refresh(self, wanted: str = "") -> None: ...

    def open(self, key: str) -> None: ...

    def take_up(self, key: str) -> None: ...


class Reviewing:
    """`title_of` tells what a session is called, `go_to` shows a row of it."""

    def __init__(
        self,
        page: Shown,
        over: QWidget,
        door: Door,
        *,
        start: Start,
        say: Say,
        title_of: Callable[[str], str],
        go_to: Callable[[str, int], None],
    ) -> None:
        self._page, self._over, self._door, self._start, self._say = page, over, door, start, say
        self._title_of, self._go_to = title_of, go_to
        self._all: dict[str, Proposal] = {}
        self.shown = ""

    def lines(self, proposals: Sequence[Proposal]) -> list[Proposed]:
        """As they are listed."""
        self._all = {each.id: each for each in proposals}
        return [Proposed(each.id, self._name(each), self._what(each), self._from(each)) for each in proposals]

    def knows(self, name: str) -> bool:
        return name in self._all

    def open(self, name: str) -> None:
        """Show what it would change."""

        async def look() -> None:
            proposal = self._all[name]
            before = await self._door.before(name)
            self.shown = name
            self.show(proposal, before)

        self._start(look(), "look at a proposal")

    def do(self, deed: str) -> None:
        """Keep, edit, reject; or go where it comes from."""
        proposal = self._all.get(self.shown)
        if proposal is None:
            return
        if deed == "edit":
            self._page.desk.edit_proposal()
        elif deed == "source":
            self._go_to(proposal.session, proposal.steps[0] if proposal.steps else 0)
        else:
            self._settle(proposal, deed)

    def _settle(self, proposal: Proposal, how: str) -> None:
        desk, text = self._page.desk, None
        if how == "keep" and desk.work.key == f"{PREFIX}{proposal.id}" and desk.now():
            text = desk.editor.text()

        async def send() -> None:
            done = await self._door.settle(proposal.id, how, text)
            self.shown = ""
            self._page.works.drop(f"{PREFIX}{proposal.id}")
            self._page.refresh(done.result.partition(" ")[0] if how == "keep" else "")
            said = self._tr("{} is kept.") if how == "keep" else self._tr("The proposal for {} is rejected.")
            self._say(said.format(self._name(proposal)), lambda: self._undo(proposal))

        self._start(send(), f"{how} a proposal")

    def _undo(self, proposal: Proposal) -> None:
        async def send() -> None:
            await self._door.settle(proposal.id, "undo")
            self._page.refresh()

        self._start(send(), "undo a proposal")

    def show(self, proposal: Proposal, before: str | None) -> None:
        """Beside what stands there now."""
        was = before or ""
        added = [line for block in difference(was, proposal.text).blocks for line in range(block.new, block.new_end)]
        about = " · ".join(part for part in (self._what(proposal), self._quoted(proposal.reason)) if part)
        self._page.desk.show_proposal(
            f"{PREFIX}{proposal.id}",
            title=self._name(proposal),
            about=about,
            source=self._source(proposal),
            path=proposal.path or MAIN,
            before=before,
            text=proposal.text if proposal.what != "archive" else was,
            added=added,
        )
        self._page.take_up(f"{PREFIX}{proposal.id}")

    def _name(self, proposal: Proposal) -> str:
        return proposal.target.rpartition("/")[2] or proposal.target

    def _what(self, proposal: Proposal) -> str:
        said = {
            "create": self._tr("new"),
            "patch": self._tr("edit"),
            "file": self._tr("file {}").format(proposal.path),
            "archive": self._tr("archive"),
            "merge": self._tr("merge"),
        }
        return said[proposal.what]

    def _from(self, proposal: Proposal) -> str:
        title = self._title_of(proposal.session) if proposal.session else ""
        return self._tr("from “{}”").format(title) if title else ""

    def _source(self, proposal: Proposal) -> str:
        title = self._title_of(proposal.session) if proposal.session else ""
        steps = ", ".join(str(step) for step in proposal.steps[:4])
        if not title:
            return ""
        return self._tr("Learned from {}, steps {}").format(title, steps) if steps else title

    def _quoted(self, reason: str) -> str:
        return f"“{reason}”" if reason else ""

    def _tr(self, text: str) -> str:
        return self._over.tr(text)
