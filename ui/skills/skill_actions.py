"""The actions on whole skills: create, import, rename, copy, trust, pin, disable, archive, restore and export."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.domain.problems import ErrorDetails
from core.domain.skill import ImportedSkill, SkillRow, SkillSaveConflict, is_valid_name
from ui.base.panel_page import ShowToast, StartTask
from ui.skills import templates
from ui.skills.controller import SkillsController
from ui.skills.edit_store import EditStore
from ui.skills.name_dialog import NameDialog
from ui.skills.skill_import_dialog import SkillImportDialog
from ui.skills.skill_menu import SkillAction
from ui.skills.skill_view import FILES, SkillView
from ui.style.theme import Look
from ui.widgets.link_dialog import LinkDialog

FILE_LIMIT: Final = 10 << 20


class SkillActionsHost(Protocol):
    """What the actions need from the Skills page."""

    view: SkillView
    edits: EditStore

    def refresh(self, key_or_name: str = "", *, focus_text: bool = False) -> None: ...

    def open(self, key: str) -> None: ...


class SkillActions:
    """Runs the actions. Afterwards, `page` is refreshed, and a toast reports the result with Undo where possible.

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

    def ask_new(self) -> None:
        hint = self._tr("Lowercase letters, digits and hyphens, such as weekly-report or code-review.")
        dialog = NameDialog(
            self._look,
            title=self._tr("New skill"),
            hint=hint,
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
        new_skill = templates.fill_template(template, name)

        async def send() -> None:
            await self._controller.save(name, new_skill.text, dict(new_skill.files), 0)
            self._page.refresh(f"library/{name}", focus_text=True)

        self._start_task(send(), "create a skill")

    def ask_new_name(self, row: SkillRow) -> None:
        self._open_name_dialog(row, self._tr("Rename skill"), self._tr("Rename"), lambda name: self._rename(row, name))

    def ask_copy_name(self, row: SkillRow) -> None:
        self._open_name_dialog(row, self._tr("Copy skill"), self._tr("Copy"), lambda name: self._copy(row, name))

    def trust(self, row: SkillRow) -> None:
        """Trust the skill with exactly the contents that are shown. After any change, it must be trusted again."""

        async def send() -> None:
            await self._controller.trust(row.key, row.digest)
            self._page.refresh(row.key)
            self._page.open(row.key)
            text = self._tr("Trusted {} with its current files.")
            self._show_toast(text.format(row.name), lambda: self._distrust(row))

        self._start_task(send(), "trust a skill")

    def set_flag(self, action: "FlagAction", row: SkillRow) -> asyncio.Task[bool] | None:
        """Pin, unpin, enable, disable, archive or restore a skill."""
        change = _flag_change(action)

        async def send() -> None:
            await change.set_flag(self._controller, row.key, change.on)
            self._page.refresh()
            self._page.open(row.key)
            self._show_toast(self._tr(change.message).format(row.name), lambda: self.set_flag(change.undo, row))

        return self._start_task(send(), f"{action} a skill")

    def restore(self, version: int) -> asyncio.Task[bool] | None:
        """Save an old version as the newest one. The versions in between are kept."""
        opened = self._page.view.skill
        if opened is None:
            return None
        key, before = opened.row.key, opened.row.version

        async def send() -> None:
            result = await self._controller.restore(key, version)
            if isinstance(result, SkillSaveConflict):
                self._show_toast(
                    self._tr("Not restored: another version was saved at the same time. Check it and try again.")
                )
            else:
                text = self._tr("Restored version {} as version {}.").format(version, result.version)
                self._show_toast(text, (lambda: self.restore(before)) if before != version else None)
            self._page.edits.unload(key)
            self._page.open(key)

        return self._start_task(send(), "restore a version")

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

        async def preview() -> None:
            skills = await self._controller.preview_import(source)
            dialog = SkillImportDialog(self._look, Path(source).name, skills, self._parent)
            dialog.confirmed.connect(lambda names: self._import(source, names))
            dialog.open()

        self._start_task(preview(), "preview an import of skills")

    def add_file(self, source: str) -> None:
        """Add a file from disk to the skill.

        The type of the file determines in which folder of the skill it is placed.
        """
        path = Path(source)
        try:
            if path.stat().st_size > FILE_LIMIT:
                cause = self._tr("The limit for a file of a skill is {} MB.").format(FILE_LIMIT >> 20)
                self._show_error(ErrorDetails(self._tr("{} is too large.").format(path.name), cause, ""))
                return
            body = path.read_bytes()
        except OSError as error:
            self._show_error(
                ErrorDetails(self._tr("{} could not be read.").format(path.name), f"{error.strerror or error}.", "")
            )
            return
        try:
            contents: str | bytes = body.decode("utf-8")
        except UnicodeDecodeError:
            contents = body
        self._page.view.files.add(f"{_folder_for(contents)}/{path.name}", contents)

    def show_removed(self, path: str, body: object) -> None:
        view = self._page.view
        self._show_toast(self._tr("{} is removed when you save.").format(path), lambda: view.files.restore(path, body))
        view.choose_tab(FILES)

    def ask_export(self, row: SkillRow) -> None:
        dialog = QFileDialog(self._parent, self._tr("Export skill as zip file"))
        dialog.setObjectName("skills.export.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("zip")
        dialog.selectFile(f"{row.name}.zip")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda target: self.export(row, target))
        dialog.open()

    def export(self, row: SkillRow, target: str) -> None:
        async def send() -> None:
            await self._controller.export(row.key, target)
            self._show_toast(self._tr("Exported {} to {}.").format(row.name, target))

        self._start_task(send(), "export a skill")

    def open_link(self, address: str) -> None:
        """Show the full address of a link, and open it if the user agrees."""
        LinkDialog(self._look, address, self._parent).open()

    def _import(self, source: str, names: Sequence[str]) -> None:
        async def send() -> None:
            imported: Sequence[ImportedSkill] = await self._controller.import_skills(source, names)
            imported_names = ", ".join(skill.name for skill in imported)
            text = self._tr("Imported: {}.") if imported else self._tr("No skills were imported.")
            self._show_toast(text.format(imported_names))
            self._page.refresh(imported[0].key if imported else "")

        self._start_task(send(), "import skills")

    def _distrust(self, row: SkillRow) -> asyncio.Task[bool] | None:
        async def send() -> None:
            await self._controller.untrust(row.key)
            self._page.refresh(row.key)
            self._page.open(row.key)

        return self._start_task(send(), "untrust a skill")

    def _rename(self, row: SkillRow, name: str) -> None:
        async def send() -> None:
            key = await self._controller.rename(row.key, name)
            self._page.edits.unload(row.key)
            self._page.refresh(key)
            text = self._tr("Renamed {} to {}.").format(row.name, name)
            self._show_toast(text, lambda: self._rename_back(key, row.name))

        self._start_task(send(), "rename a skill")

    def _rename_back(self, key: str, name: str) -> asyncio.Task[bool] | None:
        async def send() -> None:
            self._page.edits.unload(key)
            self._page.refresh(await self._controller.rename(key, name))

        return self._start_task(send(), "rename a skill")

    def _copy(self, row: SkillRow, name: str) -> None:
        async def send() -> None:
            self._page.refresh(await self._controller.copy(row.key, name))

        self._start_task(send(), "copy a skill")

    def _open_name_dialog(self, row: SkillRow, title: str, button: str, on_submit: Callable[[str], None]) -> None:
        hint = self._tr("Lowercase letters, digits and hyphens.")
        dialog = NameDialog(
            self._look,
            title=title,
            hint=hint,
            button=button,
            find_error=self._name_error,
            name=row.name,
            parent=self._parent,
        )
        dialog.submitted.connect(lambda name, _: on_submit(name))
        dialog.open()

    def _name_error(self, name: str) -> str:
        if not is_valid_name(name):
            return self._tr(
                "Use lowercase letters a to z, digits, and single hyphens between them; at most 64 characters."
            )
        return ""

    def _tr(self, text: str) -> str:
        return self._parent.tr(text)


FlagAction = Literal[
    SkillAction.PIN,
    SkillAction.UNPIN,
    SkillAction.DISABLE,
    SkillAction.ENABLE,
    SkillAction.ARCHIVE,
    SkillAction.RESTORE,
]


class _FlagChange(NamedTuple):
    """An action that sets or clears a flag of a skill, with the action that reverses it and the text of the toast."""

    set_flag: Callable[[SkillsController, str, bool], Awaitable[None]]
    on: bool
    undo: FlagAction
    message: str


def _folder_for(contents: str | bytes) -> str:
    """Return the folder of a skill for a file with these contents, following the Agent Skills format."""
    if isinstance(contents, bytes):
        return "assets"
    return "scripts" if contents.startswith("#!") else "references"


def _flag_change(action: FlagAction) -> _FlagChange:
    match action:
        case SkillAction.PIN:
            return _FlagChange(SkillsController.pin, True, SkillAction.UNPIN, "Pinned {}.")
        case SkillAction.UNPIN:
            return _FlagChange(SkillsController.pin, False, SkillAction.PIN, "Unpinned {}.")
        case SkillAction.DISABLE:
            message = "Disabled {}. It is no longer offered to models."
            return _FlagChange(SkillsController.disable, True, SkillAction.ENABLE, message)
        case SkillAction.ENABLE:
            return _FlagChange(SkillsController.disable, False, SkillAction.DISABLE, "Enabled {}.")
        case SkillAction.ARCHIVE:
            message = "Archived {}. Its versions are kept."
            return _FlagChange(SkillsController.archive, True, SkillAction.RESTORE, message)
        case SkillAction.RESTORE:
            return _FlagChange(SkillsController.archive, False, SkillAction.ARCHIVE, "Restored {}.")
