"""The dialog that confirms a revert: what happens to each file, and which files changed outside of the session."""

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import button_row
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import hairline, label
from ui.widgets.tooltip import tooltip_text

if TYPE_CHECKING:
    from core.engine.history.rewind import FilePlan, RewindPlan

WIDTH: Final = 560
MAX_LIST_HEIGHT: Final = 360
MAX_NAMES: Final = 5


class RevertDialog(QDialog):
    """Confirms a revert. `confirmed` carries the paths to revert although they changed outside of the session."""

    confirmed = Signal(object)

    def __init__(self, look: Look, title: str, plan: "RewindPlan", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._plan = look, plan
        self._force_boxes: dict[str, QCheckBox] = {}
        self.setObjectName("putback")
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setMinimumWidth(look.size(WIDTH))
        self._revert_button = Button(look, self.tr("Revert"), name="putback.yes", tone="primary")
        self._cancel_button = Button(look, self.tr("Cancel"), name="putback.no")
        self._revert_button.clicked.connect(self._confirm)
        self._cancel_button.clicked.connect(self.reject)
        head = label(title, look.fonts.title, name="putback.title", wrap=True)
        summary = label(self._summary(), look.fonts.text, "second", name="putback.told", wrap=True)
        files = QWidget()
        column = QVBoxLayout(files)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for file in plan.files:
            column.addWidget(self._file(file))
        scroll = FittingScrollArea(files)
        scroll.setMaximumHeight(look.size(MAX_LIST_HEIGHT))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        for part in (head, summary, hairline(), scroll):
            layout.addWidget(part)
        notes = (
            ("putback.unkept", plan.unsaved, self._unstored_text),
            ("putback.ran", plan.commands, self._commands_text),
        )
        for name, subject, words in notes:
            if subject:
                layout.addWidget(hairline())
                layout.addWidget(label(words(), look.fonts.second, "second", name=name, wrap=True))
        layout.addLayout(button_row(self._cancel_button, self._revert_button))
        self._update_state()
        self._cancel_button.setFocus()

    def _summary(self) -> str:
        doable = len(self._plan.changing_files)
        kept = sum(file.action in {"conflict", "lost"} for file in self._plan.files)
        if not doable and not kept:
            return self.tr("All files already match that state.")
        text = (
            self.tr("1 file will be reverted.") if doable == 1 else self.tr("{} files will be reverted.").format(doable)
        )
        stays = (
            self.tr("1 file will be left as it is.")
            if kept == 1
            else self.tr("{} files will be left as they are.").format(kept)
        )
        parts = [text if doable else "", stays if kept else "", self.tr("You can undo this.")]
        return " ".join(part for part in parts if part)

    def _file(self, file: "FilePlan") -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 8, 0)
        row.setSpacing(8)
        name = label(visible(file.path), self._look.fonts.mono)
        name.setToolTip(tooltip_text(file.path))
        row.addWidget(name, 1)
        figures = " ".join(f"{sign}{count}" for sign, count in (("+", file.added), ("−", file.removed)) if count)
        text = {
            "change": self.tr("will be reverted"),
            "create": self.tr("will be restored"),
            "remove": self.tr("will be deleted"),
            "same": self.tr("unchanged"),
        }.get(file.action, file.reason)
        tone = "waiting" if file.action in {"conflict", "lost"} else "second"
        row.addWidget(label(f"{text} {figures}".strip(), self._look.fonts.second, tone))
        if file.action == "conflict":
            force = CheckBox(self._look, self.tr("Revert anyway"), name="putback.force")
            force.setAccessibleName(self.tr("Revert {} anyway").format(visible(file.path)))
            force.setFont(self._look.fonts.second)
            force.toggled.connect(lambda _: self._update_state())
            self._force_boxes[file.path] = force
            row.addWidget(force)
        return made

    def _unstored_text(self) -> str:
        return self.tr("Also changed, but not reverted because no earlier version was stored: {}.").format(
            self._join_names(self._plan.unsaved)
        )

    def _commands_text(self) -> str:
        text = self.tr("Commands have run since: {}. Their other effects will not be undone.")
        return text.format(self._join_names(self._plan.commands))

    def _join_names(self, names: tuple[str, ...]) -> str:
        shown = ", ".join(visible(name)[:80] for name in names[:MAX_NAMES])
        more = len(names) - MAX_NAMES
        return shown + (self.tr(" and {} more").format(more) if more > 0 else "")

    def _update_state(self) -> None:
        self._revert_button.setEnabled(
            bool(self._plan.changing_files) or any(box.isChecked() for box in self._force_boxes.values())
        )

    def _confirm(self) -> None:
        forced = tuple(path for path, box in self._force_boxes.items() if box.isChecked())
        self.accept()
        self.confirmed.emit(forced)
