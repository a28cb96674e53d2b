"""The dialogs shown when the window is closed while sessions are running."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from core.settings.schema import CloseAction
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import button_row, grow_to_fit
from ui.widgets.labels import allow_breaks, label

MAX_NAMED = 5


class CloseDialog(QDialog):
    """Asks what happens to the running sessions when the window is closed.

    `chosen` carries a `CloseAction` other than `ask`, and whether to do so every time. `has_tray` says whether the
    desktop shows tray icons, from which the window can be opened again.
    """

    chosen = Signal(str, bool)

    def __init__(self, look: Look, rows: Sequence[SessionRow], parent: QWidget, *, has_tray: bool) -> None:
        super().__init__(parent)
        self.setObjectName("close")
        count = len(rows)
        title = self.tr("1 session is still running") if count == 1 else self.tr("{} sessions are still running")
        self.setWindowTitle(title.format(count))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title.format(count), look.fonts.title, name="close.title", wrap=True))
        names = [visible(row.title) for row in rows[:MAX_NAMED]]
        if count > MAX_NAMED:
            names.append(self.tr("and {} more").format(count - MAX_NAMED))
        column.addWidget(label(allow_breaks("\n".join(names)), look.fonts.text, name="close.sessions", wrap=True))
        text = self._choices_text(count, has_tray=has_tray)
        column.addWidget(label(text, look.fonts.text, "second", name="close.text", wrap=True))
        self._remember = CheckBox(look, self.tr("Do this every time"), name="close.remember")
        self._remember.setToolTip(self.tr("You can change this in Settings, Appearance."))
        column.addWidget(self._remember)
        column.addSpacing(4)
        cancel = Button(look, self.tr("Cancel"), name="close.cancel")
        stop = Button(look, self.tr("Pause and quit"), name="close.stop")
        keep = Button(look, self.tr("Keep running"), name="close.background", tone="primary")
        cancel.clicked.connect(self.reject)
        stop.clicked.connect(lambda: self._choose("stop"))
        keep.clicked.connect(lambda: self._choose("background"))
        column.addLayout(button_row(cancel, stop, keep))
        self.setMinimumWidth(look.size(460))
        cancel.setFocus()

    def _choices_text(self, count: int, *, has_tray: bool) -> str:
        """Explain what the buttons do, and how the window can be opened again."""
        if count == 1:
            background = self.tr(
                "It can go on in the background, and Journeyman notifies you when it needs you or ends."
            )
            pause = self.tr("Or pause it after its current step, and quit.")
        else:
            background = self.tr(
                "They can go on in the background, and Journeyman notifies you when they need you or end."
            )
            pause = self.tr("Or pause them after their current step, and quit.")
        if has_tray:
            reopen = self.tr("The tray icon opens the window again.")
        else:
            reopen = self.tr(
                "This desktop shows no tray icons. Start Journeyman again to open the window; the background "
                "process ends when no session is running."
            )
        return f"{background} {reopen} {pause}"

    def _choose(self, action: CloseAction) -> None:
        self.accept()
        self.chosen.emit(action, self._remember.isChecked())


class QuitDialog(QDialog):
    """Waits while the running sessions finish their current step.

    `quit_requested` means that the user does not want to wait.
    """

    quit_requested = Signal()

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("quit")
        self.setWindowTitle(self.tr("Quitting"))
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(self.tr("Quitting after the current step"), look.fonts.title, wrap=True))
        self._text = label("", look.fonts.text, "second", name="quit.text", wrap=True)
        column.addWidget(self._text)
        now = Button(look, self.tr("Quit now"), name="quit.now", tone="stop")
        now.setToolTip(self.tr("Interrupt the steps; a step that may have run is shown when you open Journeyman again"))
        cancel = Button(look, self.tr("Cancel"), name="quit.cancel")
        now.clicked.connect(self.quit_requested)
        cancel.clicked.connect(self.reject)
        column.addLayout(button_row(cancel, now))
        self.setMinimumWidth(look.size(420))

    def show_running(self, rows: Sequence[SessionRow]) -> None:
        """Show the sessions that have not paused yet."""
        names = ", ".join(f"“{visible(row.title)}”" for row in rows[:MAX_NAMED])
        result = self.tr("They are paused and can be resumed.")
        if len(rows) == 1:
            result = self.tr("It is paused and can be resumed.")
        self._text.setText(allow_breaks(f"{self.tr('Waiting for {}.').format(names)} {result}"))
        grow_to_fit(self)
