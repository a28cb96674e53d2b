"""Each screen of the window, brought about when its turn comes, for a picture of it."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from PySide6.QtCore import QDeadlineTimer, QEventLoop
from PySide6.QtWidgets import QLineEdit, QListWidget, QWidget

from app import places
from app.crash import told as crash_report
from app.display import application
from app.memory_pictures import memory_pages
from app.mishaps import Mishaps
from app.sample_servers import SERVERS
from app.skill_pictures import skill_pages
from core.domain.problems import Trouble
from core.domain.rules import Rule
from core.domain.schedule import Schedule
from core.engine.past import Past
from core.engine.rewind import FilePlan, Plan
from core.engine.trust import FolderTrust
from core.settings.schema import Settings
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.usage import used
from ui.ask.card import ConsentCard
from ui.ask.dialog import ConsentDialog
from ui.changes.dialog import PutBackDialog
from ui.compare.panel import ComparePanel
from ui.crash_dialog import CrashDialog
from ui.help_dialog import HelpDialog
from ui.keys_dialog import KeysDialog
from ui.link_dialog import LinkDialog
from ui.selection import Selection
from ui.session_view import CHANGES, CONTEXT, DECISIONS, TIMELINE
from ui.sessions.model import SessionsModel
from ui.sessions.rows import ARCHIVED, TRASH, Hit
from ui.sessions.view import SessionsView
from ui.settings.add_server import AddServer
from ui.settings.add_tool_server import AddToolServer
from ui.settings.dialog import SettingsDialog, Shown
from ui.settings.pages import DataState
from ui.shell import Shell
from ui.start.begin import Offer
from ui.theme import Look, dress, load_fonts, load_theme
from ui.timeline.page import STEPS
from ui.trust_dialog import TrustDialog
from ui.usage.panel import UsagePanel
from ui.widgets.key_dialog import KeyDialog
from ui.window import MainWindow
from ui.window_state import WindowState

if TYPE_CHECKING:
    from core.engine.engine import Engine

T = TypeVar("T")
Screens = Iterator[tuple[str, QWidget]]

ARMED_MS: Final = 3_000
ROOM: Final = Path("~/.local/share/journeyman")
WAITING: Final = "Mould complaint to landlord"
CONSENT: Final = "Upgrade billing service to 3.12"
EDIT: Final = "Tidy the invoice script"
FORM: Final = "Minutes of Monday's meeting"
DONE: Final = "Letter about the mould"
FAILED: Final = "Fix flaky checkout test"
FORK: Final = "Fix flaky checkout test, again"
HELPED: Final = "Compare three heat pumps"
LONG: Final = "Summarise Q3 support tickets"
INTERRUPTED: Final = "Back up the photo archive"
OFFERS: Final = (
    Offer("ollama", "Ollama", ("ollama/qwen3:32b", "ollama/llama3.3:70b"), here=True),
    Offer("anthropic", "Anthropic", needs_key=True, variable="ANTHROPIC_API_KEY"),
    Offer("openai", "OpenAI", needs_key=True, variable="OPENAI_API_KEY"),
)
TRUST: Final = FolderTrust("/home/you/letters", None, (".agents/skills/letters/SKILL.md", "AGENTS.md"))
RULES: Final = (
    Rule("r1", "allow", "run", "command", "pytest *", matches=("pytest -q",), misses=("pytest; rm x",)),
    Rule("r2", "allow", "run", "command", "exiftool *", "folder", "/home/you/letters"),
    Rule("r3", "deny", "read", "path", "secrets/**"),
)
PLAN: Final = Plan(
    12,
    (
        FilePlan("complaint.md", "change", "now", "then", 0, 18),
        FilePlan("photos/overview.png", "remove", "now"),
        FilePlan("notes.md", "conflict", "now", "then", 2, 1, "Somebody else changed it since."),
    ),
    ("exiftool -DateTimeOriginal photos/*.jpg",),
)

FELL: Final = """In the thread MainThread:

Traceback (most recent call last):
  File "~/journeyman/ui/timeline/waterfall/bars.py", line 88, in paint
    lane = self._lanes[step.lane]
