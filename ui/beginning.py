"""Begins runs: shows which models there are, and carries a task with its folder and model to the engine."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from ui.bridge import Bridge
from ui.dropping import FolderDrop
from ui.start.begin import Offer
from ui.tasks import Tasks
from ui.trust_door import trust_said
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine


class Beginning:
    """The servers are looked for whenever the first screen is shown: one may have been started meanwhile."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        self._window, self._bridge, self._tasks = window, bridge, tasks
        start = window.start
        start.begun.connect(lambda task, folder, model: tasks.start(self._begin(task, folder, model), "begin"))
        start.key_given.connect(lambda server, key: tasks.start(self._give_key(server, key), "give a key"))
        start.shown.connect(self.look)
        start.look_wanted.connect(self.look)
        start.begin.folder_chosen.connect(lambda folder: tasks.start(self._look_into(folder), "look into a folder"))
        start.begin.set_folder(window.state.text("folder"))
        self.drop = FolderDrop(window)
        self.drop.dropped.connect(self.begin_in)

    def begin_in(self, folder: str) -> None:
        """A folder was dragged here."""
        self._window.new_run()
        self._window.start.begin_in(folder)

    def look(self) -> None:
        self._tasks.start(self._look(), "look for models")

    async def _look(self) -> None:
        offers, chosen = await self._bridge.ask(_offers)
        self._window.start.show_offers(offers, chosen)

    async def _look_into(self, folder: str) -> None:
        found = await self._bridge.ask(lambda engine: engine.branch(folder)) if folder else ""
        self._window.start.begin.offer_worktree(folder, bool(found))

    async def _begin(self, task: str, folder: str, model: str) -> None:
        box = self._window.start.begin
        apart = box.apart
        box.clear()
        try:
            if not await trust_said(self._window, self._bridge, folder):
                box.fill(task)
                return
            session = await self._bridge.ask(partial(_begun, task, Path(folder), model, apart))
        except Problem:
            box.fill(task)
            raise
        self._window.state.keep_text("folder", folder)  # where the next run is likely to begin
        self._window.go_to(session)

    async def _give_key(self, server: str, key: str) -> None:
        kept = await self._bridge.ask(partial(_keep_key, server, key))
        self._window.toast.say(_tr("The key of {server} is kept: {where}.").format(server=server, where=kept))
        await self._look()


async def _offers(engine: "Engine") -> tuple[list[Offer], str]:
    """In the engine's thread."""
    found = await engine.models(fresh=True)
    others = engine.guests.models()
    offers = [Offer("agent", _tr("Other agents"), others)] if others else []
    offers += [
        Offer(
            row.name,
            row.title,
            tuple(model.name for model in row.models),
            here=bool(row.there) and not row.needs_key,
            needs_key=row.needs_key and not row.key_from,
            variable=row.variable,
        )
        for row in found.providers
    ]
    return offers, found.model


async def _begun(task: str, folder: Path, model: str, apart: bool, engine: "Engine") -> str:
    from core.domain.events import RunStarted

    now = engine.settings.now
    began = RunStarted(
        model,
        now.max_rounds,
        max_minutes=now.max_minutes,
        max_tokens=now.max_tokens,
        max_cost=now.max_cost,
        attended=True,
    )
    return await engine.start(task, folder, began, worktree=apart)


async def _keep_key(server: str, key: str, engine: "Engine") -> str:
    kept = await engine.providers.give_key(server, key)
    return kept.source


def _tr(text: str) -> str:
    return QCoreApplication.translate("beginning", text)
