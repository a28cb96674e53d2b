"""The review of proposed changes to skills: the user compares, edits, accepts or rejects them, or undoes a decision."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from core.domain.proposal import Proposal, SkillResult
from core.domain.skill import SKILL_FILE
from core.timeline.text_diff import diff_texts
from ui.base.panel_page import ShowToast, StartTask
from ui.skills.controller import SkillsController
from ui.skills.edit_store import EditStore
from ui.skills.list_items import ProposalItem
from ui.skills.skill_view import SkillView
from ui.widgets.proposal_keys import ProposalAction

PROPOSAL_PREFIX = "proposal/"


class ProposalReviewHost(Protocol):
    """What the review needs from the Skills page."""

    view: SkillView
    edits: EditStore

    def focus_list(self) -> None: ...

    def refresh(self, key_or_name: str = "") -> None: ...

    def open(self, key: str) -> None: ...

    def resume_editing(self, key: str) -> None: ...


class ProposalReview:
    """Shows proposals and carries out the user's decisions.

    `title_of` returns the title of a session; `show_event` opens a session at an event.
    """

    def __init__(
        self,
        page: ProposalReviewHost,
        parent: QWidget,
        controller: SkillsController,
        *,
        start_task: StartTask,
        show_toast: ShowToast,
        title_of: Callable[[str], str],
        show_event: Callable[[str, int], None],
    ) -> None:
        self._page = page
        self._parent = parent
        self._controller = controller
        self._start_task = start_task
        self._show_toast = show_toast
        self._title_of = title_of
        self._show_event = show_event
        self._proposals: dict[str, Proposal] = {}
        self.open_id = ""

    def to_list_items(self, proposals: Sequence[Proposal]) -> list[ProposalItem]:
        """Keep the proposals for later calls, and return them as list items."""
        self._proposals = {proposal.id: proposal for proposal in proposals}
        return [
            ProposalItem(
                id=proposal.id,
                target=self._name(proposal),
                action=self._change_text(proposal),
                source=self._session_text(proposal),
            )
            for proposal in proposals
        ]

    def has(self, name: str) -> bool:
        return name in self._proposals

    def open(self, name: str) -> None:
        """Load a proposal and the text that it would change, then show both."""
        self.open_id = name
        proposal = self._proposals[name]

        async def load() -> None:
            before = await self._controller.current_text(name)
            if self.open_id == name:  # otherwise, the user has opened another item in the meantime
                self.show(proposal, before)

        self._start_task(load(), "open a proposal")

    def run_action(self, action: str) -> None:
        """Run a `ProposalAction` on the proposal on display, if there is one."""
        if (proposal := self._shown_proposal()) is None:
            return
        match ProposalAction(action):
            case ProposalAction.ACCEPT:
                self._accept(proposal)
            case ProposalAction.EDIT:
                self._page.view.edit_proposal()
            case ProposalAction.REJECT:
                self._reject(proposal)

    def show_source(self) -> None:
        """Show the steps from which the proposal on display was learned."""
        if proposal := self._shown_proposal():
            self._show_event(proposal.session, proposal.steps[0] if proposal.steps else 0)

    def _shown_proposal(self) -> Proposal | None:
        return self._proposals.get(self._page.view.edit.key.removeprefix(PROPOSAL_PREFIX))

    def _accept(self, proposal: Proposal) -> None:
        edited = self._page.view.editor.text() if self._page.view.unsaved_changes() else None

        async def send() -> None:
            accepted = await self._controller.accept_proposal(proposal.id, edited)
            key = accepted.result.key if isinstance(accepted.result, SkillResult) else ""
            self._close(proposal, self._tr("Accepted the proposal for {}."), key)

        self._start_task(send(), "accept a proposal")
        self._page.focus_list()

    def _reject(self, proposal: Proposal) -> None:
        async def send() -> None:
            await self._controller.reject_proposal(proposal.id)
            self._close(proposal, self._tr("Rejected the proposal for {}."))

        self._start_task(send(), "reject a proposal")
        self._page.focus_list()

    def _close(self, proposal: Proposal, message: str, skill: str = "") -> None:
        """Close a proposal that was accepted or rejected, offer to undo that, and open a skill by its key or name."""
        self.open_id = ""
        self._page.edits.delete_draft(f"{PROPOSAL_PREFIX}{proposal.id}")
        self._page.refresh(skill)
        self._show_toast(message.format(self._name(proposal)), lambda: self._undo(proposal))

    def _undo(self, proposal: Proposal) -> asyncio.Task[bool] | None:
        async def send() -> None:
            await self._controller.undo_decision(proposal.id)
            self._page.refresh()

        return self._start_task(send(), "undo a proposal")

    def show(self, proposal: Proposal, before: str | None) -> None:
        """Show a proposal compared with `before`, the current text; None if the proposal creates a skill."""
        old_text = before or ""
        blocks = diff_texts(old_text, proposal.text).blocks
        added = [line for block in blocks for line in range(block.new, block.new_end)]
        self._page.view.show_proposal(
            f"{PROPOSAL_PREFIX}{proposal.id}",
            title=self._name(proposal),
            state=self._state_text(proposal),
            about=" · ".join(part for part in (proposal.path, self._quoted(proposal.reason)) if part),
            source=self._source(proposal),
            path=proposal.path or SKILL_FILE,
            before=before,
            text=proposal.text if proposal.action != "archive" else old_text,
            added=added,
        )
        self._page.resume_editing(f"{PROPOSAL_PREFIX}{proposal.id}")

    def _name(self, proposal: Proposal) -> str:
        return proposal.target.rpartition("/")[2] or proposal.target

    def _change_text(self, proposal: Proposal) -> str:
        names = {
            "create": self._tr("new"),
            "patch": self._tr("edit"),
            "write_file": self._tr("file {}").format(proposal.path),
            "archive": self._tr("archive"),
            "merge": self._tr("merge"),
        }
        return names[proposal.action]

    def _state_text(self, proposal: Proposal) -> str:
        names = {
            "create": self._tr("Proposed skill"),
            "write_file": self._tr("Proposed file"),
            "archive": self._tr("Proposed for archiving"),
        }
        return names.get(proposal.action, self._tr("Proposed change"))

    def _session_text(self, proposal: Proposal) -> str:
        title = self._title_of(proposal.session) if proposal.session else ""
        return self._tr("from “{}”").format(title) if title else ""

    def _source(self, proposal: Proposal) -> str:
        title = self._title_of(proposal.session) if proposal.session else ""
        steps = ", ".join(str(step) for step in proposal.steps[:4])
        if not title:
            return ""
        if not steps:
            return self._tr("From {}").format(title)
        text = self._tr("From {}, step {}") if len(proposal.steps) == 1 else self._tr("From {}, steps {}")
        return text.format(title, steps)

    def _quoted(self, reason: str) -> str:
        return f"“{reason}”" if reason else ""

    def _tr(self, text: str) -> str:
        return self._parent.tr(text)
