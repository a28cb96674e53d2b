"""Chooses the step that the step pane shows: the selected one, or the latest one if none is selected."""

from typing import Final

from PySide6.QtCore import QTimer

from core.domain.steps import Step
from ui.shell.update_batch import UpdateBatch
from ui.timeline.run_page import RunPage
from ui.timeline.step_pane import StepPane

SEARCHED_ROWS: Final = 40  # rows from the end that are searched for the latest step; some are messages


class StepPaneUpdater:
    """Keeps the step pane in sync with the rows of a session; updates are deferred so that the rows paint first."""

    def __init__(self, page: RunPage, pane: StepPane) -> None:
        self._page = page
        self._pane = pane
        self._session = ""
        self._soon = QTimer(pane, singleShot=True, interval=0)
        self._soon.timeout.connect(self._show)

    def follow(self, page: RunPage) -> None:
        """Make the pane follow the rows of `page`."""
        if page is not self._page or page.model.session != self._session:
            self._page, self._session = page, page.model.session
            self.show()

    def show(self) -> None:
        """Update the pane after the pending Qt events, such as paint events, have been processed."""
        self._soon.start()

    def _show(self) -> None:
        if selected := self._page.selected:
            self._pane.show_step(selected.session, selected.step)
        elif step := self._latest():
            self._pane.show_step(self._page.model.session, step)
        else:
            self._pane.clear()

    def update(self, batch: UpdateBatch) -> None:
        """Apply changes of the session shown, or of the sub-agent whose step is shown."""
        if not self._pane.isVisible():
            return
        steps = batch.steps_of(self._page.model.session)
        if not self._page.selected and any(step.number for step in steps):
            self.show()
            return
        for step in {step.row: step for step in batch.steps_of(self._pane.session)}.values():
            self._pane.update_step(step)

    def _latest(self) -> Step | None:
        model = self._page.model
        rows = range(model.count - 1, max(-1, model.count - SEARCHED_ROWS), -1)
        return next((step for row in rows if (step := model.step_of_row(row)) and step.number), None)
