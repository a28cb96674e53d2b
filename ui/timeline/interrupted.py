"""The bar of an interrupted run: what may have run, and the three things a person can say to it."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.steps import Step
from ui.looks import interrupted_line, words
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.edge import EdgeFrame
from ui.widgets.elided import ElidedLabel

CHOICES: Final = (("again", "Run it again"), ("skip", "Skip it"), ("end", "End the run"))


class InterruptedBar(EdgeFrame):
    """Always in sight while it matters, wherever the timeline is scrolled to."""

    settle = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.waiting, parent=parent)
        self.setObjectName("interrupted")
        self._text = ElidedLabel("", look.fonts.text, name="interrupted.text")
        self._buttons = {choice: Button(look, words(text), name=f"interrupted.{choice}") for choice, text in CHOICES}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 8, 10, 8)
        layout.setSpacing(8)
        layout.addWidget(self._text, 1)
        for choice, button in self._buttons.items():
            button.clicked.connect(lambda _=False, said=choice: self.settle.emit(said))
            layout.addWidget(button)
        self.hide()

    def show_step(self, step: Step | None) -> None:
        """The open interruption; None when there is none."""
        self.setVisible(step is not None)
        if step:
            in_doubt = bool(step.marks.get("calls"))
            self._text.show_text(interrupted_line(step))
            again = words("Run it again") if in_doubt else words("Go on")
            self._buttons["again"].setText(again)
            self._buttons["again"].setAccessibleName(again)
            self._buttons["skip"].setVisible(in_doubt)
            self.setAccessibleName(interrupted_line(step))

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.recolour(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._text.setFont(look.fonts.text)
        for button in self._buttons.values():
            button.restyle(look)
