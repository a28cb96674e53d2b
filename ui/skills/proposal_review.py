"""The review of proposed changes to skills: compare, edit, accept, reject and undo."""

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from core.domain.proposal import Proposal
from core.domain.skill import SKILL_FILE
from core.timeline.text_diff import diff_texts
from ui.base.panel_page import ShowToast, StartTask
from ui.skills.controller import SkillsController
from ui.skills.edit_store import EditStore
from ui.skills.list_items import ProposalItem
from ui.skills.skill_view import SkillView

PROPOSAL_PREFIX = "proposal/"


class ProposalReviewHost(Protocol):
    """The part of the Skills page that the review uses."""

    view: SkillView
    edits: EditStore

    def focus_list(self) -> None: ...

    def refresh(self, key_or_name: str = "") -> None: ...

    def open(self, key: str) -> None: ...

    def resume_editing(self, key: str) -> None: ...


class ProposalReview:
    """Shows and decides proposals. `title_of` returns a session's title; `show_event` opens a session at an event."""

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
        self._all: dict[str, Proposal] = {}
        self.open_id = ""

    def to_list_items(self, proposals: Sequence[Proposal]) -> list[ProposalItem]:
        """Remember the open proposals and return them as list items."""
        self._all = {each.id: each for each in proposals}
        return [
            ProposalItem(each.id, self._name(each), self._change_text(each), self._session_text(each))
            for each in proposals
        ]

    def has(self, name: str) -> bool:
        return name in self._all

    def open(self, name: str) -> None:
        """Load a proposal and the text that it would change, and show both."""

        self.open_id, proposal = name, self._all[name]

        async def look() -> None:
            before = await self._controller.current_text(name)
            if self.open_id == name:  # otherwise the user has opened another item meanwhile
                self.show(proposal, before)

        self._start_task(look(), "open a proposal")

    def run_action(self, action: str) -> None:
        """Run an action on the shown proposal: keep, edit, reject or source."""
        proposal = self._all.get(self._page.view.edit.key.removeprefix(PROPOSAL_PREFIX))
        if proposal is None:
            return
        if action == "edit":
            self._page.view.edit_proposal()
        elif action == "source":
            self._show_event(proposal.session, proposal.steps[0] if proposal.steps else 0)
        else:
            self._settle(proposal, action)

    def _settle(self, proposal: Proposal, how: str) -> None:
        view, edited = self._page.view, None
        if how == "keep" and view.edit.key == f"{PROPOSAL_PREFIX}{proposal.id}" and view.unsaved_changes():
            edited = view.editor.text()

        async def send() -> None:
            resolved = await self._controller.resolve(proposal.id, how, edited)
            self.open_id = ""
            self._page.edits.delete_draft(f"{PROPOSAL_PREFIX}{proposal.id}")
            self._page.refresh(resolved.result.partition(" ")[0] if how == "keep" else "")
            text = (
                self._tr("Accepted the proposal for {}.")
                if how == "keep"
                else self._tr("Rejected the proposal for {}.")
            )
            self._show_toast(text.format(self._name(proposal)), lambda: self._undo(proposal))

        self._start_task(send(), f"{how} a proposal")
        self._page.focus_list()

    def _undo(self, proposal: Proposal) -> None:
        async def send() -> None:
            await self._controller.resolve(proposal.id, "undo")
            self._page.refresh()

        self._start_task(send(), "undo a proposal")

    def show(self, proposal: Proposal, before: str | None) -> None:
        """Show a proposal, compared with the current text."""
        was = before or ""
        added = [line for block in diff_texts(was, proposal.text).blocks for line in range(block.new, block.new_end)]
        self._page.view.show_proposal(
            f"{PROPOSAL_PREFIX}{proposal.id}",
            title=self._name(proposal),
            state=self._state_text(proposal),
            about=" · ".join(part for part in (proposal.path, self._quoted(proposal.reason)) if part),
            source=self._source(proposal),
            path=proposal.path or SKILL_FILE,
            before=before,
            text=proposal.text if proposal.action != "archive" else was,
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
