"""The Schedules page: sessions that start at set times, and a form to add one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.schedule import MissedPolicy, Schedule, describe_schedule
from core.domain.steps import first_line as first_line
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import click_on_ctrl_enter, open_folder_picker
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import label, styled_frame

INTERVALS: Final = {
    "": "Once",
    "15m": "Every 15 minutes",
    "1h": "Every hour",
    "1d": "Every day",
    "1w": "Every week",
}
MISSED_POLICIES: Final[Mapping[MissedPolicy, str]] = {
    "run": "Run once when Journeyman is open again",
    "skip": "Skip it",
}


class ScheduleDraft(NamedTuple):
    """The contents of the form. `every` is an interval such as `1d`; "" for a session that starts only once."""

    task: str
    folder: str
    at: str
    every: str
    missed: MissedPolicy


class SchedulesPage(QWidget):
    """The list of schedules and a form to add one."""

    added = Signal(object)  # a ScheduleDraft
    removed = Signal(str)
    session_requested = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._task = self._text_field("task", _tr("What the agent should do"))
        self._folder = self._text_field("folder", _tr("Folder to work in"))
        self._at = self._text_field("at", _tr("18:30 or 2030-01-31 18:30"))
        self._interval = self._combo_box("often", INTERVALS)
        self._missed = self._combo_box("missed", MISSED_POLICIES)
        self._add = Button(look, _tr("Add schedule"), name="settings.schedules.add", tone="primary")
        self._add.clicked.connect(self._emit_added)
        click_on_ctrl_enter(self, self._add)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._lay_out()
        for field in (self._task, self._folder, self._at):
            field.textChanged.connect(self._update_state)
            field.returnPressed.connect(self._emit_added)
        self._interval.currentIndexChanged.connect(self._update_state)
        self._update_state()
        self.show_schedules(())

    def show_schedules(self, schedules: Sequence[Schedule]) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            if old := item.widget():
                old.hide()
                old.deleteLater()
        if not schedules:
            empty_text = _tr("No schedules yet.")
            self._rows.addWidget(label(empty_text, self._look.fonts.text, "second", name="settings.schedules.none"))
        for schedule in schedules:
            self._rows.addWidget(self._row(schedule))

    def clear(self) -> None:
        """Clear the form after a schedule was added. The folder is kept, because it is likely to be used again."""
        self._task.clear()
        self._at.clear()

    def _row(self, schedule: Schedule) -> QWidget:
        look = self._look
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        title = visible(first_line(schedule.task))
        texts.addWidget(label(title, look.fonts.strong, name=f"settings.schedule.{schedule.id}", wrap=True))
        template = _tr("{when}, in a worktree of {folder}") if schedule.worktree else _tr("{when}, in {folder}")
        text = template.format(when=describe_schedule(schedule), folder=visible(schedule.folder))
        texts.addWidget(label(text, look.fonts.second, "second", wrap=True))
        if schedule.missed_count:
            missed = _tr("Missed times without a session: {}").format(schedule.missed_count)
            texts.addWidget(label(missed, look.fonts.second, "second", wrap=True))
        if schedule.error:
            texts.addWidget(label(visible(schedule.error), look.fonts.second, "failed", wrap=True))
        row.addLayout(texts, 1)
        if schedule.last_session:
            last = Button(look, _tr("Open last session"), name=f"settings.schedule.{schedule.id}.session", tone="quiet")
            last.setAccessibleName(_tr("Open the last session of {}").format(title))
            last.clicked.connect(lambda: self.session_requested.emit(schedule.last_session))
            row.addWidget(last, 0, Qt.AlignmentFlag.AlignTop)
        button = Button(look, _tr("Remove"), name=f"settings.schedule.{schedule.id}.remove")
        button.setAccessibleName(_tr("Remove the schedule {}").format(title))
        button.clicked.connect(lambda: self.removed.emit(schedule.id))
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return frame

    def _emit_added(self) -> None:
        if self._add.isEnabled():
            draft = ScheduleDraft(
                task=self._task.text().strip(),
                folder=self._folder.text().strip(),
                at=self._at.text().strip(),
                every=self._interval.currentData(),
                missed=self._missed.currentData(),
            )
            self.added.emit(draft)

    def _update_state(self) -> None:
        """Enable Add if there is a task, a folder, and a time or an interval."""
        has_time = bool(self._at.text().strip() or self._interval.currentData())
        has_task = bool(self._task.text().strip() and self._folder.text().strip())
        self._add.setEnabled(has_task and has_time)

    def _choose_folder(self) -> None:
        open_folder_picker(
            self, _tr("Choose a folder"), self._folder.text(), self._folder.setText, name="settings.schedules.folders"
        )

    def _text_field(self, name: str, title: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(f"settings.schedules.{name}")
        field.setAccessibleName(title)
        field.setPlaceholderText(title)
        field.setFont(self._look.fonts.text)
        return field

    def _combo_box(self, name: str, options: Mapping[Any, str]) -> QComboBox:
        combo_box = DropDown(name=f"settings.schedules.{name}", font=self._look.fonts.text)
        combo_box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo_box.setMinimumHeight(self._look.size(28))
        for value, text in options.items():
            combo_box.addItem(_tr(text), value)
        return combo_box

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        about = _tr(
            "Scheduled sessions start on their own, with the model and limits from these settings, while this window "
            "is open or “journeyman schedule watch” is running. They have only the permissions you have already "
            "granted, and wait for you when they need approval."
        )
        column.addWidget(label(about, fonts.second, "second", wrap=True))
        choose = Button(self._look, _tr("Choose…"), name="settings.schedules.choose")
        choose.setAccessibleName(_tr("Choose a folder"))
        choose.clicked.connect(self._choose_folder)
        folder_row = QHBoxLayout()
        folder_row.addWidget(self._folder, 1)
        folder_row.addWidget(choose)
        form = QFormLayout()
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        at = QVBoxLayout()
        at.addWidget(self._at)
        at.addWidget(label(_tr("Empty: one interval from now"), fonts.second, "second", wrap=True))
        form.addRow(label(_tr("Task"), fonts.text), self._task)
        form.addRow(label(_tr("Folder"), fonts.text), folder_row)
        form.addRow(label(_tr("First time"), fonts.text), at)
        form.addRow(label(_tr("Repeat"), fonts.text), self._interval)
        self._interval.setAccessibleName(_tr("Repeat"))
        form.addRow(label(_tr("If a time is missed"), fonts.text), self._missed)
        self._missed.setAccessibleName(_tr("If a time is missed"))
        self._at.setAccessibleName(_tr("First time"))
        self._at.setAccessibleDescription(_tr("18:30 or 2030-01-31 18:30. Empty: one interval from now"))
        column.addLayout(form)
        column.addWidget(self._add, 0, Qt.AlignmentFlag.AlignRight)
        column.addLayout(self._rows)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
