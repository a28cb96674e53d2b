"""Pictures of every screen, from one data folder made by real runs of the scripted model, with clocks that are set."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app import places
from app.output import Output
from core.domain.problems import Problem, Trouble

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from ui.window import MainWindow

SCALES = (100, 150)
THEMES = ("light", "dark")
SIZE = (1440, 900)
SETTLES = 4
ARMED_MS = 3_000
WAITING: Final = "Mould complaint to landlord"
CONSENT: Final = "Upgrade billing service to 3.12"
DONE: Final = "Letter about the mould"
INTERRUPTED: Final = "Back up the photo archive"
COMMAND_ROW: Final = 7


def take(folder: Path, out: Output) -> int:
    """A process for each scale: Qt reads it once, when it starts."""
    if scale := os.environ.get("JOURNEYMAN_PICTURES_AT"):
        _paint_all(folder, Path(os.environ["JOURNEYMAN_HOME"]), scale)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    from app.sample_home import make

    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "journeyman"
        make(home)
        for scale_ in SCALES:
            _paint_in_process(folder, home, scale_)
    for picture in sorted(folder.glob("*.png")):
        out.write(str(picture))
    return 0


def _paint_in_process(folder: Path, home: Path, scale: int) -> None:
    offered = os.environ | {
        "JOURNEYMAN_HOME": str(home),
        "JOURNEYMAN_PICTURES_AT": str(scale),
        "QT_SCALE_FACTOR": str(scale / 100),
        "QT_QPA_PLATFORM": "offscreen",
        "QT_LOGGING_RULES": "qt.qpa.*=false",
    }
    words = [sys.executable, "-m", "app", "screenshots", str(folder.absolute())]
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(words, env=offered, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Problem("The pictures could not be painted.", done.stderr.strip()[-2000:], "")


def _paint_all(folder: Path, home: Path, scale: str) -> None:
    from app.display import application

    app = application()
    for theme in THEMES:
        for name, widget in _screens(home, theme):
            for _ in range(SETTLES):
                app.processEvents()
            widget.grab().save(str(folder / f"{name}-{theme}-{scale}.png"))


def _screens(home: Path, theme_name: str) -> Iterator[tuple[str, "QWidget"]]:
    """Each screen, brought about when its turn comes."""
    from app.display import application
    from core.store.reader import Reader
    from ui.selection import Selection
    from ui.shell import Shell
    from ui.theme import Look, dress, load_fonts, load_theme
    from ui.window import MainWindow
    from ui.window_state import WindowState

    with tempfile.TemporaryDirectory() as place:
        state = WindowState(Path(place))
        theme, fonts = load_theme(theme_name), load_fonts()
        dress(application(), theme, fonts)
        shell = Shell(theme, state)
        shell.resize(*SIZE)
        window = MainWindow(
            shell, Look(theme, fonts), Selection(), state, data_folder=Path("~/.local/share/journeyman")
        )
        shell.show()
        window.show_first()
        yield "start", shell
        reader = Reader(places.database(home))
        window.read_from(reader)
        by_title = {row.title: row.id for row in reader.sessions()}
        window.go_to(by_title[WAITING])
        yield "main", shell
        window.view.open_question()
        dialog = window.view.dialog
        if dialog:
            yield "dialog", dialog
            dialog.close()
        window.go_to(by_title[CONSENT])
        yield from _asking(window, shell)
        window.go_to(by_title[DONE])
        yield "answer", shell
        window.view.page.select_row(COMMAND_ROW)
        yield "step", shell
        yield from _tabs(window, shell)
        window.go_to(by_title[INTERRUPTED])
        yield "interrupted", shell
        window.tell(
            Trouble("The model server takes no more requests for now.", "It asks to wait 60 s.", "Try again later.")
        )
        yield "notice", shell
        shell.deleteLater()
        reader.close()


def _asking(window: "MainWindow", shell: "QWidget") -> Iterator[tuple[str, "QWidget"]]:
    """A session that waits for consent, its dialog, a form, and the list of all that waits."""
    from app.sample_home import FORM
    from core.domain.clock import now
    from ui.ask.dialog import QuestionDialog

    _wait_until_armed(window.view.asking.card)
    yield "consent", shell
    window.view.open_question()
    if asking := window.view.dialog:
        _wait_until_armed(asking)
        yield "consent-dialog", asking
        asking.close()
    form = QuestionDialog(window.look, replace(FORM, asked=now()), context="Draft the minutes", parent=shell)
    form.open()
    yield "form-dialog", form
    form.close()
    window.inbox.open_at(window.status.waiting_button)
    yield "inbox", window.inbox
    window.inbox.close()


def _wait_until_armed(asking: object) -> None:
    """Nothing can be allowed in the first moment: the picture is of the one after it."""
    from PySide6.QtCore import QDeadlineTimer, QEventLoop

    from app.display import application
    from ui.ask.card import ConsentCard
    from ui.ask.dialog import ConsentDialog

    over = QDeadlineTimer(ARMED_MS)
    while isinstance(asking, ConsentCard | ConsentDialog) and not asking.form.can_allow() and not over.hasExpired():
        application().processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)


def _tabs(window: "MainWindow", shell: "QWidget") -> "Iterator[tuple[str, QWidget]]":
    """The other views of the same run, with everything read."""
    from ui.session_view import CHANGES, CONTEXT, DECISIONS, TIMELINE
    from ui.timeline.page import STEPS

    window.view.scan.finish()
    for name in (TIMELINE, CHANGES, CONTEXT, DECISIONS):
        window.view.page.show_tab(name)
        window.view.requests.finish()
        yield name, shell
    window.view.page.show_tab(STEPS)
