"""The dialog that confirms a revert or its undo. It shows what happens to each file, and which files were changed by
something else.
"""

from collections import Counter
from typing import TYPE_CHECKING, Final

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
        heading = label(title, look.fonts.title, name="putback.title", wrap=True)
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
        for widget in (heading, summary, hairline(), scroll):
            layout.addWidget(widget)
        notes = (
            ("unkept", plan.unsaved, self.tr("Also changed, but not reverted because no earlier version was stored:")),
            ("ran", plan.commands, self.tr("These commands ran since. Whatever else they did is not undone:")),
        )
        for name, items, text in notes:
            if items:
                layout.addWidget(hairline())
                layout.addWidget(label(text, look.fonts.second, name=f"putback.{name}", wrap=True))
                layout.addWidget(label(self._lines(items), look.fonts.mono, "second", wrap=True))
        layout.addLayout(button_row(self._cancel_button, self._revert_button))
        self._update_state()
        self._cancel_button.setFocus()
        fit_to_content(self)

    def _summary(self) -> str:
        counts, undoes = Counter(file.action for file in self._plan.files), bool(self._plan.undoes_seq)
        changed = (
            (self.tr("1 file will be changed back."), self.tr("{} files will be changed back."))
            if undoes
            else (self.tr("1 file will be reverted."), self.tr("{} files will be reverted."))
        )
        sentences = (
            (counts["change"], *changed),
            (counts["create"], self.tr("1 file will be restored."), self.tr("{} files will be restored.")),
            (counts["remove"], self.tr("1 file will be deleted."), self.tr("{} files will be deleted.")),
            (
                counts["conflict"] + counts["lost"],
                self.tr("1 file will be left as it is."),
                self.tr("{} files will be left as they are."),
            ),
        )
        parts = [singular if count == 1 else plural.format(count) for count, singular, plural in sentences if count]
        if not parts:
            return (
                self.tr("All files are already as they were before the revert.")
                if undoes
                else self.tr("All files already match that state.")
            )
        parts.append(self.tr("The conversation stays as it is."))
        if not undoes:
            parts.append(self.tr("You can undo this with “Undo the last revert” in the Changes tab."))
        return " ".join(parts)

    def _file(self, file: "FilePlan") -> QWidget:
        widget = QWidget()
        column = QVBoxLayout(widget)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        name = label(visible(file.path), self._look.fonts.mono, wrap=True)
        name.setToolTip(tooltip_text(file.path))
        column.addWidget(name)
        undoes = bool(self._plan.undoes_seq)
        text = {
            "change": self.tr("Will be changed back") if undoes else self.tr("Will be reverted"),
            "create": self.tr("Will be restored"),
            "remove": (
                self.tr("Will be deleted, because it did not exist before the revert")
                if undoes
                else self.tr("Will be deleted, because it did not exist then")
            ),
            "same": self.tr("Unchanged"),
        }.get(file.action) or self.tr("Will be left as it is. {}").format(file.reason)
        if lines := _changed_lines(file):
            text = self.tr("{}: {}").format(text, lines) if file.action in {"change", "create"} else text
        tone = {"conflict": "waiting", "lost": "waiting", "remove": "failed"}.get(file.action, "second")
        column.addWidget(label(text, self._look.fonts.second, tone, wrap=True))
        if file.action == "conflict":
            force_text, force_name = (
                (self.tr("Change it back anyway, and overwrite that change"), self.tr("Change {} back anyway"))
                if undoes
                else (self.tr("Revert it anyway, and overwrite that change"), self.tr("Revert {} anyway"))
            )
            force = CheckBox(self._look, force_text, name="putback.force")
            force.setAccessibleName(force_name.format(visible(file.path)))
            force.setFont(self._look.fonts.second)
            force.toggled.connect(lambda _: self._update_state())
            self._force_boxes[file.path] = force
            column.addWidget(force)
        return widget

    def _lines(self, names: tuple[str, ...]) -> str:
        """Return the first few names, one per line, and the number of the others."""
        omitted = len(names) - MAX_NAMES
        overflow = [self.tr("and {} more").format(omitted)] if omitted > 0 else []
        return "\n".join([*(_shortened(visible(name)) for name in names[:MAX_NAMES]), *overflow])

    def _update_state(self) -> None:
        self._revert_button.setEnabled(
            bool(self._plan.changing_files) or any(box.isChecked() for box in self._force_boxes.values())
        )

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
