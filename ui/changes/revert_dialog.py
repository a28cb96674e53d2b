"""The dialog that confirms a revert or its undo. It shows what happens to each file, and which files were changed by
something else.
"""

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import button_row, fit_to_content
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import hairline, label
from ui.widgets.tooltip import tooltip_text

if TYPE_CHECKING:
    from core.engine.history.rewind import FilePlan, RewindPlan

WIDTH: Final = 560
MAX_LIST_HEIGHT: Final = 360
MAX_NAME: Final = 300  # characters of a path or command that are shown
MAX_NAMES: Final = 5


class _CountedFiles(NamedTuple):
    """A number of files, and the sentences about one and about several files."""

    number: int
    singular: str
    plural: str


class RevertDialog(QDialog):
    """Confirms a revert, or the undo of one.

    `confirmed` carries the paths to revert even though they were also changed outside of the session.
    """

    confirmed = Signal(object)

    def __init__(self, look: Look, title: str, plan: "RewindPlan", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._plan = plan
        self._force_boxes: dict[str, QCheckBox] = {}
        self.setObjectName("putback")
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setMinimumWidth(look.size(WIDTH))
        action = self.tr("Undo the revert") if plan.undoes_seq else self.tr("Revert")
        self._revert_button = Button(look, action, name="putback.yes", tone="primary")
        self._cancel_button = Button(look, self.tr("Cancel"), name="putback.no")
        self._revert_button.clicked.connect(self._confirm)
        self._cancel_button.clicked.connect(self.reject)
        self._lay_out(title)
        self._update_state()
        self._cancel_button.setFocus()
        fit_to_content(self)

    def _lay_out(self, title: str) -> None:
        look, plan = self._look, self._plan
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addWidget(label(title, look.fonts.title, name="putback.title", wrap=True))
        layout.addWidget(label(self._summary(), look.fonts.text, "second", name="putback.told", wrap=True))
        layout.addWidget(hairline())
        layout.addWidget(self._file_list())
        unsaved_text = self.tr("Also changed, but not reverted because no earlier version was stored:")
        commands_text = self.tr("These commands ran since. Whatever else they did is not undone:")
        self._add_note(layout, "putback.unkept", unsaved_text, plan.unsaved)
        self._add_note(layout, "putback.ran", commands_text, plan.commands)
        layout.addLayout(button_row(self._cancel_button, self._revert_button))

    def _file_list(self) -> QWidget:
        files = QWidget()
        column = QVBoxLayout(files)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for file in self._plan.files:
            column.addWidget(self._file(file))
        scroll = FittingScrollArea(files)
        scroll.setMaximumHeight(self._look.size(MAX_LIST_HEIGHT))
        return scroll

    def _add_note(self, layout: QVBoxLayout, name: str, text: str, items: tuple[str, ...]) -> None:
        """Add a text with a list below it, unless the list is empty."""
        if items:
            layout.addWidget(hairline())
            layout.addWidget(label(text, self._look.fonts.second, name=name, wrap=True))
            layout.addWidget(label(self._lines(items), self._look.fonts.mono, "second", wrap=True))

    def _summary(self) -> str:
        is_undo = bool(self._plan.undoes_seq)
        sentences = [
            files.singular if files.number == 1 else files.plural.format(files.number)
            for files in self._counted_files(is_undo=is_undo)
            if files.number
        ]
        if not sentences and is_undo:
            return self.tr("All files are already as they were before the revert.")
        if not sentences:
            return self.tr("All files already match that state.")
        sentences.append(self.tr("The conversation stays as it is."))
        if not is_undo:
            sentences.append(self.tr("You can undo this with “Undo the last revert” in the Changes tab."))
        return " ".join(sentences)

    def _counted_files(self, *, is_undo: bool) -> list[_CountedFiles]:
        counts = Counter(file.action for file in self._plan.files)
        one_changed, changed = self.tr("1 file will be reverted."), self.tr("{} files will be reverted.")
        if is_undo:
            one_changed, changed = self.tr("1 file will be changed back."), self.tr("{} files will be changed back.")
        return [
            _CountedFiles(counts["change"], one_changed, changed),
            _CountedFiles(counts["create"], self.tr("1 file will be restored."), self.tr("{} files will be restored.")),
            _CountedFiles(counts["remove"], self.tr("1 file will be deleted."), self.tr("{} files will be deleted.")),
            _CountedFiles(
                counts["conflict"] + counts["lost"],
                self.tr("1 file will be left as it is."),
                self.tr("{} files will be left as they are."),
            ),
        ]

    def _file(self, file: "FilePlan") -> QWidget:
        widget = QWidget()
        column = QVBoxLayout(widget)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        name = label(visible(file.path), self._look.fonts.mono, wrap=True)
        name.setToolTip(tooltip_text(file.path))
        column.addWidget(name)
        tone = {"conflict": "waiting", "lost": "waiting", "remove": "failed"}.get(file.action, "second")
        column.addWidget(label(self._outcome_text(file), self._look.fonts.second, tone, wrap=True))
        if file.action == "conflict":
            self._force_boxes[file.path] = self._create_force_box(file)
            column.addWidget(self._force_boxes[file.path])
        return widget

    def _outcome_text(self, file: "FilePlan") -> str:
        """Return what will happen to a file."""
        is_undo = bool(self._plan.undoes_seq)
        match file.action:
            case "change":
                text = self.tr("Will be changed back") if is_undo else self.tr("Will be reverted")
            case "create":
                text = self.tr("Will be restored")
            case "remove" if is_undo:
                return self.tr("Will be deleted, because it did not exist before the revert")
            case "remove":
                return self.tr("Will be deleted, because it did not exist then")
            case "same":
                return self.tr("Unchanged")
            case _:
                return self.tr("Will be left as it is. {}").format(file.reason)
        lines = _changed_lines(file)
        return self.tr("{}: {}").format(text, lines) if lines else text

    def _create_force_box(self, file: "FilePlan") -> CheckBox:
        """Return the check box with which the user reverts a file although something else has changed it."""
        text, accessible_name = self.tr("Revert it anyway, and overwrite that change"), self.tr("Revert {} anyway")
        if self._plan.undoes_seq:
            text = self.tr("Change it back anyway, and overwrite that change")
            accessible_name = self.tr("Change {} back anyway")
        box = CheckBox(self._look, text, name="putback.force")
        box.setAccessibleName(accessible_name.format(visible(file.path)))
        box.setFont(self._look.fonts.second)
        box.toggled.connect(lambda _: self._update_state())
        return box

    def _lines(self, names: tuple[str, ...]) -> str:
        """Return the first few names, one per line, and the number of the others."""
        omitted = len(names) - MAX_NAMES
        lines = [_shortened(visible(name)) for name in names[:MAX_NAMES]]
        if omitted > 0:
            lines.append(self.tr("and {} more").format(omitted))
        return "\n".join(lines)

    def _update_state(self) -> None:
        is_forced = any(box.isChecked() for box in self._force_boxes.values())
        self._revert_button.setEnabled(bool(self._plan.changing_files) or is_forced)

    def _confirm(self) -> None:
        forced = tuple(path for path, box in self._force_boxes.items() if box.isChecked())
        self.accept()
        self.confirmed.emit(forced)


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _changed_lines(file: "FilePlan") -> str:
    """Return how the revert changes the lines of a file, such as `adds 2 lines, removes 1 line`."""
    added = _tr("adds 1 line") if file.added == 1 else _tr("adds {} lines").format(file.added)
    removed = _tr("removes 1 line") if file.removed == 1 else _tr("removes {} lines").format(file.removed)
    return ", ".join(text for text, lines in ((added, file.added), (removed, file.removed)) if lines)


def _tr(text: str) -> str:
    return QCoreApplication.translate("revert", text)
