"""The tray icon: badge, menu, and notifications only while the window is inactive."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.window.qt_application import ICON
from core.domain.sessions import SessionRow
from tests.ui.ask.permissions import CHAIN
from tests.ui.ask.questions import TONE, noon
from ui.ask.inbox import WaitingRequest
from ui.base.deferred_reader import DeferredReader
from ui.shell import tray as tray_module
from ui.shell.badged_icon import with_badge
from ui.shell.notification_texts import MAX_TEXT, ended_text, notification_text
from ui.shell.session_index import SessionIndex
from ui.shell.tray import Tray
from ui.shell.update_batch import UpdateBatch

ROW = SessionRow("a", "Mould <b>letter</b> & more")


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


def tray(qapp: QApplication, window: QWidget, waiting: list[WaitingRequest], *, shown_session: str = "") -> Tray:
    picture, dot = QIcon(str(ICON)), QColor("#f2b64c")
    return Tray(
        qapp,
        window,
        picture,
        waiting=lambda: waiting,
        badge_color=dot,
        shown_session=lambda: shown_session,
        clock=noon,
    )


def test_the_menu_lists_pending_requests_and_opens_them(qapp: QApplication, window: QWidget, qtbot: QtBot) -> None:
    made = tray(qapp, window, [WaitingRequest(ROW, TONE), WaitingRequest(SessionRow("b", "Billing"), CHAIN)])
    made.rebuild_menu()
    texts = [action.text() for action in made.menu.actions()]
    assert texts[0].startswith("Mould <b>letter</b> && more:  Which tone") and texts[-1] == "Quit"
    with qtbot.waitSignal(made.show_requested) as told:
        made.menu.actions()[1].trigger()
    assert told.args == ["b"]
    for text, signal in (
        ("Open Journeyman", made.show_requested),
        ("New session", made.new_session_requested),
        ("Quit", made.quit_requested),
    ):
        with qtbot.waitSignal(signal):
            next(action for action in made.menu.actions() if action.text() == text).trigger()
    made.close()


def test_simultaneous_requests_are_one_notification(qapp: QApplication, window: QWidget, qtbot: QtBot) -> None:
    waiting = [WaitingRequest(ROW, TONE)]
    made = tray(qapp, window, waiting)
    shown: list[tuple[str, ...]] = []
    made.notification_requested.connect(lambda *words: shown.append(words))
    waiting += [WaitingRequest(ROW, replace(TONE, id=f"q{n}")) for n in range(10, 13)]
    for _ in range(3):
        made.refresh()
    assert made._delay.isActive()
    qtbot.waitUntil(lambda: not made._delay.isActive())
    assert [words[0] for words in shown] == ["a"]
    made.refresh()
    assert not made._delay.isActive()
    made.close()


def test_a_request_that_the_active_window_does_not_show_is_announced(
    qapp: QApplication, window: QWidget, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = list[str]()
    monkeypatch.setattr(tray_module, "announce", lambda _, text: heard.append(text))
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    waiting: list[WaitingRequest] = []
    made = tray(qapp, window, waiting, shown_session="a")
    waiting.append(WaitingRequest(ROW, TONE))
    made.refresh()
    qtbot.waitUntil(lambda: not made._delay.isActive())
    assert heard == [], "its card is announced when it appears"
    waiting.append(WaitingRequest(SessionRow("b", "Billing"), replace(TONE, id="q2")))
    made.refresh()
    qtbot.waitUntil(lambda: bool(heard))
    assert heard[0].startswith("Billing. Which tone")
    made.close()


def test_U13_a_notification_is_short_plain_and_on_one_line() -> None:
    wild = SessionRow("a", "<img src=x>\n\u202e" * 80)
    title, text = notification_text([WaitingRequest(wild, replace(TONE, text="<b>now</b>\n" * 200))])
    for said in (title, text):
        assert len(said) <= MAX_TEXT and not set("<>\n\u202e") & set(said)
    many = [WaitingRequest(SessionRow(str(n), f"Task {n}"), TONE) for n in range(5)]
    assert notification_text(many) == ("Journeyman (5)", "Task 0, Task 1, Task 2 +2")


@pytest.mark.parametrize("number", [1, 9, 100])
def test_the_icon_shows_the_number(qapp: QApplication, number: int) -> None:
    picture, dot = QIcon(str(ICON)), QColor("#f2b64c")
    assert with_badge(picture, 0, dot) is picture
    drawn = with_badge(picture, number, dot).pixmap(32, 32).toImage()
    assert drawn.pixelColor(22, 13).name() == dot.name()


def test_a_finished_run_is_reported_with_its_answer_and_a_failed_one_with_its_error() -> None:
    done, failed = (
        SessionRow("a", "Letter", status="done"),
        SessionRow("b", "Bill", status="failed", activity="No key."),
    )
    assert ended_text([done], "It is **ready**.") == ("Letter", "Finished: It is ready.")
    assert ended_text([failed], "I begin.") == ("Bill", "Failed: No key.")
    assert ended_text([done, failed]) == ("Journeyman: 1 finished, 1 failed", "Letter, Bill")


def test_the_newest_session_is_one_that_the_list_shows(qapp: QApplication) -> None:
    index = SessionIndex(DeferredReader())
    assert index.newest() == ""
    review = SessionRow("b", "Review: Letter", status="done", updated_at=2, parent="a", subagent="review")
    rows = (
        SessionRow("a", "Letter", updated_at=1), review, SessionRow("c", updated_at=3, archived=1),
        SessionRow("d", updated_at=4, trashed=1),
    )  # fmt: skip
    index.apply_updates(UpdateBatch(touched={row.id: row for row in rows}))
    assert index.newest() == "a"


def test_a_run_that_begins_and_ends_in_one_update_is_reported(qapp: QApplication) -> None:
    index = SessionIndex(DeferredReader())
    row = SessionRow("a", "Letter", status="done", runs=1)
    index.apply_updates(UpdateBatch(touched={"a": row}, started=["a"]))
    assert index.take_ended() == [row]
    index.apply_updates(UpdateBatch(touched={"a": row}))
    assert index.take_ended() == [], "a change of an ended session, such as its title"
