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
        self._update_timer.timeout.connect(self._update_now)
        pane.shown.connect(self.schedule_update)
        pane.hide_requested.connect(columns.close_pane)
        columns.center_covered.connect(pane.show_way_back)

    def follow(self, page: RunPage) -> None:
        """Make the pane follow the rows of `page`."""
        if page is not self._page or page.model.session != self._session:
            self._page = page
            self._session = page.model.session
            self.schedule_update()

    def schedule_update(self) -> None:
        """Update the pane after Qt has processed pending events, so that the timeline is painted first."""
        self._update_timer.start()

    def _update_now(self) -> None:
        if selected := self._page.selected:
            self._pane.show_step(selected.session, selected.step)
        elif step := self._latest_step():
            self._pane.show_step(self._page.model.session, step)
        else:
            self._pane.clear()

    def apply_updates(self, batch: UpdateBatch) -> None:
        """Update the pane with the steps of a batch that changed in the session or sub-agent it shows.

        A hidden pane is updated when it is shown.
        """
        if not self._pane.isVisible():
            return
        has_new_step = any(step.number for step in batch.steps_of(self._page.model.session))
        if has_new_step and not self._page.selected:
            self.schedule_update()
            return
        latest_by_row = {step.row: step for step in batch.steps_of(self._pane.session)}
        for step in latest_by_row.values():
            self._pane.update_step(step)

    def _latest_step(self) -> Step | None:
        """Return the last numbered step of the page; messages and headers have no number."""
        model = self._page.model
        for row in range(model.count - 1, max(-1, model.count - SEARCHED_ROWS), -1):
            step = model.step_of_row(row)
            if step and step.number:
                return step
        return None
