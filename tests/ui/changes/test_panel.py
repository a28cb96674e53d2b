"""The Changes tab: what each file became, by step and in all, side by side, and the ways back."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QCheckBox, QLabel, QListView, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.engine.rewind import FilePlan, Plan
from core.timeline.difference import difference
from core.timeline.past import Past
from tests.ui.hands import click, find, press
from tests.ui.timeline.journals import ListedRows
from ui.changes.dialog import PutBackDialog
from ui.changes.panel import ChangesPanel
from ui.scan import PastScan
from ui.theme import Look
from ui.widgets.difference_rows import DifferenceRows
from ui.widgets.difference_view import DifferenceView

OLD = "".join(f"line {n}\n" for n in range(40))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 30\n", "")
BODIES = {"old": OLD.encode(), "new": NEW.encode(), "first": b"one\n", "png": b"\x89PNG\0\0"}
ROW = SessionRow("s", "Title", status="done", rows=9)


class Kept:
    """Contents and steps held in memory."""

    def kept(self, blob: str) -> bytes | None:
        return BODIES.get(blob)

    def row_of(self, session: str, seq: int) -> int | None:
        return seq

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        kind = "command" if first == 3 else "write"
        return [Step(first, kind, "done", 0, number=first + 10, object="make it", first=first, last=first + 1)]


def changed(seq: int, path: str, before: str, after: str, added: int = 0, removed: int = 0) -> dict[str, Any]:
    return {
        "kind": "file_changed", "seq": seq, "run": 1, "at": 0, "path": path, "before": before, "after": after,
        "added": added, "removed": removed,
    }  # fmt: skip


def past(*lines: dict[str, Any]) -> Past:
    made = Past()
    made.hear(lines)
    return made


PAST = past(
    changed(1, "letter.md", "", "first", 1), changed(2, "letter.md", "first", "old", 40, 1),
    changed(3, "code.py", "old", "new", 1, 2), changed(4, "a.png", "", "png"), changed(5, "lost", "gone", "old", 1),
    changed(6, "counted.txt", "", "", 84),
)  # fmt: skip


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> ChangesPanel:
    made = ChangesPanel(look, Kept())
    qtbot.addWidget(made)
    made.resize(1000, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.show_past(ROW, PAST, reading=False)
    return made


def lines(panel: ChangesPanel) -> list[str]:
    model = find(panel, DifferenceView, "changes.lines").rows
    return [model.index(place, 0).data() for place in range(model.rowCount())]


@pytest.mark.colours
def test_files_are_listed_with_what_happened_to_them(panel: ChangesPanel) -> None:
    model = find(panel, QListView, "changes.files").model()
    said = [model.index(place, 0).data() for place in range(model.rowCount())]
    assert said == ["letter.md +41 −1", "code.py +1 −2", "a.png new", "lost +1", "counted.txt +84"]
    assert find(panel, QLabel, "changes.count").text() == "5 files"
    assert find(panel, QLabel, "changes.total").text() == "+127 −3"
    panel.grab()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_difference_is_read_whole_and_by_step(panel: ChangesPanel) -> None:
    panel.show_file("code.py")
    assert lines(panel)[:5] == ["2 unchanged lines", "3: line 2", "4: line 3", "5: line 4", "removed 6: line 5"]
    assert "by a command" in find(panel, QLabel, "changes.note").text()
    panel.show_file("a.png")
    assert find(panel, QLabel, "changes.note").text() == "Changed in step 14."
    panel.show_file("letter.md")
    assert find(panel, QLabel, "changes.note").text() == "Changed in steps 11, 12."
    click(find(panel, QPushButton, "changes.which"))
    menu = find(panel, QMenu, "changes.which.menu")
    assert [action.text() for action in menu.actions()] == ["Everything", "step 11  +1 −0", "step 12  +40 −1"]
    menu.actions()[1].trigger()
    assert lines(panel) == ["added 1: one"]
    menu.close()


def test_the_figures_beside_a_difference_are_its_own(panel: ChangesPanel, qtbot: QtBot) -> None:
    entries = {1: changed(1, "letter.md", "", "first", 1), 2: changed(2, "letter.md", "first", "old", 40, 1)}
    scan = PastScan(ListedRows(entries=entries, bodies=BODIES))
    scan.follow("s", 2)
    qtbot.waitUntil(lambda: scan.past.totals() == (40, 0))
    panel.show_past(ROW, scan.past, reading=False)
    assert find(panel, QListView, "changes.files").model().index(0, 0).data() == "letter.md +40"
    assert find(panel, QLabel, "changes.total").text() == "+40 −0"
    assert sum(line.startswith("added") for line in lines(panel)) == 40


@pytest.mark.colours
def test_old_and_new_stand_beside_each_other(panel: ChangesPanel) -> None:
    panel.show_file("code.py")
    click(find(panel, QPushButton, "changes.shape"))
    model = find(panel, DifferenceView, "changes.lines").rows
    pairs = [(model.index(place, 0).data(), model.index(place, 1).data()) for place in range(model.rowCount())]
    assert ("removed 6: line 5", "added 6: line five") in pairs and ("removed 31: line 30", "") in pairs
    panel.grab()
    click(find(panel, QPushButton, "changes.shape"))
    assert model.columnCount() == 1


@pytest.mark.parametrize(
    ("path", "said"),
    [("a.png", "Not a text: 0 bytes before"), ("lost", "not kept"), ("counted.txt", "Only the number of lines")],
)
def test_what_cannot_be_compared_says_why(panel: ChangesPanel, path: str, said: str) -> None:
    panel.show_file(path)
    assert said in find(panel, QLabel, "changes.plain").text()


def test_a_file_and_a_part_are_taken_back(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_file("code.py")
    with qtbot.waitSignal(panel.undo_file_wanted) as told:
        click(find(panel, QPushButton, "changes.undo"))
    assert told.args == ["code.py"]
    view = find(panel, DifferenceView, "changes.lines")
    press(view, Qt.Key.Key_N)
    press(view, Qt.Key.Key_N)
    with qtbot.waitSignal(panel.undo_part_wanted) as told:
        press(view, Qt.Key.Key_U)
    assert told.args == ["code.py", "new", OLD.replace("line 5\n", "line five\n")]
    head = view.visualRect(view.rows.index(0, 0))
    with qtbot.waitSignal(panel.undo_part_wanted) as told:
        click(view.viewport(), view._painter.undo_box(head).center())
    assert told.args == ["code.py", "new", OLD.replace("line 30\n", "")]


def test_nothing_is_put_back_while_the_run_goes(panel: ChangesPanel, qtbot: QtBot) -> None:
    panel.show_past(SessionRow("s", status="running"), PAST, reading=False)
    for name in ("changes.undo", "changes.back"):
        assert not find(panel, QPushButton, name).isEnabled()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_everything_goes_back_to_a_step(panel: ChangesPanel, qtbot: QtBot) -> None:
    click(find(panel, QPushButton, "changes.back"))
    menu = find(panel, QMenu, "changes.back.menu")
    assert menu.actions()[0].text() == "Before everything" and menu.actions()[1].text() == "After step 11: make it"
    with qtbot.waitSignal(panel.back_wanted) as told:
        menu.actions()[1].trigger()
    assert told.args == [2, "after step 11"]
    menu.close()


def test_without_changes_it_says_what_will_stand_here(panel: ChangesPanel, look: Look) -> None:
    panel.show_past(SessionRow("other"), Past(), reading=True)
    assert find(panel, QLabel, "changes.empty").text() == "Reading…"
    panel.show_past(SessionRow("other"), Past(), reading=False)
    assert find(panel, QLabel, "changes.empty").text().startswith("No file was changed here.")
    panel.restyle(look)


def test_lines_are_copied_without_their_signs(panel: ChangesPanel) -> None:
    panel.show_file("code.py")
    view = find(panel, DifferenceView, "changes.lines")
    view.selectRow(4)
    view.copy()
    assert QGuiApplication.clipboard().text() == "line 5"


def test_the_model_is_sound(qtbot: QtBot) -> None:
    model = DifferenceRows()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for beside in (False, True):
        model.show(difference(OLD, NEW), beside=beside, undoable=True)
        assert model.rowCount() and len(model.heads()) == 2


def test_before_files_are_put_back_a_person_sees_what_becomes_of_each(qtbot: QtBot, look: Look) -> None:
    plan = Plan(
        3,
        (
            FilePlan("a.txt", "change", "n", "t", 2, 1),
            FilePlan("b.txt", "conflict", why="Somebody else changed it since."),
        ),
        tuple(f"make {n}" for n in range(7)),
        unkept=("link",),
    )
    dialog = PutBackDialog(look, "Put back?", plan)
    qtbot.addWidget(dialog)
    dialog.open()
    said = "\n".join(part.text() for part in dialog.findChildren(QLabel))
    assert "1 file is put back. 1 file stays as it is. This can be undone." in said
    assert "Changed too, but not kept and not put back: link." in said
    assert "changes back +2 −1" in said and "Somebody else changed it since." in said and "and 2 more" in said
    find(dialog, QCheckBox, "putback.force").setChecked(True)
    with qtbot.waitSignal(dialog.agreed) as told:
        click(find(dialog, QPushButton, "putback.yes"))
    assert told.args == [("b.txt",)] and not dialog.isVisible()
