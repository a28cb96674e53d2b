"""Carries out what the user does on the MCP servers settings page: add, test, enable, configure and remove servers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

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
    from core.engine.services.mcp_servers import McpOverview
    from core.engine.services.mcp_servers import McpTestResult as Looked
    from core.mcp.config_import import ImportedMcpServer

MAX_FOLDERS = 20  # most recently used folders that are searched for server configurations


class McpServersController:
    """Serves one settings dialog until its `closed` signal. Errors are shown in the dialog."""

    def __init__(self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._look, self._dialog, self._bridge, self._tasks = look, dialog, bridge, tasks
        self.closed, self._looked = False, False
        dialog.mcp_action_requested.connect(self._do)

    def refresh(self) -> None:
        """Reload the page after the state of a server changed, if it was loaded before."""
        if not self.closed and self._looked:
            self._start(self._look_again(), "look at MCP servers")

    def _do(self, word: str, server: str, of: str) -> None:
        acts: dict[str, Callable[[], object]] = {
            "look": lambda: self._start(self._look_again(), "look at MCP servers"),
            "add": self._ask_server,
            "give": lambda: self._ask_key(server, of),
            "log": lambda: self._start(self._show_log(server), "show a log"),
            "test": lambda: self._start(self._seen(server, partial(_tested, server)), "test an MCP server"),
            "accept": lambda: self._start(self._seen(server, partial(_accepted, server)), "accept tools"),
            "bring": lambda: self._start(self._seen(server, partial(_brought, server, of)), "add an MCP server"),
            "remove": lambda: self._start(self._remove(server), "remove an MCP server"),
        }
        switch = partial(self._switch, server, of, word == "on")
        acts.get(word, lambda: self._start(switch(), "switch a tool"))()

    def _start(self, work: object, name: str) -> None:
        self._tasks.start(work, name)  # type: ignore[arg-type]  # every coroutine here belongs to this class

    async def _look_again(self) -> None:
        found = await self._bridge.ask(_found)
        if not self.closed:
            self._looked = True
            self._dialog.mcp_servers.show_servers(found)

    def _ask_server(self) -> None:
        dialog = AddMcpServerDialog(self._look, self._dialog)
        dialog.added.connect(lambda found: self._start(self._add(dialog, found), "add an MCP server"))
        dialog.open()

    async def _add(self, dialog: AddMcpServerDialog, found: "Sequence[ImportedMcpServer]") -> None:
        """Add the pasted servers one by one; at the first error, the dialog stays open and shows it."""
        dialog.show_starting()
        for one in found:
            try:
                looked = await self._bridge.ask(partial(_added, one))
            except Problem as problem:
                dialog.show_error(problem.details)
                return
            if looked.error and not one.missing_secrets:
                dialog.show_error(looked.error)
                return
            self._dialog.show_message(_tr("Added {}.").format(one.server.name))
        dialog.accept()
        await self._look_again()

    def _ask_key(self, server: str, key: str) -> None:
        dialog = ApiKeyDialog(self._look, [(server, f"{server}: {key}")], self._dialog)
        dialog.submitted.connect(lambda _server, value: self._start(self._give(server, key, value), "set a secret"))
        dialog.open()

    async def _give(self, server: str, key: str, value: str) -> None:
        kept = await self._bridge.ask(partial(_given, server, key, value))
        if kept.source == "keyring":
            self._say(_tr("Saved {} in the system keyring.").format(key))
        else:
            why = f" {kept.error.message} {kept.error.cause}" if kept.error else ""
            self._say(_tr("{} is kept until you quit Journeyman.").format(key) + why)
        await self._look_again()

    async def _show_log(self, server: str) -> None:
        printed = await self._bridge.ask(partial(_printed, server))
        if not self.closed:
            LogDialog(self._look, server, printed, self._dialog).open()

    async def _seen(self, server: str, work: "Callable[[Engine], object]") -> None:
        """Start a server with `work` and show the result on its card."""
        page = self._dialog.mcp_servers
        page.show_outcome(server, (_tr("Starting the server…"), "second"))
        try:
            said = outcome_text(await self._bridge.ask(work))  # type: ignore[arg-type]  # each answers with a Look
        except Problem as problem:
            said = (visible(str(problem.details)), "failed")
        if not self.closed:
            page.show_outcome(server, said)
            await self._look_again()

    async def _switch(self, server: str, tool: str, on: bool) -> None:
        await self._bridge.ask(partial(_switched, server, tool, on))
        name = f"{server}, {tool}" if tool else server
        self._say((_tr("Enabled {} for new runs.") if on else _tr("Disabled {} for new runs.")).format(name))
        await self._look_again()

    async def _remove(self, server: str) -> None:
        await self._bridge.ask(partial(_removed, server))
        self._say(_tr("Removed {} and its stored secrets.").format(server))
        await self._look_again()

    def _say(self, words: str) -> None:
        if not self.closed:
            self._dialog.show_message(words)


async def _found(engine: "Engine") -> "McpOverview":
    """Return the configured servers, and the servers in the configuration files of recently used folders."""
    rows = sorted(engine.sessions(), key=lambda row: row.updated_at, reverse=True)
    folders = dict.fromkeys(row.folder for row in rows if not row.imported_from and row.folder)
    return await engine.mcp_servers.overview(tuple(folders)[:MAX_FOLDERS])


async def _added(one: "ImportedMcpServer", engine: "Engine") -> "Looked":
    return await engine.mcp_servers.add(one.server, one.secrets, allow_missing_secrets=bool(one.missing_secrets))


async def _given(server: str, key: str, value: str, engine: "Engine"):  # type: ignore[no-untyped-def]  # a Key
    return await engine.mcp_servers.set_secret(server, key, value)


async def _printed(server: str, engine: "Engine") -> str:
    return engine.mcp_servers.log_tail(server)


async def _tested(server: str, engine: "Engine") -> "Looked":
    return await engine.mcp_servers.test(server)


async def _accepted(server: str, engine: "Engine") -> "Looked":
    await engine.mcp_servers.accept(server)
    return await engine.mcp_servers.test(server)


async def _brought(server: str, folder: str, engine: "Engine") -> "Looked":
    return await engine.mcp_servers.add_from_project(folder, server)


async def _switched(server: str, tool: str, on: bool, engine: "Engine") -> None:
    await engine.mcp_servers.set_enabled(server, tool, on)


async def _removed(server: str, engine: "Engine") -> None:
    await engine.mcp_servers.remove(server)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
