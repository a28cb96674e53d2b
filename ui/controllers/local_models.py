"""Downloads, adds and removes local models, and offers a sample task when the first one is ready."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject

from core.models.local.model_state import LocalModelStates
from core.settings.schema import LOCAL_MODELS
from core.workspace.sample_folder import sample_folder
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.new_session import NewSessionController
from ui.controllers.settings import SettingsController
from ui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class LocalModelsController(QObject):
    """Connects the start screen, the settings and drops of model files to the models that Journeyman runs itself."""

    def __init__(
        self,
        window: MainWindow,
        bridge: Bridge,
        tasks: Tasks,
        new_session: NewSessionController,
        settings: SettingsController,
        folder: str,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._tasks = tasks
        self._new_session = new_session
        self._settings = settings
        self._folder = folder
        self._states = LocalModelStates()
        self._awaited: set[str] = set()  # models that were requested on the start screen
        window.local_models_changed.connect(self._on_changed)
        window.start.local_model_action_requested.connect(self.run_action)
        window.start.shown.connect(lambda: self.run_action("look", ""))
        window.status.models_requested.connect(lambda: settings.open(LOCAL_MODELS))
        settings.local_model_action_requested.connect(self._run_settings_action)
        new_session.drop.models_dropped.connect(self.add_files)

    def run_action(self, action: str, name: str) -> None:
        """Carry out an action of the start screen."""
        if action == "more":
            self._settings.open(LOCAL_MODELS)
        elif action == "use":
            self._tasks.start(self._use(name), "use a local model")
        else:
            if action == "download":
                self._awaited.add(name)
            elif action in ("pause", "cancel"):
                self._awaited.discard(name)
            self._run(action, name, self._tasks)

    def add_files(self, paths: Sequence[str]) -> None:
        """Add model files that were dropped on the window, and show the start screen with the last one chosen."""

        async def add() -> None:
            for path in paths:
                name = await self._bridge.ask(partial(_add, path))
                await self._use(name)

        self._tasks.start(add(), "add a model file")

    def _run_settings_action(self, action: str, name: str) -> None:
        if action == "use":
            self._settings.tasks.start(self._set_default(name), "use a local model")
        self._run(action, name, self._settings.tasks)
        self._show_in_settings()  # a dialog that has just been opened shows nothing yet

    def _run(self, action: str, name: str, tasks: Tasks) -> None:
        work = ACTIONS.get(action)
        if work is not None:
            tasks.start(self._bridge.ask(partial(work, name)), f"{action} a local model")

    def _on_changed(self, states: LocalModelStates) -> None:
        before = {row.name for row in self._states.rows if row.is_available}
        self._states = states
        self._window.start.show_local_models(states)
        self._show_in_settings()
        new = [row for row in states.rows if row.is_available and row.name not in before]
        for row in new:
            if row.name in self._awaited:
                self._awaited.discard(row.name)
                self._window.toast.show_message(_tr("{} is ready.").format(row.title))
                self._tasks.start(self._use(row.name, only_if_unset=True), "use a local model")

    def _show_in_settings(self) -> None:
        self._settings.show_local_models(self._states)

    async def _set_default(self, name: str) -> None:
        await self._settings.store("model", f"local/{name}")
        self._show_in_settings()

    async def _use(self, name: str, *, only_if_unset: bool = False) -> None:
        """Make a model the default of new sessions, and offer a sample task with it on the start screen.

        With `only_if_unset`, another default is kept, and the user is not taken to the start screen.
        """
        default = await self._bridge.ask(_default_model)
        if not (only_if_unset and default):
            await self._set_default(name)
        start = self._window.start
        if only_if_unset and not start.isVisible():
            return
        await self._new_session.show_models()
        start.form.choose_model(f"local/{name}")
        if not start.form.text():
            start.form.set_folder(str(await self._bridge.ask(partial(_sample_folder, self._folder))))
            start.form.fill(_tr("Read photos.csv. Which photo shows the whole wall?"))
            start.form.focus_task()


async def _default_model(engine: "Engine") -> str:
    return engine.settings.current.model


async def _download(name: str, engine: "Engine") -> None:
    engine.providers.local_models.start_download(name)


async def _pause(name: str, engine: "Engine") -> None:
    await engine.providers.local_models.pause_download(name)


async def _cancel(name: str, engine: "Engine") -> None:
    await engine.providers.local_models.cancel_download(name)


async def _remove(name: str, engine: "Engine") -> None:
    await engine.providers.local_models.remove(name)


async def _look(name: str, engine: "Engine") -> None:
    await engine.providers.local_models.refresh()


async def _add(path: str, engine: "Engine") -> str:
    return engine.providers.local_models.add_file(Path(path))


async def _fetch(address: str, engine: "Engine") -> None:
    models = engine.providers.local_models
    models.start_download(await models.add_address(address))


async def _sample_folder(home: str, engine: "Engine") -> Path:
    """Make a sample folder, which is trusted without asking, because its files are Journeyman's own."""
    folder = sample_folder(Path(home))
    await engine.trust(folder, by="Journeyman")
    return folder


ACTIONS: Mapping[str, Callable[[str, "Engine"], Awaitable[object]]] = MappingProxyType(
    {
        "download": _download,
        "pause": _pause,
        "cancel": _cancel,
        "remove": _remove,
        "look": _look,
        "add": _add,
        "fetch": _fetch,
    }
)


def _tr(text: str) -> str:
    return QCoreApplication.translate("local models", text)
