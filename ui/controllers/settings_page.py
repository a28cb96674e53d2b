"""The base class for the controllers of settings pages."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

T = TypeVar("T")


class SettingsPageController:
    """Carries out the actions of one page of the settings dialog, and shows their errors there.

    The owner sets `closed` when the dialog is closed. Work that has already started in the engine then continues, but
    nothing more is shown. Subclasses set `_loaded` when they have shown the data of their page.
    """

    reload_action = ""
    """The name of the task that reloads the page; an error stays on screen until the task of this name succeeds."""

    def __init__(self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._look = look
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self._loaded = False
        self.closed = False

    def restyle(self, look: Look) -> None:
        """Use another theme or text size for the dialogs to open."""
        self._look = look

    def refresh(self) -> None:
        """Reload the page if it has already been loaded."""
        if self._loaded and not self.closed:
            self._start(self._reload(), self.reload_action)

    async def _reload(self) -> None:
        """Read the data of the page from the engine and show it."""

    async def _ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        return await self._bridge.ask(work)

    def _start(self, work: Coroutine[Any, Any, None], action: str) -> None:
        self._tasks.start(work, action)

    def _show_message(self, text: str) -> None:
        if not self.closed:
            self._dialog.show_message(text)
