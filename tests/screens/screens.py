"""Every screen of the window with sample data; each one is opened when its screenshot is due."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from PySide6.QtCore import QDeadlineTimer, QEventLoop
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLineEdit, QListWidget, QPushButton, QToolButton, QWidget

from app.process import data_folder
from app.process.crash import format_report
from app.window.crash_reporter import CrashReporter
from app.window.qt_application import get_or_create_application
from core.domain.problems import ErrorDetails
from core.domain.rules import PermissionRule
from core.domain.schedule import Schedule
from core.domain.steps import Step
from core.engine.history.rewind import FilePlan, RewindPlan
from core.engine.history.session_analytics import SessionAnalytics
from core.engine.history.stepped_replay import ReplayedRow, ReplayProgress
from core.engine.policy.trust import FolderTrust
from core.settings.schema import MODELS, Settings
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.usage import read_usage
from tests.screens.memory_screens import memory_pages
from tests.screens.sample_local_models import DOWNLOADING, NOT_DOWNLOADED, ON_THIS_COMPUTER
from tests.screens.sample_mcp_servers import SERVERS
from tests.screens.sample_packages import PACKAGES
from tests.screens.sample_profiles import PROFILES
from tests.screens.sample_providers import PROVIDERS
from tests.screens.skill_screens import skill_pages
from tests.ui.hands import find
from ui.ask.cards import PermissionCard
from ui.ask.dialogs import PermissionDialog
from ui.base.selection import Selection
from ui.base.window_state import WindowState
from ui.changes.revert_dialog import RevertDialog
from ui.compare.panel import ComparePanel
from ui.dialogs.close_dialog import CloseDialog
from ui.dialogs.crash_dialog import CrashDialog
from ui.dialogs.edit_message_dialog import EditMessageDialog
from ui.dialogs.help_dialog import HelpDialog
from ui.dialogs.image_dialog import ImageDialog
from ui.dialogs.replay_dialog import ReplayDialog
from ui.dialogs.trust_dialog import TrustDialog
from ui.overview.panel import OverviewPanel
from ui.sessions.session_rows import ARCHIVED, TRASH, SessionHit
from ui.sessions.sessions_model import SessionsModel
from ui.sessions.sessions_view import SessionsView
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.add_provider import AddProviderDialog
from ui.settings.packages_page import running_lines
from ui.settings.rule_dialog import RuleDialog
from ui.settings.rules_and_data_pages import DataState
from ui.settings.settings_dialog import RULES as RULES_PAGE
from ui.settings.settings_dialog import SettingsDialog, SettingsSnapshot
from ui.settings.trust_package_dialog import TrustPackageDialog
from ui.shell.main_window import MainWindow
from ui.shell.session_view import CHANGES, CONTEXT, DECISIONS, TERMINAL
from ui.shell.shortcuts_dialog import ShortcutsDialog
from ui.shell.window_frame import WindowFrame
from ui.start.new_session import ProviderOffer
from ui.start.run_options import RunOptions, RunOptionsDialog
from ui.style.theme import Look, apply_theme, load_fonts, load_theme
from ui.timeline.run_page import CHART_TAB, STEPS_TAB
from ui.usage.panel import UsagePanel
from ui.widgets.api_key_dialog import ApiKeyDialog
from ui.widgets.item_list import ItemListView
from ui.widgets.link_dialog import LinkDialog
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

T = TypeVar("T")
Screens = Iterator[tuple[str, QWidget]]

WAIT_MS: Final = 3_000
ROOM: Final = Path("~/.local/share/journeyman")
WAITING: Final = "Mould complaint to landlord"
CONSENT: Final = "Upgrade billing service to 3.12"
EDIT: Final = "Tidy the invoice script"
FORM: Final = "Minutes of Monday's meeting"
DONE: Final = "Letter about the mould"
FAILED: Final = "Fix flaky checkout test"
FORK: Final = "Fix flaky checkout test, again"
HELPED: Final = "Compare three heat pumps"
LONG: Final = "Summarize Q3 support tickets"
INTERRUPTED: Final = "Back up the photo archive"
OFFERS: Final = (
    ProviderOffer("ollama", "Ollama", ("ollama/qwen3:32b", "ollama/llama3.3:70b"), is_local=True),
    ProviderOffer("anthropic", "Anthropic", needs_key=True, variable="ANTHROPIC_API_KEY"),
    ProviderOffer("openai", "OpenAI", needs_key=True, variable="OPENAI_API_KEY"),
)
SKILL, AGENTS = ".agents/skills/letters/SKILL.md", "AGENTS.md"
TRUST: Final = FolderTrust(
    "/home/you/letters", None, (SKILL, AGENTS),
    texts={
        SKILL: "---\nname: letters\ndescription: Formal letters. Use for complaints.\n---\nCite the clause first.",
        AGENTS: "# Letters\n\n- Write dates as 20 November 2026.\n- Ask for the tone before the final version.",
    },
)  # fmt: skip
RULES: Final = (
    PermissionRule("r1", "allow", "run", "command", "pytest *", matches=("pytest -q",), misses=("pytest; rm x",)),
    PermissionRule("r2", "allow", "run", "command", "exiftool *", "folder", "/home/you/letters"),
    PermissionRule("r3", "deny", "read", "path", "secrets/**"),
)
PLAN: Final = RewindPlan(
    12,
    (
        FilePlan("complaint.md", "change", "now", "then", 0, 18),
        FilePlan("photos/overview.png", "remove", "now"),
        FilePlan("notes.md", "conflict", "now", "then", 2, 1, "It was changed outside this session since."),
    ),
    ('git commit -am "Draft the letter"',),
)

RUN_OPTIONS: Final = RunOptions(60, answer_minutes=10, checks=("pytest -q", "ruff check ."), sealed=("tests",))
MESSAGE: Final = (
    "Write to my landlord about the mould in the bathroom. Mention the photos from October, ask for a repair before "
    "the end of the month, and keep a friendly tone."
)
FELL: Final = """Thread: MainThread

