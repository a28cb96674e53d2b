"""What is wanted of tool servers in the settings: looked at, tested, given keys, switched, added, removed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from ui.bridge import Bridge
from ui.settings.add_tool_server import AddToolServer
from ui.settings.dialog import SettingsDialog
from ui.settings.log_dialog import LogDialog
from ui.settings.tool_card import look_words
from ui.tasks import Tasks
from ui.theme import Look
from ui.visible import visible
from ui.widgets.key_dialog import KeyDialog

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.servers import Look as Looked
    from core.engine.servers import Overview
    from core.servers.pasted import Pasted

FOLDERS = 20  # those worked in last


class ToolsDoor:
    """Serves one settings window; what goes wrong is told in it."""

    def __init__(self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._look, self._dialog, self._bridge, self._tasks = look, dialog, bridge, tasks
        self.closed, self._looked = False, False
        dialog.tools_wanted.connect(self._do)

    def refresh(self) -> None:
        """Some of them are not as they were."""
        if not self.closed and self._looked:
            self._start(self._look_again(), "look at tool servers")

    def _do(self, word: str, server: str, of: str) -> None:
        acts: dict[str, Callable[[], object]] = {
            "look": lambda: self._start(self._look_again(), "look at tool servers"),
            "add": self._ask_server,
            "give": lambda: self._ask_key(server, of),
            "log": lambda: self._start(self._show_log(server), "show a log"),
            "test": lambda: self._start(self._seen(server, partial(_tested, server)), "test a tool server"),
            "accept": lambda: self._start(self._seen(server, partial(_accepted, server)), "accept tools"),
            "bring": lambda: self._start(self._seen(server, partial(_brought, server, of)), "add a tool server"),
            "remove": lambda: self._start(self._remove(server), "remove a tool server"),
        }
        switch = partial(self._switch, server, of, word == "on")
        acts.get(word, lambda: self._start(switch(), "switch a tool"))()

    def _start(self, work: object, name: str) -> None:
        self._tasks.start(work, name)  # type: ignore[arg-type]  # each is one of ours

    async def _look_again(self) -> None:
        found = await self._bridge.ask(_found)
        if not self.closed:
            self._looked = True
            self._dialog.tools.show_servers(found)

    def _ask_server(self) -> None:
        dialog = AddToolServer(self._look, self._dialog)
        dialog.added.connect(lambda found: self._start(self._add(dialog, found), "add a tool server"))
        dialog.open()

    async def _add(self, dialog: AddToolServer, found: "Sequence[Pasted]") -> None:
        """Each for itself; the dialog stays while one of them is not taken."""
        dialog.wait()
        for one in found:
            try:
                looked = await self._bridge.ask(partial(_added, one))
            except Problem as problem:
                dialog.tell(problem.trouble)
                return
            if looked.trouble and not one.needs:
                dialog.tell(looked.trouble)
                return
            self._dialog.say(_tr("{} was added.").format(one.server.name))
        dialog.accept()
        await self._look_again()

    def _ask_key(self, server: str, key: str) -> None:
        dialog = KeyDialog(self._look, [(server, f"{server}: {key}")], self._dialog)
        dialog.given.connect(lambda _server, value: self._start(self._give(server, key, value), "give a key"))
        dialog.open()

    async def _give(self, server: str, key: str, value: str) -> None:
        kept = await self._bridge.ask(partial(_given, server, key, value))
        if kept.source == "keyring":
            self._say(_tr("{} is in the keyring of your system.").format(key))
        else:
            why = f" {kept.trouble.what} {kept.trouble.why}" if kept.trouble else ""
            self._say(_tr("{} is kept until Journeyman ends.").format(key) + why)
        await self._look_again()

    async def _show_log(self, server: str) -> None:
        printed = await self._bridge.ask(partial(_printed, server))
        if not self.closed:
            LogDialog(self._look, server, printed, self._dialog).open()

    async def _seen(self, server: str, work: "Callable[[Engine], object]") -> None:
        """Start it, and show what it says."""
        page = self._dialog.tools
        page.show_said(server, (_tr("Starting it, to see what it says…"), "second"))
        try:
            said = look_words(await self._bridge.ask(work))  # type: ignore[arg-type]  # each answers with a Look
        except Problem as problem:
            said = (visible(str(problem.trouble)), "failed")
        if not self.closed:
            page.show_said(server, said)
            await self._look_again()

    async def _switch(self, server: str, tool: str, on: bool) -> None:
        await self._bridge.ask(partial(_switched, server, tool, on))
        name = f"{server}, {tool}" if tool else server
        self._say((_tr("New runs are offered {}.") if on else _tr("No new run is offered {}.")).format(name))
        await self._look_again()

    async def _remove(self, server: str) -> None:
        await self._bridge.ask(partial(_removed, server))
        self._say(_tr("{} was removed, and its keys.").format(server))
        await self._look_again()

    def _say(self, words: str) -> None:
        if not self.closed:
            self._dialog.say(words)


async def _found(engine: "Engine") -> "Overview":
    """In the engine's thread, as what follows."""
    rows = sorted(engine.sessions(), key=lambda row: row.updated, reverse=True)
    folders = dict.fromkeys(row.folder for row in rows if not row.source and row.folder)
    return await engine.servers.overview(tuple(folders)[:FOLDERS])


async def _added(one: "Pasted", engine: "Engine") -> "Looked":
    return await engine.servers.add(one.server, one.keys, lacks_keys=bool(one.needs))


async def _given(server: str, key: str, value: str, engine: "Engine"):  # type: ignore[no-untyped-def]  # a Key
    return await engine.servers.give_key(server, key, value)


async def _printed(server: str, engine: "Engine") -> str:
    return engine.servers.printed(server)


async def _tested(server: str, engine: "Engine") -> "Looked":
    return await engine.servers.test(server)


async def _accepted(server: str, engine: "Engine") -> "Looked":
    await engine.servers.accept(server)
    return await engine.servers.test(server)


async def _brought(server: str, folder: str, engine: "Engine") -> "Looked":
    return await engine.servers.add_brought(folder, server)


async def _switched(server: str, tool: str, on: bool, engine: "Engine") -> None:
    await engine.servers.switch(server, tool, on)


async def _removed(server: str, engine: "Engine") -> None:
    await engine.servers.remove(server)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
