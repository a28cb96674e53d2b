"""The settings: pages on the left, one search over all of them, every change used at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.domain.problems import Trouble
from core.domain.rules import Rule
from core.domain.schedule import Schedule
from core.settings.schema import MODELS, TOOLS, WEB, About, OutsideAgent, Settings
from ui.settings.agents import AgentsPage
from ui.settings.fields import control, settable
from ui.settings.models import ModelsPage
from ui.settings.pages import DataPage, DataState, FoldersPage, RulesPage, is_of_folder
from ui.settings.schedules import SchedulesPage
from ui.settings.tool_servers import ToolServersPage
from ui.settings.web import WebKey
from ui.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import breakable, label

Agents = tuple[Sequence[OutsideAgent], Sequence[OutsideAgent]]
SIZE: Final = (820, 580)
AROUND: Final = QSize(24, 60)  # the frame of a window, and what shows of the one below
PAGES_WIDTH: Final = 170
UNMOVED: Final = frozenset({"reduced_motion"})  # nothing in this window slides or fades, so there is nothing to lessen


@dataclass(frozen=True, slots=True)
class Shown:
    """What the pages show. `rules` is None where they cannot be read: then `why`."""

    settings: Settings
    rules: Sequence[Rule] | None
    why: str = ""


class SettingsDialog(QDialog):
    """Says what the person changed; whoever opened it carries that out and tells what went wrong."""

    changed = Signal(str, object)
    revoked = Signal(str)
    data_wanted = Signal(str, str)  # what, and with which backup
    session_wanted = Signal(str)
    schedule_added = Signal(object)
    schedule_removed = Signal(str)
    agents_wanted = Signal(str, str, str)  # what, of which agent, its command
    servers_wanted = Signal(str, str)  # what, and of which server or model
    tools_wanted = Signal(str, str, str)  # what, of which tool server, and of which of its tools or keys

    def __init__(self, look: Look, shown: Shown, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._shown = look, shown
        self._found: list[tuple[str, QWidget]] = []  # what is searched, and the row that is shown for it
        self.setObjectName("settings")
        self.setWindowTitle(self.tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        room = self.screen().availableGeometry().size()
        self.resize(QSize(look.size(SIZE[0]), look.size(SIZE[1])).boundedTo(room - AROUND))
        self._search = QLineEdit()
        self._search.setObjectName("settings.search")
        self._search.setAccessibleName(self.tr("Search settings"))
        self._search.setPlaceholderText(self.tr("Search settings"))
        self._search.setFont(look.fonts.text)
        self._pages = QListWidget()
        self._pages.setObjectName("settings.pages")
        self._pages.setAccessibleName(self.tr("Pages"))
        self._pages.setFont(look.fonts.text)
        self._pages.setMaximumWidth(look.size(PAGES_WIDTH))
        self._stack = QStackedWidget()
        self._data: DataState | None = None
        self._scheduled: Sequence[Schedule] = ()
        self._agents: Agents = ((), ())
        self._counted: QWidget
        self._said = label("", look.fonts.second, "third", name="settings.said", wrap=True)
        self._none = label(self.tr("No setting is called so."), look.fonts.text, "second", name="settings.none")
        self._fill()
        self._lay_out()
        self._pages.currentRowChanged.connect(self._turn)
        self.say(self.tr("Changes are used at once."))
        self._search.textChanged.connect(self._narrow)
        self._pages.setCurrentRow(0)
        self._none.hide()

    def show_page(self, title: str) -> None:
        found = self._pages.findItems(title, Qt.MatchFlag.MatchExactly)
        if found:
            self._pages.setCurrentItem(found[0])

    def refill(self, shown: Shown) -> None:
        """Show these instead, on the page that is open."""
        self._shown = shown
        page = self._pages.currentItem().text()
        servers, tools = self.models.found, self.tools.found
        self._pages.blockSignals(True)
        self._pages.clear()
        while (old := self._stack.widget(0)) is not None:
            self._stack.removeWidget(old)
            old.deleteLater()
        self._found.clear()
        self._fill()
        if self._data:
            self.show_data(self._data)
        if servers:
            self.models.show_servers(servers)
        if tools:
            self.tools.show_servers(tools)
        self._pages.blockSignals(False)
        self._pages.setCurrentRow(0)
        self.show_page(page)
        self._stack.setCurrentIndex(self._pages.currentRow())
        self._narrow(self._search.text())

    def note(self, shown: Shown) -> None:
        """These are known now; what is on the screen says so already."""
        self._shown = shown

    def show_value(self, name: str, value: str) -> None:
        """A line that was filled elsewhere."""
        if field := self.findChild(QLineEdit, f"settings.{name}"):
            field.setProperty("told", value)
            field.setText(value)

    def offer_models(self, names: Sequence[str]) -> None:
        """These names complete what is typed as the model."""
        if field := self.findChild(QLineEdit, "settings.model"):
            known = QCompleter(list(names), field)
            known.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            known.setFilterMode(Qt.MatchFlag.MatchContains)
            field.setCompleter(known)

    def show_schedules(self, found: Sequence[Schedule]) -> None:
        self._scheduled = found
        self.schedules.show_schedules(found)

    def show_agents(self, added: Sequence[OutsideAgent], found: Sequence[OutsideAgent]) -> None:
        self._agents = added, found
        self.agents.show_agents(*self._agents)

    def show_data(self, state: DataState) -> None:
        """Counting takes a while where there is much; it is shown when it is there."""
        self._data = state
        data = DataPage(self._look, state)
        data.wanted.connect(self.data_wanted)
        data.session_wanted.connect(self.session_wanted)
        page = self._counted.parentWidget()
        if page is not None and (column := page.layout()) is not None:
            column.replaceWidget(self._counted, data)
            self._counted.hide()
            self._counted.deleteLater()
            self._counted = data

    def say(self, words: str) -> None:
        """At the foot: what was done."""
        self._tell_foot(words, "third")

    def tell(self, trouble: Trouble) -> None:
        """At the foot: what could not be done."""
        self._tell_foot(" ".join(part for part in (trouble.what, trouble.why, trouble.do) if part), "failed")

    def _tell_foot(self, words: str, tone: str) -> None:
        self._said.setText(breakable(words))
        self._said.setProperty("tone", tone)
        self._said.style().unpolish(self._said)
        self._said.style().polish(self._said)
        announce(self, words)

    def _turn(self, place: int) -> None:
        self._stack.setCurrentIndex(place)
        here = self._pages.item(place)
        if here.text() == self.tr(MODELS) and self.models.found is None:
            self.servers_wanted.emit("first", "")  # a keyring is asked for keys only when somebody wants to see them
        if here.text() == self.tr(TOOLS) and self.tools.found is None:
            self.tools_wanted.emit("look", "", "")

    def _fill(self) -> None:
        pages: dict[str, list[tuple[str, About]]] = {}
        for name, about in settable():
            if name not in UNMOVED:
                pages.setdefault(about.page, []).append((name, about))
        for title, members in pages.items():
            page, column = self._page(title)
            for name, about in members:
                column.insertWidget(column.count() - 1, self._row(name, about))
            if title == MODELS:
                self.models = ModelsPage(self._look)
                self.models.wanted.connect(self.servers_wanted)
                column.insertWidget(column.count() - 1, self.models)
                self._found.append((self.tr("servers key keys keyring test price window add").casefold(), self.models))
            if title == WEB:
                key = WebKey(self._look, self._shown.settings.web_search)
                key.wanted.connect(self.servers_wanted)
                self.changed.connect(lambda name, value, key=key: key.use(value) if name == "web_search" else None)
                column.insertWidget(column.count() - 1, key)
                self._found.append((self.tr("web search key searxng brave tavily").casefold(), key))
            self._add(title, page)
        self.tools = ToolServersPage(self._look)
        self.tools.wanted.connect(self.tools_wanted)
        self._add_whole(self.tr(TOOLS), self.tools)
        self._found.append((self.tr("tool servers mcp model context protocol tools key").casefold(), self.tools))
        self.agents = AgentsPage(self._look)
        self.agents.show_agents(*self._agents)
        self.agents.wanted.connect(self.agents_wanted)
        self._add_whole(self.tr("Other agents"), self.agents)
        words = self.tr("agents of others acp opencode codex claude gemini goose add test").casefold()
        self._found.append((words, self.agents))
        known, why = self._shown.rules, self._shown.why
        rules = RulesPage(self._look, None if known is None else [r for r in known if not is_of_folder(r)], why)
        folders = FoldersPage(self._look, None if known is None else [r for r in known if is_of_folder(r)], why)
        for part in (rules, folders):
            part.revoked.connect(self.revoked)
        self._add_whole(self.tr("Rules"), rules)
        self._add_whole(self.tr("Folders"), folders)
        self.schedules = SchedulesPage(self._look)
        self.schedules.show_schedules(self._scheduled)
        self.schedules.added.connect(self.schedule_added)
        self.schedules.removed.connect(self.schedule_removed)
        self.schedules.session_wanted.connect(self.session_wanted)
        self._add_whole(self.tr("Schedules"), self.schedules)
        self._counted = label(self.tr("Counting…"), self._look.fonts.text, "second", name="settings.data.counting")
        self._add_whole(self.tr("Data"), self._counted)

    def _add_whole(self, title: str, inside: QWidget) -> None:
        page, column = self._page(title)
        column.insertWidget(column.count() - 1, inside)
        self._add(title, page)

    def _add(self, title: str, page: QWidget) -> None:
        self._pages.addItem(self.tr(title))
        self._stack.addWidget(FittingScroll(page))

    def _page(self, title: str) -> tuple[QWidget, QVBoxLayout]:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 4, 20, 16)
        column.setSpacing(12)
        column.addWidget(label(self.tr(title), self._look.fonts.title))
        column.addStretch(1)
        return page, column

    def _row(self, name: str, about: About) -> QWidget:
        """Label and help on the left, the control on the right."""
        made, fonts = QWidget(), self._look.fonts
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label(self.tr(about.label), fonts.strong, wrap=True))
        words.addWidget(label(self.tr(about.help), fonts.second, "second", wrap=True))
        words.addStretch(1)
        value = getattr(self._shown.settings, name)
        field = control(self._look, name, about, value, lambda new: self._tell(name, new))
        field.setMinimumWidth(self._look.size(200))
        row.addLayout(words, 1)
        row.addWidget(field, 1 if name == "tiers" else 0, Qt.AlignmentFlag.AlignTop)
        self._found.append((f"{about.page} {about.label} {about.help} {name}".casefold(), made))
        return made

    def _tell(self, name: str, value: Any) -> None:
        self.changed.emit(name, value)

    def _narrow(self, typed: str) -> None:
        """Show only what holds every word; a page without any steps back."""
        words = typed.casefold().split()
        for text, row in self._found:
            row.setVisible(all(word in text for word in words))
        first = -1
        for number in range(self._pages.count()):
            page = self._stack.widget(number)
            rows = [row for _, row in self._found if page and page.isAncestorOf(row)]
            title = self._pages.item(number).text().casefold()
            fits = not words or any(not row.isHidden() for row in rows) or all(word in title for word in words)
            self._pages.item(number).setHidden(not fits)
            first = number if fits and first < 0 else first
        if first >= 0 and self._pages.currentItem().isHidden():
            self._pages.setCurrentRow(first)
        self._none.setVisible(first < 0)
        self._stack.setVisible(first >= 0)

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(8)
        left.addWidget(self._search)
        left.addWidget(self._pages, 1)
        side = QWidget()
        side.setLayout(left)
        side.setFixedWidth(self._look.size(PAGES_WIDTH) + 18)
        middle = QHBoxLayout()
        middle.addWidget(side)
        middle.addWidget(self._none, 1, Qt.AlignmentFlag.AlignTop)
        middle.addWidget(self._stack, 1)
        close = Button(self._look, self.tr("Close"), name="settings.close", hint=self.tr("Esc"))
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addWidget(self._said, 1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addLayout(middle, 1)
        column.addLayout(foot)
