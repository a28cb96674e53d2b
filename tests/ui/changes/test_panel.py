"""The Changes tab: diffs by step and in total, side by side, and reverting."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QPaintEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QCheckBox, QDialog, QLabel, QListView, QMenu, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.untrusted_file import UntrustedFile
from core.engine.history.rewind import FilePlan, RewindPlan
from core.timeline.session_activity import SessionActivity
from core.timeline.text_diff import diff_texts
from tests.ui.hands import click, find, press
from tests.ui.timeline.session_data import MemorySteps
from ui.base.history_scan import HistoryScan
from ui.changes.panel import ChangesPanel
from ui.changes.revert_dialog import RevertDialog
from ui.diff.diff_rows import DiffTableModel
from ui.diff.diff_view import DiffView
from ui.style.theme import Look

OLD = "".join(f"line {n}\n" for n in range(40))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 30\n", "")
BODIES = {"empty": b"", "old": OLD.encode(), "new": NEW.encode(), "first": b"one\n", "png": b"\x89PNG\0\0"}
ROW = SessionRow("s", "Title", status="done", rows=9)


class MemorySource:
    """A source of contents and steps in memory."""

    def __init__(self) -> None:
        self.untrusted: list[UntrustedFile] = []

    def untrusted_files(self, folder: str) -> list[UntrustedFile]:
        return self.untrusted

    def find_blob(self, blob: str) -> bytes | None:
        return BODIES.get(blob)

    def row_of(self, session: str, seq: int) -> int | None:
        return seq

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        kind = "command" if first == 3 else "write"
        return [Step(first, kind, "done", 0, number=first + 10, object="make it", first_seq=first, last_seq=first + 1)]


def changed(seq: int, path: str, before: str, after: str, added: int = 0, removed: int = 0) -> dict[str, Any]:
    return {
        "kind": "file_changed", "seq": seq, "run": 1, "at": 0, "path": path, "before": before, "after": after,
        "added": added, "removed": removed,
    }  # fmt: skip


def past(*lines: dict[str, Any]) -> SessionActivity:
    made = SessionActivity()
    made.apply(lines)
    return made


PAST = past(
    changed(1, "letter.md", "", "first", 1), changed(2, "letter.md", "first", "old", 40, 1),
    changed(3, "code.py", "old", "new", 1, 2), changed(4, "a.png", "", "png"), changed(5, "lost", "gone", "old", 1),
    changed(6, "counted.txt", "", "", 84),
)  # fmt: skip


def untrusted(path: str, digest: str = "new") -> UntrustedFile:
    return UntrustedFile(path, digest, "", ("web: evil.example",), "s", 0)


def test_files_written_after_untrusted_content_are_marked_until_the_user_reviews_them(
    qtbot: QtBot, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = MemorySource()
    source.untrusted = [untrusted(f"{tmp_path}/code.py"), untrusted(f"{tmp_path}/sub/", "")]
    made = ChangesPanel(look, source)
    qtbot.addWidget(made)
    made.show()
    lines = (changed(1, "letter.md", "", "first", 1), changed(2, "code.py", "old", "new", 1, 2))
    made.show_past(
        ROW._replace(folder=str(tmp_path)), past(*lines, changed(3, "sub/a.md", "", "old", 1)), loading=False
    )
    model = find(made, QListView, "changes.files").model()
    said = [model.index(place, 0).data() for place in range(model.rowCount())]
    assert said == ["letter.md +1", "code.py +1 −2 not reviewed", "sub/a.md +1 not reviewed"]
    with monkeypatch.context() as patch:
        patch.setattr("os.path.realpath", lambda *_: pytest.fail("painting a row asks the file system"))
        assert model.index(1, 0).data() == said[1] and model.index(2, 0).data() == said[2]
    made.show_file("letter.md")
    warning, button = find(made, QLabel, "changes.unreviewed"), find(made, QPushButton, "changes.review")
    assert not warning.isVisible() and not button.isVisible()
    chosen: list[object] = []
    made.review_requested.connect(chosen.append)
    for path, actions in (("code.py", ["This file"]), ("sub/a.md", [f"All files in {tmp_path}/sub/"])):
        made.show_file(path)
        assert warning.isVisible() and "web: evil.example" in warning.text()
        click(button)
        menu = find(made, QMenu, "changes.review.menu")
        assert [action.text() for action in menu.actions()] == [*actions, "All files in this folder"]
        for action in menu.actions():
            action.trigger()
        menu.close()
        qtbot.waitUntil(lambda: not made.findChildren(QMenu))
    assert chosen == [{"code.py": "new"}, None, {f"{tmp_path}/sub": ""}, None]
    source.untrusted = []
    made.refresh_unreviewed()
    assert not button.isVisible() and model.index(1, 0).data() == "code.py +1 −2"


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> ChangesPanel:
    made = ChangesPanel(look, MemorySource())
    qtbot.addWidget(made)
    made.resize(1000, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.show_past(ROW, PAST, loading=False)
    return made


def test_the_size_of_a_panel_that_was_never_shown_is_that_of_its_contents(qtbot: QtBot, look: Look) -> None:
    panel = ChangesPanel(look, MemorySource())
    qtbot.addWidget(panel)
    before = panel.minimumSizeHint().width()
    panel.show()
    assert before <= panel.minimumSizeHint().width() < 900


def lines(panel: ChangesPanel) -> list[str]:
    model = find(panel, DiffView, "changes.lines").rows
    return [model.index(place, 0).data() for place in range(model.rowCount())]


@pytest.mark.colors
def test_files_are_listed_with_their_kind_of_change(panel: ChangesPanel) -> None:
    model = find(panel, QListView, "changes.files").model()
    said = [model.index(place, 0).data() for place in range(model.rowCount())]
    assert said == ["letter.md +41 −1", "code.py +1 −2", "a.png new", "lost +1", "counted.txt +84"]
    assert find(panel, QLabel, "changes.count").text() == "5 files"
    assert find(panel, QLabel, "changes.total").text() == "+127 −3"
    panel.grab()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_diff_is_shown_in_total_and_by_step(panel: ChangesPanel) -> None:
    panel.show_file("code.py")
    assert lines(panel)[:5] == ["2 unchanged lines", "3: line 2", "4: line 3", "5: line 4", "removed 6: line 5"]
    assert "by a command" in find(panel, QLabel, "changes.note").text()
    panel.show_file("a.png")
    assert find(panel, QLabel, "changes.note").text() == "Changed in step 14."
    panel.show_file("letter.md")
    assert find(panel, QLabel, "changes.note").text() == "Changed in steps 11, 12."
    click(find(panel, QPushButton, "changes.which"))
    menu = find(panel, QMenu, "changes.which.menu")
    assert [action.text() for action in menu.actions()] == ["All changes", "step 11  +1 −0", "step 12  +40 −1"]
    menu.actions()[1].trigger()
    assert lines(panel) == ["0 unchanged lines", "added 1: one"]
    head = find(panel, DiffView, "changes.lines").rows.index(0, 0)
    assert head.data(Qt.ItemDataRole.AccessibleTextRole) == "Hunk 1 of 1, 1 line added"
    menu.close()


def test_the_line_counts_beside_a_diff_match_it(panel: ChangesPanel, qtbot: QtBot) -> None:
    entries = {1: changed(1, "letter.md", "", "first", 1), 2: changed(2, "letter.md", "first", "old", 40, 1)}
    scan = HistoryScan(MemorySteps(events=entries, blobs=BODIES))
    scan.follow("s", 2)
    qtbot.waitUntil(lambda: scan.past.line_totals() == (40, 0))
    panel.show_past(ROW, scan.past, loading=False)
    assert find(panel, QListView, "changes.files").model().index(0, 0).data() == "letter.md +40"
    assert find(panel, QLabel, "changes.total").text() == "+40 −0"
    assert sum(line.startswith("added") for line in lines(panel)) == 40


@pytest.mark.colors
def test_old_and_new_are_shown_side_by_side(panel: ChangesPanel) -> None:
    panel.show_file("code.py")
    click(find(panel, QPushButton, "changes.shape"))
    model = find(panel, DiffView, "changes.lines").rows
    pairs = [(model.index(place, 0).data(), model.index(place, 1).data()) for place in range(model.rowCount())]
    assert ("removed 6: line 5", "added 6: line five") in pairs and ("removed 31: line 30", "") in pairs
    panel.grab()
    click(find(panel, QPushButton, "changes.shape"))
    assert model.columnCount() == 1


def test_a_diff_without_room_for_two_columns_is_unified_until_there_is(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_file("code.py")
    model, toggle = find(panel, DiffView, "changes.lines").rows, find(panel, QPushButton, "changes.shape")
    panel.resize(480, 400)
    with qtbot.waitSignal(panel.refused) as refusal:
        click(toggle)
    assert "too little width" in str(refusal.args)
    assert model.columnCount() == 1
    assert "too little width" in toggle.accessibleName() and "too little width" in toggle.toolTip()
    panel.resize(900, 400)
    assert model.columnCount() == 2 and toggle.accessibleName() == "Side by side"
    panel.resize(480, 400)
    assert model.columnCount() == 1
    click(toggle)
    assert toggle.accessibleName() == "Unified"


@pytest.mark.parametrize(
    ("path", "said"),
    [("a.png", "Binary file: 0 bytes before"), ("lost", "not stored"), ("counted.txt", "Only the line counts")],
)
def test_files_that_cannot_be_compared_say_why(panel: ChangesPanel, path: str, said: str) -> None:
    panel.show_file(path)
    assert said in find(panel, QLabel, "changes.plain").text()


def test_a_file_and_a_hunk_are_reverted(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_file("code.py")
    with qtbot.waitSignal(panel.revert_file_requested) as told:
        click(find(panel, QPushButton, "changes.undo"))
    assert told.args == ["code.py"]
    view = find(panel, DiffView, "changes.lines")
    press(view, Qt.Key.Key_N)
    press(view, Qt.Key.Key_N)
    press(view, Qt.Key.Key_U)
    with qtbot.waitSignal(panel.revert_hunk_requested) as told:
        click(find(panel, QPushButton, "confirm.yes"))
    assert told.args == ["code.py", "new", OLD.replace("line 5\n", "line five\n")]
    with qtbot.waitSignal(panel.revert_hunk_requested) as told:
        click(view.viewport(), view.link_rects(0)["revert"].center())
    assert told.args == ["code.py", "new", OLD.replace("line 30\n", "")]


def test_the_keys_for_a_hunk_have_an_effect_as_soon_as_the_diff_has_the_focus(
    panel: ChangesPanel, qtbot: QtBot
) -> None:
    panel.activateWindow()
    panel.show_file("code.py")
    view = find(panel, DiffView, "changes.lines")
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    assert view.current_hunk() == 0
    with qtbot.waitSignal(panel.refused) as told:
        press(view, Qt.Key.Key_C)
    assert told.args == ["Select a line to comment on it."]
    with qtbot.assertNotEmitted(panel.revert_hunk_requested):
        press(view, Qt.Key.Key_U)  # a single key may have been meant for a text field
        dialog = find(panel, QDialog, "confirm")
        dialog.reject()
    press(view, Qt.Key.Key_U)
    with qtbot.waitSignal(panel.revert_hunk_requested):
        click(panel.findChildren(QPushButton, "confirm.yes")[-1])


def test_the_key_for_a_hunk_reverts_a_new_and_a_deleted_file(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_past(ROW, past(changed(1, "a.md", "", "first", 1), changed(2, "b.md", "old", "", 0, 40)), loading=False)
    view = find(panel, DiffView, "changes.lines")
    for path in ("a.md", "b.md"):
        panel.show_file(path)
        press(view, Qt.Key.Key_N)
        with qtbot.waitSignal(panel.revert_file_requested) as told:
            press(view, Qt.Key.Key_U)
        assert told.args == [path]
    with qtbot.waitSignal(panel.revert_file_requested):
        click(view.viewport(), view.link_rects(0)["revert"].center())


def test_nothing_is_reverted_while_the_run_is_active(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_past(SessionRow("s", status="running"), PAST, loading=False)
    for name in ("changes.undo", "changes.back"):
        assert not find(panel, QPushButton, name).isEnabled()
    with qtbot.waitSignal(panel.refused) as told:
        press(find(panel, DiffView, "changes.lines"), Qt.Key.Key_U)
    assert told.args == ["Pause or stop the run to revert files."]


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_hunk_of_an_earlier_step_is_not_reverted_and_the_reason_is_shown(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_file("letter.md")
    click(find(panel, QPushButton, "changes.which"))
    menu = find(panel, QMenu, "changes.which.menu")
    menu.actions()[1].trigger()
    menu.close()
    with qtbot.waitSignal(panel.refused) as told:
        press(find(panel, DiffView, "changes.lines"), Qt.Key.Key_U)
    assert told.args == ["Later steps changed this file again. Show all its changes to revert a hunk."]


def test_u_and_copy_say_why_they_do_nothing(panel: ChangesPanel, qtbot: QtBot) -> None:
    reverted = {"kind": "files_rewound", "seq": 3, "run": 1, "at": 0, "files": [{"path": "a.md", "before": "old"}]}
    lines = (changed(1, "code.py", "old", "new", 1, 2), changed(2, "a.md", "", "old", 40), reverted)
    panel.show_past(ROW, past(*lines, changed(4, "counted.txt", "", "", 84)), loading=False)
    files, view = find(panel, QListView, "changes.files"), find(panel, DiffView, "changes.lines")

    def told(widget: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> object:
        with qtbot.waitSignal(panel.refused) as refusal, qtbot.assertNotEmitted(panel.revert_file_requested):
            press(widget, key, modifier)
        return refusal.args

    assert told(view, Qt.Key.Key_U) == ["Select a hunk to revert it."]
    assert told(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier) == ["Select lines to copy them."]
    press(view, Qt.Key.Key_N)
    press(view, Qt.Key.Key_K)  # which goes on to the next hunk
    press(view, Qt.Key.Key_P)
    assert told(view, Qt.Key.Key_U) == ["You have kept this hunk. Show it again (K) to revert it."]
    with qtbot.waitSignal(panel.revert_file_requested) as request:
        press(files, Qt.Key.Key_U)
    assert request.args == ["code.py"]
    panel.show_file("a.md")
    assert told(files, Qt.Key.Key_U) == ["There is nothing to revert: the file is the same as before."]
    panel.show_file("counted.txt")
    assert told(files, Qt.Key.Key_U) == ["The file cannot be reverted, because its contents were not recorded."]


def test_n_and_p_pass_files_without_a_diff(panel: ChangesPanel, qtbot: QtBot) -> None:
    lines = (changed(1, "a.py", "old", "new", 1, 2), changed(2, "b.txt", "", "empty"), changed(3, "c.txt", "empty", ""))
    panel.show_past(ROW, past(*lines, changed(4, "d.py", "old", "new", 1, 2)), loading=False)
    panel.activateWindow()
    files, view = find(panel, QListView, "changes.files"), find(panel, DiffView, "changes.lines")
    plain, next_ = find(panel, QLabel, "changes.plain"), find(panel, QPushButton, "changes.next")

    def step(key: Qt.Key) -> str:
        press(view if view.isVisible() else files, key)
        return f"{files.currentIndex().data()} {view.current_hunk() if view.isVisible() else plain.text()}"

    files.setFocus()
    qtbot.waitUntil(files.hasFocus)
    press(files, Qt.Key.Key_N)
    assert view.hasFocus() and view.current_hunk() == 0, "from the list of files, N goes to the first hunk"
    said = [step(Qt.Key.Key_N) for _ in range(5)]
    new, deleted = "b.txt new The file is new and empty.", "c.txt deleted The file was empty, and was deleted."
    assert said == ["a.py +1 −2 1", new, deleted, "d.py +1 −2 0", "d.py +1 −2 1"]
    assert view.hasFocus()
    assert [step(Qt.Key.Key_P) for _ in range(4)] == ["d.py +1 −2 0", deleted, new, "a.py +1 −2 1"]
    panel.show_file("b.txt")
    click(next_)
    click(next_)
    assert files.currentIndex().data() == "d.py +1 −2" and view.current_hunk() == 0


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_reverts_and_their_undoing_have_different_names(panel: ChangesPanel, qtbot: QtBot) -> None:
    steps = [{"before": "old"}, {"after": "old"}, {"before": "old"}]
    rewinds = [
        {
            "kind": "files_rewound",
            "seq": seq,
            "run": 1,
            "at": 0,
            "files": [{"path": "a.md", **step}],
            "undoes_seq": undoes,
        }
        for seq, (step, undoes) in enumerate(zip(steps, (0, 2, 0), strict=True), 2)
    ]
    panel.show_past(ROW, past(changed(1, "a.md", "", "old", 40), *rewinds), loading=False)
    click(find(panel, QPushButton, "changes.which"))
    menu = find(panel, QMenu, "changes.which.menu")
    assert [action.text() for action in menu.actions()][2:] == ["reverted", "revert undone", "reverted"]
    menu.close()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_everything_is_reverted_to_a_step(panel: ChangesPanel, qtbot: QtBot) -> None:
    click(find(panel, QPushButton, "changes.back"))
    menu = find(panel, QMenu, "changes.back.menu")
    assert menu.actions()[0].text() == "Before all changes" and menu.actions()[1].text() == "After step 11: make it"
    with qtbot.waitSignal(panel.revert_to_requested) as told:
        menu.actions()[1].trigger()
    assert told.args == [2, "after step 11"]
    menu.close()


def test_without_changes_the_panel_explains_itself(panel: ChangesPanel, look: Look) -> None:
    panel.show_past(SessionRow("other"), SessionActivity(), loading=True)
    assert find(panel, QLabel, "changes.empty").text() == "Reading…"
    panel.show_past(SessionRow("other"), SessionActivity(), loading=False)
    assert find(panel, QLabel, "changes.empty").text().startswith("No files changed yet.")
    panel.restyle(look)


def test_lines_are_copied_without_their_diff_signs(panel: ChangesPanel) -> None:
    panel.show_file("code.py")
    view = find(panel, DiffView, "changes.lines")
    view.selectRow(4)
    view.copy()
    assert QGuiApplication.clipboard().text() == "line 5"


def test_the_model_passes_the_model_tester(qtbot: QtBot) -> None:
    model = DiffTableModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for beside in (False, True):
        model.show(diff_texts(OLD, NEW), side_by_side=beside, can_revert=True)
        assert model.rowCount() and len(model.hunk_positions()) == 2


def test_a_revert_is_previewed_for_each_file(qtbot: QtBot, look: Look) -> None:
    plan = RewindPlan(
        3,
        (
            FilePlan("a.txt", "change", "n", "t", 2, 1),
            FilePlan("b.txt", "conflict", reason="It was changed outside this session since."),
            FilePlan("c.txt", "remove"),
        ),
        tuple(f"make {n}" for n in range(7)),
        unsaved=("link",),
    )
    dialog = RevertDialog(look, "Revert?", plan)
    qtbot.addWidget(dialog)
    dialog.open()
    said = "\n".join(part.text() for part in dialog.findChildren(QLabel))
    assert "1 file will be reverted. 1 file will be deleted. 1 file will be left as it is. The conversation" in said
    assert "You can undo this with “Undo the last revert”" in said
    assert "not reverted because no earlier version was stored:\nlink" in said
    assert "Will be reverted: adds 2 lines, removes 1 line" in said and "changed outside this session since." in said
    assert "Will be deleted, because it did not exist then" in said and "and 2 more" in said
    find(dialog, QCheckBox, "putback.force").setChecked(True)
    with qtbot.waitSignal(dialog.confirmed) as told:
        click(find(dialog, QPushButton, "putback.yes"))
    assert told.args == [("b.txt",)] and not dialog.isVisible()


def test_undoing_a_revert_is_worded_as_such_and_promises_no_further_undo(qtbot: QtBot, look: Look) -> None:
    files = (
        FilePlan("a.txt", "remove"),
        FilePlan("b.txt", "change", "n", "t", 2, 1),
        FilePlan("c.txt", "conflict", reason="It was changed outside this session since."),
    )
    dialog = RevertDialog(look, "Undo the last revert?", RewindPlan(3, files, undoes_seq=9))
    qtbot.addWidget(dialog)
    summary = find(dialog, QLabel, "putback.told").text()
    assert "1 file will be changed back. 1 file will be deleted." in summary and "undo this" not in summary
    texts = "\n".join(part.text() for part in dialog.findChildren(QLabel))
    assert "Will be changed back: adds 2 lines, removes 1 line" in texts and "before the revert" in texts
    assert "everted" not in texts
    assert find(dialog, QPushButton, "putback.yes").text() == "Undo the revert"
    assert find(dialog, QCheckBox, "putback.force").text().startswith("Change it back")


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("width", [376, 820])
def test_long_lines_scroll_within_their_column(qtbot: QtBot, look: Look, side_by_side: bool, width: int) -> None:
    view = DiffView(look)
    qtbot.addWidget(view)
    view.resize(width, 300)
    view.show()
    view.show_diff(diff_texts("a" * 300, "\tb" * 150), side_by_side=side_by_side, can_revert=True)
    last = view.rows.columnCount() - 1
    assert view.columnViewportPosition(last) + view.columnWidth(last) <= view.viewport().width()
    bar, painter = view.horizontalScrollBar(), view.viewport()
    assert bar.isVisible() and bar.value() == 0
    before = painter.grab().toImage()
    press(view, Qt.Key.Key_Right)
    assert bar.value() == bar.singleStep()
    after = painter.grab().toImage()
    assert after != before and after.copy(0, 0, 46, 300) == before.copy(0, 0, 46, 300), "the line numbers stay"
    bar.setValue(bar.maximum())
    end = painter.grab().toImage()
    assert end != after, "the end of the line is reached"
    view.resize(20_000, 300)
    assert bar.maximum() == 0
    view.show_diff(diff_texts("a", "b"), side_by_side=side_by_side, can_revert=True)
    assert bar.maximum() == 0


class PaintedHeights(QObject):
    """Records the height of what a widget paints."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.heights: list[int] = []
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.heights.append(event.region().boundingRect().height())
        return False


