"""Carries out the actions of the settings section that enables and disables semantic search."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.semantic_search_section import SemanticSearchAction
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

SETTING = "embedding_model"


class SemanticSearchController(SettingsPageController):
    """Enables and disables semantic search. `on_changed` is called after the setting has changed."""

    def __init__(
        self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks, on_changed: Callable[[str, str], None]
    ) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._on_changed = on_changed
        dialog.semantic_search_requested.connect(self._run_action)

    def _run_action(self, action: str) -> None:
        match SemanticSearchAction(action):
            case SemanticSearchAction.RELOAD:
                self._start(self._reload(), "query the status of semantic search")
            case SemanticSearchAction.ENABLE:
                self._start(self._enable(), "enable semantic search")
            case SemanticSearchAction.DISABLE:
                self._start(self._disable(), "disable semantic search")

    async def _reload(self) -> None:
        status = await self._ask(lambda engine: engine.memory.semantic_search_status())
        if not self.closed:
            self._dialog.semantic_search.show_status(status)

    async def _enable(self) -> None:
        """Install the default model if it is missing, and enable it. If that fails, show the previous state again."""
        try:
            if missing := await self._ask(_missing):
                self._show_installing(missing)
                await self._ask(partial(_install, packages=missing))
            self._show_installing([])  # nothing has to be installed, but the model must be loaded
            await self._ask(_enable)
        finally:
            await self._show_setting()

    def _show_installing(self, packages: Sequence[str]) -> None:
        if not self.closed:
            self._dialog.semantic_search.show_installing(" and ".join(packages))

    async def _disable(self) -> None:
        await self._ask(_disable)
        await self._show_setting()

    async def _show_setting(self) -> None:
        """Show the current setting and status."""
        model = await self._ask(_model)
        self._on_changed(SETTING, model)
        if not self.closed:
            self._dialog.show_value(f"{SETTING}.path", model)
        await self._reload()


async def _missing(engine: "Engine") -> list[str]:
    from core.memory.model_installation import missing_packages

    return missing_packages()


async def _install(engine: "Engine", packages: Sequence[str]) -> None:
    from core.memory.model_installation import install_packages

    await install_packages(packages)


async def _enable(engine: "Engine") -> None:
    from core.engine.services.semantic_search_setup import enable_semantic_search

    await enable_semantic_search(engine.settings, engine.memory, on_install=lambda packages: None)


async def _disable(engine: "Engine") -> None:
    engine.settings.change(**{SETTING: ""})


async def _model(engine: "Engine") -> str:
    return engine.settings.current.embedding_model
