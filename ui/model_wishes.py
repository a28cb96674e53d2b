"""Which model a session works with, carried from the composer to the engine."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject

from core.domain.agents import is_agent
from ui.bridge import Bridge
from ui.session_view import SessionView
from ui.tasks import Tasks

if TYPE_CHECKING:
    from core.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Choices:
    """Models by server, and the effort the session asks for."""

    lists: dict[str, list[str]]
    effort: str | None
    marked: tuple[str, ...] = ()


class ModelWishes(QObject):
    """Connected together with the other wishes of a view."""

    def __init__(self, view: SessionView, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(view)
        self._view, self._bridge, self._tasks = view, bridge, tasks
        self._button = view.composer.model
        self._button.wanted.connect(self.list_models)
        self._button.chosen.connect(self.choose)
        self._button.effort_chosen.connect(self.think)

    @property
    def _session(self) -> str:
        return self._view.session

    def list_models(self) -> None:
        session = self._session

        async def look() -> None:
            found = await self._bridge.ask(partial(_choices, session))
            if session == self._session:
                self._button.show_models(found.lists, found.effort, marked=found.marked)

        self._tasks.start(look(), "list models")

    def choose(self, model: str) -> None:
        self._tasks.start(self._bridge.ask(partial(_choose, self._session, model=model)), "choose a model")

    def think(self, effort: str) -> None:
        self._tasks.start(self._bridge.ask(partial(_choose, self._session, effort=effort)), "choose an effort")


async def _choices(session: str, engine: "Engine") -> Choices:
    start = await engine.begun(session)
    if is_agent(start.model):
        return await _settings(session, start.model, engine)
    overview = await engine.models()
    lists = {row.title: [one.name for one in row.models] for row in overview.providers if row.models}
    if not any(start.model in names for names in lists.values()):
        lists = {QCoreApplication.translate("models", "In use"): [start.model]} | lists
    return Choices(lists, start.effort)


async def _settings(session: str, agent: str, engine: "Engine") -> Choices:
    """Of an agent of others: what it lets a person choose."""
    found = await engine.guests.settings(session)
    lists = {one.name: [f"{one.name}: {option.name}" for option in one.options] for one in found}
    return Choices(lists or {agent: [agent]}, None, tuple(f"{one.name}: {one.said()}" for one in found))


async def _choose(session: str, engine: "Engine", *, model: str | None = None, effort: str | None = None) -> None:
    """What is not chosen stays as it is."""
    start = await engine.begun(session)
    if is_agent(start.model):
        for one in await engine.guests.settings(session):
            for option in one.options:
                if model == f"{one.name}: {option.name}":
                    await engine.guests.set(session, one.id, option.value)
        return
    await engine.choose_model(
        session,
        start.model if model is None else model,
        effort=start.effort if effort is None else effort,
        max_output=start.max_output,
        temperature=start.temperature,
    )
