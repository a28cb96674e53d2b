"""The head of the page: what is remembered in figures, search, tabs by kind, and the folder that is looked at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QTabBar, QVBoxLayout, QWidget

from ui.icons import icon
from ui.memory.rows import ALL, ARCHIVE, FADING, PROPOSED, belongs
from ui.memory.words import folder_words, tr
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.elided import ElidedLabel
from ui.widgets.tabs import TabLine
from ui.widgets.words import label

if TYPE_CHECKING:
    from core.engine.memory import Listed


NARROW = 560  # pixels below which words give way


class MemoryHead(QWidget):
    """`chosen` when another tab or folder is looked at."""

    chosen = Signal(str)
    menu_wanted = Signal(QPoint)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look, self._waiting = look, 0
        self._title = label(tr("Memory"), look.fonts.title, name="memory.title")
        self.waits = Button(look, "", name="memory.waits", icon="sparkles", tone="learnt")
        self.waits.hide()
        self.search = QLineEdit()
        self.search.setObjectName("memory.search")
        self.search.setPlaceholderText(tr("Search by words"))
        self.search.setAccessibleName(tr("Search the memories"))
        self.search.setToolTip(tr("Search the memories (Ctrl+F)"))
        self.search.setClearButtonEnabled(True)
        self._glass = self.search.addAction(icon("search", look.theme.third), QLineEdit.ActionPosition.LeadingPosition)
        self.add = Button(look, tr("Add"), name="memory.add", icon="plus")
        self.add.setToolTip(tr("Write down what agents should know (Ctrl+Shift+N)"))
        self._more = Button(look, "", name="memory.more", icon="sliders-horizontal", tone="quiet")
        self._more.setAccessibleName(tr("More: import, export, forget"))
        self._more.setToolTip(tr("More: import, export, forget"))
        self._figures = ElidedLabel("", look.fonts.second, "second", name="memory.figures")
        self._places = Choice()
        self._places.setObjectName("memory.place")
        self._places.setAccessibleName(tr("For which folder"))
        self._places.setToolTip(tr("For which folder"))
        self._places.setFont(look.fonts.second)
        self._places.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToContents)
        self._places.addItem(tr("For any folder"), "")
        self._places.hide()
        self.tabs = TabLine(look, QWidget(), name="memory.tabs", said=tr("Kinds of memory"))
        self._lay_out()
        for bar in self.tabs.findChildren(QTabBar):
            bar.setUsesScrollButtons(True)  # nine of them would keep the window from getting narrow
        self.tabs.chosen.connect(self.chosen)
        self._places.activated.connect(lambda _: self.chosen.emit(self.tab))
        self.waits.clicked.connect(lambda: self.tabs.choose(PROPOSED))
        self._more.clicked.connect(
            lambda: self.menu_wanted.emit(self._more.mapToGlobal(self._more.rect().bottomLeft()))
        )
        self.restyle(look)

    @property
    def tab(self) -> str:
        return self.tabs.current()

    @property
    def place(self) -> str:
        """A folder, a star for what is for everywhere, or empty for no matter which."""
        return str(self._places.currentData() or "")

    def choose(self, tab: str) -> None:
        self.tabs.choose(tab)

    def choose_place(self, place: str) -> None:
        self._places.setCurrentIndex(max(0, self._places.findData(place)))

    def show_figures(self, listed: "Sequence[Listed]", waiting: int, *, more: bool) -> None:
        active = sum(one.memory.standing == "active" for one in listed)
        fading = sum(belongs(one, FADING) for one in listed)
        archived = len(listed) - active
        items = tr("1 memory") if active == 1 else tr("{} memories").format(f"{active:,}")
        parts = [items, tr("{} fading").format(f"{fading:,}"), tr("{} in the archive").format(f"{archived:,}")]
        if more:
            parts.append(tr("the newest {} are listed, the search finds all").format(f"{len(listed):,}"))
        used = [one.memory for one in listed if one.memory.uses.good + one.memory.uses.bad]
        good = sum(one.uses.good for one in used)
        if judged := good + sum(one.uses.bad for one in used):
            parts.append(tr("{} of {} judged uses helped").format(f"{good:,}", f"{judged:,}"))
        self._figures.show_text(" · ".join(parts))
        said = tr("1 proposal to review") if waiting == 1 else tr("{} proposals to review").format(waiting)
        self._waiting = waiting
        self.waits.setAccessibleName(said)
        self.waits.setToolTip(f"{said}\n{tr('What runs want to be remembered: keep, edit or reject')}")
        self._fit()
        self.waits.setVisible(waiting > 0)
        self.tabs.show_figures(PROPOSED, [(str(waiting), "learned")] if waiting else [])

    def show_places(self, folders: Sequence[str]) -> None:
        held = self.place
        self._places.clear()
        self._places.addItem(tr("For any folder"), "")
        self._places.addItem(tr("For every folder"), "*")
        for folder in folders:
            self._places.addItem(folder_words(folder), folder)
        self._places.setVisible(bool(folders))
        self.choose_place(held)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self.search.setFont(look.fonts.text)
        self._glass.setIcon(icon("search", look.theme.third))
        self._figures.setFont(look.fonts.second)
        self._places.setFont(look.fonts.second)
        self._places.setMaximumWidth(look.size(220))
        for part in (self.waits, self.add, self._more, self.tabs):
            part.restyle(look)
        self._fit()

    def _fit(self) -> None:
        """Where there is little room, the number alone says how many wait."""
        narrow = self.width() < self._look.size(NARROW)
        said = self.waits.accessibleName()
        self.waits.setText(str(self._waiting) if narrow else said)
        self.waits.updateGeometry()
        self.search.setMinimumWidth(self._look.size(90 if narrow else 180))

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self._title)
        first.addWidget(self.waits)
        first.addStretch(1)
        first.addWidget(self.search)
        first.addWidget(self.add)
        first.addWidget(self._more)
        above = QVBoxLayout()
        above.setContentsMargins(20, 11, 16, 8)
        above.setSpacing(6)
        above.addLayout(first)
        second = QHBoxLayout()
        second.addWidget(self._figures, 1)
        second.addWidget(self._places)
        above.addLayout(second)
        for name, said in (
            (ALL, tr("All")),
            ("preference", tr("Preferences")),
            ("heuristic", tr("Heuristics")),
            ("knowledge", tr("Knowledge")),
            ("outcome", tr("Outcomes")),
            ("anti-pattern", tr("Anti-patterns")),
            (FADING, tr("Fading")),
            (ARCHIVE, tr("Archive")),
            (PROPOSED, tr("Proposed")),
        ):
            self.tabs.add(name, said)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(above)
        column.addWidget(self.tabs)
