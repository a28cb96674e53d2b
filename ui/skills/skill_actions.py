"""The actions of the Skills page on a skill, except editing it: create, import, rename, trust, archive and others."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.domain.problems import ErrorDetails, Problem
from core.domain.skill import SkillRow, SkillSaveConflict, is_valid_name
from ui.base.panel_page import ShowToast, StartTask
from ui.skills import templates
from ui.skills.controller import SkillsController
from ui.skills.edit_store import EditStore
from ui.skills.edited_skill import EditedSkill, FileContents
from ui.skills.file_to_add import read_file_to_add
from ui.skills.name_dialog import NameDialog
from ui.skills.skill_import_dialog import SkillImportDialog
from ui.skills.skill_view import FILES, SkillView
from ui.skills.state_changes import StateAction, state_change
from ui.style.theme import Look


class SkillActionsHost(Protocol):
    """What the actions need from the Skills page."""

    view: SkillView
    edits: EditStore

    def refresh(self, key_or_name: str = "", *, focus_text: bool = False) -> None: ...

    def open(self, key: str) -> None: ...


class SkillActions:
    """Runs the actions as tasks. Each then updates `page`, and may show a toast, with Undo where that is possible.

    Dialogs are shown above `parent`.
    """

    def __init__(
        self,
        page: SkillActionsHost,
        parent: QWidget,
        look: Look,
        controller: SkillsController,
        *,
        start_task: StartTask,
        show_toast: ShowToast,
        show_error: Callable[[ErrorDetails], None],
    ) -> None:
        self._page = page
        self._parent = parent
        self._look = look
        self._controller = controller
        self._start_task = start_task
        self._show_toast = show_toast
        self._show_error = show_error

    def restyle(self, look: Look) -> None:
        self._look = look

    # Create and import

    def ask_new(self) -> None:
        """Let the user choose a name and a template for a new skill, and create it."""
        dialog = NameDialog(
            self._look,
            title=self._tr("New skill"),
            hint=self._tr("Lowercase letters, digits and hyphens, such as weekly-report or code-review."),
            button=self._tr("Create"),
            find_error=self._name_error,
            choices=templates.template_choices(),
            choices_title=self._tr("Template"),
            parent=self._parent,
        )
        dialog.submitted.connect(self.create)
        dialog.open()

    def create(self, name: str, template: str) -> None:
        """Create a skill from a template, and open it for editing."""
        self._start_task(self._create(name, template), "create a skill")

    async def _create(self, name: str, template: str) -> None:
        new_skill = templates.fill_template(template, name)
        await self._controller.save(name, new_skill.text, dict(new_skill.files), 0)
        self._page.refresh(f"library/{name}", focus_text=True)

    def ask_import(self) -> None:
        """Let the user choose a file to import. Folders and files can also be dropped on the page."""
        dialog = QFileDialog(self._parent, self._tr("Import skills from a zip file or a SKILL.md"))
        dialog.setObjectName("skills.import.file")
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setNameFilters([self._tr("Skills (*.zip *.skill SKILL.md)"), self._tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.preview_import)
        dialog.open()

    def preview_import(self, source: str) -> None:
        """Show which skills an import would add, and import them if the user agrees."""
        self._start_task(self._preview_import(source), "preview an import of skills")

    async def _preview_import(self, source: str) -> None:
        skills = await self._controller.preview_import(source)
        dialog = SkillImportDialog(self._look, Path(source).name, skills, self._parent)
        dialog.confirmed.connect(lambda names: self._start_task(self._import(source, names), "import skills"))
        dialog.open()

    async def _import(self, source: str, names: Sequence[str]) -> None:
        imported = await self._controller.import_skills(source, names)
        text = self._tr("Imported: {}.") if imported else self._tr("No skills were imported.")
        self._show_toast(text.format(", ".join(skill.name for skill in imported)))
        self._page.refresh(imported[0].key if imported else "")

    # Rename, copy and export

    def ask_new_name(self, row: SkillRow) -> None:
        """Let the user enter a new name for a skill, and rename it."""
        dialog = self._name_dialog(row, self._tr("Rename skill"), self._tr("Rename"))
        dialog.submitted.connect(lambda name, _: self._start_task(self._rename(row, name), "rename a skill"))
        dialog.open()

    async def _rename(self, row: SkillRow, name: str) -> None:
        key = await self._controller.rename(row.key, name)
        self._page.edits.unload(row.key)
        self._page.refresh(key)
        text = self._tr("Renamed {} to {}.").format(row.name, name)
        self._show_toast(text, lambda: self._start_task(self._rename_back(key, row.name), "rename a skill"))

    async def _rename_back(self, key: str, name: str) -> None:
        self._page.edits.unload(key)
        self._page.refresh(await self._controller.rename(key, name))

    def ask_copy_name(self, row: SkillRow) -> None:
        """Let the user enter a name for a copy of a skill, and copy it."""
        dialog = self._name_dialog(row, self._tr("Copy skill"), self._tr("Copy"))
        dialog.submitted.connect(lambda name, _: self._start_task(self._copy(row, name), "copy a skill"))
        dialog.open()

    async def _copy(self, row: SkillRow, name: str) -> None:
        self._page.refresh(await self._controller.copy(row.key, name))

    def ask_export(self, row: SkillRow) -> None:
        """Let the user choose where to export a skill, and export it."""
        dialog = QFileDialog(self._parent, self._tr("Export skill as zip file"))
        dialog.setObjectName("skills.export.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("zip")
        dialog.selectFile(f"{row.name}.zip")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda target: self._start_task(self._export(row, target), "export a skill"))
        dialog.open()

    async def _export(self, row: SkillRow, target: str) -> None:
        await self._controller.export(row.key, target)
        self._show_toast(self._tr("Exported {} to {}.").format(row.name, target))

    # Trust and state

    def trust(self, row: SkillRow) -> None:
        """Trust the skill with exactly the contents that are shown. After any change, it must be trusted again."""
        self._start_task(self._trust(row), "trust a skill")

    async def _trust(self, row: SkillRow) -> None:
        await self._controller.trust(row.key, row.digest)
        self._page.refresh(row.key)
        self._page.open(row.key)
        text = self._tr("Trusted {} with its current files.").format(row.name)
        self._show_toast(text, lambda: self._start_task(self._untrust(row), "untrust a skill"))

    async def _untrust(self, row: SkillRow) -> None:
        await self._controller.untrust(row.key)
        self._page.refresh(row.key)
        self._page.open(row.key)

    def change_state(self, action: StateAction, row: SkillRow) -> asyncio.Task[bool] | None:
        """Pin, disable or archive a skill, or reverse that."""
        return self._start_task(self._change_state(action, row), f"{action} a skill")

    async def _change_state(self, action: StateAction, row: SkillRow) -> None:
        change = state_change(action)
        await change.setter(self._controller, row.key, change.value)
        self._page.refresh()
        self._page.open(row.key)
        self._show_toast(self._tr(change.message).format(row.name), partial(self.change_state, change.reverse, row))

    # Versions and files

    def restore_version(self, version: int) -> None:
        """Save an old version of the open skill as its newest one. The versions in between are kept."""
        opened = self._page.view.skill
        if opened is not None:
            self._start_restoring(opened.row.key, version, opened.row.version)

    def _start_restoring(self, key: str, version: int, newest: int) -> asyncio.Task[bool] | None:
        return self._start_task(self._restore_version(key, version, newest), "restore a version")

    async def _restore_version(self, key: str, version: int, newest: int) -> None:
        """Restore a version. Undo restores the one that has been the newest."""
        result = await self._controller.restore(key, version)
        if isinstance(result, SkillSaveConflict):
            self._show_toast(
                self._tr("Not restored: another version was saved at the same time. Check it and try again.")
            )
        else:
            text = self._tr("Restored version {} as version {}.").format(version, result.version)
            undo = partial(self._start_restoring, key, newest, result.version)
            self._show_toast(text, undo if version != newest else None)
        self._page.edits.unload(key)
        self._page.open(key)

    def add_file(self, source: str) -> None:
        """Add a file from disk to the open skill. Its contents determine the folder in which it is placed."""
        try:
            file = read_file_to_add(Path(source))
        except Problem as problem:
            self._show_error(problem.details)
        else:
            self._page.view.files.add(file.path, file.contents)

    def show_removed(self, path: str, contents: FileContents) -> None:
        """Report that a file was removed from the open skill, and offer to undo that."""
        view = self._page.view
        undo = partial(self._restore_file, view.edit, path, contents)
        self._show_toast(self._tr("{} is removed when you save.").format(path), undo)
        view.choose_tab(FILES)

    def _restore_file(self, edit: EditedSkill, path: str, contents: FileContents) -> None:
        """Undo the removal of a file. If another skill is open now, open the one to which the file belongs."""
        view = self._page.view
        if view.edit.key == edit.key:
            view.files.restore(path, contents)
        else:
            edit.restore(path, contents)
            self._page.open(edit.key)

    def _name_dialog(self, row: SkillRow, title: str, button: str) -> NameDialog:
        return NameDialog(
            self._look,
            title=title,
            hint=self._tr("Lowercase letters, digits and hyphens."),
            button=button,
            find_error=self._name_error,
            name=row.name,
            parent=self._parent,
        )

    def _name_error(self, name: str) -> str:
        """Return why a skill cannot have this name; "" if it can."""
        if is_valid_name(name):
            return ""
        return self._tr("Use lowercase letters a to z, digits, and single hyphens between them; at most 64 characters.")

    def _tr(self, text: str) -> str:
        return self._parent.tr(text)
