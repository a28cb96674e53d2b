"""The view of the selected skill or proposal: header, notice, tabs and editor."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.domain.skill import READ_ONLY_SOURCES, SKILL_FILE, OpenSkill, SkillFileDiff, SkillFinding, SkillRow
from ui.skills.compare_tab import CompareTab
from ui.skills.edited_skill import EditedSkill, FileContents
from ui.skills.editor import SkillEditor
from ui.skills.editor_status import SkillSizes
from ui.skills.files_tab import FilesTab
from ui.skills.header import SkillHeader
from ui.skills.skill_menu import MenuEntry, SkillAction, menu_entries
from ui.skills.skill_notice import SkillNotice
from ui.skills.source_editor import FindingMark
from ui.skills.usage_tab import UsageTab
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.tab_strip import TabCount, TabStrip

# The names of the tabs.
EDIT = "write"
EDIT_AND_PREVIEW = "both"
COMPARE = "compare"
FILES = "files"
USED = "used"


class SkillView(QWidget):
    """Shows a skill that is being edited, or a proposed change.

    The page answers `check_requested` with findings and `diff_requested` with a diff; on `save_draft_requested`, it
    writes the unsaved text to disk.
    """

    action_requested = Signal(str)  # a `SkillAction`
    changed = Signal()
    save_draft_requested = Signal()
    check_requested = Signal()
    diff_requested = Signal(int, int)
    tab_changed = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("skill.desk")
        self.skill: OpenSkill | None = None
        self.edit = EditedSkill("", 0, "")
        self.read_only = False
        self.expected_name = ""
        """The `name` that the text should have in its front matter; empty for a file that is not a SKILL.md."""
        self.header = SkillHeader(look)
        self.notice = SkillNotice(look)
        self.editor = SkillEditor(look)
        self.compare = CompareTab(look)
        self.files = FilesTab(look)
        self.usage = UsageTab(look)
        self.tabs = TabStrip(look, QWidget(), name="skill.tabs", accessible_name=self.tr("Skill views"))
        self._stack = QStackedWidget()
        self._lay_out()
        self.header.action_requested.connect(self.action_requested)
        self.notice.action_requested.connect(self.action_requested)
        self.editor.typing_paused.connect(self._on_typing_paused)
        self.editor.save_draft_requested.connect(self._on_save_draft_requested)
        self.editor.changed.connect(self._on_edited)
        self.files.changed.connect(self._on_files_changed)
        self.compare.diff_requested.connect(self.diff_requested)
        self.tabs.chosen.connect(self._show_tab)

    def show_skill(self, opened: OpenSkill, edit: EditedSkill) -> None:
        """Show a skill with the unsaved changes in `edit`."""
        is_shown = self.skill is not None and edit is self.edit
        self.skill, self.edit = opened, edit
        self.expected_name = opened.row.key.rpartition("/")[2]
        self.read_only = opened.row.state == "archived"
        text, saved_text = _as_text(edit.contents(SKILL_FILE)), _as_text(edit.saved_contents(SKILL_FILE))
        if is_shown:
            self.editor.mark_saved(saved_text)
            self.editor.source.setReadOnly(self.read_only)
        else:
            self.editor.open(text, SKILL_FILE, saved=saved_text, read_only=self.read_only)
        self.show_findings(opened.findings, None)
        self.compare.show_versions(opened.versions)
        self.files.show_edit(edit, read_only=self.read_only)
        self.update_row(opened.row)
        self._show_notice()
        if self.tabs.current() == COMPARE:
            self.compare.request_diff()

    def show_proposal(
        self,
        key: str,
        *,
        title: str,
        state: str,
        about: str,
        source: str,
        path: str,
        before: str | None,
        text: str,
        added: Sequence[int],
    ) -> None:
        """Show a proposed change, which is read-only until `edit_proposal` is called.

        `before` is the text that it changes; the lines in `added`, counted from 0, are marked as new.
        """
        self.skill, self.read_only = None, True
        self.edit = EditedSkill(key, 0, text)
        self.expected_name = title if path == SKILL_FILE else ""
        self.notice.hide()
        self.header.show_proposal(title, state, about, source=source)
        self.editor.open(text, path, read_only=True)
        self.editor.source.mark_added(added)
        if added:
            self.editor.source.go_to_line(added[0])
        self.editor.status_bar.show_save_state(self.tr("Not accepted yet"), "waiting")
        self.compare.show_versions(())
        self.compare.show_files([SkillFileDiff(path, before, text)])
        self.files.show_edit(EditedSkill("", 0, ""), read_only=True)
        self.usage.show_uses(())
        for tab in (FILES, USED):
            self.tabs.show_counts(tab, [])
        self.check_requested.emit()

    def clear(self) -> None:
        """Close the skill, so that the text in the editor is no longer stored as its draft."""
        self.skill, self.edit = None, EditedSkill("", 0, "")

    def edit_proposal(self) -> None:
        """Make the text of the shown proposal editable."""
        self.read_only = False
        self.editor.source.setReadOnly(False)
        self.header.mark_edited()
        if self.tabs.current() not in (EDIT, EDIT_AND_PREVIEW):
            self.choose_tab(EDIT_AND_PREVIEW)
        self.focus_text()

    def update_row(self, row: SkillRow) -> None:
        """Update the header and the tabs after a change that does not concern the text."""
        count = len(self.skill.versions) if self.skill else 0
        self.header.show_skill(row, count, row.description, menu_entries(row))
        self.tabs.show_counts(FILES, [TabCount(str(self.files.count()))] if self.files.count() else [])
        uses = self.tr("1 use") if row.use_count == 1 else self.tr("{} uses").format(row.use_count)
        self.tabs.show_counts(USED, [TabCount(uses)] if row.use_count else [])
        self.update_save_state()

    def update_save_state(self) -> None:
        if self.skill is None:
            return
        saves_copy = self.skill.row.source in READ_ONLY_SOURCES
        is_unsaved = self.edit.changed
        label = self.tr("Save a copy") if saves_copy else self.tr("Save")
        self.header.update_save_button(enabled=is_unsaved, label=label)
        if self.read_only:
            text = self.tr("Read-only")
        elif is_unsaved:
            text = self.tr("Unsaved changes")
        else:
            text = self.tr("Version {}").format(self.edit.base) if self.edit.base else ""
        self.editor.status_bar.show_save_state(text, "waiting" if is_unsaved else "second")

    def show_findings(self, findings: Sequence[SkillFinding], sizes: SkillSizes | None) -> None:
        marks = [
            FindingMark(line=finding.line, level=finding.level, text=_finding_text(finding)) for finding in findings
        ]
        self.editor.show_findings(marks, sizes)

    def show_files(self, files: Sequence[SkillFileDiff]) -> None:
        """Show the diff for which the Compare tab has asked."""
        self.compare.show_files(files)

    def unsaved_changes(self) -> Mapping[str, FileContents]:
        """Return the unsaved changes by path, including the text that is in the editor now."""
        self.edit.write(SKILL_FILE, self.editor.text())
        return self.edit.unsaved_changes()

    def replace_text(self, text: str, base: int) -> None:
        """Replace the text in one step of the undo history, without saving it.

        The result is based on version `base`.
        """
        self.edit.base = base
        self.editor.source.replace_text(text)
        if self.tabs.current() not in (EDIT, EDIT_AND_PREVIEW):
            self.choose_tab(EDIT)

    def choose_tab(self, tab: str) -> None:
        self.tabs.select(tab)

    def focus_text(self) -> None:
        self.editor.source.setFocus(Qt.FocusReason.OtherFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (self.header, self.notice, self.editor, self.compare, self.files, self.usage, self.tabs):
            part.restyle(look)

    def _on_edited(self) -> None:
        if not self.edit.changed:
            self.edit.write(SKILL_FILE, self.editor.text())
            self.update_save_state()
        self.changed.emit()

    def _on_typing_paused(self) -> None:
        self.unsaved_changes()
        self.update_save_state()
        self.check_requested.emit()

    def _on_save_draft_requested(self) -> None:
        self.unsaved_changes()
        self.save_draft_requested.emit()

    def _on_files_changed(self) -> None:
        if self.skill:
            self.update_row(self.skill.row)
        self.save_draft_requested.emit()
        self.check_requested.emit()

    def _show_notice(self) -> None:
        row = self.skill.row if self.skill else None
        save = MenuEntry(SkillAction.SAVE, self.tr("Save"))
        if self.skill is None or row is None:
            self.notice.hide()
        elif row.state in ("untrusted", "changed"):
            self.notice.show_untrusted(row, self.skill.files, self.skill.findings)
        elif row.state == "broken":
            self.notice.show_notice(self.tr("This skill cannot be used."), visible(row.error))
        elif row.state == "shadowed":
            title = self.tr("Another skill with this name takes precedence: {}.").format(visible(row.shadowed_by))
            self.notice.show_notice(title, self.tr("Rename or disable one of them."))
        elif self.edit.base < row.version and self.edit.changed:
            title = self.tr("You have unsaved changes, and a newer version was saved in the meantime.")
            text = self.tr("Save to merge both. If they changed the same lines, you choose which to keep.")
            discard = MenuEntry(SkillAction.DISCARD, self.tr("Discard my changes"))
            self.notice.show_notice(title, text, dismiss=discard, confirm=save)
        elif self.edit.changed:
            title = self.tr("Your unsaved changes have been restored.")
            discard = MenuEntry(SkillAction.DISCARD, self.tr("Discard changes"))
            self.notice.show_notice(title, "", dismiss=discard, confirm=save)
        else:
            self.notice.hide()

    def _show_tab(self, name: str) -> None:
        parts = {COMPARE: self.compare, FILES: self.files, USED: self.usage}
        self._stack.setCurrentWidget(parts.get(name, self.editor))
        if name in (EDIT, EDIT_AND_PREVIEW):
            self.editor.show_preview(name == EDIT_AND_PREVIEW)
        if name == COMPARE:
            self.compare.request_diff()
        self.tab_changed.emit(name)

    def _lay_out(self) -> None:
        for name, text in (
            (EDIT, self.tr("Edit")),
            (EDIT_AND_PREVIEW, self.tr("Edit + preview")),
            (COMPARE, self.tr("Compare")),
            (FILES, self.tr("Files")),
            (USED, self.tr("Used in")),
        ):
            self.tabs.add(name, text)
        for part in (self.editor, self.compare, self.files, self.usage):
            self._stack.addWidget(part)
        layout = QVBoxLayout()
        layout.setContentsMargins(16, 0, 16, 8)
        layout.addWidget(self.notice)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addLayout(layout)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)


def _as_text(contents: FileContents) -> str:
    """Return the contents of a SKILL.md; "" if they are missing or binary."""
    return contents if isinstance(contents, str) else ""


def _finding_text(finding: SkillFinding) -> str:
    return " ".join(part for part in (finding.message, finding.cause, finding.fix) if part)
