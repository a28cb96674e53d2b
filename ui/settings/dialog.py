"""The settings: pages on the left, one search over all of them, every change used at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

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
from core.settings.schema import MODELS, TOOLS, WEB, About, Settings
from ui.settings.agents import AgentsPage
from ui.settings.fields import settable
from ui.settings.models import ModelsPage
from ui.settings.page import Contents, Part, SettingsPage
from ui.settings.pages import DataPage, DataState, RulesPage, is_of_folder, rule_words
from ui.settings.schedules import SchedulesPage
from ui.settings.tool_servers import ToolServersPage
from ui.settings.web import WebKey
from ui.theme import Look, wear
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import breakable, label

AGENTS, RULES, FOLDERS, SCHEDULES, DATA = "Other agents", "Rules", "Folders", "Schedules", "Data"
SIZE: Final = (820, 580)
AROUND: Final = QSize(24, 60)  # the frame of a window, and what shows of the one below
PAGES_WIDTH: Final = 170
UNMOVED: Final = frozenset({"reduced_motion"})  # nothing in this window slides or fades, so there is nothing to lessen
P = TypeVar("P", bound=QWidget)


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
    schedules_wanted = Signal()
    schedule_added = Signal(object)
    schedule_removed = Signal(str)
    agents_wanted = Signal(str, str, str)  # what, of which agent, its command
    servers_wanted = Signal(str, str)  # what, and of which server or model
    tools_wanted = Signal(str, str, str)  # what, of which tool server, and of which of its tools or keys

    def __init__(self, look: Look, shown: Shown, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._shown = look, shown
        self._contents = self._all_contents()
        self._built: dict[str, SettingsPage] = {}
        self._data: DataState | None = None
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
        self._pages.addItems([self.tr(title) for title in self._contents])
        self._stack = QStackedWidget()
        self._said = label("", look.fonts.second, "third", name="settings.said", wrap=True)
        self._none = label(self.tr("No setting is called so."), look.fonts.text, "second", name="settings.none")
        self._lay_out()
        self._pages.currentRowChanged.connect(self._turn)
        self.say(self.tr("Changes are used at once."))
        self._search.textChanged.connect(self._narrow)
        self._pages.setCurrentRow(0)
        self._none.hide()

    # Pages that others fill

    @property
    def models(self) -> ModelsPage:
        return self._part(MODELS, ModelsPage)

    @property
    def tools(self) -> ToolServersPage:
        return self._part(TOOLS, ToolServersPage)

    @property
    def agents(self) -> AgentsPage:
        return self._part(AGENTS, AgentsPage)

    @property
    def schedules(self) -> SchedulesPage:
        return self._part(SCHEDULES, SchedulesPage)

    def show_page(self, title: str) -> None:
        found = self._pages.findItems(title, Qt.MatchFlag.MatchExactly)
        if found:
            self._pages.setCurrentItem(found[0])

    def refill(self, shown: Shown) -> None:
        """Show these instead, on the pages that are there."""
        self._shown = shown
        for page in self._built.values():
            page.show_fields(shown.settings)
        if MODELS in self._built:
            self.offer_models(self.models.models())
        self._renew(WEB, RULES, FOLDERS)

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

    def show_data(self, state: DataState) -> None:
        """Counting takes a while where there is much; it is shown when it is there."""
        self._data = state
        self._renew(DATA)

    def say(self, words: str) -> None:
        """At the foot: what was done."""
        self._tell_foot(words, "third")

    def tell(self, trouble: Trouble) -> None:
        """At the foot: what could not be done."""
        self._tell_foot(str(trouble), "failed")

    def _tell_foot(self, words: str, tone: str) -> None:
        self._said.setText(breakable(words))
        wear(self._said, tone=tone)
        announce(self, words)

    def _turn(self, place: int) -> None:
        """A page is built when somebody looks at it for the first time."""
        contents = list(self._contents.values())[place]
        self._page(contents.title)
        self._stack.setCurrentIndex(list(self._built).index(contents.title))
        if contents.part:
            contents.part.wish()

    def _page(self, title: str) -> SettingsPage:
        if title not in self._built:
            made = self._built[title] = SettingsPage(self._look, self._contents[title], self._shown.settings)
            made.changed.connect(self.changed)
            made.narrow(self._typed())
            self._stack.addWidget(FittingScroll(made))
        return self._built[title]

    def _part(self, title: str, kind: type[P]) -> P:
        part = self._page(title).findChild(kind)
        assert isinstance(part, kind)
        return part

    def _renew(self, *titles: str) -> None:
        """Those that are there."""
        for title in titles:
            if title in self._built:
                self._built[title].renew()
        self._narrow()

    def _typed(self) -> list[str]:
        return self._search.text().casefold().split()

    def _narrow(self) -> None:
        """Show only what holds every word; a page without any steps back."""
        typed, first = self._typed(), -1
        for number, contents in enumerate(self._contents.values()):
            found = contents.is_found_by(typed)
            self._pages.item(number).setHidden(not found)
            first = number if found and first < 0 else first
        for page in self._built.values():
            page.narrow(typed)
        if first >= 0 and self._pages.currentItem().isHidden():
            self._pages.setCurrentRow(first)
        self._none.setVisible(first < 0)
        self._stack.setVisible(first >= 0)

    # What there is

    def _all_contents(self) -> dict[str, Contents]:
        """In the order of the list."""
        fields: dict[str, list[tuple[str, About]]] = {}
        for name, about in settable():
            if name not in UNMOVED:
                fields.setdefault(about.page, []).append((name, about))
        parts = self._parts()
        return {title: Contents(title, fields.get(title, []), parts.get(title)) for title in {**fields, **parts}}

    def _parts(self) -> dict[str, Part]:
        tr = self.tr
        servers = tr("servers key keys keyring test price window add")
        tools = tr("tool servers mcp model context protocol tools key")
        agents = tr("agents of others acp opencode codex claude gemini goose add test")
        return {
            MODELS: Part(servers, self._build_models, self._look_for_servers),
            WEB: Part(tr("web search key searxng brave tavily"), self._build_web),
            TOOLS: Part(tools, self._build_tools, self._look_for_tools),
            AGENTS: Part(agents, self._build_agents, lambda: self.agents_wanted.emit("look", "", "")),
            RULES: Part("", lambda: self._build_rules(of_folder=False)),
            FOLDERS: Part("", lambda: self._build_rules(of_folder=True)),
            SCHEDULES: Part("", self._build_schedules, self.schedules_wanted.emit),
            DATA: Part("", self._build_data, self._look_for_data),
        }

    def _build_models(self) -> QWidget:
        made = ModelsPage(self._look)
        made.wanted.connect(self.servers_wanted)
        return made

    def _build_web(self) -> QWidget:
        made = WebKey(self._look, self._shown.settings.web_search)
        made.wanted.connect(self.servers_wanted)
        self.changed.connect(made.follow)
        return made

    def _build_tools(self) -> QWidget:
        made = ToolServersPage(self._look)
        made.wanted.connect(self.tools_wanted)
        return made

    def _build_agents(self) -> QWidget:
        made = AgentsPage(self._look)
        made.wanted.connect(self.agents_wanted)
        return made

    def _build_rules(self, *, of_folder: bool) -> QWidget:
        known = self._shown.rules
        rules = None if known is None else [rule for rule in known if is_of_folder(rule) == of_folder]
        made = RulesPage(self._look, rule_words(of_folder=of_folder), rules, self._shown.why)
        made.revoked.connect(self.revoked)
        return made

    def _build_schedules(self) -> QWidget:
        made = SchedulesPage(self._look)
        made.added.connect(self.schedule_added)
        made.removed.connect(self.schedule_removed)
        made.session_wanted.connect(self.session_wanted)
        return made

    def _build_data(self) -> QWidget:
        if self._data is None:
            return label(self.tr("Counting…"), self._look.fonts.text, "second", name="settings.data.counting")
        made = DataPage(self._look, self._data)
        made.wanted.connect(self.data_wanted)
        made.session_wanted.connect(self.session_wanted)
        return made

    def _look_for_servers(self) -> None:
        if self.models.found is None:  # a keyring is asked for keys only when somebody wants to see them
            self.servers_wanted.emit("first", "")

    def _look_for_tools(self) -> None:
        if self.tools.found is None:
            self.tools_wanted.emit("look", "", "")

    def _look_for_data(self) -> None:
        if self._data is None:
            self.data_wanted.emit("count", "")

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