Traceback (most recent call last):
  File "~/journeyman/ui/timeline/waterfall/view.py", line 88, in paint
    lane = self._lanes[step.lane]
KeyError: 'lane'"""


class _Silent:
    """Stands in for the engine, which screenshots do not start: pages are filled with sample data directly."""

    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        raise NotImplementedError


class _Stage:
    """The window with all sample sessions, which are opened by title."""

    def __init__(self, home: Path, theme_name: str, size: tuple[int, int], place: Path) -> None:
        state = WindowState(place)
        theme, fonts = load_theme(theme_name), load_fonts()
        apply_theme(get_or_create_application(), theme, fonts)
        self.shell = WindowFrame(theme, state)
        self.shell.resize(*size)
        self.window = MainWindow(self.shell, Look(theme, fonts), Selection(), state, data_folder=ROOM)
        self.shell.show()
        self.home, self.reader_path = home, data_folder.database_path(home)
        self.reader = Reader(self.reader_path)
        self.window.step_pane.context_tab.items_requested.connect(self._read_sent)
        self.window.connect_engine(_Silent(), lambda work, _: work.close())

    def fill(self) -> None:
        self.window.open_log(self.reader)
        self.window.show_waiting()
        self._ids = {row.title: row.id for row in self.reader.sessions()}

    def go(self, title: str) -> None:
        self.window.show_session(self.id_of(title))
        self.window.view.scan.finish()
        self.window.view.requests.finish()

    def id_of(self, title: str) -> str:
        return self._ids[title]

    def steps_of(self, title: str) -> list[Step]:
        row = next(row for row in self.reader.sessions() if row.title == title)
        return self.reader.steps(row.id, 0, row.rows)

    def select(self, kind: str, words: str) -> None:
        """Select the row of this kind whose text contains `words`."""
        model = self.window.view.page.model
        for row in range(model.count):
            step = model.step_of_row(row)
            if step and step.kind == kind and words in step.object:
                self.window.view.page.select_row(row)
                return
        raise LookupError(words)

    def _read_sent(self, session: str, seq: int) -> None:
        """Show what a request sent, which the engine would load in the app."""
        with closing(Database(self.reader_path)) as database, asyncio.Runner() as runner:
            past = SessionAnalytics(Journal(database, self.reader), self.reader)
            self.window.step_pane.context_tab.show_items(session, seq, runner.run(past.context(session, seq)))

    def compare(self) -> None:
        """Show the comparison of the failed session and its fork."""
        a, b = self.id_of(FAILED), self.id_of(FORK)
        self.window.selection.choose_page("compare", a, b)
        page = self.window.pages.page("compare")
        assert isinstance(page, ComparePanel)
        with closing(Database(self.reader_path)) as database:
            page.show_alignment(SessionAnalytics(Journal(database, self.reader), self.reader).compare(a, b))

    def close(self) -> None:
        self.window.stop_reading()
        self.shell.deleteLater()
        self.reader.close()


def screens(home: Path, theme: str, size: tuple[int, int]) -> Screens:
    """Yield each screen of the product once, as its name and the widget to capture."""
    with tempfile.TemporaryDirectory() as place:
        stage = _Stage(home, theme, size, Path(place))
        for part in (_start, _asking, _run, _steps, _tabs, _pages, _beside, _sessions, _dialogs, _troubles):
            yield from part(stage)
        stage.close()


def _start(stage: _Stage) -> Screens:
    stage.window.show_first()
    start, status = stage.window.start, stage.window.status
    start.show_local_models(NOT_DOWNLOADED)
    yield "start", stage.shell
    start.show_local_models(DOWNLOADING)
    status.show_local_models(DOWNLOADING)
    yield "start-download", stage.shell
    start.show_local_models(NOT_DOWNLOADED)
    status.show_local_models(NOT_DOWNLOADED)
    start.show_providers(OFFERS, "")
    yield "start-models", stage.shell
    stage.fill()


def _asking(stage: _Stage) -> Screens:
    """Yield questions and permission requests, in the session and as dialogs, and the list of open ones."""
    window, view = stage.window, stage.window.view
    stage.go(WAITING)
    yield "main", stage.shell
    for title, name in ((WAITING, "question"), (CONSENT, "permission"), (EDIT, "permission-edit"), (FORM, "form")):
        stage.go(title)
        _wait_until_armed(view.asking.card)
        if title == CONSENT:
            stage.select("permission", "ruff")  # the request on the card, not the newest one
        if title != WAITING:
            yield name, stage.shell
        view.asking.open_dialog()
        if asking := view.dialog:
            _wait_until_armed(asking)
            yield f"{name}-dialog", asking
            asking.close()
    waiting = window.status.findChild(QPushButton, "status.waiting")
    assert waiting
    window.inbox.open_at(waiting)
    yield "inbox", window.inbox
    window.inbox.close()


def _run(stage: _Stage) -> Screens:
    """Yield finished runs, a compaction and a sub-agent."""
    stage.go(DONE)
    yield "answer", stage.shell
    stage.go(LONG)
    yield "answer-long", stage.shell
    stage.select("compaction", "")
    yield "compaction", stage.shell
    stage.go(HELPED)
    stage.select("delegate", "")
    steps = stage.window.view.page.view
    steps.toggle_at(steps.selected_position)
    yield "sub-agent", stage.shell


def _steps(stage: _Stage) -> Screens:
    """Yield steps of several kinds in the step pane, with each of its tabs."""
    stage.go(DONE)
    pane = stage.window.step_pane
    stage.select("command", "exiftool")
    yield "step", stage.shell
    for name in pane.visible_tabs():
        pane.show_tab(name)
        yield f"step-{name}", stage.shell
    pane.show_tab("summary")
    stage.select("read", "overview.png")
    yield "step-picture", stage.shell
    stage.select("write", "complaint.md")
    yield "step-diff", stage.shell
    stage.select("command", "exiftool")


def _tabs(stage: _Stage) -> Screens:
    """Yield the other tabs of a run, fully loaded."""
    view = stage.window.view
    for name in (CHART_TAB, CHANGES, CONTEXT, DECISIONS, TERMINAL):
        view.page.show_tab(name)
        view.scan.finish()
        view.requests.finish()
        _wait_while(lambda: view.terminal.is_reading)
        yield name, stage.shell
    view.page.show_tab(CHANGES)
    view.changes.show_file("photos/overview.png")
    yield "changes-picture", stage.shell
    view.changes.show_file("complaint.md")
    yield "changes-letter", stage.shell
    find(view, QPushButton, "changes.shape").click()
    yield "changes-side-by-side", stage.shell
    size = stage.shell.size()
    stage.shell.resize(900, 600)
    yield "changes-side-by-side-narrow", stage.shell
    stage.shell.resize(size)
    find(view, QPushButton, "changes.shape").click()
    stage.go(LONG)
    view.page.show_tab(CONTEXT)
    view.requests.finish()
    yield "context-compacted", stage.shell
    stage.go(WAITING)
    view.page.show_tab(CHANGES)
    yield "changes-waiting", stage.shell
    view.page.show_tab(STEPS_TAB)


def _pages(stage: _Stage) -> Screens:
    """Yield the pages that replace a session."""
    window = stage.window
    window.selection.choose_page("overview")
    overview = window.pages.page("overview")
    assert isinstance(overview, OverviewPanel)
    for title in (WAITING, CONSENT):
        overview.board.select(stage.id_of(title))
        overview.refresh()
        _wait_until_armed(overview.asking.card)
        yield "overview" if title == WAITING else "overview-permission", stage.shell
    window.selection.choose_page("usage")
    page = window.pages.page("usage")
    assert isinstance(page, UsagePanel)
    page.show_used(read_usage(stage.reader_path))
    yield "usage", stage.shell
    stage.compare()
    yield "compare", stage.shell
    yield from skill_pages(window, stage.home, stage.reader)
    yield from memory_pages(window, stage.home, stage.reader)
    window.selection.leave_page()


def _beside(stage: _Stage) -> Screens:
    """Yield the split view, with three tabs on one side."""
    window = stage.window
    stage.go(WAITING)
    for title in (WAITING, DONE, FAILED):
        window.split_view.open_in_tab(stage.id_of(title))
    window.split_view.show_in_other_pane(stage.id_of(FORK))
    yield "split-view", stage.shell
    window.split_view.close_other_pane()
    for title in (WAITING, DONE, FAILED):
        window.split_view.active_pane.tabs.close(stage.id_of(title))


def _sessions(stage: _Stage) -> Screens:
    """Yield search results, and the session list with the archive and the trash open."""
    sessions = stage.window.sessions
    field = sessions.findChild(QLineEdit, "sessions.search")
    view = sessions.findChild(SessionsView)
    assert isinstance(field, QLineEdit) and isinstance(view, SessionsView)
    rows = view.model()
    assert isinstance(rows, SessionsModel)
    sessions.open_search()
    field.setText("landlord")
    sessions.show_hits("landlord", [SessionHit(hit.session, hit.text) for hit in stage.reader.search("landlord")])
    yield "search", stage.shell
    search_button = sessions.findChild(QToolButton, "sessions.search_button")
    assert search_button
    search_button.setChecked(False)
    for group in (ARCHIVED, TRASH):
        rows.toggle_group(group)
    size = stage.shell.size()
    stage.shell.resize(size.width(), 2_400)
    yield "sessions", sessions
    stage.shell.resize(size)
    for group in (ARCHIVED, TRASH):
        rows.toggle_group(group)


def _dialogs(stage: _Stage) -> Screens:
    """Yield the command palette, every page of the settings, and the dialogs."""
    window, look = stage.window, stage.window.look
    window.commands.open_commands()
    yield "palette", stage.shell
    window.commands.palette.dismiss()
    settings = _settings_dialog(stage)
    settings.open()
    pages = settings.findChild(QListWidget, "settings.pages")
    assert isinstance(pages, QListWidget)
    for number in range(pages.count()):
        name = pages.item(number).text()
        pages.setCurrentRow(number)
        if name == RULES_PAGE:
            settings.rules.show_revoked("r4", "allow run: make test")
            settings.rules.show_result(TonedText("Asks you first: No saved rule allows this command.", "waiting"))
        yield f"settings-{number + 1}-{name.lower().replace(' ', '-')}", settings
        if name == MODELS:
            find(settings, QPushButton, "settings.tiers.toggle").click()
            yield "settings-tiers", settings
    settings.close()
    made: tuple[tuple[str, Callable[[], QWidget]], ...] = (
        ("keyboard-shortcuts", lambda: ShortcutsDialog(look, stage.shell)),
        ("help", lambda: HelpDialog(look, stage.shell)),
        (
            "rule",
            lambda: RuleDialog(look, ("read", "edit", "run", "fetch"), "/home/you/letters", RULES[1], stage.shell),
        ),
        ("trust", lambda: TrustDialog(look, TRUST, stage.shell)),
        ("trust-files", lambda: _with_files_shown(TrustDialog(look, TRUST, stage.shell))),
        ("revert", lambda: RevertDialog(look, "Revert the files to their state after step 12?", PLAN, stage.shell)),
        ("revert-undo", lambda: RevertDialog(look, "Undo the last revert?", replace(PLAN, undoes_seq=9), stage.shell)),
        ("resend", lambda: EditMessageDialog(look, MESSAGE, "letter.pdf, 48 KB", stage.shell)),
        ("run-options", lambda: RunOptionsDialog(look, RUN_OPTIONS, stage.shell)),
        ("api-key", lambda: ApiKeyDialog(look, {"anthropic": "Anthropic", "openai": "OpenAI"}, stage.shell)),
        ("trust-package", lambda: TrustPackageDialog(look, "letters", (*running_lines(PACKAGES[0]),), stage.shell)),
        ("replay", lambda: _replayed(ReplayDialog(look, DONE, stage.steps_of(DONE), stage.shell))),
        ("image", lambda: ImageDialog(look, "photos/overview.png", _picture(), 48_300, stage.shell)),
        ("close", lambda: CloseDialog(look, [stage.window.row(stage.id_of(WAITING))], stage.shell, has_tray=True)),
        ("link", lambda: LinkDialog(look, "https://journal@example.org/damp?in=bathroom", stage.shell)),
        ("add-provider", lambda: AddProviderDialog(look, stage.shell)),
        ("add-mcp-server", lambda: AddMcpServerDialog(look, stage.shell)),
    )
    for name, make in made:
        dialog = make()
        dialog.show()
        yield name, dialog
        dialog.close()


def _settings_dialog(stage: _Stage) -> SettingsDialog:
    """Return the settings with sample data on their pages."""
    settings = SettingsDialog(
        stage.window.look,
        SettingsSnapshot(Settings(model="ollama/qwen3:32b", text_call_models=("ollama/gemma3:4b",)), RULES),
        stage.shell,
    )
    day = datetime(2026, 11, 23, 9).astimezone().timestamp()
    settings.schedules.show_schedules(
        [Schedule("k3f9", "Sort what came into the inbox", str(ROOM), "", 0, int(day * 1e6), "1d")]
    )
    settings.show_data(DataState(str(ROOM), 48_300_000, 35_120, 42, 1, ("2026-11-20 09.12",)))
    settings.mcp_servers.show_servers(SERVERS)
    settings.packages.show_packages(PACKAGES)
    settings.profiles.show_profiles(PROFILES)
    settings.providers.show_providers(PROVIDERS)
    settings.show_local_models(ON_THIS_COMPUTER, "ollama/qwen3:32b")
    return settings


def _picture() -> QImage:
    """Return a plain picture in place of a photograph."""
    picture = QImage(640, 360, QImage.Format.Format_RGB32)
    picture.fill(QColor("teal"))
    return picture


def _troubles(stage: _Stage) -> Screens:
    stage.go(INTERRUPTED)
    yield "interrupted", stage.shell
    stage.window.show_error(
        ErrorDetails("The provider is rate limiting requests.", "It asks to wait 60 s.", "Try again later.")
    )
    yield "notice", stage.shell
    report = format_report(FELL)
    saved = CrashReporter(stage.window, lambda: False).saved_text()
    what = "Journeyman had an internal error (KeyError: 'lane')"
    dialog = CrashDialog(stage.window.look, what, saved, report, stage.shell)
    dialog.show()
    yield "crash", dialog
    dialog.close()


def _wait_until_armed(asking: object) -> None:
    """Wait until the request can be approved, which is blocked for a moment after it appears."""
    if isinstance(asking, PermissionCard | PermissionDialog):
        _wait_while(lambda: not asking.form.can_allow())


def _wait_while(condition: Callable[[], bool]) -> None:
    over = QDeadlineTimer(WAIT_MS)
    while condition() and not over.hasExpired():
        get_or_create_application().processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)


def _replayed(dialog: ReplayDialog) -> ReplayDialog:
    """Show the first half of a replay, with one row that is different."""
    steps = [item.step for item in dialog.rows.items]
    reached = steps[: len(steps) // 2]
    rows = {step.row: ReplayedRow(step, "supplied" if step.kind == "user" else "played") for step in reached}
    rows[reached[-1].row] = ReplayedRow(reached[-1], "different", "run ended: 60 turns")
    dialog.show_progress(ReplayProgress(rows, 31, 9, 1))
    find(dialog, ItemListView, "replay.rows").setCurrentIndex(dialog.rows.index(len(reached) - 1))
    return dialog


def _with_files_shown(dialog: TrustDialog) -> TrustDialog:
    found = dialog.findChild(QPushButton, "trust.show")
    assert found is not None
    found.click()
    return dialog
