"""Opens the settings dialog, and applies the changes that the user makes in it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut

from core.domain.problems import ErrorDetails, Problem
from core.domain.tiers import TIER_NAMES
from core.models.local.model_state import LocalModelStates
from ui.base.bridge import Bridge
from ui.base.tasks import ErrorSource, Tasks
from ui.controllers.agent_profiles import AgentProfilesController
from ui.controllers.external_agents import ExternalAgentsController
from ui.controllers.mcp_servers import McpServersController
from ui.controllers.packages import PackagesController
from ui.controllers.permission_rules import PermissionRulesController
from ui.controllers.providers import ProvidersController
from ui.controllers.schedules import SchedulesController
from ui.controllers.semantic_search import SemanticSearchController
from ui.controllers.settings_page import SettingsPageController
from ui.dialogs.help_dialog import HelpDialog
from ui.sessions.session_menu import SessionAction
from ui.settings.rules_and_data_pages import DataAction, DataState
from ui.settings.settings_dialog import SettingsDialog, SettingsSnapshot
from ui.shell.main_window import MainWindow
from ui.style.number_formats import size
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.prompting.profile_files import ProfileFile


class SettingsController(QObject):
    """Shows the settings dialog, only one at a time.

    It opens with cached values, which are then updated from the engine.
    """

    local_model_action_requested = Signal(str, str)
    agent_profiles_changed = Signal()
    # A ProvidersOverview; emitted whenever the providers have been listed, also after a change.
    providers_listed = Signal(object)

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks, folder: str) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._folder = folder
        self.tasks = Tasks(self._show_error, self._resolve_error, tasks)
        self._snapshot: SettingsSnapshot | None = None
        self._change_count = 0
        self._dialog: SettingsDialog | None = None
        self._page_controllers: Sequence[SettingsPageController] = ()
        self._removed_profiles: list[ProfileFile] = []  # they can be restored until Journeyman quits
        self.tasks.start(self._prepare(), "read the settings")
        window.command_ended.connect(self._refresh)
        window.restyled.connect(self._restyle)

    async def close(self) -> None:
        await self.tasks.close()

    def open(self, page: str = "") -> None:
        self.tasks.start(self._open(page), "open the settings")

    def change(self, name: str, value: Any) -> None:
        """Store a setting in the background. Called for changes outside of the dialog too, such as a new text size."""
        self.tasks.start(self.store(name, value), f"set {name}")

    def show_local_models(self, states: LocalModelStates) -> None:
        """Show the local models in the dialog if it is open."""
        if self._dialog is not None and self._snapshot is not None:
            self._dialog.show_local_models(states, self._snapshot.settings.model)

    def _show_error(self, error: ErrorDetails, source: ErrorSource) -> None:
        """Show an error in the settings dialog or, if that is not open, in the window."""
        if self._dialog is not None:
            self._dialog.show_error(error, source)
        else:
            self._window.show_error(error, source)

    def _resolve_error(self, source: ErrorSource) -> None:
        self._window.notice.resolve(source)
        if self._dialog is not None:
            self._dialog.resolve_error(source)

    async def _prepare(self) -> None:
        with suppress(Problem):  # startup errors of the engine are reported elsewhere
            self._snapshot = await self._bridge.ask(_load_snapshot)

    async def _open(self, page: str) -> None:
        if self._dialog is None:
            self._snapshot = self._snapshot or await self._bridge.ask(_load_snapshot)
        if self._dialog is None and self._snapshot is not None:
            self._show(self._snapshot)
        if self._dialog is not None:
            self._dialog.show_page(page)
            self._dialog.raise_()
            self._dialog.activateWindow()
        await self._read()

    def _show(self, snapshot: SettingsSnapshot) -> None:
        dialog = self._dialog = SettingsDialog(self._window.look, snapshot, self._window)
        self._page_controllers = self._create_page_controllers(dialog)
        dialog.changed.connect(self.change)
        dialog.local_model_action_requested.connect(self.local_model_action_requested)
        dialog.revoke_requested.connect(lambda rule: self.tasks.start(self._revoke(rule), "revoke"))
        dialog.data_action_requested.connect(self._run_data_action)
        dialog.session_requested.connect(self._open_session)
        dialog.finished.connect(lambda _: self._on_closed(dialog))
        help_shortcut = QShortcut(QKeySequence(Qt.Key.Key_F1), dialog)
        help_shortcut.activated.connect(lambda: HelpDialog(self._window.look, dialog, page="settings").open())
        dialog.open()

    def _create_page_controllers(self, dialog: SettingsDialog) -> Sequence[SettingsPageController]:
        look, bridge, tasks = self._window.look, self._bridge, self.tasks
        servers = McpServersController(look, dialog, bridge, tasks)
        self._window.status.servers_changed.connect(servers.refresh)
        return (
            servers,
            ProvidersController(look, dialog, bridge, tasks, self.store, self._read, self.providers_listed.emit),
            SchedulesController(look, dialog, bridge, tasks),
            ExternalAgentsController(look, dialog, bridge, tasks, self._read, self.providers_listed.emit),
            AgentProfilesController(
                look, dialog, bridge, tasks, self.agent_profiles_changed.emit, self._removed_profiles
            ),
            PackagesController(look, dialog, bridge, tasks, servers.refresh),
            PermissionRulesController(look, dialog, bridge, tasks, self._session_folder(), self._read),
            SemanticSearchController(look, dialog, bridge, tasks, self._note_change),
        )

    def _refresh(self) -> None:
        """Read the settings again. Called when another process may have changed them."""
        if self._dialog is None:
            return
        self.tasks.start(self._read(), "read the settings")
        for controller in self._page_controllers:
            controller.refresh()

    def _restyle(self, look: Look) -> None:
        for controller in self._page_controllers:
            controller.restyle(look)
        if self._dialog is not None:
            self._dialog.restyle(look)

    def _session_folder(self) -> str:
        session = self._window.selection.session
        return self._window.session_index.row(session).folder

    async def _read(self) -> None:
        """Read the data for the dialog, and show it, unless the user has changed a setting in the meantime."""
        dialog = self._dialog
        change_count = self._change_count
        snapshot = await self._bridge.ask(_load_snapshot)
        if self._change_count != change_count:
            return
        if self._dialog is not None and self._dialog is dialog and snapshot != self._snapshot:
            self._dialog.refresh(snapshot)
        self._snapshot = snapshot

    async def _show_data(self) -> None:
        """Count the stored data, and show the figures in the dialog."""
        dialog = self._dialog
        data = await self._bridge.ask(partial(_data_state, self._folder))
        if self._dialog is not None and self._dialog is dialog:
            self._dialog.show_data(data)

    async def store(self, name: str, value: Any) -> None:
        """Store a setting, and return when that is done."""
        self._change_count += 1
        await self._bridge.ask(partial(_store_setting, name, value))
        self._note_change(name, value)
        if self._dialog is not None:
            self._dialog.show_message(_tr("Saved. Changes take effect immediately."))

    def _note_change(self, name: str, value: Any) -> None:
        """Update the cached settings after the engine has stored a setting, and announce the change."""
        if self._snapshot:
            self._snapshot = replace(self._snapshot, settings=replace(self._snapshot.settings, **{name: value}))
            if self._dialog is not None:
                self._dialog.remember(self._snapshot)
        self._window.setting_changed.emit(name, value)

    async def _revoke(self, rule: str) -> None:
        await self._bridge.ask(lambda engine: engine.revoke(rule))
        self._show_message(_tr("Revoked the rule."))
        await self._read()

    def _show_message(self, text: str) -> None:
        if self._dialog is not None:
            self._dialog.show_message(text)
        else:
            self._window.toast.show_message(text)

    def _run_data_action(self, action: str, name: str) -> None:
        match DataAction(action):
            case DataAction.COUNT:
                self.tasks.start(self._show_data(), "count the stored data")
            case DataAction.BACK_UP:
                self.tasks.start(self._back_up(), "back up")
            case DataAction.CHECK:
                self.tasks.start(self._check(), "check the stored data")
            case DataAction.COMPACT:
                self.tasks.start(self._compact(), "compact the database")
            case DataAction.EMPTY_TRASH:
                if self._dialog is not None:
                    self._dialog.close()
                self._window.sessions.action_requested.emit(SessionAction.EMPTY_TRASH, [])
            case DataAction.OPEN_FOLDER:
                QDesktopServices.openUrl(QUrl.fromLocalFile(self._folder))
            case DataAction.RESTORE:
                self._ask_restore(name)

    def _ask_restore(self, name: str) -> None:
        title = _tr("Restore the backup of {}?").format(name)
        text = _tr(
            "Journeyman closes, replaces its current data with the backup, and reopens. Active runs are interrupted. "
            "The current data is kept in a separate file in the same folder."
        )
        over = self._dialog or self._window
        act = partial(self._window.restore_requested.emit, name)
        ConfirmDialog(self._window.look, title, text, _tr("Restore and restart"), act, over).open()

    async def _back_up(self) -> None:
        backup = await self._bridge.ask(lambda engine: engine.back_up())
        self._show_message(_tr("Backed up to {}").format(backup.summary))
        await self._show_data()

    async def _check(self) -> None:
        report = await self._bridge.ask(lambda engine: engine.check_integrity())
        if not report.errors:
            self._show_message(_tr("Every page was read. There is no damage."))
            await self._show_data()
            return
        title = _tr("The data file is damaged")
        text = _tr(
            "{error}. Journeyman closes, recovers what can be read into a new file, and reopens. Active runs are "
            "interrupted. The damaged file is kept in the same folder."
        ).format(error=report.errors[0].removesuffix("."))
        # When the last check has found damage, the next start repairs the file.
        act = partial(self._window.restore_requested.emit, "")
        over = self._dialog or self._window
        ConfirmDialog(self._window.look, title, text, _tr("Repair and restart"), act, over).open()

    async def _compact(self) -> None:
        result = await self._bridge.ask(lambda engine: engine.compact())
        compacted = _tr("Compacted the database from {before} to {after}.")
        self._show_message(compacted.format(before=size(result.before), after=size(result.after)))
        await self._show_data()

    def _open_session(self, session: str) -> None:
        if self._dialog is not None:
            self._dialog.close()
        self._window.show_session(session)

    def _on_closed(self, dialog: SettingsDialog) -> None:
        if self._dialog is dialog:
            self._dialog = None
            for controller in self._page_controllers:
                controller.closed = True
            self._page_controllers = ()


async def _load_snapshot(engine: "Engine") -> SettingsSnapshot:
    saved = engine.rules()
    error = f"{saved.error.message} {saved.error.cause}" if saved.error else ""
    return SettingsSnapshot(engine.settings.current, saved.rules, error)


async def _data_state(folder: str, engine: "Engine") -> DataState:
    statistics = await engine.table_statistics()
    rows = engine.sessions()
    report = engine.last_integrity_check()
    return DataState(
        folder=folder,
        stored=statistics.disk_bytes,
        events=statistics.rows["event"],
        sessions=len(rows),
        trashed=sum(1 for row in rows if row.trashed),
        backups=tuple(engine.backup_names()),
        largest=tuple(await engine.session_sizes()),
        checked_at=report.at if report else 0,
    )


async def _store_setting(name: str, value: Any, engine: "Engine") -> None:
    for model in _models_in_setting(name, value):
        engine.providers.check(model)
    engine.settings.change(**{name: value})


def _models_in_setting(name: str, value: Any) -> list[str]:
    """Return the models that the value of a setting names, so that an unknown provider is found before it is stored."""
    if name == "tiers":
        return [*value.small, *value.mid, *value.frontier]
    if name == "model" and value and value not in TIER_NAMES:
        return [value]
    return []


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
