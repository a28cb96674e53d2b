"""Carries out the actions of the Packages settings page: add, trust, update and remove packages."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.packages_page import PackageAction, running_lines
from ui.settings.settings_dialog import SettingsDialog
from ui.settings.trust_package_dialog import TrustPackageDialog
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog
from ui.widgets.toned_text import TonedText


class PackagesController(SettingsPageController):
    """Carries out the actions of the Packages page. `refresh_servers` reloads the MCP servers page."""

    def __init__(
        self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks, refresh_servers: Callable[[], None]
    ) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._refresh_servers = refresh_servers
        dialog.package_action_requested.connect(self._run_action)
        dialog.package_add_requested.connect(lambda *source: self._start(self._add(*source), "add a package"))

    def _run_action(self, action: str, name: str, digest: str) -> None:
        match PackageAction(action):
            case PackageAction.RELOAD:
                self._start(self._reload(), "look at packages")
            case PackageAction.TRUST:
                self._start(self._confirm_trust(name, digest), "trust a package")
            case PackageAction.UNTRUST:
                self._start(self._distrust(name), "untrust a package")
            case PackageAction.UPDATE:
                self._start(self._update(name), "update a package")
            case PackageAction.REMOVE:
                self._confirm_removal(name)

    async def _reload(self) -> None:
        overviews = await self._ask(lambda engine: engine.packages.list())
        if not self.closed:
            self._dialog.packages.show_packages(overviews)

    async def _add(self, source: str, ref: str, path: str) -> None:
        page = self._dialog.packages
        page.set_busy(True)
        page.show_adding(TonedText(_tr("Fetching the package…"), "second"))
        try:
            overview = await self._ask(lambda engine: engine.packages.add(source, ref=ref, path=path))
        except Problem as problem:
            if not self.closed:
                page.show_adding(TonedText(str(problem), "failed"))
            return
        finally:
            if not self.closed:
                page.set_busy(False)
        if not self.closed:
            page.clear()
            added = _tr("Added {}. It is not used before you trust it.").format(overview.package.name)
            page.show_adding(TonedText(added, "second"))
            await self._reload()

    async def _update(self, name: str) -> None:
        self._show(name, _tr("Fetching the package…"), "second")
        try:
            overview, changed = await self._ask(lambda engine: engine.packages.update(name))
        except Problem as problem:
            self._show(name, str(problem), "failed")
            return
        commit = f" ({overview.package.commit[:12]})" if overview.package.commit else ""
        text = _tr("Updated{}.") if changed else _tr("Up to date{}.")
        self._show(name, text.format(commit), "second")
        await self._reload()

    async def _confirm_trust(self, name: str, digest: str) -> None:
        """Ask whether to trust a package. The answer applies to the files that are shown, which `digest` identifies."""
        overview = await self._ask(lambda engine: engine.packages.show(name))
        if self.closed:
            return
        if overview.digest != digest:
            await self._reload()  # the files have changed since the page was loaded
            return
        dialog = TrustPackageDialog(self._look, name, tuple(running_lines(overview)), self._dialog)
        dialog.trusted.connect(lambda: self._start(self._trust(name, digest), "trust a package"))
        dialog.open()

    async def _trust(self, name: str, digest: str) -> None:
        if not self.closed:
            self._dialog.packages.show_adding(TonedText("", "second"))
        self._show(name, _tr("Starting its MCP servers…"), "second")
        try:
            results = await self._ask(lambda engine: engine.packages.trust(name, digest))
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

        def remove() -> None:
            self._start(self._remove(name), "remove a package")

        ConfirmDialog(self._look, title, text, _tr("Remove package"), remove, self._dialog).open()

    async def _remove(self, name: str) -> None:
        await self._ask(lambda engine: engine.packages.remove(name))
        await self._show_change(name, _tr("Removed {} and everything that it brought.").format(name))

    async def _distrust(self, name: str) -> None:
        await self._ask(lambda engine: engine.packages.distrust(name))
        await self._show_change(name, _tr("{} is no longer used.").format(name))

    async def _show_change(self, name: str, message: str) -> None:
        self._show(name, "", "second")
        self._show_message(message)
        await self._reload()
        self._refresh_servers()

    def _show(self, name: str, text: str, tone: str) -> None:
        if not self.closed:
            self._dialog.packages.show_outcome(name, TonedText(text, tone))


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
