"""Carries out what the user does in the semantic search section of the settings: turn it on and off."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.memory.semantic_search import SemanticSearchStatus
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.settings.settings_dialog import SettingsDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

SETTING = "embedding_model"


class SemanticSearchController:
    """Serves one settings dialog until it is closed. `on_changed` is called after the setting has changed."""

    def __init__(
        self, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks, on_changed: Callable[[str, str], None]
    ) -> None:
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self._on_changed = on_changed
        self.closed = False
        dialog.semantic_search_requested.connect(self._run)

    def _run(self, action: str) -> None:
        works = {"look": self._look, "enable": self._enable, "disable": self._disable}
        self._tasks.start(works[action](), f"{action} semantic search")

    async def _look(self) -> None:
        self._show(await self._bridge.ask(_status))

    async def _enable(self) -> None:
        """Install the default model if it is missing, and use it. Leave the section as it was if that fails."""
        self._dialog.semantic_search.show_installing(" and ".join(await self._bridge.ask(_missing)))
        try:
            await self._bridge.ask(_enable)
        finally:
            await self._follow()

    async def _disable(self) -> None:
        await self._bridge.ask(_disable)
        await self._follow()

    async def _follow(self) -> None:
        """Show the setting and the status as they are now."""
        model = await self._bridge.ask(_model)
        self._on_changed(SETTING, model)
        if not self.closed:
            self._dialog.show_value(f"{SETTING}.path", model)
        self._show(await self._bridge.ask(_status))

    def _show(self, status: SemanticSearchStatus) -> None:
        if not self.closed:
            self._dialog.semantic_search.show_status(status)


async def _status(engine: "Engine") -> SemanticSearchStatus:
    return await engine.memory.semantic_search_status()


async def _missing(engine: "Engine") -> list[str]:
    from core.memory.model_installation import missing_packages

    return missing_packages()


async def _enable(engine: "Engine") -> None:
    from core.engine.services.semantic_search_setup import enable_semantic_search

    await enable_semantic_search(engine.settings, engine.memory, on_install=lambda packages: None)


async def _disable(engine: "Engine") -> None:
    engine.settings.change(**{SETTING: ""})


async def _model(engine: "Engine") -> str:
    return engine.settings.current.embedding_model
