"""Carries out the actions of the Agent profiles settings page: add, edit, open, remove and restore profiles."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.agent_profile_dialog import AgentProfileDialog
from ui.settings.agent_profiles_page import AgentProfileAction
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.prompting.profile_files import ProfileFile, ProfileFiles
    from core.engine.prompting.profiles import AgentProfile

T = TypeVar("T")


class AgentProfilesController(SettingsPageController):
    """Carries out the actions of the Agent profiles page. `on_changed` is called after each change of a profile.

    `removed` are the profiles that can be restored, the one removed last at the end. The list outlives the dialog.
    """

    def __init__(
        self,
        look: Look,
        dialog: SettingsDialog,
        bridge: Bridge,
        tasks: Tasks,
        on_changed: Callable[[], None],
        removed: "list[ProfileFile]",
    ) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._on_changed = on_changed
        self._removed = removed
        self._names_being_restored: set[str] = set()
        dialog.profile_action_requested.connect(lambda action, name: self._start(self._act(action, name), action))

    async def _act(self, action: str, name: str) -> None:
        match AgentProfileAction(action):
            case AgentProfileAction.RELOAD:
                await self._reload()
            case AgentProfileAction.ADD:
                await self._open_editor(None)
            case AgentProfileAction.EDIT:
                await self._edit(name)
            case AgentProfileAction.OPEN_FILE:
                await self._open_file(name)
            case AgentProfileAction.REMOVE:
                await self._remove(name)
            case AgentProfileAction.UNDO_REMOVAL:
                await self._undo_removal(name)

    async def _reload(self, message: str = "") -> None:
        files = await self._ask_files(lambda files: files.list())
        if not self.closed:
            self._dialog.profiles.show_profiles(files, [file.name for file in self._removed])
            if message:
                self._dialog.show_message(message)

    async def _edit(self, name: str) -> None:
        """Open the editor; only reload the page if the profile was removed or damaged since the page was loaded."""
        file = await self._ask_files(lambda files: files.find(name))
        if file is None or file.profile is None:
            await self._reload()
        else:
            await self._open_editor(file)

    async def _open_editor(self, file: "ProfileFile | None") -> None:
        """Open the editor for a profile; None to add one."""
        tools = await self._ask(_tool_names)
        if self.closed:
            return
        editor = AgentProfileDialog(self._look, tools, file, self._dialog)
        editor.saved.connect(
            lambda name, profile: self._start(self._save(editor, name, profile, file), "save a profile")
        )
        editor.finished.connect(editor.deleteLater)
        editor.open()

    async def _save(
        self, editor: AgentProfileDialog, name: str, profile: "AgentProfile", opened: "ProfileFile | None"
    ) -> None:
        """Save the profile that was edited, and close the editor or show there why this failed."""
        try:
            await self._write(name, profile, opened)
        except Problem as problem:
            editor.show_error(problem.details)
            return
        editor.accept()
        await self._reload(_tr("Saved the profile {}. It counts from the next run on.").format(name))
        self._on_changed()

    async def _write(self, name: str, profile: "AgentProfile", opened: "ProfileFile | None") -> None:
        """Write a profile into the file that was opened, or into a new one if that is None."""
        if opened is None:
            await self._ask_files(lambda files: files.add(name, profile))
        else:
            await self._ask_files(lambda files: files.replace(opened, profile))

    async def _open_file(self, name: str) -> None:
        editor = await self._ask(partial(_open_file, name))
        self._show_message(_tr("Opened in {}. Reopen this page when the file is fixed.").format(editor))

    async def _remove(self, name: str) -> None:
        self._removed.append(await self._ask_files(lambda files: files.remove(name)))
        await self._reload(_tr("Removed the profile. Earlier sessions are kept."))
        if not self.closed:
            self._dialog.profiles.focus_undo(name)
        self._on_changed()

    async def _undo_removal(self, name: str) -> None:
        """Restore the profile that was last removed under a name. A second click on Undo meanwhile has no effect."""
        if name in self._names_being_restored:
            return
        self._names_being_restored.add(name)
        try:
            await self._restore(name)
        finally:
            self._names_being_restored.remove(name)

    async def _restore(self, name: str) -> None:
        """Restore a profile; only reload the page if it offers a profile that has been restored already."""
        removed = next((file for file in reversed(self._removed) if file.name == name), None)
        if removed is None:
            await self._reload()
            return
        await self._ask_files(lambda files: files.restore(removed))
        self._removed.remove(removed)
        await self._reload(_tr("Restored: {}").format(name))
        self._on_changed()

    async def _ask_files(self, work: "Callable[[ProfileFiles], T]") -> T:
        """Run `work` on the profile files of the engine, in a worker thread, and return its result."""
        return await self._ask(lambda engine: asyncio.to_thread(work, engine.profile_files))


async def _tool_names(_engine: "Engine") -> tuple[str, ...]:
    # Imported late, in the thread of the engine, because the window starts faster without the tools.
    from core.tools.catalogue import tool_names

    return tool_names()


async def _open_file(name: str, engine: "Engine") -> str:
    """Open the file of a profile in the user's editor and return the editor's name."""
    from core.workspace.editors import open_file

    file = await asyncio.to_thread(engine.profile_files.find, name)
    if file is None:
        raise Problem(f"There is no agent profile {name!r}.", "Its file was removed.")
    return await asyncio.to_thread(open_file, file.path.parent, file.path.name, 0, engine.settings.current.editor)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
