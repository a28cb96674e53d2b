"""What was learned, by day: each memory with its author, and how many outcomes of runs were recorded."""

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QScrollArea, QVBoxLayout, QWidget

from ui.memory.link_line import LinkLine
from ui.memory.texts import author_text, kind_label, tr
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, resize_in_screen
from ui.widgets.labels import label

if TYPE_CHECKING:
    from core.engine.services.memory_results import LearnedDay

MAX_DAYS: Final = 60
MAX_ITEMS: Final = 50  # memories listed at most for one day


class JournalDialog(QDialog):
    """Shows what was learned. `memory_requested` carries the ID of a memory that the user wants to see."""

    memory_requested = Signal(str)

    def __init__(self, look: Look, days: "Sequence[LearnedDay]", parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("memory.journal")
        self.setWindowTitle(tr("What was learned"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        content = QWidget()
        self._rows = QVBoxLayout(content)
        self._rows.setContentsMargins(0, 0, 12, 0)
        self._rows.setSpacing(2)
        if not days:
            self._rows.addWidget(label(tr("Nothing was learned yet."), look.fonts.text, "second"))
        for day in days[:MAX_DAYS]:
            self._add_day(day)
        if (more := len(days) - MAX_DAYS) > 0:
            older = tr("Older days: {}. `journeyman memory log` lists them.").format(more)
            self._rows.addWidget(label(older, look.fonts.second, "third", wrap=True))
        self._rows.addStretch(1)
        scroll = QScrollArea()
        scroll.setAccessibleName(tr("What was learned"))
        scroll.setWidgetResizable(True)
        scroll.setWidget(content)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(tr("What was learned"), look.fonts.title))
        column.addWidget(scroll, 1)
        close = Button(look, tr("Close"), name="memory.journal.close")
        close.clicked.connect(self.reject)
        close.setDefault(True)
        column.addLayout(button_row(close))
        (content.findChild(LinkLine) or close).setFocus()
        resize_in_screen(self, look.size(560), look.size(520))

    def _add_day(self, day: "LearnedDay") -> None:
        fonts = self._look.fonts
        counts = [tr("learned {}").format(len(day.learned))] if day.learned else []
        if day.runs:
            counts.append(tr("1 outcome of a run") if day.runs == 1 else tr("{} outcomes of runs").format(day.runs))
        date_text = date.fromisoformat(day.day).strftime("%d %b %Y").lstrip("0")
        heading = label(f"{date_text} · {' · '.join(counts)}", fonts.strong, name="memory.journal.day")
        heading.setContentsMargins(0, 8, 0, 2)
        self._rows.addWidget(heading)
        for memory in day.learned[:MAX_ITEMS]:
            text = f"{kind_label(memory.content.kind)}: {visible(memory.content.text)}"
            line = LinkLine(
                self._look, text, name="memory.journal.item", description=author_text(memory.author), icon="brain"
            )
            line.clicked.connect(partial(self._open, memory.id))
            self._rows.addWidget(line)
        if (more := len(day.learned) - MAX_ITEMS) > 0:
            self._rows.addWidget(label(tr("and {} more").format(more), fonts.second, "third"))

    def _open(self, name: str) -> None:
        self.accept()
        self.memory_requested.emit(name)
