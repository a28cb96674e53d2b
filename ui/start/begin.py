"""Where a run begins: what to do, in which folder, by which model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from ui.figures import short_folder
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import ask_folder
from ui.widgets.tick import Tick
from ui.widgets.words import WordsField, label, surface

LINES: Final = 8
LEAST: Final = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """A model server as the start shows it: `models` are full names. `here` is on this computer."""

    name: str
    title: str
    models: tuple[str, ...] = ()
    here: bool = False
    needs_key: bool = False
    variable: str = ""


class BeginBox(QWidget):
    """Says when there is all it takes; the folder chosen last is offered again."""

    begun = Signal(str, str, str)  # task, folder, model
    folder_chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._folder = ""
        self.setObjectName("start.begin")
        self._words = WordsField(look.fonts.text, lines=LINES, least=LEAST)
        self._words.setObjectName("start.task")
        self._words.setAccessibleName(self.tr("What the agent shall do"))
        self._words.setPlaceholderText(self.tr("Say it as to a person. Enter starts, Shift+Enter adds a line"))
        self._place = Button(look, self.tr("Choose a folder…"), name="start.folder", icon="folder-open")
        self._models = Choice()
        self._models.setObjectName("start.model")
        self._models.setAccessibleName(self.tr("Model"))
        self._models.setFont(look.fonts.text)
        self._models.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._models.setMinimumContentsLength(18)
        self._apart = Tick(look, self.tr("In a worktree of its own"), name="start.worktree")
        self._apart.setToolTip(
            self.tr("The agent works in a copy beside the repository, on a new branch. You take it over by a merge.")
        )
        self._apart.hide()
        self._go = Button(look, self.tr("Start"), name="start.go", tone="primary")
        self._missing = label("", look.fonts.second, "second", name="start.missing")
        self._lay_out()
        self._place.clicked.connect(self.choose_folder)
        self._words.textChanged.connect(self._tell)
        self._words.entered.connect(self._start)
        self._go.clicked.connect(self._start)
        self._tell()

    def set_models(self, names: Sequence[str], chosen: str = "") -> None:
        """The one that was chosen stays chosen while it is there."""
        before = self._models.currentText() or chosen
        self._models.clear()
        self._models.addItems(list(names))
        self._models.setCurrentIndex(names.index(before) if before in names else (0 if names else -1))
        self._tell()

    def choose_model(self, name: str) -> None:
        self._models.setCurrentIndex(self._models.findText(name))
        self._tell()
        self.focus_words()

    def set_folder(self, folder: str) -> None:
        if folder != self._folder:
            self._apart.hide()  # until it is known whether there is a repository
        self._folder = folder
        shown = short_folder(folder, str(Path.home())) if folder else self.tr("Choose a folder…")
        self._place.setText(shown)
        self._place.setAccessibleName(self.tr("Folder: {}").format(shown) if folder else shown)
        self._tell()
        self.folder_chosen.emit(folder)

    @property
    def apart(self) -> bool:
        """It is to work in a git worktree of its own."""
        return self._apart.isVisibleTo(self) and self._apart.isChecked()

    def offer_worktree(self, folder: str, possible: bool) -> None:
        """Where the folder is in a repository; one that was chosen since has its own answer."""
        if folder == self._folder:
            self._apart.setVisible(possible)

    def choose_folder(self) -> None:
        at = self._folder or str(Path.home())
        ask_folder(self, self.tr("In which folder?"), at, self.set_folder, name="start.folders")

    def focus_words(self) -> None:
        self._words.setFocus(Qt.FocusReason.OtherFocusReason)

    def clear(self) -> None:
        """It has begun."""
        self._words.clear()

    def words(self) -> str:
        return self._words.words()

    def fill(self, words: str) -> None:
        """What could not be begun stands here again."""
        if not self._words.words():
            self._words.setPlainText(words)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._words.set_font(look.fonts.text)
        self._models.setFont(look.fonts.text)
        self._missing.setFont(look.fonts.second)
        self._apart.restyle(look)
        self._place.restyle(look)
        self._go.restyle(look)

    def _start(self) -> None:
        if self._go.isEnabled():
            self.begun.emit(self._words.words(), self._folder, self._models.currentText())

    def _tell(self) -> None:
        """What is missing is said in words, beside a button that waits for it."""
        missing = ""
        if not self._models.currentText():
            missing = self.tr("No model is chosen yet.")
        elif not self._folder:
            missing = self.tr("Choose the folder it works in.")
        self._missing.setText(missing)
        self._go.setEnabled(bool(self._words.words()) and not missing)

    def _lay_out(self) -> None:
        box = surface("input")
        inside = QVBoxLayout(box)
        inside.setContentsMargins(12, 12, 12, 12)
        inside.addWidget(self._words)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self._place)
        foot.addWidget(self._models)
        foot.addStretch(1)
        foot.addWidget(self._missing)
        foot.addWidget(self._go)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(box)
        column.addLayout(foot)
        column.addWidget(self._apart)

    def event(self, event: QEvent) -> bool:
        """Escape leaves the words, as in every field."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self._words.clearFocus()
        return super().event(event)
