"""Starts sessions from the start screen: lists the models, and passes task, folder and model to the engine."""

import asyncio
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication

from core.domain.problems import ErrorDetails, Problem
from ui.base.bridge import Bridge
from ui.base.drop_filter import DropFilter
from ui.base.tasks import ErrorSource, Tasks
from ui.controllers.completions import list_completions
from ui.controllers.folder_trust import confirm_folder_trust
from ui.shell.main_window import MainWindow
from ui.start.new_session import NewSession, OfferedAgent, ProviderOffer
from ui.start.run_options import RunOptions

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.providers import ProvidersOverview

NEW_SESSION: Final = "new"  # the name under which the draft of the start screen is stored
MAX_RECENT_FOLDERS: Final = 10
ATTACHING: Final = ErrorSource("attach")  # errors about attachments are shown until the session has started


class NewSessionController:
    """Connects the start screen with the engine.

    Providers are queried whenever the screen is shown, because a local one may have been started in the meantime.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        self._window = window
        self._bridge = bridge
        self._tasks = tasks
        # The task of a session that is being created; it stays stored as the draft until the session exists.
        self._starting = ""
        start = window.start
        start.start_requested.connect(lambda session: tasks.start(self._start_session_for(session), "begin"))
        start.form.draft_changed.connect(lambda text: window.state.set_draft(NEW_SESSION, text or self._starting))
        start.form.completion.files_requested.connect(self._list_completions)
        start.form.attached.rejected.connect(
            lambda error, cause: window.show_error(ErrorDetails(error, cause), ATTACHING)
        )
        start.form.restore_draft(window.state.draft(NEW_SESSION))
        start.api_key_entered.connect(
            lambda server, key: tasks.start(self._set_api_key(server, key), "set the API key")
        )
        start.shown.connect(self.load_models)
        start.refresh_requested.connect(self.load_models)
        window.command_ended.connect(lambda: self.load_models() if start.isVisible() else None)
        start.form.folder_chosen.connect(lambda folder: tasks.start(self._check_worktree(folder), "look into a folder"))
        start.form.set_folder(window.state.text("folder"))
        self.drop = DropFilter(window)
        self.drop.folder_dropped.connect(self.begin_in)

    def begin_in(self, folder: str) -> None:
        """Show the start screen with this folder. Called when a folder is dropped on the window."""
        self._window.show_start()
        self._window.start.choose_folder(folder)

    def load_agents(self) -> None:
        """List the agent profiles again. Called when a profile has changed."""
        self._tasks.start(self._load_agents(), "list the agent profiles")

    def load_models(self) -> None:
        self._tasks.start(self._load_models(), "look for models")

    def show_overview(self, overview: "ProvidersOverview") -> None:
        """Show the providers that the settings dialog has just listed."""
        self._tasks.start(self._show_overview(overview), "show the models")

    async def show_models(self) -> None:
        """Show the start screen, and wait until the models have been listed."""
        self._window.show_start()
        await self._load_models()

    async def _load_models(self) -> None:
        start = self._window.start
        form = start.form
        model = await self._bridge.ask(_default_model)
        if model and not form.isVisibleTo(start):
            start.show_providers((), model)  # the user can write the task before the providers have answered
        form.set_recent_folders(await self._bridge.ask(_recent_folders))
        form.set_usual_options(await self._bridge.ask(_usual_options))
        await self._show_overview(await self._bridge.ask(lambda engine: engine.providers_overview(fresh=True)))
        await self._load_agents()

    async def _show_overview(self, overview: "ProvidersOverview") -> None:
        agent_models = await self._bridge.ask(_agent_models)
        last_model = self._window.state.text("model")
        self._window.start.show_providers(_offers(overview, agent_models), overview.model, last_model)

    async def _load_agents(self) -> None:
        self._window.start.form.set_agents(await self._bridge.ask(_agents))

    def _list_completions(self) -> None:
        """Load the files and custom commands of the chosen folder, with which the task can be completed."""
        form = self._window.start.form

        async def load() -> None:
            if folder := form.folder:
                completions = await self._bridge.ask(partial(list_completions, folder))
                form.completion.set_results(completions.mentions, completions.commands)

        self._tasks.start(load(), "list files")

    async def _check_worktree(self, folder: str) -> None:
        branch = await self._bridge.ask(lambda engine: engine.branch(folder)) if folder else ""
        self._window.start.form.offer_worktree(folder, bool(branch))

    async def _start_session_for(self, new: NewSession) -> None:
        form = self._window.start.form
        worktree = form.use_worktree
        self._starting = new.task
        self._window.state.set_draft(NEW_SESSION, new.task)
        form.clear()
        try:
            if not await confirm_folder_trust(self._window, self._bridge, new.folder):
                form.fill(new.task, new.files)
                return
            session = await self._bridge.ask(partial(_start_session, new, worktree))
        except Problem:
            form.fill(new.task, new.files)
            raise
        finally:
            self._starting = ""
        self._window.notice.resolve(ATTACHING)
        form.choose_options(None)
        form.choose_default_model()
        self._window.state.set_draft(NEW_SESSION, "")
        self._window.state.set_text("folder", new.folder)  # so that the folder is selected for the next session
        self._window.state.set_text("model", new.model)  # also the model, if there is no default model then
        self._window.show_session(session)
        self._window.view.focus_content()

    async def _set_api_key(self, server: str, key: str) -> None:
        source = await self._bridge.ask(partial(_store_api_key, server, key))
        self._window.toast.show_message(
            _tr("Saved the API key for {} in the system keyring.").format(server)
            if source == "keyring"
            else _tr("The API key for {} is kept until you quit Journeyman.").format(server)
        )
        await self._load_models()


async def _default_model(engine: "Engine") -> str:
    return engine.settings.current.model


async def _agent_models(engine: "Engine") -> tuple[str, ...]:
    return engine.external_agents.model_names()


def _offers(overview: "ProvidersOverview", agent_models: tuple[str, ...]) -> list[ProviderOffer]:
    offers = [ProviderOffer("agent", _tr("External agents"), agent_models)] if agent_models else []
    offers += [
        ProviderOffer(
            name=row.name,
            title=row.title,
            models=tuple(model.name for model in row.models),
            is_local=bool(row.reachable) and not row.needs_key,
            needs_key=row.needs_key and not row.key_from,
            variable=row.key_variable,
        )
        for row in overview.providers
    ]
    return offers


async def _usual_options(engine: "Engine") -> RunOptions:
    settings = engine.settings.current
    return RunOptions(
        turns=settings.max_turns, minutes=settings.max_minutes, tokens=settings.max_tokens, cost=settings.max_cost
    )


async def _agents(engine: "Engine") -> list[OfferedAgent]:
    agents = [OfferedAgent(name, error=str(problem)) for name, problem in engine.invalid_profiles().items()]
    for name, profile in engine.profiles().items():
        model = engine.default_model(name) if profile.model or profile.tier else ""
        agents.append(OfferedAgent(name, model, profile.description))
    return sorted(agents)


async def _recent_folders(engine: "Engine") -> list[str]:
    """Return the folders of the latest sessions, without those that no longer exist."""
    folders = dict.fromkeys(row.folder for row in engine.sessions() if row.folder and not row.imported_from)
    latest = list(islice(folders, MAX_RECENT_FOLDERS))
    return await asyncio.to_thread(lambda: [folder for folder in latest if Path(folder).is_dir()])


async def _start_session(new: NewSession, worktree: bool, engine: "Engine") -> str:
    from core.domain.events import RunStarted

    options = new.options or await _usual_options(engine)
    run_started = RunStarted(
        new.model,
        options.turns,
        max_minutes=options.minutes,
        max_tokens=options.tokens,
        max_cost=options.cost,
        max_output_tokens=options.output_tokens,
        temperature=options.temperature,
        autonomy=options.autonomy,
        on_unanswered=options.unanswered if options.answer_minutes else "wait",
        answer_timeout_minutes=options.answer_minutes,
        interactive=True,
        acceptance=options.checks,
        sealed=options.sealed,
        mode=new.mode,
        profile=new.agent,
        effort=new.effort,
    )
    return await engine.start(new.task, Path(new.folder), run_started, worktree=worktree, files=new.files)


async def _store_api_key(server: str, key: str, engine: "Engine") -> str:
    saved = await engine.providers.set_api_key(server, key)
    return saved.source


def _tr(text: str) -> str:
    return QCoreApplication.translate("beginning", text)
