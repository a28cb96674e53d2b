"""The bar of an interrupted run: names the tool call that may have run, and offers to retry it, skip it or abort."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import interrupted_line, translate
from ui.style.theme import Look
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel

CHOICES: Final = (("retry", "Retry"), ("skip", "Skip"), ("abort", "Abort run"))


class InterruptionBar(AccentFrame):
    """A bar below the timeline, visible until the interruption is resolved; `resolved` carries the user's choice."""

    resolved = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.waiting, parent=parent)
        self.setObjectName("interrupted")
        self._text = ElidedLabel("", look.fonts.text, name="interrupted.text")
        self._buttons = {
            choice: Button(look, translate(text), name=f"interrupted.{choice}") for choice, text in CHOICES
        }
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 8, 10, 8)
        layout.setSpacing(8)
        layout.addWidget(self._text, 1)
        for choice, button in self._buttons.items():
            button.clicked.connect(lambda _=False, choice=choice: self.resolved.emit(choice))
            layout.addWidget(button)
        self.hide()

    def show_step(self, step: Step | None) -> None:
        """Show the open interruption, or hide the bar for None."""
        self.setVisible(step is not None)
        if step:
            may_have_run = bool(step.metrics.get("calls"))
            self._text.show_text(interrupted_line(step))
            retry = translate("Retry") if may_have_run else translate("Continue")
            self._buttons["retry"].setText(retry)
            self._buttons["retry"].setAccessibleName(retry)
            self._buttons["skip"].setVisible(may_have_run)
            self.setAccessibleName(interrupted_line(step))

    def focus_choice(self) -> bool:
        """Focus the first choice; return False if the bar is hidden."""
        if not self.isHidden():
            self._buttons["retry"].setFocus(Qt.FocusReason.OtherFocusReason)
        return not self.isHidden()

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._text.setFont(look.fonts.text)
        for button in self._buttons.values():
            button.restyle(look)