@pytest.mark.parametrize("side_by_side", [False, True])
def test_scrolling_paints_only_the_lines_that_appear(look: Look, qtbot: QtBot, side_by_side: bool) -> None:
    window, view = QWidget(), DiffView(look)
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(view)
    window.resize(800, 400)
    difference = diff_texts("".join(f"old {n}\n" for n in range(200)), "".join(f"new {n}\n" for n in range(200)))
    view.show_diff(difference, side_by_side=side_by_side, can_revert=False)
    with qtbot.waitExposed(window):
        window.show()
    bar = view.verticalScrollBar()
    painted = PaintedHeights(view.viewport())
    bar.setValue(100)
    qtbot.waitUntil(lambda: bool(painted.heights))
    painted.heights.clear()
    bar.setValue(100 + 3 * bar.singleStep())
    qtbot.waitUntil(lambda: bool(painted.heights))
    assert painted.heights == [3 * bar.singleStep()]


def test_the_space_below_a_short_diff_has_the_background_of_the_theme(look: Look, qtbot: QtBot) -> None:
    view = DiffView(look)
    qtbot.addWidget(view)
    view.resize(800, 400)
    view.show_diff(diff_texts("old\n", "new\n"), side_by_side=True, can_revert=False)
    view.show()
    assert view.grab().toImage().pixelColor(400, 350) == look.theme.background


