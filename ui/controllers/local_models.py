"""Downloads, adds and removes local models. When the first one is ready, a sample task is offered."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QCoreApplication, QObject

from core.domain.problems import Problem
from core.models.local.model_state import LocalModelStates
from core.settings.schema import LOCAL_MODELS
from core.workspace.sample_folder import sample_folder
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.new_session import NewSessionController
from ui.controllers.settings import SettingsController
from ui.shell.main_window import MainWindow
from ui.widgets.local_model_entry import LocalModelAction

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


EngineAction = Literal[
    LocalModelAction.DOWNLOAD,
    LocalModelAction.PAUSE,
    LocalModelAction.CANCEL,
    LocalModelAction.REMOVE,
    LocalModelAction.REFRESH,
    LocalModelAction.ADD_FILE,
    LocalModelAction.ADD_ADDRESS,
]
"""The actions that only call the engine. The controller carries out the others itself."""


class LocalModelsController(QObject):
    """Connects the start screen, the settings, and the dropping of model files with the models that Journeyman runs."""

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
        self._awaited: set[str] = set()  # models whose download was started on the start screen
        window.local_models_changed.connect(self._on_changed)
        window.start.local_model_action_requested.connect(self.run_action)
        window.start.shown.connect(lambda: self.run_action(LocalModelAction.REFRESH, ""))
        window.status.models_requested.connect(lambda: settings.open(LOCAL_MODELS))
        settings.local_model_action_requested.connect(self._run_settings_action)
        new_session.drop.models_dropped.connect(self.add_files)

    def run_action(self, action: str, name: str) -> None:
        """Carry out a `LocalModelAction` that was requested on the start screen."""
        match LocalModelAction(action):
            case LocalModelAction.SHOW_ALL:
                self._settings.open(LOCAL_MODELS)
            case LocalModelAction.USE:
                self._tasks.start(self._use(name), "use a local model")
            case LocalModelAction.DOWNLOAD:
                self._awaited.add(name)
                self._run(LocalModelAction.DOWNLOAD, name, self._tasks)
            case engine_action:
                self._awaited.discard(name)
                self._run(engine_action, name, self._tasks)

    def add_files(self, paths: Sequence[str]) -> None:
        """Add model files that were dropped on the window, and use the last one that could be added."""
        self._tasks.start(self._add_files(paths), "add a model file")

    async def _add_files(self, paths: Sequence[str]) -> None:
        added = ""
        problems: list[Problem] = []
        for path in paths:
            try:
                added = await self._bridge.ask(partial(_add_file, path))
            except Problem as problem:
                problems.append(problem)
        if added:
            await self._use(added)
        if len(problems) > 1:
            causes = " ".join(problem.details.message for problem in problems)
            raise Problem(_tr("{} files could not be added.").format(len(problems)), causes, problems[0].details.fix)
        if problems:
            raise problems[0]

    def _run_settings_action(self, action: str, name: str) -> None:
        """Carry out a `LocalModelAction` that was requested in the settings, which show all models already."""
        match LocalModelAction(action):
            case LocalModelAction.SHOW_ALL:
                pass
            case LocalModelAction.USE:
                self._settings.tasks.start(self._set_default(name), "use a local model")
            case engine_action:
                self._run(engine_action, name, self._settings.tasks)
        self._show_in_settings()  # because a dialog that has just been opened does not show the models yet

    def _run(self, action: EngineAction, name: str, tasks: Tasks) -> None:
        tasks.start(self._bridge.ask(partial(_engine_work(action), name)), f"{action} a local model")

    def _on_changed(self, states: LocalModelStates) -> None:
        available_before = {row.name for row in self._states.rows if row.is_available}
        self._states = states
        self._window.start.show_local_models(states)
        self._show_in_settings()
        for row in states.rows:
            is_new = row.is_available and row.name not in available_before
            if is_new and row.name in self._awaited:
                self._awaited.discard(row.name)
                self._window.toast.show_message(_tr("{} is ready.").format(row.title))
                self._tasks.start(self._use(row.name, only_if_unset=True), "use a local model")

    def _show_in_settings(self) -> None:
        self._settings.show_local_models(self._states)

    async def _set_default(self, name: str) -> None:
        await self._settings.store("model", f"local/{name}")
        self._show_in_settings()

    async def _use(self, name: str, *, only_if_unset: bool = False) -> None:
        """Make a model the default for new sessions, show the start screen, and offer a sample task with the model.

        With `only_if_unset`, keep an existing default model, and do not leave the current screen.
        """
        default = await self._bridge.ask(_default_model)
        if not (only_if_unset and default):
            await self._set_default(name)
        start = self._window.start
        if only_if_unset and not start.isVisible():
            return
        await self._new_session.show_models()
        start.choose_model(f"local/{name}")
        if not start.has_task():
            folder = await self._bridge.ask(partial(_sample_folder, self._folder))
            start.offer_task(_tr("Read photos.csv. Which photo shows the whole wall?"), str(folder))


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


async def _refresh(name: str, engine: "Engine") -> None:
    await engine.providers.local_models.refresh()


async def _add_file(path: str, engine: "Engine") -> str:
    return engine.providers.local_models.add_file(Path(path))


async def _add_address(address: str, engine: "Engine") -> None:
    models = engine.providers.local_models
    models.start_download(await models.add_address(address))


async def _sample_folder(home: str, engine: "Engine") -> Path:
    """Create a folder with sample files. It is trusted without asking, because the files are Journeyman's own."""
    folder = sample_folder(Path(home))
    await engine.trust(folder, by="Journeyman")
    return folder


def _engine_work(action: EngineAction) -> Callable[[str, "Engine"], Awaitable[object]]:
    """Return the function that carries out an action on a model, a file or an address."""
    match action:
        case LocalModelAction.DOWNLOAD:
            return _download
        case LocalModelAction.PAUSE:
            return _pause
        case LocalModelAction.CANCEL:
            return _cancel
        case LocalModelAction.REMOVE:
            return _remove
        case LocalModelAction.REFRESH:
            return _refresh
        case LocalModelAction.ADD_FILE:
            return _add_file
        case LocalModelAction.ADD_ADDRESS:
            return _add_address


def _tr(text: str) -> str:
    return QCoreApplication.translate("local models", text)
