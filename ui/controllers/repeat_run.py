"""Repeats a message in a fork of the session, either with a new text or with another model."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from core.domain.problems import Problem
from core.domain.steps import Step
from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.controllers.folder_trust import confirm_folder_trust
from ui.controllers.model_choice import provider_models
from ui.dialogs.edit_message_dialog import EditMessageDialog
from ui.palette.ranking import PaletteEntry
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView
from ui.text.visible import visible

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class RepeatController(QObject):
    """Connects the actions "Edit and resend" and "Try with another model" of one session view with the engine."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        view.page.edit_requested.connect(self.edit)
        view.page.rerun_requested.connect(self.choose_model)

    def edit(self, message: Step, text: str, attachments: str) -> None:
        """Let the user edit the text of a message and send it again. Its attachments are sent again unchanged."""
        session = self._view.session
        dialog = EditMessageDialog(self._window.look, text, attachments, self._window)
        dialog.submitted.connect(partial(self._resend, session, message))
        dialog.open()

    def choose_model(self, message: Step) -> None:
        """Let the user choose a model in the palette, then repeat the run of a message with this model."""
        session = self._view.session
        palette = self._window.commands.palette
        loading = self.tr("Looking for models…")
        palette.open_with([PaletteEntry("", loading, enabled=False)], loading, lambda _: None)

        async def choose() -> None:
            # The cached list is not used, because a local provider may have been started in the meantime.
            models_by_provider = await self._bridge.ask(partial(provider_models, fresh=True))
            entries = self._entries(models_by_provider, self._window.row(session).model)
            if not palette.isVisible():
                return
            if not entries:
                palette.dismiss()
                raise Problem(self.tr("No provider offers a model."), "", self.tr("Add a provider in Settings."))
            hint = self.tr("Model for the new session; files stay as they are now")
            palette.open_with(entries, hint, partial(self._rerun, session, message))

        self._tasks.start(choose(), "list models")

    def _entries(self, models_by_provider: dict[str, list[str]], current: str) -> list[PaletteEntry]:
        """Return an entry for each model, ordered by provider and name; the current model is the last one."""
        entries: list[PaletteEntry] = []
        current_entries: list[PaletteEntry] = []
        for title, models in sorted(models_by_provider.items()):
            for model in sorted(models):
                if model == current:
                    detail = self.tr("{} · used now").format(title)
                    current_entries.append(PaletteEntry(model, visible(model), detail))
                else:
                    entries.append(PaletteEntry(model, visible(model), title))
        return [*entries, *current_entries]

    def _resend(self, session: str, message: Step, text: str) -> None:
        async def resend(engine: "Engine") -> str:
            prepared = await engine.history.edit_message(session, message.message_seq, text)
            await engine.history.start_fork(prepared)
            return prepared.session_id

        async def act() -> None:
            if await self._trusts(session):
                self._window.show_session(await self._bridge.ask(resend))

        self._tasks.start(act(), "resend a message")

    def _rerun(self, session: str, message: Step, model: str) -> None:
        async def rerun(engine: "Engine") -> str:
            run = await engine.history.run_of_message(session, message.message_seq)
            prepared = await engine.history.fork_to_rerun(session, run, model)
            await engine.history.start_fork(prepared)
            return prepared.session_id

        async def act() -> None:
            if await self._trusts(session):
                self._window.show_session(await self._bridge.ask(rerun))

        self._tasks.start(act(), "try another model")

    async def _trusts(self, session: str) -> bool:
        folder = self._window.row(session).folder
        return await confirm_folder_trust(self._window, self._bridge, folder, ask_if_undecided=False)
