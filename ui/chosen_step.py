"""Which step the pane shows: the one the person chose, and until they choose one the latest."""

from collections.abc import Sequence
from typing import Final

from core.domain.steps import Step
from ui.timeline.page import RunPage
from ui.timeline.step_pane import StepPane

LOOK_BACK: Final = 40  # rows among which the latest step is found: the rest would be words and lines


class ChosenStep:
    """Between the rows of a session and the pane beside them."""

    def __init__(self, page: RunPage, pane: StepPane) -> None:
        self._page, self._pane = page, pane
        self._session, self._chosen = "", False
        page.step_chosen.connect(self.choose)

    def choose(self, step: Step) -> None:
        self._chosen = True
        self._pane.show_step(self._session, step)

    def show_latest(self, session: str) -> None:
        """Of this session; until the person chooses a row."""
        self._session, self._chosen = session, False
        model = self._page.model
        for row in range(model.count - 1, max(-1, model.count - LOOK_BACK), -1):
            step = model.step_of_row(row)
            if step and step.number:
                self._pane.show_step(session, step)
                return
        self._pane.clear()

    def update(self, steps: Sequence[Step]) -> None:
        """These rows are new or changed."""
        if not self._pane.isVisible():
            return
        if not self._chosen and any(step.number for step in steps):
            self.show_latest(self._session)
            return
        for step in {step.row: step for step in steps}.values():
            self._pane.update_step(step)
