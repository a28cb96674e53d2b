"""Carries out what the user does on the MCP servers settings page: add, test, enable, configure and remove servers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.log_dialog import LogDialog
from ui.settings.mcp_server_card import outcome_text
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.api_key_dialog import ApiKeyDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.mcp_servers import McpOverview, McpTestResult
    from core.mcp.config_import import ImportedMcpServer
    from core.settings.api_keys import ApiKey

MAX_FOLDERS = 20  # most recently used folders that are searched for server configurations


class _Browser(QObject):
    """Opens pages in the browser from any thread."""

    requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.requested.connect(lambda url: QDesktopServices.openUrl(QUrl(url)))


class McpServersController:
    """Serves one settings dialog until its `closed` signal. Errors are shown in the dialog."""

    def __init__(self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._look = look
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self.closed = False
        self._loaded = False
        self._browser = _Browser()
        dialog.mcp_action_requested.connect(self._run_action)

    def refresh(self) -> None:
        """Reload the page after the state of a server changed, if it was loaded before."""
        if not self.closed and self._loaded:
            self._start(self._reload(), "look at MCP servers")

    def _run_action(self, action: str, server: str, argument: str) -> None:
        actions: dict[str, Callable[[], object]] = {
            "look": lambda: self._start(self._reload(), "look at MCP servers"),
            "add": self._ask_server,
            "give": lambda: self._ask_key(server, argument),
            "log": lambda: self._start(self._show_log(server), "show a log"),
            "test": lambda: self._start(
                self._run_and_show(server, partial(_test_server, server)), "test an MCP server"
            ),
            "accept": lambda: self._start(self._run_and_show(server, partial(_accept_tools, server)), "accept tools"),
            "bring": lambda: self._start(
                self._run_and_show(server, partial(_add_from_project, server, argument)), "add an MCP server"
            ),
            "login": lambda: self._start(self._sign_in(server), "sign in to an MCP server"),
            "logout": lambda: self._start(self._sign_out(server), "sign out of an MCP server"),
            "remove": lambda: self._start(self._remove(server), "remove an MCP server"),
        }
        switch = partial(self._switch, server, argument, action == "on")
        actions.get(action, lambda: self._start(switch(), "switch a tool"))()

    def _start(self, work: object, name: str) -> None:
        self._tasks.start(work, name)  # type: ignore[arg-type]  # `work` is always a coroutine of this class

    async def _reload(self) -> None:
        overview = await self._bridge.ask(_overview)
        if not self.closed:
            self._loaded = True
            self._dialog.mcp_servers.show_servers(overview)

    def _ask_server(self) -> None:
        dialog = AddMcpServerDialog(self._look, self._dialog)
        dialog.added.connect(lambda servers: self._start(self._add(dialog, servers), "add an MCP server"))
        dialog.open()

    async def _add(self, dialog: AddMcpServerDialog, servers: "Sequence[ImportedMcpServer]") -> None:
        """Add the pasted servers one by one; at the first error, the dialog stays open and shows it."""
        dialog.show_starting()
        for imported in servers:
            try:
                open_page = self._browser.requested.emit if dialog.signs_in else None
                result = await self._bridge.ask(partial(_add_server, imported, open_page))
            except Problem as problem:
                dialog.show_error(problem.details)
                return
            if result.error and not imported.missing_secrets:
                dialog.show_error(result.error)
                return
            self._dialog.show_message(_tr("Added {}.").format(imported.server.name))
            if open_page:
                await self._warn_about_sign_in(imported.server.name)
        dialog.accept()
        await self._reload()

    def _ask_key(self, server: str, key: str) -> None:
        dialog = ApiKeyDialog(self._look, [(server, f"{server}: {key}")], self._dialog)
        dialog.submitted.connect(
            lambda _server, value: self._start(self._set_secret(server, key, value), "set a secret")
        )
        dialog.open()

    async def _set_secret(self, server: str, key: str, value: str) -> None:
        saved = await self._bridge.ask(partial(_set_server_secret, server, key, value))
        self._forget_outcome(server)
        if saved.source == "keyring":
            self._show_message(_tr("Saved {} in the system keyring.").format(key))
        else:
            error_text = f" {saved.error.message} {saved.error.cause}" if saved.error else ""
            self._show_message(_tr("{} is kept until you quit Journeyman.").format(key) + error_text)
        await self._reload()

    async def _show_log(self, server: str) -> None:
        log = await self._bridge.ask(partial(_log_tail, server))
        if not self.closed:
            LogDialog(self._look, server, log, self._dialog).open()

    async def _sign_in(self, server: str) -> None:
        waiting = _tr("Sign in on the page that opens in your browser…")
        await self._run_and_show(server, partial(_sign_in, server, self._browser.requested.emit), waiting)
        await self._warn_about_sign_in(server)

    async def _warn_about_sign_in(self, server: str) -> None:
        """Say that a sign-in is not stored, because there is no keyring."""
        if await self._bridge.ask(partial(_loses_sign_in, server)):
            self._show_message(
                _tr("There is no keyring, so the sign-in to {} lasts only until you quit Journeyman.").format(server)
            )

    async def _sign_out(self, server: str) -> None:
        await self._bridge.ask(partial(_sign_out, server))
        self._forget_outcome(server)
        self._show_message(_tr("Signed out of {}.").format(server))
        await self._reload()

    async def _run_and_show(self, server: str, work: "Callable[[Engine], object]", waiting: str = "") -> None:
        """Run `work`, which starts a server, and show the outcome on its card."""
        page = self._dialog.mcp_servers
        page.show_outcome(server, (waiting or _tr("Starting the server…"), "second"))
        try:
            outcome = outcome_text(await self._bridge.ask(work))  # type: ignore[arg-type]  # every `work` returns an McpTestResult
        except Problem as problem:
            outcome = (visible(str(problem.details)), "failed")
        if not self.closed:
            page.show_outcome(server, outcome)
            await self._reload()

    async def _switch(self, server: str, tool: str, on: bool) -> None:
        await self._bridge.ask(partial(_set_enabled, server, tool, on))
        self._forget_outcome(server)
        name = f"{server}, {tool}" if tool else server
        self._show_message((_tr("Enabled {} for new runs.") if on else _tr("Disabled {} for new runs.")).format(name))
        await self._reload()

    async def _remove(self, server: str) -> None:
        await self._bridge.ask(partial(_remove_server, server))
        self._forget_outcome(server)
        self._show_message(_tr("Removed {} and its stored secrets.").format(server))
        await self._reload()

    def _forget_outcome(self, server: str) -> None:
        if not self.closed:
            self._dialog.mcp_servers.forget_outcome(server)

    def _show_message(self, text: str) -> None:
        if not self.closed:
            self._dialog.show_message(text)


async def _overview(engine: "Engine") -> "McpOverview":
    """Return the configured servers, and the servers in the configuration files of recently used folders."""
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


async def _sign_in(server: str, open_page: Callable[[str], None], engine: "Engine") -> "McpTestResult":
    return await engine.mcp_servers.sign_in(server, open_page)


async def _loses_sign_in(server: str, engine: "Engine") -> bool:
    """Return whether the user is signed in to a server, and the tokens are not in the keyring."""
    signed_in = any(one.oauth for one in engine.mcp_servers.list() if one.name == server)
    return signed_in and not await engine.mcp_servers.keeps_sign_in(server)


async def _sign_out(server: str, engine: "Engine") -> None:
    await engine.mcp_servers.sign_out(server)


async def _set_server_secret(server: str, key: str, value: str, engine: "Engine") -> "ApiKey":
    return await engine.mcp_servers.set_secret(server, key, value)


async def _log_tail(server: str, engine: "Engine") -> str:
    return engine.mcp_servers.log_tail(server)


async def _test_server(server: str, engine: "Engine") -> "McpTestResult":
    return await engine.mcp_servers.test(server)


async def _accept_tools(server: str, engine: "Engine") -> "McpTestResult":
    await engine.mcp_servers.accept(server)
    return await engine.mcp_servers.test(server)


async def _add_from_project(server: str, folder: str, engine: "Engine") -> "McpTestResult":
    return await engine.mcp_servers.add_from_project(folder, server)


async def _set_enabled(server: str, tool: str, on: bool, engine: "Engine") -> None:
    await engine.mcp_servers.set_enabled(server, tool, on)


async def _remove_server(server: str, engine: "Engine") -> None:
    await engine.mcp_servers.remove(server)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
