"""Which step the pane shows: the one the person chose, and until they choose one the latest."""

from typing import Final

from PySide6.QtCore import QTimer

from core.domain.steps import Step
from ui.batch import Batch
from ui.timeline.page import RunPage
from ui.timeline.step_pane import StepPane

LOOK_BACK: Final = 40  # rows among which the latest step is found: the rest would be words and lines


class ChosenStep:
    """Between the rows of a session and the pane beside them. The rows are first, the pane follows in its own turn."""

    def __init__(self, page: RunPage, pane: StepPane) -> None:
        self._page, self._pane = page, pane
        self._session = ""
        self._soon = QTimer(pane, singleShot=True, interval=0)
        self._soon.timeout.connect(self._show)

    def turn_to(self, page: RunPage) -> None:
        """From now on the pane shows a step of these rows."""
        if page is not self._page or page.model.session != self._session:
            self._page, self._session = page, page.model.session
            self.show()

    def show(self) -> None:
        """As the rows are when everything else is done."""
        self._soon.start()

    def _show(self) -> None:
        step = self._page.chosen or self._latest()
        if step:
            self._pane.show_step(*self._page.origin(step))
        else:
            self._pane.clear()

    def update(self, batch: Batch) -> None:
        """What happened in the session that is shown, or in a sub-agent whose step is."""
        if not self._pane.isVisible():
            return
        steps = batch.steps_of(self._page.model.session)
        if not self._page.chosen and any(step.number for step in steps):
            self.show()
            return
        for step in {step.row: step for step in batch.steps_of(self._pane.session)}.values():
            self._pane.update_step(step)

    def _latest(self) -> Step | None:
        model = self._page.model
        rows = range(model.count - 1, max(-1, model.count - LOOK_BACK), -1)
        return next((step for row in rows if (step := model.step_of_row(row)) and step.number), None)
