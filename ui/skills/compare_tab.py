"""The Compare tab: the diff between two versions of a skill, or between a version and the current text."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSlider, QVBoxLayout, QWidget

from core.domain.skill import SkillFileDiff, SkillVersion
from core.timeline.text_diff import TextDiff, diff_texts
from ui.diff.diff_view import DiffView
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.compact_row import CompactRow
from ui.widgets.drop_down import DropDown
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import hairline, label
from ui.widgets.time_formats import to_local_time

CURRENT_TEXT: Final = 0  # stands for the text being edited, in place of a version number


class CompareTab(QWidget):
    """Shows the diff between two versions.

    `diff_requested` carries the numbers of the two versions; the second one is 0 for the current text.
    """

    diff_requested = Signal(int, int)
    restore_requested = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._versions: Sequence[SkillVersion] = ()
        self._files: Sequence[SkillFileDiff] = ()
        self._filling = False
        self.setObjectName("skill.compare")
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setObjectName("skill.compare.version")
        self._slider.setAccessibleName(self.tr("Version on the left"))
        self._slider.setToolTip(self.tr("The version to compare; the oldest is on the left"))
        self._slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self._slider.setPageStep(1)
        self._slider.setMaximumWidth(look.size(260))
        self._other_version_box = self._create_drop_down("skill.compare.with", self.tr("Compared with"))
        self._file_box = self._create_drop_down("skill.compare.file", self.tr("File"))
        self._side_by_side_box = CheckBox(look, self.tr("Side by side"), name="skill.compare.beside")
        self._restore_button = Button(
            look, self.tr("Restore this version"), name="skill.compare.restore", icon="undo-2"
        )
        self._version_label = ElidedLabel("", look.fonts.second, "second", name="skill.compare.said")
        self._figures = label("", look.fonts.second, "second", name="skill.compare.figures")
        self._diff_view = DiffView(look)
        self._diff_view.setObjectName("skill.compare.lines")
        self._note = label("", look.fonts.text, "second", name="skill.compare.empty", wrap=True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._note.setContentsMargins(20, 20, 20, 20)
        self._lay_out()
        self._slider.valueChanged.connect(lambda _: self.request_diff())
        self._other_version_box.currentIndexChanged.connect(lambda _: self.request_diff())
        self._file_box.currentIndexChanged.connect(lambda _: self._show_diff())
        self._side_by_side_box.toggled.connect(lambda _: self._show_diff())
        self._restore_button.clicked.connect(lambda: self.restore_requested.emit(self.version))

    @property
    def version(self) -> int:
        """The number of the version on the left side."""
        index = self._slider.value()
        # The slider goes from the oldest version to the newest one, which is the first in the list.
        return self._versions[-1 - index].number if index < len(self._versions) else CURRENT_TEXT

    def show_versions(self, versions: Sequence[SkillVersion]) -> None:
        """List the versions, newest first, and keep the selected ones if they still exist."""
        showed_newest = not self._versions or self.version == self._versions[0].number
        selected = CURRENT_TEXT if showed_newest else self.version
        self._filling = True
        self._versions = versions
        self._slider.setRange(0, max(0, len(versions) - 1))
        self._slider.setEnabled(len(versions) > 1)
        numbers = [version.number for version in reversed(versions)]
        self._slider.setValue(numbers.index(selected) if selected in numbers else len(numbers) - 1)
        other = self._other_version_box.currentData() or CURRENT_TEXT
        self._other_version_box.clear()
        self._other_version_box.addItem(self.tr("Current text"), CURRENT_TEXT)
        for version in versions:
            self._other_version_box.addItem(self.tr("Version {}").format(version.number), version.number)
        self._other_version_box.setCurrentIndex(max(0, self._other_version_box.findData(other)))
        self._filling = False
        for part in (self._slider, self._other_version_box, self._restore_button):
            part.setVisible(bool(versions))
        if not versions:
            self._show_diff()

    def show_files(self, files: Sequence[SkillFileDiff]) -> None:
        selected = self._file_box.currentText()
        self._filling = True
        self._files = files
        self._file_box.clear()
        for file in files:
            self._file_box.addItem(file.path)
        self._file_box.setCurrentIndex(max(0, self._file_box.findText(selected)))
        self._file_box.setVisible(len(files) > 1)
        self._filling = False
        self._show_diff()

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (self._restore_button, self._diff_view):
            part.restyle(look)
        for box in (self._other_version_box, self._file_box, self._side_by_side_box, self._note):
            box.setFont(look.fonts.text)
        for text in (self._version_label, self._figures):
            text.setFont(look.fonts.second)

    def request_diff(self) -> None:
        """Request the diff of the selected versions. Also called when the tab is opened or the text has changed."""
        if not self._filling and self._versions:
            self._version_label.show_text(self._version_text())
            self._restore_button.setEnabled(self.version != self._versions[0].number)
            self.diff_requested.emit(self.version, int(self._other_version_box.currentData() or CURRENT_TEXT))

    def _show_diff(self) -> None:
        if self._filling:
            return
        index = self._file_box.currentIndex()
        file = self._files[index] if 0 <= index < len(self._files) else None
        is_text = file is not None and file.text
        diff = diff_texts(file.before or "", file.after or "") if file and is_text else TextDiff((), (), ())
        self._diff_view.show_diff(diff, side_by_side=self._side_by_side_box.isChecked(), can_revert=False)
        self._diff_view.setVisible(bool(diff.blocks))
        self._note.setVisible(not diff.blocks)
        self._note.setText(self._note_text(file))
        figures = f"+{diff.added} −{diff.removed}" if diff.blocks else ""
        self._figures.setText(figures)
        self._figures.setAccessibleName(self.tr("{} lines added, {} removed").format(diff.added, diff.removed))

    def _note_text(self, file: SkillFileDiff | None) -> str:
        if not self._versions:
            return self.tr("There are no versions yet. Saving creates the first one.")
        if file is not None and not file.text:
            return self.tr("This is a binary file. The two versions differ.")
        if file is not None and (file.before is None or file.after is None):
            return self.tr("The file is empty.")
        return self.tr("There are no differences.")

    def _version_text(self) -> str:
        version = next((candidate for candidate in self._versions if candidate.number == self.version), None)
        if version is None:
            return ""
        author = {
            "user": self.tr("you"),
            "agent": self.tr("an agent"),
            "review": self.tr("a review"),
            "import": self.tr("an import"),
            "disk": self.tr("a change on disk"),
            "builtin": self.tr("Journeyman"),
        }.get(version.author, version.author)
        created = f"{to_local_time(version.created_at):%d %b %Y %H:%M}"
        text = self.tr("Version {} of {} by {}").format(version.number, created, author)
        return f"{text}: {visible(version.reason)}" if version.reason else text

    def _create_drop_down(self, name: str, title: str) -> QComboBox:
        combo_box = DropDown(name=name, title=title, font=self._look.fonts.text)
        combo_box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        return combo_box

    def _lay_out(self) -> None:
        first = CompactRow(QMargins(16, 8, 16, 0), spacing=10)
        first.row.addWidget(self._slider, 2)
        first.row.addWidget(label("→", self._look.fonts.text, "third"))
        first.row.addWidget(self._other_version_box)
        first.row.addWidget(self._file_box)
        first.row.addStretch(1)
        first.row.addWidget(self._side_by_side_box)
        first.row.addWidget(self._restore_button)
        second = QHBoxLayout()
        second.setContentsMargins(16, 4, 16, 8)
        second.addWidget(self._version_label, 1)
        second.addWidget(self._figures)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(first)
        column.addLayout(second)
        column.addWidget(hairline())
        column.addWidget(self._note, 1)
        column.addWidget(self._diff_view, 1)
