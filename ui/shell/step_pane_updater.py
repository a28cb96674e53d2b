"""Chooses the step that the step pane shows: the selected one, or the latest one if none is selected."""

from typing import Final

from PySide6.QtCore import QTimer

from core.domain.steps import Step
from ui.shell.update_batch import UpdateBatch
from ui.shell.window_columns import WindowColumns
from ui.timeline.run_page import RunPage
from ui.timeline.step_pane import StepPane

SEARCHED_ROWS: Final = 40  # rows, from the end, in which the latest step is searched; some rows are messages


class StepPaneUpdater:
    """Keeps the step pane in sync with the rows of a session; updates are deferred so that the rows paint first."""

    def __init__(self, page: RunPage, pane: StepPane, columns: WindowColumns) -> None:
        self._page = page
        self._pane = pane
        self._session = ""
        self._update_timer = QTimer(pane, singleShot=True, interval=0)
        self._update_timer.timeout.connect(self._show)
        pane.shown.connect(self.show)
        pane.hide_requested.connect(columns.close_pane)
        columns.center_covered.connect(pane.show_way_back)

    def follow(self, page: RunPage) -> None:
        """Make the pane follow the rows of `page`."""
        if page is not self._page or page.model.session != self._session:
            self._page, self._session = page, page.model.session
            self.show()

    def show(self) -> None:
        """Update the pane after Qt has processed pending events, so that the timeline is painted first."""
        self._update_timer.start()

    def _show(self) -> None:
        if selected := self._page.selected:
            self._pane.show_step(selected.session, selected.step)
        elif step := self._latest():
            self._pane.show_step(self._page.model.session, step)
        else:
            self._pane.clear()

    def update(self, batch: UpdateBatch) -> None:
        """Update the pane with the steps of a batch that changed in the session or sub-agent it shows.

        A hidden pane is updated when it is shown.
        """
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
