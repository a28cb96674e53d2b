"""Reviewing changes: keeping hunks, showing more lines, commenting on lines and sending the comments."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QListView, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from tests.ui.changes.test_panel import BODIES, MemorySource, changed, past
from tests.ui.hands import click, find, press, write
from ui.changes.comment_card import CommentCard
from ui.changes.panel import ChangesPanel
from ui.changes.review_state import ReviewState
from ui.diff.diff_rows import DiffLine
from ui.diff.diff_view import DiffView
from ui.style.theme import Look
from ui.widgets.labels import TextField

ROW = SessionRow("s", "Title", status="done", rows=9)
PAST = past(
    changed(1, "a.py", "old", "new", 1, 2), changed(2, "b.py", "old", "new", 1, 2), changed(3, "c.py", "", "first", 1)
)
SHIFT = Qt.KeyboardModifier.ShiftModifier
CONTROL = Qt.KeyboardModifier.ControlModifier


class Store:
    """Reviews in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def review(self, session: str) -> str:
        return self.texts.get(session, "")

    def set_review(self, session: str, text: str) -> None:
        self.texts[session] = text


def open_panel(qtbot: QtBot, look: Look, store: Store) -> ChangesPanel:
    panel = ChangesPanel(look, MemorySource())
    panel.review.set_store(store)
    qtbot.addWidget(panel)
    panel.resize(1000, 600)
    with qtbot.waitExposed(panel):
        panel.show()
    panel.activateWindow()
    panel.show_past(ROW, PAST, loading=False)
    return panel


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def panel(qtbot: QtBot, look: Look, store: Store) -> ChangesPanel:
    return open_panel(qtbot, look, store)


def view_of(panel: ChangesPanel) -> DiffView:
    return find(panel, DiffView, "changes.lines")


def lines(panel: ChangesPanel) -> list[str]:
    model = view_of(panel).rows
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def files(panel: ChangesPanel) -> list[str]:
    model = find(panel, QListView, "changes.files").model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def current_file(panel: ChangesPanel) -> str:
    return str(find(panel, QListView, "changes.files").currentIndex().data()).split()[0]


def gutter(view: DiffView, line: DiffLine) -> QPoint:
    box = view.visualRect(view.rows.index(view.rows.position_of(line), 0))
    return QPoint(box.left() + 10, box.center().y())


def card_text(panel: ChangesPanel, name: str) -> str:
    """Return a label of the only visible comment."""
    texts = [each.text() for each in view_of(panel).findChildren(QLabel, name) if each.isVisible()]
    assert len(texts) == 1
    return texts[0]


def field(panel: ChangesPanel) -> TextField:
    fields = [each for each in view_of(panel).findChildren(TextField) if each.isVisible()]
    assert len(fields) == 1
    return fields[0]


def test_keys_go_through_all_hunks_of_all_files(panel: ChangesPanel) -> None:
    view = view_of(panel)
    view.setFocus()
    visited = [(current_file(panel), view.current_hunk())]
    for _ in range(5):
        press(view, Qt.Key.Key_N)
        visited.append((current_file(panel), view.current_hunk()))
    assert visited == [("a.py", 0), ("a.py", 1), ("b.py", 0), ("b.py", 1), ("c.py", 0), ("c.py", 0)]
    press(view, Qt.Key.Key_P)
    assert (current_file(panel), view.current_hunk()) == ("b.py", 1)
    press(view, Qt.Key.Key_P, SHIFT)
    assert current_file(panel) == "a.py"
    press(view, Qt.Key.Key_N, SHIFT)
    assert current_file(panel) == "b.py" and view.hasFocus()


def test_the_buttons_go_through_all_hunks_of_all_files(panel: ChangesPanel) -> None:
    for _ in range(3):
        click(find(panel, QPushButton, "changes.next"))
    assert current_file(panel) == "b.py"
    for _ in range(2):
        click(find(panel, QPushButton, "changes.previous"))
    assert (current_file(panel), view_of(panel).current_hunk()) == ("a.py", 0)


