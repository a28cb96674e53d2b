"""Carries out the actions of the MCP servers settings page: add, test, enable, configure and remove servers."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.log_dialog import LogDialog
from ui.settings.mcp_server_card import McpServerAction, outcome_text
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.api_key_dialog import ApiKeyDialog
from ui.widgets.confirm_dialog import ConfirmDialog
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.mcp_servers import McpOverview, McpTestResult
    from core.mcp.config_import import ImportedMcpServer

MAX_FOLDERS = 20  # number of recently used folders in which server configurations are searched


class _Browser(QObject):
    """Opens pages in the browser from any thread."""

    requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.requested.connect(lambda url: QDesktopServices.openUrl(QUrl(url)))


class McpServersController(SettingsPageController):
    reload_action = "look at MCP servers"

    def __init__(self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._browser = _Browser()
        dialog.mcp_action_requested.connect(self._run_action)

    def _run_action(self, action: str, server: str, argument: str) -> None:
        match McpServerAction(action):
            case McpServerAction.RELOAD:
                self._start(self._reload(), self.reload_action)
            case McpServerAction.ADD:
                self._open_add_dialog()
            case McpServerAction.SET_SECRET:
                self._open_key_dialog(server, argument)
            case McpServerAction.SHOW_LOG:
                self._start(self._show_log(server), "show a log")
            case McpServerAction.TEST:
                test = self._start_server(server, lambda engine: engine.mcp_servers.test(server))
                self._start(test, "test an MCP server")
            case McpServerAction.ACCEPT_TOOLS:
                accept = self._start_server(server, lambda engine: _accept_tools(engine, server))
                self._start(accept, "accept tools")
            case McpServerAction.ADD_FROM_PROJECT:
                add = self._start_server(server, lambda engine: engine.mcp_servers.add_from_project(argument, server))
                self._start(add, "add an MCP server")
            case McpServerAction.SIGN_IN:
                self._start(self._sign_in(server), "sign in to an MCP server")
            case McpServerAction.SIGN_OUT:
                self._start(self._sign_out(server), "sign out of an MCP server")
            case McpServerAction.REMOVE:
                self._confirm_removal(server)
            case McpServerAction.ENABLE:
                self._start(self._set_enabled(server, argument, True), "enable a tool")
            case McpServerAction.DISABLE:
                self._start(self._set_enabled(server, argument, False), "disable a tool")

    async def _reload(self) -> None:
        overview = await self._ask(_overview)
        if not self.closed:
            self._loaded = True
            self._dialog.mcp_servers.show_servers(overview)

    def _open_add_dialog(self) -> None:
        dialog = AddMcpServerDialog(self._look, self._dialog)
        dialog.added.connect(lambda servers: self._start(self._add(dialog, servers), "add an MCP server"))
        dialog.open()

    async def _add(self, dialog: AddMcpServerDialog, servers: "Sequence[ImportedMcpServer]") -> None:
        """Add servers one by one. At the first error, stop and show it in the dialog, which stays open."""
        dialog.show_starting()
        for imported in servers:
            open_page = self._browser.requested.emit if dialog.signs_in else None
            try:
                result = await self._ask(partial(_add_server, imported, open_page))
            except Problem as problem:
                dialog.show_error(problem.details)
                return
            if result.error and not imported.missing_secrets:
                dialog.show_error(result.error)
                return
            self._show_message(_tr("Added {}.").format(imported.server.name))
            if open_page:
                await self._warn_about_sign_in(imported.server.name)
        dialog.accept()
        await self._reload()

    def _open_key_dialog(self, server: str, key: str) -> None:
        dialog = ApiKeyDialog(self._look, {server: f"{server}: {key}"}, self._dialog)
        dialog.submitted.connect(
            lambda _server, value: self._start(self._set_secret(server, key, value), "set a secret")
        )
        dialog.open()

    async def _set_secret(self, server: str, key: str, value: str) -> None:
        saved = await self._ask(lambda engine: engine.mcp_servers.set_secret(server, key, value))
        self._forget_outcome(server)
        if saved.source == "keyring":
            self._show_message(_tr("Saved {} in the system keyring.").format(key))
        else:
            error_text = f" {saved.error.message} {saved.error.cause}" if saved.error else ""
            self._show_message(_tr("{} is kept until you quit Journeyman.").format(key) + error_text)
        await self._reload()

    async def _show_log(self, server: str) -> None:
        log = await self._ask(lambda engine: _log_tail(engine, server))
        if not self.closed:
            LogDialog(self._look, server, log, self._dialog).open()

    async def _sign_in(self, server: str) -> None:
        waiting = _tr("Sign in on the page that opens in your browser…")
        open_page = self._browser.requested.emit
        await self._start_server(server, lambda engine: engine.mcp_servers.sign_in(server, open_page), waiting)
        await self._warn_about_sign_in(server)

    async def _warn_about_sign_in(self, server: str) -> None:
        """Warn that the sign-in to a server is lost on exit if there is no keyring to store it in."""
        if await self._ask(lambda engine: _loses_sign_in(engine, server)):
            self._show_message(
                _tr("There is no keyring, so the sign-in to {} lasts only until you quit Journeyman.").format(server)
            )

    async def _sign_out(self, server: str) -> None:
        await self._ask(lambda engine: engine.mcp_servers.sign_out(server))
        self._forget_outcome(server)
        self._show_message(_tr("Signed out of {}.").format(server))
        await self._reload()

    async def _start_server(
        self, server: str, work: "Callable[[Engine], Awaitable[McpTestResult]]", waiting: str = ""
    ) -> None:
        """Run `work`, which starts a server, and show its result on the card of the server.

        Until then, the card shows the text `waiting`.
        """
        page = self._dialog.mcp_servers
        page.show_outcome(server, TonedText(waiting or _tr("Starting the server…"), "second"))
        try:
            outcome = outcome_text(await self._ask(work))
        except Problem as problem:
            outcome = TonedText(visible(str(problem.details)), "failed")
        if not self.closed:
            page.show_outcome(server, outcome)
            await self._reload()

    async def _set_enabled(self, server: str, tool: str, enabled: bool) -> None:
        """Enable or disable a tool of a server; for an empty `tool`, the whole server."""
        await self._ask(lambda engine: engine.mcp_servers.set_enabled(server, tool, enabled))
        self._forget_outcome(server)
        message = _tr("Enabled {} for new runs.") if enabled else _tr("Disabled {} for new runs.")
        self._show_message(message.format(f"{server}, {tool}" if tool else server))
        await self._reload()

    def _confirm_removal(self, server: str) -> None:
        title = _tr("Remove the MCP server {}?").format(server)
        text = _tr(
            "Its stored secrets, its sign-in and the rules that allow its tools are deleted. This cannot be undone."
        )

        def remove() -> None:
            self._start(self._remove(server), "remove an MCP server")

        ConfirmDialog(self._look, title, text, _tr("Remove server"), remove, self._dialog).open()

    async def _remove(self, server: str) -> None:
        await self._ask(lambda engine: engine.mcp_servers.remove(server))
        self._forget_outcome(server)
        self._show_message(_tr("Removed {} and its stored secrets.").format(server))
        await self._reload()

    def _forget_outcome(self, server: str) -> None:
        if not self.closed:
            self._dialog.mcp_servers.forget_outcome(server)


async def _overview(engine: "Engine") -> "McpOverview":
    """Return the configured servers, and those in configuration files of recently used folders."""
    rows = sorted(engine.sessions(), key=lambda row: row.updated_at, reverse=True)
    folders = dict.fromkeys(row.folder for row in rows if not row.imported_from and row.folder)
    return await engine.mcp_servers.overview(tuple(folders)[:MAX_FOLDERS])


async def _add_server(
    imported: "ImportedMcpServer", open_page: Callable[[str], None] | None, engine: "Engine"
) -> "McpTestResult":
    return await engine.mcp_servers.add(
        imported.server,
        imported.secrets,
        allow_missing_secrets=bool(imported.missing_secrets),
        open_page=open_page,
    )


async def _loses_sign_in(engine: "Engine", server: str) -> bool:
    """Return whether the user is signed in to a server and its tokens are not stored in a keyring."""
    is_signed_in = any(listed.oauth for listed in engine.mcp_servers.list() if listed.name == server)
    return is_signed_in and not await engine.mcp_servers.keeps_sign_in(server)


async def _log_tail(engine: "Engine", server: str) -> str:
    return engine.mcp_servers.log_tail(server)


async def _accept_tools(engine: "Engine", server: str) -> "McpTestResult":
    await engine.mcp_servers.accept(server)
    return await engine.mcp_servers.test(server)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
