"""Lists the models for the composer's model button and applies the user's choice."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject

from core.domain.external_agents import is_external_agent
from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.controllers.model_entries import model_entries
from ui.palette.panel import Palette
from ui.palette.ranking import PaletteEntry
from ui.shell.session_view import SessionView

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


@dataclass(frozen=True, slots=True)
class ModelChoices:
    """Model names by provider title, and the session's reasoning effort; `marked` holds the current choices."""

    lists: dict[str, list[str]]
    effort: str | None
    marked: tuple[str, ...] = ()


class ModelController(QObject):
    """Connects the model button of one session view to the engine."""

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
        self._button.effort_chosen.connect(self.choose_effort)

    @property
    def _session(self) -> str:
        return self._view.session

    def list_models(self) -> None:
        session = self._session

        async def look() -> None:
            choices = await self._bridge.ask(partial(_choices, session))
            if session == self._session:
                self._button.show_models(choices.lists, choices.effort, checked=choices.marked)

        self._tasks.start(look(), "list models")

    def search(self) -> None:
        """Show the searchable list of models. An external agent offers its own settings instead, in the menu."""
        session, hint = self._session, QCoreApplication.translate("models", "Search models")

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


async def _entries(session: str, engine: "Engine") -> list[PaletteEntry]:
    start = await engine.last_start(session)
    if is_external_agent(start.model):
        return []
    overview = await engine.providers_overview(fresh=False)
    return model_entries(overview, engine.settings.current.tiers, start.model)


async def _choices(session: str, engine: "Engine") -> ModelChoices:
    start = await engine.last_start(session)
    if is_external_agent(start.model):
        return await _settings(session, start.model, engine)
    lists = await provider_models(engine)
    if not any(start.model in names for names in lists.values()):
        lists = {QCoreApplication.translate("models", "In use"): [start.model]} | lists
    return ModelChoices(lists, start.effort)


async def provider_models(engine: "Engine", *, fresh: bool = False) -> dict[str, list[str]]:
    """Return the names of the models of all providers that have any, by the title of the provider."""
    overview = await engine.providers_overview(fresh=fresh)
    return {row.title: [model.name for model in row.models] for row in overview.providers if row.models}


async def _settings(session: str, agent: str, engine: "Engine") -> ModelChoices:
    """Return the settings that an external agent offers for the session, such as its models and modes."""
    settings = await engine.external_agents.session_settings(session)
    lists = {setting.name: [f"{setting.name}: {option.name}" for option in setting.options] for setting in settings}
    current_values = tuple(f"{setting.name}: {setting.value_name()}" for setting in settings)
    return ModelChoices(lists or {agent: [agent]}, None, current_values)


async def _choose(session: str, engine: "Engine", *, model: str | None = None, effort: str | None = None) -> None:
    """Set the model or the reasoning effort of a session; None keeps the current value."""
    start = await engine.last_start(session)
    if is_external_agent(start.model):
        for setting in await engine.external_agents.session_settings(session):
            for option in setting.options:
                if model == f"{setting.name}: {option.name}":
                    await engine.external_agents.change_setting(session, setting.id, option.value)
        return
    await engine.choose_model(
        session,
        start.model if model is None else model,
        effort=start.effort if effort is None else effort,
        max_output=start.max_output_tokens,
        temperature=start.temperature,
    )