def test_a_kept_hunk_is_folded_until_it_is_shown_again(panel: ChangesPanel, store: Store) -> None:
    view = view_of(panel)
    press(view, Qt.Key.Key_N)
    before = lines(panel)
    press(view, Qt.Key.Key_K)
    assert lines(panel)[0] == "kept +1 −1, 2 unchanged lines" and view.current_hunk() == 1
    assert "added 6: line five" not in lines(panel)
    press(view, Qt.Key.Key_K)
    assert files(panel)[0] == "a.py +1 −2 kept" and "kept" not in files(panel)[1]
    assert current_file(panel) == "b.py"
    press(view, Qt.Key.Key_P, SHIFT)
    assert [line for line in lines(panel) if line.startswith(("added", "removed"))] == []
    click(view.viewport(), view.link_rects(0)["keep"].center())
    assert lines(panel)[: len(before) // 2] == before[: len(before) // 2] and "kept" not in files(panel)[0]
    assert store.texts["s"]


def test_all_hunks_of_a_file_are_kept_at_once(panel: ChangesPanel) -> None:
    keep = find(panel, QPushButton, "changes.keep")
    click(keep)
    assert files(panel)[0].endswith("kept") and keep.text() == "Show kept hunks"
    press(view_of(panel), Qt.Key.Key_K, SHIFT)
    assert not files(panel)[0].endswith("kept")


def test_a_kept_file_that_changes_again_is_not_kept(panel: ChangesPanel) -> None:
    click(find(panel, QPushButton, "changes.keep"))
    again = past(changed(1, "a.py", "old", "new", 1, 2), changed(4, "a.py", "new", "first", 1, 39))
    panel.show_past(ROW, again, loading=False)
    assert "kept" not in files(panel)[0]


def test_more_lines_and_the_whole_file_are_shown(panel: ChangesPanel) -> None:
    view = view_of(panel)
    assert lines(panel)[0] == "2 unchanged lines"
    click(view.viewport(), view.link_rects(0)["more"].center())
    assert lines(panel)[:2] == ["0 unchanged lines", "1: line 0"]
    press(view, Qt.Key.Key_N)
    press(view, Qt.Key.Key_N)
    count = len(lines(panel))
    press(view, Qt.Key.Key_X)
    assert len(lines(panel)) == count + 18, "fewer than 20 lines were hidden there"
    assert view.current_hunk() == 1, "the selection stays"
    press(view, Qt.Key.Key_X, SHIFT)
    assert len([line for line in lines(panel) if "unchanged" not in line]) == 41


def test_a_comment_is_written_by_keys_and_sent(panel: ChangesPanel, store: Store, qtbot: QtBot) -> None:
    view = view_of(panel)
    view.setFocus()
    press(view, Qt.Key.Key_N)
    view.selectRow(view.rows.position_of(DiffLine("new", 6)))
    press(view, Qt.Key.Key_C)
    assert QApplication.focusWidget() is field(panel)
    write(field(panel), "Why five?")
    assert ReviewState.load(store.texts["s"]).drafts[0].text == "Why five?", "each letter is stored at once"
    press(field(panel), Qt.Key.Key_Return)
    assert view.hasFocus()
    assert find(panel, QLabel, "changes.drafts.count").text() == "1 comment not sent"
    assert files(panel)[0] == "a.py +1 −2 1 comment"
    [(position, _)] = view.rows.comment_rows()
    said = view.rows.index(position, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "Comment on line 6: Why five?"
    with qtbot.waitSignal(panel.review.send_requested) as told:
        press(view, Qt.Key.Key_Return, CONTROL)
    expected = "Please address this comment:\n\na.py:6\n```\nline five\n```\nWhy five?"
    assert told.args == [f"I reviewed your changes. {expected}"]
    assert not find(panel, QWidget, "changes.send").isVisible() and field(panel).isReadOnly()
    assert ReviewState.load(store.texts["s"]).comments[0].sent
    panel.review.restore_unsent("s")
    assert find(panel, QPushButton, "changes.send").isVisible() and not field(panel).isReadOnly()


def test_the_row_of_a_comment_grows_with_each_line_that_wraps(panel: ChangesPanel, qtbot: QtBot) -> None:
    view = view_of(panel)
    view.setFocus()
    press(view, Qt.Key.Key_N)
    view.selectRow(view.rows.position_of(DiffLine("new", 6)))
    press(view, Qt.Key.Key_C)
    one_line = field(panel).height()
    while field(panel).height() < 3 * one_line:
        height = field(panel).height()
        while field(panel).height() == height:  # so that the last letter is the one that wraps the line
            write(field(panel), "m")
        qtbot.waitUntil(lambda: field(panel).visibleRegion().boundingRect() == field(panel).rect())


def test_comments_are_written_by_mouse_on_several_lines_of_several_files(panel: ChangesPanel, qtbot: QtBot) -> None:
    view = view_of(panel)
    click(view.viewport(), gutter(view, DiffLine("old", 6)))
    write(field(panel), "Do not rename it.")
    view.setFocus()
    panel.show_file("b.py")
    first, last = (view.rows.position_of(DiffLine("new", number)) for number in (4, 6))
    view.selectRow(first)
    for _ in range(last - first):
        press(view, Qt.Key.Key_Down, SHIFT)
    press(view, Qt.Key.Key_C)
    write(field(panel), "Two")
    press(field(panel), Qt.Key.Key_Return, SHIFT)
    write(field(panel), "lines.")
    with qtbot.waitSignal(panel.review.send_requested) as told:
        click(find(panel, QPushButton, "changes.send"))
    text = told.args[0] if told.args else ""
    assert "these 2 comments" in text
    assert "a.py:6 (removed by you)\n```\nline 5\n```\nDo not rename it." in text
    assert "b.py:4-6\n```\nline 3\nline 4\nline five\n```\nTwo\nlines." in text


def test_enter_goes_from_the_files_to_the_diff(panel: ChangesPanel) -> None:
    panel.setFocus()
    files_list = find(panel, QListView, "changes.files")
    assert panel.window().focusWidget() is files_list
    press(files_list, Qt.Key.Key_Return)
    assert panel.window().focusWidget() is view_of(panel)


def test_the_rows_of_another_file_have_no_room_for_the_comments_of_this_one(panel: ChangesPanel) -> None:
    view = view_of(panel)
    click(view.viewport(), gutter(view, DiffLine("old", 6)))
    write(field(panel), "Do not rename it.")
    assert len({view.rowHeight(row) for row in range(view.rows.rowCount())}) == 2
    view.setFocus()
    panel.show_file("b.py")
    assert len({view.rowHeight(row) for row in range(view.rows.rowCount())}) == 1


def test_comments_survive_a_restart_and_are_edited_and_deleted(
    qtbot: QtBot, look: Look, panel: ChangesPanel, store: Store
) -> None:
    view = view_of(panel)
    click(view.viewport(), gutter(view, DiffLine("new", 6)))
    write(field(panel), "Half a tho")
    panel.close()
    again = open_panel(qtbot, look, store)
    view = view_of(again)
    assert field(again).toPlainText() == "Half a tho"
    press(view, Qt.Key.Key_BracketRight)
    press(view, Qt.Key.Key_Return)
    assert QApplication.focusWidget() is field(again)
    write(field(again), "ught")
    press(field(again), Qt.Key.Key_Escape)
    assert ReviewState.load(store.texts["s"]).drafts[0].text == "Half a thought"
    press(view, Qt.Key.Key_C)
    press(view, Qt.Key.Key_BracketLeft)
    press(view, Qt.Key.Key_Delete)
    assert not view.findChild(CommentCard) or not ReviewState.load(store.texts["s"]).comments
    assert not find(again, QWidget, "changes.send").isVisible()
    click(view.viewport(), gutter(view, DiffLine("new", 6)))
    write(field(again), "x")
    click(next(each for each in view.findChildren(QPushButton, "changes.comment.remove") if each.isVisible()))
    assert store.texts["s"] == ""


def comment_on(panel: ChangesPanel, qtbot: QtBot, number: int, text: str) -> None:
    view = view_of(panel)
    with qtbot.waitActive(panel):
        panel.activateWindow()
    view.selectRow(view.rows.position_of(DiffLine("new", number)))
    press(view, Qt.Key.Key_C)
    editor = QApplication.focusWidget()
    assert editor is not None
    write(editor, text)
    press(editor, Qt.Key.Key_Return)


def framed_comments(panel: ChangesPanel, look: Look) -> list[str]:
    """Return the comments whose frame has the accent color."""
    framed = []
    for _, name in view_of(panel).rows.comment_rows():
        widget = view_of(panel).comment_widget(name)
        assert isinstance(widget, CommentCard)
        frame = widget._card
        if frame.grab().toImage().pixelColor(frame.width() // 2, 0) == look.theme.accent:
            framed.append(widget.description())
    return framed


@pytest.mark.colors
def test_the_selected_comment_is_framed(panel: ChangesPanel, look: Look, qtbot: QtBot) -> None:
    view = view_of(panel)
    comment_on(panel, qtbot, 5, "Four?")
    comment_on(panel, qtbot, 6, "Five?")
    assert framed_comments(panel, look) == ["Comment on line 6: Five?"]
    press(view, Qt.Key.Key_BracketRight)
    assert framed_comments(panel, look) == ["Comment on line 5: Four?"]
    press(view, Qt.Key.Key_X)
    assert framed_comments(panel, look) == ["Comment on line 5: Four?"], "the rows are built again"
    press(view, Qt.Key.Key_BracketLeft)
    assert framed_comments(panel, look) == ["Comment on line 6: Five?"]
    press(view, Qt.Key.Key_N)
    assert framed_comments(panel, look) == []


def test_removed_comments_are_restored(panel: ChangesPanel, store: Store, qtbot: QtBot) -> None:
    view, removed = view_of(panel), panel.review.comments_removed
    comment_on(panel, qtbot, 5, "Four?")
    comment_on(panel, qtbot, 6, "Five?")
    press(view, Qt.Key.Key_BracketRight)
    with qtbot.waitSignal(removed) as deleted:
        press(view, Qt.Key.Key_Delete)
    assert [draft.text for draft in ReviewState.load(store.texts["s"]).drafts] == ["Five?"]
    message, undo = deleted.args
    undo()
    assert message == "Removed the comment."
    assert sorted(draft.text for draft in ReviewState.load(store.texts["s"]).drafts) == ["Five?", "Four?"]
    comment = panel.review.state.find(view.current_comment())
    assert comment is not None and comment.text == "Four?"
    with qtbot.waitSignal(removed) as discarded:
        click(find(panel, QPushButton, "changes.drafts.discard"))
    panel.show_past(ROW._replace(id="other"), PAST, loading=False)
    discarded.args[1]()
    assert not panel.review.state.comments, "the comments return to their own session"
    assert len(ReviewState.load(store.texts["s"]).drafts) == 2


def test_a_comment_without_text_disappears(panel: ChangesPanel, qtbot: QtBot) -> None:
    view = view_of(panel)
    click(view.viewport(), gutter(view, DiffLine("new", 6)))
    with qtbot.assertNotEmitted(panel.review.comments_removed):
        press(field(panel), Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: not panel.review.state.comments)
    assert not view.rows.comment_rows()


@pytest.mark.parametrize("side_by_side", [False, True])
def test_a_comment_follows_its_line_and_says_if_the_line_is_gone(panel: ChangesPanel, side_by_side: bool) -> None:
    view = view_of(panel)
    if side_by_side:
        press(view, Qt.Key.Key_S)
    view.selectRow(view.rows.position_of(DiffLine("new", 6)))
    press(view, Qt.Key.Key_C)
    write(field(panel), "Hm")
    BODIES["moved"] = b"a new first line\n" + BODIES["new"]
    try:
        moved = past(changed(1, "a.py", "old", "new", 1, 2), changed(4, "a.py", "new", "moved", 1))
        panel.show_past(ROW, moved, loading=False)
        assert QApplication.focusWidget() is field(panel), "the user can go on typing while the agent edits the file"
        write(field(panel), "m")
        position = view.rows.position_of(DiffLine("new", 7))
        assert view.rows.comment_rows()[0][0] == position + 1
        assert card_text(panel, "changes.comment.place") == "Comment on line 7"
        gone = past(changed(1, "a.py", "old", "new", 1, 2), changed(4, "a.py", "new", "first", 1))
        panel.show_past(ROW, gone, loading=False)
        assert "have changed since" in card_text(panel, "changes.comment.place")
        assert card_text(panel, "changes.comment.quote") == "line five"
    finally:
        del BODIES["moved"]


def test_comments_cannot_be_sent_to_an_imported_session(panel: ChangesPanel) -> None:
    view = view_of(panel)
    click(view.viewport(), gutter(view, DiffLine("new", 6)))
    write(field(panel), "Hm")
    panel.show_past(ROW._replace(imported_from="claude:x"), PAST, loading=False)
    button = find(panel, QPushButton, "changes.send")
    assert not button.isEnabled() and "read-only" in button.toolTip()


def test_a_stored_review_that_is_damaged_counts_as_none() -> None:
    for text in ("", "{", "[]", '{"comments": [{"id": 1}]}', '{"kept": 3}'):
        assert ReviewState.load(text).dump() == ""


def test_changed_words_and_syntax_are_painted(panel: ChangesPanel, look: Look) -> None:
    view = view_of(panel)
    removed = next(
        row
        for position in range(view.rows.rowCount())
        if (row := view.rows.row(position)) and row.sign == "-" and row.old == 6
    )
    texts = view._painter.texts
    assert texts.changed_words(removed) == [(5, 6)]
    formats = texts.layout(removed).formats()
    assert any(part.start == 5 and part.length == 1 and part.format.background().style() for part in formats)
    panel.show_file("c.py")
    panel.restyle(look)
    panel.grab()