KeyError: 'lane'"""


class _Silent:
    """There is no engine behind a picture: what a page would ask for, it is shown."""

    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        raise NotImplementedError


class _Stage:
    """The window with every session in it, and the way to one by its title."""

    def __init__(self, home: Path, theme_name: str, size: tuple[int, int], place: Path) -> None:
        state = WindowState(place)
        theme, fonts = load_theme(theme_name), load_fonts()
        dress(application(), theme, fonts)
        self.shell = Shell(theme, state)
        self.shell.resize(*size)
        self.window = MainWindow(self.shell, Look(theme, fonts), Selection(), state, data_folder=ROOM)
        self.shell.show()
        self.home, self.reader_path = home, places.database(home)
        self.reader = Reader(self.reader_path)
        self.window.pane.sent.wanted.connect(self._read_sent)
        self.window.meet(_Silent(), lambda work, _: work.close())

    def fill(self) -> None:
        self.window.read_from(self.reader)
        self.window.show_waiting()
        self._ids = {row.title: row.id for row in self.reader.sessions()}

    def go(self, title: str) -> None:
        self.window.go_to(self.id_of(title))
        self.window.view.scan.finish()
        self.window.view.requests.finish()

    def id_of(self, title: str) -> str:
        return self._ids[title]

    def select(self, kind: str, words: str) -> None:
        """Choose the row that shows these words."""
        model = self.window.view.page.model
        for row in range(model.count):
            step = model.step_of_row(row)
            if step and step.kind == kind and words in step.object:
                self.window.view.page.select_row(row)
                return
        raise LookupError(words)

    def _read_sent(self, session: str, seq: int) -> None:
        """In the app the engine reads this."""
        with closing(Database(self.reader_path)) as database, asyncio.Runner() as runner:
            past = Past(Journal(database, self.reader), self.reader)
            self.window.pane.sent.show_items(session, seq, runner.run(past.context(session, seq)))

    def compare(self) -> None:
        """The session that failed, and what became of it from there on."""
        a, b = self.id_of(FAILED), self.id_of(FORK)
        self.window.selection.choose_page("compare", a, b)
        page = self.window.pages.page("compare")
        assert isinstance(page, ComparePanel)
        with closing(Database(self.reader_path)) as database:
            page.show_alignment(Past(Journal(database, self.reader), self.reader).compare(a, b))

    def close(self) -> None:
        self.window.stop_reading()
        self.shell.deleteLater()
        self.reader.close()


def screens(home: Path, theme: str, size: tuple[int, int]) -> Screens:
    """From the first start on; every part of the window is seen once."""
    with tempfile.TemporaryDirectory() as place:
        stage = _Stage(home, theme, size, Path(place))
        for part in (_start, _asking, _run, _steps, _tabs, _pages, _beside, _sessions, _dialogs, _troubles):
            yield from part(stage)
        stage.close()


def _start(stage: _Stage) -> Screens:
    stage.window.show_first()
    yield "start", stage.shell
    stage.window.start.show_offers(OFFERS, "")
    yield "start-models", stage.shell
    stage.fill()


def _asking(stage: _Stage) -> Screens:
    """Questions and consents, in place and in windows of their own, and the list of all of them."""
    window, view = stage.window, stage.window.view
    stage.go(WAITING)
    yield "main", stage.shell
    for title, name in ((WAITING, "question"), (CONSENT, "consent"), (EDIT, "consent-edit"), (FORM, "form")):
        stage.go(title)
        _wait_until_armed(view.asking.card)
        if title != WAITING:
            yield name, stage.shell
        view.open_question()
        if asking := view.dialog:
            _wait_until_armed(asking)
            yield f"{name}-dialog", asking
            asking.close()
    window.inbox.open_at(window.status.waiting_button)
    yield "inbox", window.inbox
    window.inbox.close()


def _run(stage: _Stage) -> Screens:
    """A finished run: its end, and what was folded."""
    stage.go(DONE)
    yield "answer", stage.shell
    stage.go(LONG)
    yield "answer-long", stage.shell
    stage.select("compaction", "")
    yield "compaction", stage.shell
    stage.go(HELPED)
    stage.select("delegate", "")
    page = stage.window.view.page
    if page.chosen:
        page.model.turn_nest(page.chosen.row)
    yield "sub-agent", stage.shell


def _steps(stage: _Stage) -> Screens:
    """Steps of several kinds in their pane, and each part of the pane."""
    stage.go(DONE)
    pane = stage.window.pane
    stage.select("command", "exiftool")
    yield "step", stage.shell
    for name in pane.parts():
        pane.show_part(name)
        yield f"step-{name}", stage.shell
    pane.show_part("summary")
    stage.select("read", "overview.png")
    yield "step-picture", stage.shell
    stage.select("write", "complaint.md")
    yield "step-difference", stage.shell
    stage.select("command", "exiftool")


def _tabs(stage: _Stage) -> Screens:
    """The other views of the same run, with everything read."""
    view = stage.window.view
    for name in (TIMELINE, CHANGES, CONTEXT, DECISIONS):
        view.page.show_tab(name)
        view.scan.finish()
        view.requests.finish()
        yield name, stage.shell
    view.page.show_tab(CHANGES)
    view.changes.show_file("photos/overview.png")
    yield "changes-picture", stage.shell
    view.changes.show_file("complaint.md")
    yield "changes-letter", stage.shell
    stage.go(LONG)
    view.page.show_tab(CONTEXT)
    view.requests.finish()
    yield "context-compacted", stage.shell
    stage.go(WAITING)
    view.page.show_tab(CHANGES)
    yield "changes-waiting", stage.shell
    view.page.show_tab(STEPS)


def _pages(stage: _Stage) -> Screens:
    """The pages that open in the place of a session."""
    window = stage.window
    window.selection.choose_page("usage")
    page = window.pages.page("usage")
    assert isinstance(page, UsagePanel)
    page.show_used(used(stage.reader_path))
    yield "usage", stage.shell
    stage.compare()
    yield "compare", stage.shell
    yield from skill_pages(window, stage.home, stage.reader)
    yield from memory_pages(window, stage.home, stage.reader)
    window.selection.leave_page()


def _beside(stage: _Stage) -> Screens:
    """Two sessions at once, and tabs of three."""
    window = stage.window
    stage.go(WAITING)
    for title in (WAITING, DONE, FAILED):
        window.desk.place("tab", stage.id_of(title))
    window.desk.show_beside(stage.id_of(FORK))
    yield "beside", stage.shell
    window.desk.show_beside("")
    for title in (WAITING, DONE, FAILED):
        window.desk.side.tabs.close(stage.id_of(title))


def _sessions(stage: _Stage) -> Screens:
    """The list scrolled to what was put away, and what a search finds."""
    sessions = stage.window.sessions
    field = sessions.findChild(QLineEdit, "sessions.search")
    view = sessions.findChild(SessionsView)
    assert isinstance(field, QLineEdit) and isinstance(view, SessionsView)
    rows = view.model()
    assert isinstance(rows, SessionsModel)
    sessions.open_search()
    field.setText("landlord")
    sessions.show_hits([Hit(hit.session, hit.text) for hit in stage.reader.find("landlord")])
    yield "search", stage.shell
    sessions.close_search()
    for group in (ARCHIVED, TRASH):
        rows.turn(group)
    size = stage.shell.size()
    stage.shell.resize(size.width(), 2_400)
    yield "sessions", sessions
    stage.shell.resize(size)
    for group in (ARCHIVED, TRASH):
        rows.turn(group)


def _dialogs(stage: _Stage) -> Screens:
    """The palette, the settings page by page, the keys, the help."""
    window, look = stage.window, stage.window.look
    window.deeds.open_commands()
    yield "palette", stage.shell
    window.deeds.palette.leave()
    settings = SettingsDialog(look, Shown(Settings(), RULES), stage.shell)
    day = datetime(2026, 11, 23, 9).astimezone().timestamp()
    settings.schedules.show_schedules(
        [Schedule("k3f9", "Sort what came into the inbox", str(ROOM), "", 0, int(day * 1e6), "1d")]
    )
    settings.show_data(DataState(str(ROOM), 48_300_000, 35_120, 42, 1, ("2026-11-20 09.12",)))
    settings.tools.show_servers(SERVERS)
    settings.open()
    pages = settings.findChild(QListWidget, "settings.pages")
    assert isinstance(pages, QListWidget)
    for number in range(pages.count()):
        name = pages.item(number).text()
        pages.setCurrentRow(number)
        yield f"settings-{number + 1}-{name.lower().replace(' ', '-')}", settings
    settings.close()
    made: tuple[tuple[str, Callable[[], QWidget]], ...] = (
        ("keys", lambda: KeysDialog(look, stage.shell)),
        ("help", lambda: HelpDialog(look, stage.shell)),
        ("trust", lambda: TrustDialog(look, TRUST, stage.shell)),
        ("put-back", lambda: PutBackDialog(look, "Put the files back as they were before step 12?", PLAN, stage.shell)),
        ("key", lambda: KeyDialog(look, [("anthropic", "Anthropic"), ("openai", "OpenAI")], stage.shell)),
        ("link", lambda: LinkDialog(look, "https://journal@example.org/damp?in=bathroom", stage.shell)),
        ("add-server", lambda: AddServer(look, stage.shell)),
        ("add-tool-server", lambda: AddToolServer(look, stage.shell)),
    )
    for name, make in made:
        dialog = make()
        dialog.show()
        yield name, dialog
        dialog.close()


def _troubles(stage: _Stage) -> Screens:
    stage.go(INTERRUPTED)
    yield "interrupted", stage.shell
    stage.window.tell(
        Trouble("The model server takes no more requests for now.", "It asks to wait 60 s.", "Try again later.")
    )
    yield "notice", stage.shell
    report = crash_report(FELL)
    saved = Mishaps(stage.window, lambda: False).saved()
    dialog = CrashDialog(stage.window.look, "Journeyman made a mistake: KeyError: 'lane'", saved, report, stage.shell)
    dialog.show()
    yield "crash", dialog
    dialog.close()


def _wait_until_armed(asking: object) -> None:
    """Nothing can be allowed in the first moment: the picture is of the one after it."""
    over = QDeadlineTimer(ARMED_MS)
    while isinstance(asking, ConsentCard | ConsentDialog) and not asking.form.can_allow() and not over.hasExpired():
        application().processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)
