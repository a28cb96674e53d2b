"""Lists the models for the model button of the composer, and applies the user's choice."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, QObject

from core.domain.external_agents import ExternalAgentSetting, is_external_agent
from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.controllers.model_entries import model_entries
from ui.palette.panel import Palette
from ui.palette.ranking import PaletteEntry
from ui.shell.session_view import SessionView

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class _ModelChoices(NamedTuple):
    """The names of the models that a session can use, by the title of their provider, and its reasoning effort."""

    models: dict[str, list[str]]
    effort: str


class _AgentChoices(NamedTuple):
    """The settings that the external agent of a session offers."""

    agent: str
    settings: tuple[ExternalAgentSetting, ...]


class ModelController(QObject):
    """Connects the model button of one session view with the engine."""

    def __init__(self, palette: Palette, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._palette = palette
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        self._button = view.composer.model
        self._button.models_requested.connect(self.list_models)
        self._button.search_requested.connect(self.search)
        self._button.chosen.connect(self.choose)
        self._button.setting_chosen.connect(self.choose_agent_setting)
        self._button.effort_chosen.connect(self.choose_effort)

    @property
    def _session(self) -> str:
        return self._view.session

    def list_models(self) -> None:
        session = self._session

        async def look() -> None:
            choices = await self._bridge.ask(partial(_choices, session))
            if session != self._session:
                return
            if isinstance(choices, _AgentChoices):
                self._button.show_agent_settings(choices.agent, choices.settings)
            else:
                self._button.show_models(choices.models, choices.effort)

        self._tasks.start(look(), "list models")

    def search(self) -> None:
        """Show a searchable list of models.

        For an external agent, show a menu with the agent's own settings instead.
        """
        session = self._session
        hint = QCoreApplication.translate("models", "Search models")

        async def look() -> None:
            entries = await self._bridge.ask(partial(_entries, session))
            if session != self._session:
                return
            if entries:
                self._palette.open_with(entries, hint, self.choose)
            else:
                self._button.open_menu()

        self._tasks.start(look(), "list models")

    def choose(self, model: str) -> None:
        self._tasks.start(self._bridge.ask(partial(_choose, self._session, model=model)), "choose a model")

    def choose_effort(self, effort: str) -> None:
        self._tasks.start(self._bridge.ask(partial(_choose, self._session, effort=effort)), "choose a reasoning effort")

    def choose_agent_setting(self, setting: str, value: str) -> None:
        session = self._session
        work = self._bridge.ask(lambda engine: engine.external_agents.change_setting(session, setting, value))
        self._tasks.start(work, "change a setting of the agent")


async def _entries(session: str, engine: "Engine") -> list[PaletteEntry]:
    start = await engine.last_start(session)
    if is_external_agent(start.model):
        return []
    overview = await engine.providers_overview(fresh=False)
    return model_entries(overview, engine.settings.current.tiers, start.model)


async def _choices(session: str, engine: "Engine") -> _ModelChoices | _AgentChoices:
    start = await engine.last_start(session)
    if is_external_agent(start.model):
        return _AgentChoices(start.model, await engine.external_agents.session_settings(session))
    models = await provider_models(engine)
    if not any(start.model in names for names in models.values()):
        models = {QCoreApplication.translate("models", "In use"): [start.model]} | models
    return _ModelChoices(models, start.effort)


async def provider_models(engine: "Engine", *, fresh: bool = False) -> dict[str, list[str]]:
    """Return the names of the models of each provider that has any, by the title of the provider.

    With `fresh`, the providers are queried; otherwise, cached answers are used.
    """
    overview = await engine.providers_overview(fresh=fresh)
    return {row.title: [model.name for model in row.models] for row in overview.providers if row.models}


async def _choose(session: str, engine: "Engine", *, model: str | None = None, effort: str | None = None) -> None:
    """Set the model or the reasoning effort of a session. None keeps the current value."""
    start = await engine.last_start(session)
    await engine.choose_model(
        session,
        start.model if model is None else model,
        effort=start.effort if effort is None else effort,
        max_output=start.max_output_tokens,
        temperature=start.temperature,
    )
