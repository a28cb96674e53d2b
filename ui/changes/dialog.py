"""Before files are put back: what would become of each, and which stay because somebody else changed them."""

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import foot
from ui.widgets.scroll import FittingScroll
from ui.widgets.tick import Tick
from ui.widgets.tip import tip
from ui.widgets.words import hairline, label

if TYPE_CHECKING:
    from core.engine.rewind import FilePlan, Plan

WIDTH: Final = 560
MOST_HEIGHT: Final = 360
SOME: Final = 5


class PutBackDialog(QDialog):
    """`agreed` with the names of files that are put back although somebody else changed them."""

    agreed = Signal(object)

    def __init__(self, look: Look, title: str, plan: "Plan", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._plan = look, plan
        self._forced: dict[str, QCheckBox] = {}
        self.setObjectName("putback")
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setMinimumWidth(look.size(WIDTH))
        self._yes = Button(look, self.tr("Put back"), name="putback.yes", tone="primary")
        self._no = Button(look, self.tr("Cancel"), name="putback.no")
        self._yes.clicked.connect(self._agree)
        self._no.clicked.connect(self.reject)
        head = label(title, look.fonts.title, name="putback.title", wrap=True)
        told = label(self._summary(), look.fonts.text, "second", name="putback.told", wrap=True)
        files = QWidget()
        column = QVBoxLayout(files)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for file in plan.files:
            column.addWidget(self._file(file))
        scroll = FittingScroll(files)
        scroll.setMaximumHeight(look.size(MOST_HEIGHT))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        for part in (head, told, hairline(), scroll):
            layout.addWidget(part)
        notes = (("putback.unkept", plan.unkept, self._unkept), ("putback.ran", plan.commands, self._ran))
        for name, subject, words in notes:
            if subject:
                layout.addWidget(hairline())
                layout.addWidget(label(words(), look.fonts.second, "second", name=name, wrap=True))
        layout.addLayout(foot(self._no, self._yes))
        self._weigh()
        self._no.setFocus()

    def _summary(self) -> str:
        doable = len(self._plan.doable)
        kept = sum(file.action in {"conflict", "lost"} for file in self._plan.files)
        if not doable and not kept:
            return self.tr("Everything is as it was already.")
        said = self.tr("1 file is put back.") if doable == 1 else self.tr("{} files are put back.").format(doable)
        stays = self.tr("1 file stays as it is.") if kept == 1 else self.tr("{} files stay as they are.").format(kept)
        parts = [said if doable else "", stays if kept else "", self.tr("This can be undone.")]
        return " ".join(part for part in parts if part)

    def _file(self, file: "FilePlan") -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 8, 0)
        row.setSpacing(8)
        name = label(visible(file.path), self._look.fonts.mono)
        name.setToolTip(tip(file.path))
        row.addWidget(name, 1)
        figures = " ".join(f"{sign}{count}" for sign, count in (("+", file.added), ("−", file.removed)) if count)
        said = {
            "change": self.tr("changes back"),
            "create": self.tr("comes back"),
            "remove": self.tr("is removed"),
            "same": self.tr("is as it was"),
        }.get(file.action, file.why)
        tone = "waiting" if file.action in {"conflict", "lost"} else "second"
        row.addWidget(label(f"{said} {figures}".strip(), self._look.fonts.second, tone))
        if file.action == "conflict":
            force = Tick(self._look, self.tr("put back anyway"), name="putback.force")
            force.setAccessibleName(self.tr("Put back {} anyway").format(visible(file.path)))
            force.setFont(self._look.fonts.second)
            force.toggled.connect(lambda _: self._weigh())
            self._forced[file.path] = force
            row.addWidget(force)
        return made

    def _unkept(self) -> str:
        return self.tr("Changed too, but not kept and not put back: {}.").format(self._some(self._plan.unkept))

    def _ran(self) -> str:
        said = self.tr("Commands ran since: {}. What else they did is not taken back.")
        return said.format(self._some(self._plan.commands))

    def _some(self, names: tuple[str, ...]) -> str:
        shown = ", ".join(visible(name)[:80] for name in names[:SOME])
        more = len(names) - SOME
        return shown + (self.tr(" and {} more").format(more) if more > 0 else "")

    def _weigh(self) -> None:
        self._yes.setEnabled(bool(self._plan.doable) or any(box.isChecked() for box in self._forced.values()))

    def _agree(self) -> None:
        forced = tuple(path for path, box in self._forced.items() if box.isChecked())
        self.accept()
        self.agreed.emit(forced)
