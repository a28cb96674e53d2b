"""The Skills page: the list on the left, and the selected skill or proposal on the right."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from core.domain.proposal import ProposalCreated, ProposalStateChanged
from core.domain.skill import SKILL_FILE, OpenSkill, SkillRow, SkillSaveConflict, SkillSaved, SkillUsed
from core.store.journal_update import CommandEnded, JournalUpdate
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import PanelPage, ShowToast, StartTask
from ui.base.selection import Selection
from ui.base.window_state import WindowState
from ui.skills.compare_tab import CURRENT_TEXT
from ui.skills.conflict_dialog import SaveConflictDialog
from ui.skills.controller import SkillsController
from ui.skills.edit_store import EditStore
from ui.skills.edited_skill import EditedSkill, FileContents
from ui.skills.list_items import PROPOSED, ProposalItem
from ui.skills.list_pane import SkillListPane
from ui.skills.proposal_review import PROPOSAL_PREFIX, ProposalReview
from ui.skills.skill_actions import SkillActions
from ui.skills.skill_menu import SkillAction
from ui.skills.skill_view import COMPARE, EDIT_AND_PREVIEW, USED, SkillView
from ui.style.theme import Look
from ui.widgets.labels import label
from ui.widgets.link_dialog import LinkDialog
from ui.widgets.local_shortcuts import LocalShortcuts
from ui.widgets.proposal_keys import PROPOSAL_KEYS
from ui.widgets.rerun_without import RerunWithout
from ui.widgets.splitter import horizontal_splitter, remember_sizes

REFRESH_EVENTS: Final = (ProposalCreated, ProposalStateChanged, SkillUsed)
MIN_TEXT_WIDTH: Final = 640  # pixels; if the text would be narrower, the page hides the sidebar of the window
SIDEBAR_WIDTH: Final = 264


class SkillsPanel(PanelPage, LocalShortcuts):
    """The page. One skill is open at a time. Unsaved changes to the others are on disk as drafts."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start_task: StartTask,
        show_error: Callable[[ErrorDetails], None],
        show_toast: ShowToast,
        selection: Selection,
        reader: DeferredReader,
        state: WindowState,
        show_event: Callable[[str, int], None],
        start_with: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._look = look
        self._start_task = start_task
        self._show_error = show_error
        self._show_toast = show_toast
        self._selection = selection
        self._reader = reader
        self._state = state
        self._start_with = start_with
        self._show_event = show_event
        self._load_count = 0  # number of items opened so far; recognizes a skill that is loaded too late
        self._key_or_name_to_open = ""
        self._hides_sidebar = False
        self._saving = False
        self._focuses_text = False  # whether the next skill that is loaded gets the focus in its text
        self.controller = SkillsController(bridge)
        self.edits = EditStore(state.folder)
        self.list_pane = SkillListPane(look)
        self.view = SkillView(look)
        self._rerun = RerunWithout(bridge, start_task, selection, reader)
        self._actions = SkillActions(
            self, self, look, self.controller, start_task=start_task, show_toast=show_toast, show_error=show_error
        )
        self.proposal_review = ProposalReview(
            self,
            self,
            self.controller,
            start_task=start_task,
            show_toast=show_toast,
            title_of=self._title_of,
            show_event=self._go_to_step,
        )
        self._lay_out()
        self._connect()

    def activate(self, about: tuple[str, ...]) -> None:
        if about:
            self._key_or_name_to_open = about[0]
        session = self._reader.reader.session(self._selection.session) if self._reader.reader else None
        self.controller.folder = session.folder if session else ""
        self.edits.find_drafts()
        self.list_pane.show_unsaved(self.edits.unsaved_keys())
        self.refresh()

    def refresh(self, key_or_name: str = "", *, focus_text: bool = False) -> None:
        """Reload the list and open the skill with this key or name; `focus_text` moves the focus to its text."""
        self._key_or_name_to_open = key_or_name or self._key_or_name_to_open
        self._focuses_text = self._focuses_text or focus_text

        async def load() -> None:
            rows = await self.controller.list_skills()
            proposals = await self.controller.open_proposals()
            self.show_rows(rows, self.proposal_review.to_list_items(proposals))

        self._start_task(load(), "list the skills")

    def show_rows(self, rows: Sequence[SkillRow], proposed: Sequence[ProposalItem]) -> None:
        self.list_pane.show_rows(rows, proposed, self.controller.folder)
        if self.window().focusWidget() is self:  # the page has just been opened, and no widget in it has the focus
            self.focus_list()
        self.count_changed.emit()
        if self._key_or_name_to_open == PROPOSED:
            self._key_or_name_to_open = ""
            if proposed:
                self.open(f"{PROPOSAL_PREFIX}{proposed[0].id}")
                return
        shows_proposal = self.proposal_review.has(self.proposal_review.open_id)
        if shows_proposal and not self._key_or_name_to_open:
            return
        row = self._find_requested(rows)
        if row:
            self._key_or_name_to_open = ""
        else:
            row = self._find_selected(rows)
        if row is None:
            self._stack.setCurrentWidget(self._empty)
            return
        self._stack.setCurrentWidget(self.view)
        shown = self.view.skill.row if self.view.skill else None
        if shown and row.key == shown.key and row.digest == shown.digest:
            self.view.update_row(row)
        else:
            self.open(row.key)

    def _find_requested(self, rows: Sequence[SkillRow]) -> SkillRow | None:
        """Return the skill with the key or, if no key matches, the name that is to be opened."""
        requested = self._key_or_name_to_open
        by_key = next((row for row in rows if row.key == requested), None)
        return by_key or next((row for row in rows if row.name == requested), None)

    def _find_selected(self, rows: Sequence[SkillRow]) -> SkillRow | None:
        """Return the skill that is shown, else the one that was shown last, else the first one."""
        rows_by_key = {row.key: row for row in rows}
        shown_key = self.view.skill.row.key if self.view.skill else ""
        for key in (shown_key, self._state.text("skill")):
            if key in rows_by_key:
                return rows_by_key[key]
        return rows[0] if rows else None

    def open(self, key: str) -> None:
        """Open a skill with its unsaved changes, or a proposal."""
        self.save_draft()
        if key.startswith(PROPOSAL_PREFIX):
            self._stack.setCurrentWidget(self.view)
            self._load_count += 1
            self.proposal_review.open(key.removeprefix(PROPOSAL_PREFIX))
            self.list_pane.list.mark_open(key)
            return
        self._load_count += 1
        load_number = self._load_count

        async def load() -> None:
            opened = await self.controller.open(key)
            # Otherwise, the user has opened another skill meanwhile, or the same one is being loaded again.
            if load_number == self._load_count:
                self.show_skill(opened)

        self._start_task(load(), "open a skill")

    def show_skill(self, opened: OpenSkill) -> None:
        key = opened.row.key
        self.save_draft()  # what the user typed while the skill was loading
        self.proposal_review.open_id = ""
        self.view.show_skill(opened, self.edits.edit_of(opened))
        self.list_pane.list.mark_open(key)
        self._state.set_text("skill", key)
        self.check()
        if self._focuses_text:
            self._focuses_text = False
            self.view.focus_text()
        if self.view.tabs.current() == USED:
            self.show_uses()

    def check(self) -> None:
        """Check the current text and show the findings."""
        text, edit, name = self.view.editor.text(), self.view.edit, self.view.expected_name
        if not name:
            self.view.show_findings((), None)
            return

        async def check() -> None:
            result = await self.controller.check(text, edit.paths(), name)
            if self.view.edit is edit:  # the user may have opened another skill in the meantime
                self.view.show_findings(result.findings, result.sizes)

        self._start_task(check(), "check a skill")

    def show_uses(self) -> None:
        key = self.view.edit.key

        async def load() -> None:
            usage = await self.controller.usage(key)
            if key == self.view.edit.key:
                self.view.usage.show_uses(usage)

        self._start_task(load(), "load the uses of a skill")

    def unsaved_changes(self) -> str:
        """Save the unsaved text as a draft. Return an empty string, because closing the window then loses nothing."""
        self.save_draft()
        return ""

    def apply_updates(self, updates: Sequence[object]) -> None:
        """Refresh the page if an update of a run or of another process may have changed skills or proposals."""
        if any(map(_may_change_skills, updates)):
            self.refresh()

    def save(self) -> None:
        """Save a new version. If another version was saved in the meantime, let the user merge both."""
        changes, edit = self.view.unsaved_changes(), self.view.edit
        text = self.view.editor.text()
        if not changes or self._saving or self.view.read_only or self.view.skill is None:
            return

        async def save() -> None:
            self._saving = True
            try:
                result = await self.controller.save(edit.key, text, changes, edit.base)
            finally:
                self._saving = False
            if isinstance(result, SkillSaveConflict):
                self._ask_to_merge(result, text)
            else:
                self._finish_save(result, edit, {**changes, SKILL_FILE: text})

        self._start_task(save(), "save a skill")

    def save_draft(self) -> None:
        """Write unsaved changes to disk as a draft, so that they survive a crash."""
        edit = self.view.edit
        if not edit.key or self.view.read_only:
            return
        self.view.unsaved_changes()  # takes the text from the editor
        try:
            self.edits.save_draft(edit)
        except OSError as error:
            summary = self.tr("Your unsaved changes could not be written to disk, and a crash would lose them.")
            self._show_error(
                ErrorDetails(summary, f"{error.strerror or error}.", self.tr("Save the skill, or free up disk space."))
            )
        self.list_pane.show_unsaved(self.edits.unsaved_keys())

    def discard(self) -> None:
        """Discard the unsaved changes, and offer to undo that."""
        draft = self.view.edit.draft()

        def show() -> None:
            self.view.clear()
            self.open(draft.key)

        def undo() -> None:
            self.edits.restore_draft(draft)
            show()

        self.edits.delete_draft(draft.key)
        self.edits.unload(draft.key)
        show()
        self._show_toast(self.tr("Unsaved changes discarded."), undo)

    def resume_editing(self, key: str) -> None:
        """Continue editing a proposal from its draft. Without a draft, do nothing."""
        draft = self.edits.draft(key)
        text = draft.contents.get(SKILL_FILE) if draft else None
        if isinstance(text, str):
            self.view.edit_proposal()
            self.view.editor.source.replace_text(text)

    def run_action(self, action: str) -> None:
        """Run a `SkillAction` on the skill on display, if there is one."""
        if self.view.skill is None:
            return
        row = self.view.skill.row
        match SkillAction(action):
            case SkillAction.SAVE:
                self.save()
            case SkillAction.DISCARD:
                self.discard()
            case SkillAction.SHOW_VERSIONS:
                self.view.choose_tab(COMPARE)
            case SkillAction.TRY:
                self.try_skill()
            case SkillAction.REPEAT_WITHOUT:
                self.repeat_without()
            case SkillAction.RENAME:
                self._actions.ask_new_name(row)
            case SkillAction.COPY:
                self._actions.ask_copy_name(row)
            case SkillAction.EXPORT:
                self._actions.ask_export(row)
            case SkillAction.TRUST:
                self._actions.trust(row)
            case (
                SkillAction.PIN
                | SkillAction.UNPIN
                | SkillAction.ENABLE
                | SkillAction.DISABLE
                | SkillAction.ARCHIVE
                | SkillAction.UNARCHIVE
            ) as change:
                self._actions.change_state(change, row)

    def try_skill(self) -> None:
        """Start a new session with a task that uses the skill.

        If there are unsaved changes, ask the user to save them first.
        """
        if self.view.skill and self.view.edit.changed:
            self._show_toast(self.tr("Save your changes first: a run uses the saved version."))
        elif self.view.skill:
            self._start_with(self.tr("Use the skill {} to ").format(self.view.skill.row.name))

    def repeat_without(self) -> None:
        """Offer to repeat the latest run that used the skill, this time without the skill."""
        if (opened := self.view.skill) is not None:
            row = opened.row

            async def confirm() -> None:
                self._rerun.confirm(row.name, await self.controller.usage(row.key), self._look, self)

            self._start_task(confirm(), "load the uses of a skill")

    def _finish_save(self, result: SkillSaved, edit: EditedSkill, saved: dict[str, FileContents]) -> None:
        self.edits.mark_saved(edit, result, saved)
        self.save_draft()
        self.view.update_save_state()
        text = self.tr("No changes since version {}.") if result.unchanged else self.tr("Saved as version {}.")
        self._show_toast(text.format(result.version))
        self.open(result.key)
        self.refresh(result.key)

    def _ask_to_merge(self, conflict: SkillSaveConflict, text: str) -> None:
        """Let the user merge a text with the version that was saved in the meantime."""
        dialog = SaveConflictDialog(self._look, conflict, text, conflict.latest.author, self)
        dialog.resolved.connect(lambda merged: self.view.replace_text(merged, conflict.latest.number))
        dialog.resolved.connect(lambda _: self.save_draft())
        dialog.open()

    def _load_diff(self, before: int, after: int) -> None:
        edit = self.view.edit
        changes = self.view.unsaved_changes() if after == CURRENT_TEXT else {}

        async def compare() -> None:
            files = await self.controller.diff(edit, before, after, changes)
            if self.view.edit is edit:
                self.view.show_files(files)

        self._start_task(compare(), "compare two versions")

    def _load_file(self, path: str) -> None:
        edit = self.view.edit

        async def load() -> None:
            edit.set_saved_contents(path, await self.controller.read_file(edit.key, path))
            if self.view.edit is edit:
                self.view.files.show_file(path)

        self._start_task(load(), "read a file of a skill")

    def _title_of(self, session: str) -> str:
        row = self._reader.reader.session(session) if self._reader.reader else None
        return row.title if row else ""

    def focus_list(self) -> None:
        self.list_pane.focus_list()

    def _open_link(self, address: str) -> None:
        """Show the full address of a link, and open it if the user agrees."""
        LinkDialog(self._look, address, self).open()

    def _go_to_step(self, session: str, number: int) -> None:
        """Open a session at the step with this number. Steps are numbered as in the timeline."""
        self._show_event(session, self._reader.seq_of_step(session, number))

    def _lay_out(self) -> None:
        text = self.tr(
            "A skill tells an agent how to do a task well. Create one with +, or drop a folder or zip file here."
        )
        self._empty = label(text, self._look.fonts.text, "second", name="skills.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setContentsMargins(40, 0, 40, 0)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        splitter = horizontal_splitter(self.list_pane, self._stack, left_width=self._look.size(280), right_width=800)
        column.addWidget(splitter)
        remember_sizes(splitter, self._state, "skills_columns")
        remember_sizes(self.view.editor.halves, self._state, "skill_editor_columns")
        remember_sizes(self.view.files.splitter, self._state, "skill_files_columns")
        self.setAcceptDrops(True)
        self.view.choose_tab(EDIT_AND_PREVIEW)

    def _connect(self) -> None:
        view, side = self.view, self.list_pane
        side.list.chosen.connect(self.open)
        side.list.menu_requested.connect(view.header.open_menu)
        side.new_requested.connect(self._actions.ask_new)
        side.import_requested.connect(self._actions.ask_import)
        view.action_requested.connect(self.run_action)
        view.header.proposal_action_requested.connect(self.proposal_review.run_action)
        view.header.source_requested.connect(self.proposal_review.show_source)
        view.save_draft_requested.connect(self.save_draft)
        view.check_requested.connect(self.check)
        view.diff_requested.connect(self._load_diff)
        view.compare.restore_requested.connect(self._actions.restore_version)
        view.files.file_requested.connect(self._load_file)
        view.files.file_chosen.connect(self._actions.add_file)
        view.files.removed.connect(self._actions.show_removed)
        view.usage.session_requested.connect(lambda session, _run: self._show_event(session, 0))
        view.tab_changed.connect(lambda tab: self.show_uses() if tab == USED and view.skill else None)
        view.editor.link_clicked.connect(self._open_link)
        self.local_shortcuts = {
            "Ctrl+S": self.save,
            "Ctrl+Shift+N": self._actions.ask_new,
            **{f"Alt+{index + 1}": partial(view.tabs.select_index, index) for index in range(5)},
        }

    def focus_areas(self) -> Sequence[QWidget]:
        editor = self.view.editor
        return (
            self.list_pane.list,
            editor.source,
            editor.preview,
            self.view.compare,
            self.view.files,
            self.view.usage,
        )

    def restyle(self, look: Look) -> None:
        self._look = look
        self.list_pane.restyle(look)
        self.view.restyle(look)
        self._actions.restyle(look)
        self._empty.setFont(look.fonts.text)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle the keys that accept or reject the open proposal. Text fields receive the keys first."""
        action = None if event.modifiers() else PROPOSAL_KEYS.get(Qt.Key(event.key()))
        if action is None or self.view.skill or not self.proposal_review.open_id:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():  # a key that is held down would also decide about the next proposal
            self.proposal_review.run_action(action)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        text_width = self.width() - self.list_pane.width()
        # While the sidebar is hidden, the text is wider by its width.
        gained_width = self._look.size(SIDEBAR_WIDTH) if self._hides_sidebar else 0
        hide_sidebar = text_width - gained_width < MIN_TEXT_WIDTH
        if hide_sidebar != self._hides_sidebar:
            self._hides_sidebar = hide_sidebar
            self.sidebar_fold_requested.emit(hide_sidebar)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        names = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if names:
            event.acceptProposedAction()
            self._actions.preview_import(names[0])


def _may_change_skills(update: object) -> bool:
    if isinstance(update, JournalUpdate):
        return isinstance(update.entry.event, REFRESH_EVENTS)
    return isinstance(update, CommandEnded)