def test_the_focus_goes_to_the_files_when_the_diff_or_the_button_disappears(qtbot: QtBot, look: Look) -> None:
    made = ChangesPanel(look, MemorySource())
    qtbot.addWidget(made)
    made.show()
    made.show_past(ROW, past(changed(1, "code.py", "old", "new", 1, 2)), loading=False)
    files, diff = find(made, QListView, "changes.files"), find(made, DiffView, "changes.lines")
    reverted = past(changed(1, "code.py", "old", "new", 1, 2), changed(2, "code.py", "new", "old", 2, 1))
    for part in (diff, find(made, QPushButton, "changes.undo")):
        part.setFocus()
        assert made.focusWidget() is part
        made.show_past(ROW, reverted, loading=False)
        assert not part.isVisible() and made.focusWidget() is files
        made.show_past(ROW, past(changed(1, "code.py", "old", "new", 1, 2)), loading=False)


def test_k_in_the_list_of_files_keeps_the_file(qtbot: QtBot, look: Look) -> None:
    made = ChangesPanel(look, MemorySource())
    qtbot.addWidget(made)
    made.show()
    made.show_past(ROW, past(changed(1, "code.py", "old", "new", 1, 2)), loading=False)
    files = find(made, QListView, "changes.files")
    files.setFocus()
    press(files, Qt.Key.Key_K)
    assert files.model().index(0, 0).data().endswith("kept")
