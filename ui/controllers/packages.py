"""Carries out what the user does on the Packages settings page: add, trust, update and remove packages."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.settings.packages_page import running_lines
from ui.settings.settings_dialog import SettingsDialog
from ui.settings.trust_package_dialog import TrustPackageDialog
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.mcp_servers import McpTestResult
    from core.engine.services.packages import PackageOverview


class PackagesController:
    """Serves one settings dialog until its `closed` signal. `refresh_servers` reloads the MCP servers page."""

    def __init__(
        self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks, refresh_servers: Callable[[], None]
    ) -> None:
        self._look = look
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self._refresh_servers = refresh_servers
        self.closed = False
        dialog.package_action_requested.connect(self._run_action)

    def _run_action(self, action: str, about: str, second: str, third: str) -> None:
        works: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "look": self._reload,
            "add": lambda: self._add(about, second, third),
            "trust": lambda: self._confirm_trust(about, second),
            "untrust": lambda: self._do(about, partial(_distrust, about), _tr("{} is no longer used.")),
            "update": lambda: self._update(about),
        }
        if action == "remove":
            self._confirm_removal(about)
        else:
            self._tasks.start(works[action](), f"{action} a package")

    async def _reload(self) -> None:
        overviews = await self._bridge.ask(_packages)
        if not self.closed:
            self._dialog.packages.show_packages(overviews)

    async def _add(self, source: str, ref: str, path: str) -> None:
        page = self._dialog.packages
        page.set_busy(True)
        page.show_outcome("", _tr("Fetching the package…"), "second")
        try:
            overview = await self._bridge.ask(partial(_add_package, source, ref, path))
        except Problem as problem:
            self._show("", str(problem), "failed")
            return
        finally:
            if not self.closed:
                page.set_busy(False)
        if not self.closed:
            page.clear()
            self._show("", _tr("Added {}. It is not used before you trust it.").format(overview.package.name), "second")
            await self._reload()

    async def _update(self, name: str) -> None:
        self._show(name, _tr("Fetching the package…"), "second")
        try:
            overview, changed = await self._bridge.ask(partial(_update_package, name))
        except Problem as problem:
            self._show(name, str(problem), "failed")
            return
        commit = f" ({overview.package.commit[:12]})" if overview.package.commit else ""
        text = _tr("Updated{}.") if changed else _tr("Up to date{}.")
        self._show(name, text.format(commit), "second")
        await self._reload()

    async def _confirm_trust(self, name: str, digest: str) -> None:
        """Ask before anything of a package may run; the answer counts for the files that are shown."""
        overview = await self._bridge.ask(partial(_package, name))
        if self.closed:
            return
        if overview.digest != digest:
            await self._reload()  # the page showed older files
            return
        dialog = TrustPackageDialog(self._look, name, tuple(running_lines(overview)), self._dialog)
        dialog.trusted.connect(lambda: self._tasks.start(self._trust(name, digest), "trust a package"))
        dialog.open()

    async def _trust(self, name: str, digest: str) -> None:
        self._show("", "", "second")
        self._show(name, _tr("Starting its MCP servers…"), "second")
        try:
            results = await self._bridge.ask(partial(_trust, name, digest))
        except Problem as problem:
            self._show(name, str(problem), "failed")
            return
        failed = [str(result.error) for result in results if result.error]
        self._show(name, "\n".join(failed), "failed" if failed else "second")
        await self._reload()
        self._refresh_servers()

    def _confirm_removal(self, name: str) -> None:
        title = _tr("Remove the package {}?").format(name)
        text = _tr("Its hooks, MCP servers with their keys, skills and commands go with it. Sessions are kept.")
        removed = _tr("Removed {} and everything that it brought.")
        work = partial(self._do, name, partial(_remove, name), removed)
        remove = partial(self._start, work, "remove a package")
        ConfirmDialog(self._look, title, text, _tr("Remove package"), remove, self._dialog).open()

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        self._tasks.start(work(), name)

    async def _do(self, name: str, work: "Callable[[Engine], Coroutine[Any, Any, None]]", text: str) -> None:
        await self._bridge.ask(work)
        self._show(name, "", "second")
        if not self.closed:
            self._dialog.show_message(text.format(name))
        await self._reload()
        self._refresh_servers()

    def _show(self, name: str, text: str, tone: str) -> None:
        if not self.closed:
            self._dialog.packages.show_outcome(name, text, tone)


async def _packages(engine: "Engine") -> "tuple[PackageOverview, ...]":
    return await engine.packages.list()


async def _package(name: str, engine: "Engine") -> "PackageOverview":
    return await engine.packages.show(name)


async def _add_package(source: str, ref: str, path: str, engine: "Engine") -> "PackageOverview":
    return await engine.packages.add(source, ref=ref, path=path)


async def _update_package(name: str, engine: "Engine") -> "tuple[PackageOverview, bool]":
    return await engine.packages.update(name)


async def _trust(name: str, digest: str, engine: "Engine") -> "tuple[McpTestResult, ...]":
    return await engine.packages.trust(name, digest)


async def _distrust(name: str, engine: "Engine") -> None:
    await engine.packages.distrust(name)


async def _remove(name: str, engine: "Engine") -> None:
    await engine.packages.remove(name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
