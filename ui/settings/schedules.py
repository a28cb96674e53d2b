"""The page of sessions that begin at a time: those there are, and a form for one more."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.schedule import Missed, Schedule, words_of
from core.domain.steps import line as first_line
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import ask_folder
from ui.widgets.words import label, surface

OFTEN: Final = (
    ("", "Once"), ("15m", "Every 15 minutes"), ("1h", "Every hour"), ("1d", "Every day"), ("1w", "Every week"),
)  # fmt: skip
RULES: Final[tuple[tuple[Missed, str], ...]] = (("run", "Begin once, when I am back"), ("skip", "Skip it"))


class Asked(NamedTuple):
    """A schedule as it stands in the form."""

    task: str
    folder: str
    at: str
    every: str
    missed: Missed


class SchedulesPage(QWidget):
    """Says what is wanted; `show` says what there is."""

    added = Signal(object)  # what was asked for
    removed = Signal(str)
    session_wanted = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._task = self._line("task", _tr("What the agent shall do"))
        self._folder = self._line("folder", _tr("The folder it works in"))
        self._at = self._line("at", _tr("18:30, or 2030-01-31 18:30. Empty: one interval from now"))
        self._often = self._choice("often", OFTEN)
        self._missed = self._choice("missed", RULES)
        self._add = Button(look, _tr("Add"), name="settings.schedules.add", tone="primary")
        self._add.clicked.connect(self._ask)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._lay_out()
        for field in (self._task, self._folder, self._at):
            field.textChanged.connect(self._follow)
            field.returnPressed.connect(self._ask)
        self._often.currentIndexChanged.connect(self._follow)
        self._follow()
        self.show_schedules(())

    def show_schedules(self, found: Sequence[Schedule]) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            if old := item.widget():
                old.hide()
                old.deleteLater()
        if not found:
            none = _tr("No schedules yet.")
            self._rows.addWidget(label(none, self._look.fonts.text, "second", name="settings.schedules.none"))
        for each in found:
            self._rows.addWidget(self._row(each))

    def clear(self) -> None:
        """It was taken; the folder is likely to be wanted again."""
        self._task.clear()
        self._at.clear()

    def _row(self, each: Schedule) -> QWidget:
        look, made = self._look, surface("well")
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 8, 8, 8)
        words = QVBoxLayout()
        words.setSpacing(2)
        title = visible(first_line(each.task))
        words.addWidget(label(title, look.fonts.strong, name=f"settings.schedule.{each.id}", wrap=True))
        where = _tr("{when}, in a worktree of {folder}") if each.worktree else _tr("{when}, in {folder}")
        said = where.format(when=words_of(each), folder=visible(each.folder))
        words.addWidget(label(said, look.fonts.second, "second", wrap=True))
        if each.skipped:
            passed = _tr("Times that passed without a session: {}").format(each.skipped)
            words.addWidget(label(passed, look.fonts.second, "second", wrap=True))
        if each.trouble:
            words.addWidget(label(visible(each.trouble), look.fonts.second, "failed", wrap=True))
        row.addLayout(words, 1)
        if each.session:
            last = Button(look, _tr("Last session"), name=f"settings.schedule.{each.id}.session", tone="quiet")
            last.setAccessibleName(_tr("Go to the last session of {}").format(title))
            last.clicked.connect(lambda: self.session_wanted.emit(each.session))
            row.addWidget(last, 0, Qt.AlignmentFlag.AlignTop)
        button = Button(look, _tr("Remove"), name=f"settings.schedule.{each.id}.remove")
        button.setAccessibleName(_tr("Remove the schedule {}").format(title))
        button.clicked.connect(lambda: self.removed.emit(each.id))
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return made

    def _ask(self) -> None:
        if self._add.isEnabled():
            every, missed = OFTEN[self._often.currentIndex()][0], RULES[self._missed.currentIndex()][0]
            task, folder, at = (field.text().strip() for field in (self._task, self._folder, self._at))
            self.added.emit(Asked(task, folder, at, every, missed))

    def _follow(self) -> None:
        """There is all it takes: what, where, and a time or an interval."""
        when = self._at.text().strip() or OFTEN[self._often.currentIndex()][0]
        self._add.setEnabled(bool(self._task.text().strip() and self._folder.text().strip() and when))

    def _choose_folder(self) -> None:
        ask_folder(
            self, _tr("In which folder?"), self._folder.text(), self._folder.setText, name="settings.schedules.folders"
        )

    def _line(self, name: str, words: str) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName(f"settings.schedules.{name}")
        made.setAccessibleName(words)
        made.setPlaceholderText(words)
        made.setFont(self._look.fonts.text)
        return made

    def _choice(self, name: str, options: Sequence[tuple[str, str]]) -> QComboBox:
        made = Choice()
        made.setObjectName(f"settings.schedules.{name}")
        made.setFont(self._look.fonts.text)
        made.setMinimumHeight(self._look.size(28))
        made.addItems([_tr(words) for _, words in options])
        return made

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        about = _tr(
            "Sessions that begin by themselves, with the model and the limits of these settings, while this window is "
            "open or “journeyman schedule watch” runs. Nothing is allowed to them that you did not allow before: they "
            "wait for you where they have to ask."
        )
        column.addWidget(label(about, fonts.second, "second", wrap=True))
        choose = Button(self._look, _tr("Choose…"), name="settings.schedules.choose")
        choose.setAccessibleName(_tr("Choose the folder"))
        choose.clicked.connect(self._choose_folder)
        place = QHBoxLayout()
        place.addWidget(self._folder, 1)
        place.addWidget(choose)
        form = QFormLayout()
        rows = ((_tr("Task"), self._task), (_tr("Folder"), place), (_tr("First at"), self._at),
                (_tr("Again"), self._often), (_tr("A time I missed"), self._missed))  # fmt: skip
        for words, field in rows:
            form.addRow(label(words, fonts.text), field)
        for words, combo in ((_tr("Again"), self._often), (_tr("A time I missed"), self._missed)):
            combo.setAccessibleName(words)
        column.addLayout(form)
        column.addWidget(self._add, 0, Qt.AlignmentFlag.AlignRight)
        column.addLayout(self._rows)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
