"""The Settings window: a list of pages and a search over all of them. Changes take effect immediately."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QVBoxLayout,
    QWidget,
)

from core.domain.problems import ErrorDetails
from core.domain.rules import PermissionRule
from core.models.local.model_state import LocalModelStates
from core.settings.schema import LOCAL_MODELS, MCP_SERVERS, MEMORY, MODELS, WEB, Settings, setting_info
from ui.base.tasks import ErrorSource
from ui.settings.agent_profiles_page import AgentProfileAction, AgentProfilesPage
from ui.settings.external_agents_page import ExternalAgentAction, ExternalAgentsPage
from ui.settings.local_models_section import LocalModelsSection
from ui.settings.mcp_server_card import McpServerAction
from ui.settings.mcp_servers_page import McpServersPage
from ui.settings.packages_page import PackageAction, PackagesPage
from ui.settings.permission_rules_page import PermissionRulesPage
from ui.settings.provider_card import ProviderAction
from ui.settings.providers_section import ProvidersSection
from ui.settings.rules_and_data_pages import DataAction, DataPage, DataState, TrustedFoldersPage, is_folder_trust
from ui.settings.schedules_page import SchedulesPage
from ui.settings.search_key import SearchKeySection
from ui.settings.semantic_search_section import SemanticSearchAction, SemanticSearchSection
from ui.settings.setting_controls import SettingField, settings_with_control
from ui.settings.settings_page import CustomSection, PageContents, SettingsPage
from ui.style.theme import Look, set_style_properties
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.dialog_parts import resize_in_screen
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.focus_order import focus_neighbor, focusable_in_order
from ui.widgets.labels import allow_breaks, error_text, label
from ui.widgets.local_model_entry import LocalModelAction
from ui.widgets.shown_page_stack import ShownPageStack

AGENTS: Final = setting_info("watch_sessions").page
PROFILES: Final = "Agent profiles"
PACKAGES: Final = "Packages"
RULES: Final = "Permission rules"
FOLDERS: Final = "Trusted folders"
SCHEDULES: Final = "Schedules"
DATA: Final = "Data"
WIDTH: Final = 820
HEIGHT: Final = 580
PAGES_WIDTH: Final = 170
P = TypeVar("P", bound=QWidget)


@dataclass(frozen=True, slots=True)
class SettingsSnapshot:
    """The data that the pages show. If the rules cannot be read, `rules` is None and `error` says why."""

    settings: Settings
    rules: Sequence[PermissionRule] | None
    error: str = ""


class SettingsDialog(QDialog):
    """The Settings window. Its signals report what the user changed; the settings controller applies the changes."""

    changed = Signal(str, object)
    revoke_requested = Signal(str)
    rule_action_requested = Signal(str, str)  # a `PermissionRuleAction`, and the rule or command
    data_action_requested = Signal(str, str)  # a `DataAction`, and the backup for RESTORE
    session_requested = Signal(str)
    semantic_search_requested = Signal(str)  # a `SemanticSearchAction`
    schedules_requested = Signal()
    schedule_added = Signal(object)
    schedule_removed = Signal(str)
    profile_action_requested = Signal(str, str)  # an `AgentProfileAction`, and the profile
    agent_action_requested = Signal(str, str, str)  # an `ExternalAgentAction`, the agent, its command
    provider_action_requested = Signal(str, str)  # a `ProviderAction`, and the provider, model or proxy
    local_model_action_requested = Signal(str, str)  # a `LocalModelAction`, and its model, path or address
    package_action_requested = Signal(str, str, str)  # a `PackageAction`, the package, the digest of its files
    package_add_requested = Signal(str, str, str)  # the arguments are described in PackagesPage
    mcp_action_requested = Signal(str, str, str)  # an `McpServerAction`, the server, and the argument of the action

    def __init__(self, look: Look, snapshot: SettingsSnapshot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._shown = snapshot
        self._contents = self._all_contents()
        self._built: dict[str, SettingsPage] = {}
        self._data: DataState | None = None
        self._local_models = LocalModelStates()
        self._default_model = ""
        self.setObjectName("settings")
        self.setWindowTitle(self.tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        resize_in_screen(self, look.size(WIDTH), look.size(HEIGHT))
        self._search = QLineEdit()
        self._search.setObjectName("settings.search")
        self._search.setAccessibleName(self.tr("Search settings"))
        self._search.setPlaceholderText(self.tr("Search settings"))
        self._pages = QListWidget()
        self._pages.setObjectName("settings.pages")
        self._pages.setAccessibleName(self.tr("Pages"))
        self._pages.addItems([self.tr(title) for title in self._contents])
        self._stack = ShownPageStack()
        self._error_source: ErrorSource | None = None
        self._footer = label("", look.fonts.second, "third", name="settings.said", wrap=True)
        no_match_text = self.tr("No settings match your search.")
        self._no_match_note = label(no_match_text, look.fonts.text, "second", name="settings.none")
        self._no_match_note.setContentsMargins(12, 15, 0, 0)  # so that the text is level with that of the search field
        self._lay_out()
        self._set_fonts()
        self._pages.currentRowChanged.connect(self._show_row)
        self._add_shortcut("Ctrl+PgDown", lambda: self._go_to_page(self._pages.currentRow() + 1))
        self._add_shortcut("Ctrl+PgUp", lambda: self._go_to_page(self._pages.currentRow() - 1))
        for row in range(9):
            self._add_shortcut(f"Alt+{row + 1}", partial(self._go_to_page, row))
        self.show_message(self.tr("Changes take effect immediately."))
        self._search.textChanged.connect(self._filter)
        self._search.returnPressed.connect(self._focus_page)
        self._pages.setCurrentRow(0)
        self._no_match_note.hide()

    def _focus_page(self) -> None:
        """Focus the first control of the page on display, or else the search."""
        next(iter(focusable_in_order(self._stack)), self._search).setFocus()

    def _add_shortcut(self, keys: str, act: Callable[[], object]) -> None:
        QShortcut(QKeySequence(keys), self).activated.connect(act)

    # Pages with contents from the controllers

    @property
    def providers(self) -> ProvidersSection:
        return self._section(MODELS, ProvidersSection)

    @property
    def mcp_servers(self) -> McpServersPage:
        return self._section(MCP_SERVERS, McpServersPage)

    @property
    def packages(self) -> PackagesPage:
        return self._section(PACKAGES, PackagesPage)

    @property
    def rules(self) -> PermissionRulesPage:
        return self._section(RULES, PermissionRulesPage)

    @property
    def profiles(self) -> AgentProfilesPage:
        return self._section(PROFILES, AgentProfilesPage)

    @property
    def agents(self) -> ExternalAgentsPage:
        return self._section(AGENTS, ExternalAgentsPage)

    @property
    def semantic_search(self) -> SemanticSearchSection:
        return self._section(MEMORY, SemanticSearchSection)

    @property
    def schedules(self) -> SchedulesPage:
        return self._section(SCHEDULES, SchedulesPage)

    def show_local_models(self, states: LocalModelStates, default_model: str) -> None:
        """Show the local models, now or when their page is opened."""
        self._local_models = states
        self._default_model = default_model
        if LOCAL_MODELS in self._built:
            self._section(LOCAL_MODELS, LocalModelsSection).show_models(states, default_model)

    def show_page(self, title: str) -> None:
        if items := self._pages.findItems(title, Qt.MatchFlag.MatchExactly):
            self._pages.setCurrentItem(items[0])

    def _go_to_page(self, row: int) -> None:
        """Show a page, and clear the search, because the search may hide the page.

        The page is announced, because the focus is not in the list of pages.
        """
        self._search.clear()
        self._pages.setCurrentRow(row % self._pages.count())
        announce(self, self._pages.currentItem().text())

    def restyle(self, look: Look) -> None:
        """Apply a theme or text size by building the pages again; the page, its scroll position and the focus stay."""
        focused: QWidget | None = self.focusWidget()
        position = self._page_area().verticalScrollBar().value()
        focused_name = focused.objectName() if focused is not None else ""
        factor = look.fonts.text.pixelSize() / self._look.fonts.text.pixelSize()
        self._look = look
        self._built.clear()
        while self._stack.count():
            area = self._page_area()
            self._stack.removeWidget(area)
            area.setParent(None)
            area.deleteLater()
        self._set_fonts()
        center = self.geometry().center()
        resize_in_screen(self, round(self.width() * factor), round(self.height() * factor))
        self.move(self.pos() + center - self.geometry().center())
        self._show_row(self._pages.currentRow())
        if control := self._page_area().findChild(QWidget, focused_name):
            control.setFocus(Qt.FocusReason.OtherFocusReason)
        self._page_area().verticalScrollBar().setValue(round(position * factor))

    def _set_fonts(self) -> None:
        fonts = self._look.fonts
        for widget in (self._search, self._pages, self._no_match_note):
            widget.setFont(fonts.text)
        self._footer.setFont(fonts.second)
        self._pages.setMaximumWidth(self._look.size(PAGES_WIDTH))
        self._side.setFixedWidth(self._look.size(PAGES_WIDTH))
        self._close.restyle(self._look)

    def _page_area(self) -> FittingScrollArea:
        """Return the scroll area of the page on display."""
        area = self._stack.currentWidget()
        assert isinstance(area, FittingScrollArea)
        return area

    def refresh(self, snapshot: SettingsSnapshot) -> None:
        """Show new data on the pages that have been built."""
        self._shown = snapshot
        for page in self._built.values():
            page.show_fields(snapshot.settings)
        if MODELS in self._built:
            self.offer_models(self.providers.model_names())
        if RULES in self._built:
            self.rules.show_rules(self._rules(of_folder=False), snapshot.error)
        self._rebuild(WEB, FOLDERS)

    def remember(self, snapshot: SettingsSnapshot) -> None:
        """Store new data for later, because the pages already show it."""
        self._shown = snapshot

    def show_value(self, name: str, value: str) -> None:
        """Update the text field of a setting that was changed outside of the dialog."""
        if field := self.findChild(QLineEdit, f"settings.{name}"):
            field.setProperty("reported", value)
            field.setText(value)
            field.setCursorPosition(0)

    def offer_models(self, names: Sequence[str]) -> None:
        """Offer these names as completions in the model field."""
        if field := self.findChild(QLineEdit, "settings.model"):
            completer = QCompleter(list(names), field)
            completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
            field.setCompleter(completer)

    def show_data(self, state: DataState) -> None:
        """Show the figures of the Data page.

        They arrive after the page was opened, because counting can take a while.
        """
        self._data = state
        self._rebuild(DATA)

    def show_message(self, text: str) -> None:
        """Show the result of an action in the footer."""
        self._show_in_footer(text, "third")

    def show_error(self, error: ErrorDetails, source: ErrorSource | None = None) -> None:
        """Show an error in the footer until the footer shows something else, or the failed action succeeds."""
        self._show_in_footer(str(error), "failed")
        self._error_source = source

    def resolve_error(self, source: ErrorSource) -> None:
        """Remove the error of an action that has succeeded in the meantime."""
        if source == self._error_source:
            self._show_in_footer("", "third")

    def _show_in_footer(self, text: str, tone: str) -> None:
        self._footer.setText(error_text(text) if tone == "failed" else allow_breaks(text))
        set_style_properties(self._footer, tone=tone)
        self._error_source = None
        if text:
            announce(self, text)

    def _show_row(self, row: int) -> None:
        """Show the page in a row of the list. The page is built when it is first opened."""
        contents = list(self._contents.values())[row]
        self._page(contents.title)
        self._stack.setCurrentIndex(list(self._built).index(contents.title))
        if contents.section:
            contents.section.on_open()

    def _page(self, title: str) -> SettingsPage:
        if title not in self._built:
            page = self._built[title] = SettingsPage(self._look, self._contents[title], self._shown.settings)
            page.changed.connect(self.changed)
            page.filter(self._search_words())
            self._stack.addWidget(FittingScrollArea(page, reserves_bar=True))
        return self._built[title]

    def _section(self, title: str, kind: type[P]) -> P:
        part = self._page(title).findChild(kind)
        assert isinstance(part, kind)
        return part

    def _rebuild(self, *titles: str) -> None:
        """Rebuild the custom sections of those of these pages that have already been built."""
        for title in titles:
            if title in self._built:
                self._built[title].rebuild_section()
        self._filter()

    def _search_words(self) -> list[str]:
        return self._search.text().casefold().split()

    def _filter(self) -> None:
        """Show only settings that match every word of the search, and hide pages without a match."""
        words = self._search_words()
        matches = [row for row, contents in enumerate(self._contents.values()) if contents.matches(words)]
        for row in range(self._pages.count()):
            self._pages.item(row).setHidden(row not in matches)
        for page in self._built.values():
            page.filter(words)
        if matches and self._pages.currentItem().isHidden():
            self._pages.setCurrentRow(matches[0])
            announce(self, self._pages.currentItem().text())
        if not matches and self._no_match_note.isHidden():
            announce(self, self._no_match_note.text())
        self._no_match_note.setVisible(not matches)
        self._stack.setVisible(bool(matches))

    def _all_contents(self) -> dict[str, PageContents]:
        """Return the contents of all pages in the order of the list."""
        fields: dict[str, list[SettingField]] = {}
        for field in settings_with_control():
            fields.setdefault(field.info.page, []).append(field)
        sections = self._sections()
        titles = {**fields, **sections}
        return {title: PageContents(title, fields.get(title, []), sections.get(title)) for title in titles}

    def _sections(self) -> dict[str, CustomSection]:
        tr = self.tr
        providers = tr("providers servers api key keys keyring test price cost context window add base url")
        local = tr("local model models download gguf offline this computer ollama lm studio hugging face add delete")
        tools = tr("mcp model context protocol servers tools api key environment header")
        packages = tr("packages plugins extensions hooks skills commands mcp git install trust update remove")
        profiles = tr("agent profiles own agents role persona instructions tools model tier learn add edit remove toml")
        agents = tr("external agents acp agent client protocol opencode codex claude gemini goose add test")
        rules = tr("permission permissions approval approvals rule allow deny ask sandbox revoke add edit test")
        folders = tr("trust trusted folder project instructions permission agents.md skills revoke")
        schedules = tr("schedule scheduled cron timer task automatic repeat")
        data = tr("backup restore database size storage disk trash compact")
        semantic = tr("semantic search embedding model install turn on off minilm")
        reload_local = partial(self.local_model_action_requested.emit, LocalModelAction.REFRESH, "")
        reload_semantic = partial(self.semantic_search_requested.emit, SemanticSearchAction.RELOAD)
        reload_profiles = partial(self.profile_action_requested.emit, AgentProfileAction.RELOAD, "")
        reload_packages = partial(self.package_action_requested.emit, PackageAction.RELOAD, "", "")
        reload_agents = partial(self.agent_action_requested.emit, ExternalAgentAction.RELOAD, "", "")
        return {
            MODELS: CustomSection(providers, self._build_models, self._load_providers),
            LOCAL_MODELS: CustomSection(local, self._build_local_models, reload_local, is_first=True),
            MEMORY: CustomSection(semantic, self._build_semantic_search, reload_semantic),
            WEB: CustomSection(tr("web search engine api key searxng brave tavily"), self._build_web),
            PROFILES: CustomSection(profiles, self._build_profiles, reload_profiles),
            MCP_SERVERS: CustomSection(tools, self._build_tools, self._load_tools),
            AGENTS: CustomSection(agents, self._build_agents, reload_agents),
            PACKAGES: CustomSection(packages, self._build_packages, reload_packages),
            RULES: CustomSection(rules, self._build_rules),
            FOLDERS: CustomSection(folders, self._build_folders),
            SCHEDULES: CustomSection(schedules, self._build_schedules, self.schedules_requested.emit),
            DATA: CustomSection(data, self._build_data, self._load_data),
        }

    def _build_models(self) -> QWidget:
        section = ProvidersSection(self._look)
        section.action_requested.connect(self.provider_action_requested)
        return section

    def _build_local_models(self) -> QWidget:
        section = LocalModelsSection(self._look)
        section.action_requested.connect(self.local_model_action_requested)
        section.show_models(self._local_models, self._default_model)
        return section

    def _build_web(self) -> QWidget:
        section = SearchKeySection(self._look, self._shown.settings.search_engine)
        section.action_requested.connect(self.provider_action_requested)
        self.changed.connect(section.follow_setting)
        return section

    def _build_semantic_search(self) -> QWidget:
        section = SemanticSearchSection(self._look, self._shown.settings.embedding_model)
        section.action_requested.connect(self.semantic_search_requested)
        return section

    def _build_tools(self) -> QWidget:
        page = McpServersPage(self._look)
        page.action_requested.connect(self.mcp_action_requested)
        return page

    def _build_packages(self) -> QWidget:
        page = PackagesPage(self._look)
        page.action_requested.connect(self.package_action_requested)
        page.add_requested.connect(self.package_add_requested)
        return page

    def _build_profiles(self) -> QWidget:
        page = AgentProfilesPage(self._look)
        page.action_requested.connect(self.profile_action_requested)
        return page

    def _build_agents(self) -> QWidget:
        page = ExternalAgentsPage(self._look)
        page.action_requested.connect(self.agent_action_requested)
        return page

    def _rules(self, *, of_folder: bool) -> list[PermissionRule] | None:
        rules = self._shown.rules
        return None if rules is None else [rule for rule in rules if is_folder_trust(rule) == of_folder]

    def _build_rules(self) -> QWidget:
        page = PermissionRulesPage(self._look)
        page.action_requested.connect(self.rule_action_requested)
        page.show_rules(self._rules(of_folder=False), self._shown.error)
        return page

    def _build_folders(self) -> QWidget:
        page = TrustedFoldersPage(self._look, self._rules(of_folder=True), self._shown.error)
        page.revoke_requested.connect(self.revoke_requested)
        return page

    def _build_schedules(self) -> QWidget:
        page = SchedulesPage(self._look)
        page.added.connect(self.schedule_added)
        page.removed.connect(self.schedule_removed)
        page.session_requested.connect(self.session_requested)
        return page

    def _build_data(self) -> QWidget:
        if self._data is None:
            return label(self.tr("Counting…"), self._look.fonts.text, "second", name="settings.data.counting")
        page = DataPage(self._look, self._data)
        page.action_requested.connect(self.data_action_requested)
        page.session_requested.connect(self.session_requested)
        return page

    def _load_providers(self) -> None:
        if self.providers.overview is None:  # read when this page is first opened, because it accesses the keyring
            self.provider_action_requested.emit(ProviderAction.LIST, "")

    def _load_tools(self) -> None:
        if self.mcp_servers.overview is None:
            self.mcp_action_requested.emit(McpServerAction.RELOAD, "", "")

    def _load_data(self) -> None:
        if self._data is None:
            self.data_action_requested.emit(DataAction.COUNT, "")

    def _lay_out(self) -> None:
        side_column = QVBoxLayout()
        side_column.setContentsMargins(0, 9, 0, 9)
        side_column.setSpacing(8)
        side_column.addWidget(self._search)
        side_column.addWidget(self._pages, 1)
        self._side = QWidget()
        self._side.setLayout(side_column)
        middle = QHBoxLayout()
        middle.addWidget(self._side)
        middle.addWidget(self._no_match_note, 1, Qt.AlignmentFlag.AlignTop)
        middle.addWidget(self._stack, 1)
        self._close = Button(self._look, self.tr("Close"), name="settings.close", hint=self.tr("Esc"))
        self._close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addWidget(self._footer, 1)
        foot.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addLayout(middle, 1)
        column.addLayout(foot)

    # Overridden Qt methods

    def focusNextPrevChild(self, next: bool) -> bool:
        """Make Tab go from the list of pages to the controls of the page and then to Close.

        Qt would follow the order in which the widgets were created, but pages are built late. It also scrolls to the
        focused control only if the focus comes from another control of the page.
        """
        order = focusable_in_order(self._search, self._pages, self._stack, self._close)
        has_moved = focus_neighbor(order, self.focusWidget(), forward=next)
        focused: QWidget | None = self.focusWidget()
        if focused is not None and self._stack.isAncestorOf(focused):
            self._page_area().scroll_to(focused)
        return has_moved
