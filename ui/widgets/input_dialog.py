"""A dialog that asks before it discards what the user has entered."""

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDialog, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog


class InputDialog(QDialog):
    """The base class of forms. The values that the fields have when the form is first shown do not count as entered."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._initial: list[object] | None = None

    def _entered(self) -> list[object]:
        return [
            *(field.text() for field in self.findChildren(QLineEdit)),
            *(field.toPlainText() for field in self.findChildren(QPlainTextEdit)),
            *(field.toPlainText() for field in self.findChildren(QTextEdit)),
            *(field.currentIndex() for field in self.findChildren(QComboBox)),
            *(button.isChecked() for button in self.findChildren(QAbstractButton) if button.isCheckable()),
        ]

    # Overridden Qt methods

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._initial is None:
            self._initial = self._entered()

    def reject(self) -> None:
        """Close the dialog; if that would discard what the user has entered, ask first."""
        if self._initial is None or self._entered() == self._initial:
            super().reject()
            return
        title, text = self.tr("Discard the changes?"), self.tr("What you have entered is not saved.")
        ConfirmDialog(self._look, title, text, self.tr("Discard changes"), self._discard, self).open()

    def _discard(self) -> None:
        QDialog.reject(self)
