"""The bar of an interrupted run. It names the tool call that may have run, and offers to retry, skip or abort it."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import interrupted_line, translate
from ui.style.theme import Look
from ui.widgets.accent_frame import RADIUS, AccentFrame
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.paint import draw_frame
from ui.widgets.stacking_row import StackingRow, plain_row

CHOICES: Final = (("retry", "Retry"), ("skip", "Skip"), ("abort", "Abort run"))


class InterruptionBar(AccentFrame):
    """A bar below the timeline, visible until the interruption is resolved; `resolved` carries the user's choice.

    When the user goes to the bar by keyboard, the bar itself gets the focus, not a button: Enter must not repeat the
    tool call before the user has chosen to do so.
    """

    resolved = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.waiting, parent=parent)
        self._focus_color = theme.accent
        self.setObjectName("interrupted")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._text = ElidedLabel("", look.fonts.text, name="interrupted.text")
        self._buttons = {
            choice: Button(look, translate(text), name=f"interrupted.{choice}") for choice, text in CHOICES
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 8, 10, 8)
        right = Qt.AlignmentFlag.AlignRight
        layout.addWidget(StackingRow(self._text, plain_row(*self._buttons.values()), alignment=right))
        for choice, button in self._buttons.items():
            button.clicked.connect(lambda _=False, choice=choice: self.resolved.emit(choice))
        self.hide()

    def show_step(self, step: Step | None) -> None:
        """Show the tool call that was interrupted; None hides the bar."""
        was_hidden = self.isHidden()
        self.setVisible(step is not None)
        if step:
            may_have_run = bool(step.metrics.get("calls"))
            self._text.show_text(interrupted_line(step))
            retry = translate("Retry") if may_have_run else translate("Continue")
            self._buttons["retry"].setText(retry)
            self._buttons["retry"].setAccessibleName(retry)
            self._buttons["skip"].setVisible(may_have_run)
            if was_hidden or self.accessibleName() != interrupted_line(step):
                announce(self, interrupted_line(step))
            self.setAccessibleName(interrupted_line(step))

    def focus_bar(self) -> bool:
        """Focus the bar, from which Tab goes to the choices; return False if the bar is hidden."""
        if not self.isHidden():
            self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return not self.isHidden()

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self._focus_color = theme.accent
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._text.setFont(look.fonts.text)
        for button in self._buttons.values():
            button.restyle(look)

    # Overridden Qt methods

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            with QPainter(self) as painter:
                draw_frame(painter, self.rect(), RADIUS, None, self._focus_color)
