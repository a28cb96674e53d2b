"""The list of steps: following the tail, keeping the scroll position, folding, and keys."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from tests.ui.hands import click, press
from tests.ui.timeline.session_data import ANSWER, START, MemorySteps, letter_session
from ui.style.theme import Look, load_fonts
from ui.text.code_blocks import code_frames
from ui.timeline import timeline_view
from ui.timeline.reply_widgets import DRAFT
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.timeline_view import TimelineView

Show = Callable[[MemorySteps], TimelineView]


@pytest.fixture
def show(qtbot: QtBot, look: Look) -> Show:
    def shown(rows: MemorySteps) -> TimelineView:
        model = TimelineModel(rows, clock=lambda: START)
        view = TimelineView(model, look)
        qtbot.addWidget(view)
        view.resize(800, 500)
        model.open("s", len(rows.rows))
        with qtbot.waitExposed(view):
            view.show()
        settle(view)
        return view

    return shown


def settle(view: TimelineView) -> None:
    view.update_layout()
    QApplication.sendPostedEvents()
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    view.update_layout()


def model_of(view: TimelineView) -> TimelineModel:
    model = view.model()
    assert isinstance(model, TimelineModel)
    return model


def conversation(replies: int, works: int = 5) -> MemorySteps:
    rows = MemorySteps()
    rows.add("user", text="Go on")
    rows.add("run", "running")
    for number in range(replies):
        for _ in range(works):
            rows.add("find", object="a.py", number=1)
        rows.add("reply", text=f"Reply {number}\n\n{ANSWER}")
    return rows


def follows(view: TimelineView) -> bool:
    return view.following


def top_of(view: TimelineView, row: int) -> int:
    place = model_of(view).position_of(row)
    assert place is not None
    return view.rowViewportPosition(place)


def grow(view: TimelineView, rows: MemorySteps, count: int) -> None:
    model_of(view).apply([rows.add("read", object="new.py", number=9) for _ in range(count)])
    settle(view)


def test_opens_at_the_tail_and_follows_it(show: Show) -> None:
    rows = conversation(6)
    view = show(rows)
    bar = view.verticalScrollBar()
    assert follows(view) and bar.value() == bar.maximum() > 0
    grow(view, rows, 5)
    assert follows(view) and bar.value() == bar.maximum()
    last = model_of(view).rowCount() - 1
    assert view.rowViewportPosition(last) + view.rowHeight(last) == view.viewport().height()


def test_away_from_the_tail_nothing_moves(show: Show, qtbot: QtBot) -> None:
    rows = conversation(6)
    view = show(rows)
    counts: list[int] = []
    view.unseen_changed.connect(counts.append)
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view)
    middle = view.indexAt(QPoint(5, 200)).row()
    before, value = top_of(view, middle), bar.value()
    grow(view, rows, 7)
    model_of(view).show_draft("So far **this** much\n\n" * 20)
    settle(view)
    grow(view, rows, 5)
    assert not follows(view) and (top_of(view, middle), bar.value()) == (before, value)
    assert counts == [7, 12]
    view.follow()
    assert follows(view) and bar.value() == bar.maximum() and counts[-1] == 0


@pytest.mark.parametrize("by", [-37, -120, 64])
def test_scrolling_moves_by_the_requested_amount_while_replies_are_laid_out(show: Show, by: int) -> None:
    view = show(conversation(60))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    for _ in range(12):
        place = view.indexAt(QPoint(5, 250)).row()
        before = view.rowViewportPosition(place)
        bar.setValue(bar.value() + by)
        assert view.rowViewportPosition(place) == before - by


def test_resizing_keeps_the_visible_rows_in_place(show: Show, qtbot: QtBot) -> None:
    view = show(conversation(40))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view)
    top = view.rowAt(0)
    anchor = top if view.rowViewportPosition(top) == 0 else top + 1
    before = view.rowViewportPosition(anchor)
    view.resize(520, 500)
    settle(view)
    assert view.rowViewportPosition(anchor) == before
    heights = {view.rowHeight(row) for row in range(anchor, anchor + 7)}
    view.resize(800, 500)
    settle(view)
    assert view.rowViewportPosition(anchor) == before
    assert {view.rowHeight(row) for row in range(anchor, anchor + 7)} != heights


def test_only_replies_near_the_screen_have_widgets(show: Show) -> None:
    view = show(conversation(80))
    bar = view.verticalScrollBar()
    for share in (0, 30, 70, 100):
        bar.setValue(bar.maximum() * share // 100)
        settle(view)
        on_screen = [reply for reply in view.replies.shown.values() if reply.isVisible()]
        assert 1 <= len(on_screen) <= 3 and len(view.replies.shown) <= 9
        for row, reply in view.replies.shown.items():
            if reply.isVisible():
                assert reply.y() == top_of(view, row) + 10
                assert reply.toPlainText().startswith("Reply ")


def test_a_reply_can_be_selected_and_its_code_copied(show: Show, qtbot: QtBot) -> None:
    view = show(letter_session())
    (reply,) = view.replies.shown.values()
    reply.selectAll()
    reply.copy()
    assert "5 December 2026" in QGuiApplication.clipboard().text()
    (button,) = [button for button in reply.findChildren(QToolButton) if button.isVisible()]
    click(button)
    assert QGuiApplication.clipboard().text().splitlines()[1] == "complaint.md      3 KB   the same as text"


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_copy_button_covers_no_code(show: Show, look: Look, scale: float) -> None:
    rows = conversation(0)
    rows.add("reply", text="> ```\n> " + "\n> ".join(["word " * 60, "x" * 400]) + "\n> ```\n")
    view = show(rows)
    view.restyle(Look(look.theme, load_fonts(scale)))
    settle(view)
    (reply,) = view.replies.shown.values()
    (button,) = [button for button in reply.findChildren(QToolButton) if button.isVisible()]
    document = reply.document()
    block = code_frames(document)[0].firstCursorPosition().block()
    for _ in range(2):
        top = document.documentLayout().blockBoundingRect(block).topLeft()
        lines = [block.layout().lineAt(number) for number in range(block.layout().lineCount())]
        assert len(lines) > 2
        boxes = [line.naturalTextRect().translated(top).toAlignedRect() for line in lines]
        assert not any(box.intersects(button.geometry()) for box in boxes)
        block = block.next()


def test_link_is_emitted_and_not_opened(show: Show, qtbot: QtBot) -> None:
    rows = conversation(0)
    rows.add("reply", text="See <https://example.org/a?b=c>.")
    view = show(rows)
    (reply,) = view.replies.shown.values()
    with qtbot.waitSignal(view.link_clicked) as emitted:
        reply.anchorClicked.emit("https://example.org/a?b=c")
    assert emitted.args == ["https://example.org/a?b=c"]
    assert not reply.openLinks() and reply.source().isEmpty()


def test_a_draft_streams_and_becomes_the_reply_without_a_jump(show: Show, qtbot: QtBot) -> None:
    rows = conversation(2)
    view = show(rows)
    model = model_of(view)
    for end in range(0, len(ANSWER), 40):
        model.show_draft(ANSWER[:end])
        settle(view)
        assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum()
    draft = view.replies.shown[DRAFT]
    model.show_draft(ANSWER)
    qtbot.waitUntil(lambda: "the same as text" in draft.toPlainText())  # on a slow computer updates are delayed
    settle(view)
    top, value = draft.y(), view.verticalScrollBar().value()
    step = rows.add("reply", text=ANSWER)
    model.apply([step])
    model.end_draft()
    settle(view)
    assert view.replies.shown[step.row] is draft
    assert (draft.y(), view.verticalScrollBar().value()) == (top, value)
    assert DRAFT not in view.replies.shown


def on_screen(view: TimelineView) -> QImage:
    """Return the pixels on screen, which are only those that were repainted."""
    return below_edge(view.screen().grabWindow(view.winId()).toImage().copy(view.viewport().geometry()))


def below_edge(picture: QImage) -> QImage:
    """Cut off the top line: a glyph clipped there is antialiased differently from one scrolled there."""
    return picture.convertToFormat(QImage.Format.Format_RGB32).copy(0, 1, picture.width(), picture.height() - 1)


@pytest.mark.colors
@pytest.mark.parametrize("away", [False, True])
def test_partial_repaint_equals_a_full_repaint(show: Show, qtbot: QtBot, away: bool) -> None:
    rows = conversation(3)
    view = show(rows)
    model, bar = model_of(view), view.verticalScrollBar()
    text = ANSWER + "\n\n" + ANSWER
    for end in range(0, len(text), 31):
        model.show_draft(text[:end])
        if end % 5 == 0:
            model.apply([rows.add("read", object=f"{end}.py", number=end)])
        if away and end > 400:
            bar.setValue(bar.maximum() - 300 + end // 5)
        settle(view)
        meant = below_edge(view.viewport().grab().toImage())
        qtbot.waitUntil(lambda meant=meant: on_screen(view) == meant)  # type: ignore[misc]  # bound per iteration


def test_discarded_draft_leaves_no_widget(show: Show) -> None:
    view = show(conversation(1))
    model_of(view).show_draft("Half a")
    settle(view)
    assert DRAFT in view.replies.shown
    model_of(view).end_draft()
    settle(view)
    assert DRAFT not in view.replies.shown


def test_keys_move_over_the_rows(show: Show, qtbot: QtBot) -> None:
    rows = conversation(8)
    view = show(rows)
    chosen: list[Step] = []
    view.chosen.connect(chosen.append)
    press(view, Qt.Key.Key_Home)
    assert view.verticalScrollBar().value() == 0 and not follows(view)
    for key in (Qt.Key.Key_J, Qt.Key.Key_J, Qt.Key.Key_K):
        press(view, key)
    press(view, Qt.Key.Key_Down)
    assert [step.row for step in chosen] == [0, 1, 2, 1, 2]
    with qtbot.waitSignal(view.opened) as opened:
        press(view, Qt.Key.Key_Return)
    assert opened.args == [rows.rows[2]]
    for _ in range(20):
        press(view, Qt.Key.Key_J)
    assert 0 <= top_of(view, 22) < view.viewport().height()
    press(view, Qt.Key.Key_End)
    assert follows(view) and chosen[-1].row == len(rows.rows) - 1
    press(view, Qt.Key.Key_PageUp)
    assert not follows(view)


def runs(number: int) -> MemorySteps:
    rows = MemorySteps()
    for run in range(1, number + 1):
        rows.add("user", run=run, text=f"Do {run}")
        rows.add("run", run=run)
        for _ in range(30):
            rows.add("find", run=run, object="a.py", number=1)
        rows.add("reply", run=run, text=f"Did {run}")
        rows.add("end", "completed", run=run)
    return rows


def test_brackets_go_from_run_to_run(show: Show) -> None:
    view = show(runs(4))
    chosen: list[Step] = []
    view.chosen.connect(chosen.append)
    for key in (Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketRight):
        press(view, key)
    assert [(step.kind, step.run) for step in chosen] == [("run", 4), ("run", 3), ("run", 2), ("run", 3)]


def test_a_screen_reader_hears_whether_a_run_is_folded(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    announced = list[str]()
    monkeypatch.setattr(timeline_view, "announce", lambda _, text: announced.append(text))
    view = show(runs(2))
    view.select_row(1)
    press(view, Qt.Key.Key_Return)
    press(view, Qt.Key.Key_Return)
    assert [text.startswith("Run 1: ") for text in announced] == [True, True]
    assert [text.rpartition(", ")[2] for text in announced] == ["collapsed", "expanded"]


def test_a_click_on_the_header_folds_the_run_and_the_header_stays(show: Show, qtbot: QtBot) -> None:
    rows = runs(3)
    view = show(rows)
    view.select_row(35)
    before = top_of(view, 35)
    point = QPoint(300, before + 18)
    click(view.viewport(), point)
    settle(view)
    assert model_of(view).rowCount() == len(rows.rows) - 30
    assert top_of(view, 35) == before
    view.select_row(40)
    settle(view)
    assert model_of(view).rowCount() == len(rows.rows) and view.currentIndex().row() == 40


def test_clock_runs_only_while_a_visible_step_is_open(show: Show) -> None:
    rows = MemorySteps()
    rows.add("command", "running", object="make")
    view = show(rows)
    assert view._duration_timer.isActive()
    model_of(view).apply([Step(0, "command", "done", START, object="make", ended_at=START + 1, run=1)])
    settle(view)
    assert not view._duration_timer.isActive()


class MillionRows:
    """A million rows, created when they are read."""

    read = 0

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        self.read += count
        return [
            Step(row, "run" if row == 0 else "read", "done", START + row, number=row, object=f"{row}.py", run=1)
            for row in range(first, min(first + count, 1_000_000))
        ]

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return ""

    def event(self, session: str, seq: int) -> dict[str, object]:
        return {}

    def children(self, session: str) -> list[SessionRow]:
        return []

    def session(self, name: str) -> SessionRow | None:
        return None


def test_a_million_rows_read_only_what_is_visible(qtbot: QtBot, look: Look) -> None:
    rows = MillionRows()
    model = TimelineModel(rows)
    view = TimelineView(model, look)
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    model.open("s", 1_000_000)
    settle(view)
    for share in (0.1, 0.9, 0.5):
        view.verticalScrollBar().setValue(int(view.verticalScrollBar().maximum() * share))
        settle(view)
    assert view.rowAt(0) > 400_000
    assert rows.read < 5_000
    model.toggle_run(1)
    settle(view)
    assert model.rowCount() == 1
    model.toggle_run(1)
    settle(view)
    assert model.rowCount() == 1_000_000


@pytest.mark.colors
def test_theme_change_keeps_the_scroll_position(show: Show, qtbot: QtBot, look: Look) -> None:
    view = show(conversation(10))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view)
    value, picture = bar.value(), view.grab().toImage()
    view.restyle(look)
    settle(view)
    assert bar.value() == value and view.grab().toImage() == picture


@pytest.mark.colors
def test_a_compaction_is_a_line_across_the_run(show: Show) -> None:
    rows = MemorySteps()
    rows.add("run")
    rows.add("compaction", metrics={"before": 61_000, "after": 18_400}, object="80% of the window")
    rows.add("compaction", "stopped")
    view = show(rows)
    said = [view.model().index(place, 0).data() for place in (1, 2)]
    assert said == ["context compacted · 61.0k → 18.4k tokens", "the context was not compacted"]
    view.select_row(1)
    assert not view.grab().isNull()
