"""What is announced while changes are reviewed: files, hunks, and comments that are kept, found and sent."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView
from pytestqt.qtbot import QtBot

from tests.ui.changes.test_review import CONTROL, SHIFT, Store, field, open_panel, view_of
from tests.ui.hands import find, press, select_line, write
from ui.changes.panel import ChangesPanel
from ui.style.theme import Look

SPOKEN = Qt.ItemDataRole.AccessibleTextRole


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> ChangesPanel:
    made = open_panel(qtbot, look, Store())
    view_of(made).setFocus()
    return made


def comment(panel: ChangesPanel, line: int, text: str) -> None:
    select_line(view_of(panel), line)
    press(view_of(panel), Qt.Key.Key_C)
    write(field(panel), text)
    press(field(panel), Qt.Key.Key_Return)


def test_files_and_hunks_are_described_in_words(panel: ChangesPanel) -> None:
    assert (
        find(panel, QListView, "changes.files").model().index(0, 0).data(SPOKEN)
        == "a.py, 1 line added, 2 lines removed"
    )
    rows = view_of(panel).rows
    headers = [rows.index(position, 0).data(SPOKEN) for position in rows.hunk_positions()]
    assert [text.split(",")[0] for text in headers] == ["Hunk 1 of 2", "Hunk 2 of 2"]
    assert all(text.split(", ")[1] in ("1 line added", "1 line removed") for text in headers)
    press(view_of(panel), Qt.Key.Key_K)
    assert rows.index(rows.hunk_positions()[0], 0).data(SPOKEN).startswith("Hunk 1 of 2, kept, ")


def test_another_file_is_announced_if_the_diff_has_the_focus(panel: ChangesPanel, announcements: list[str]) -> None:
    press(view_of(panel), Qt.Key.Key_N, SHIFT)
    assert announcements == ["Changed lines of b.py, 1 line added, 2 lines removed"]
    assert view_of(panel).accessibleName() == "Changed lines of b.py"
    find(panel, QListView, "changes.files").setFocus()
    press(find(panel, QListView, "changes.files"), Qt.Key.Key_Down)
    assert len(announcements) == 1, "the list reads its item"


def test_comments_are_announced_when_they_are_kept_found_in_another_file_and_sent(
    panel: ChangesPanel, announcements: list[str]
) -> None:
    comment(panel, 6, "Why?")
    assert announcements == ["1 comment not sent"]
    press(view_of(panel), Qt.Key.Key_N, SHIFT)
    comment(panel, 6, "Rename it.")
    assert announcements[2:] == ["2 comments not sent"]
    press(view_of(panel), Qt.Key.Key_BracketLeft)
    assert announcements[3:] == ["Changed lines of a.py, 1 line added, 2 lines removed", "Comment on line 6: Why?"]
    press(view_of(panel), Qt.Key.Key_Return, CONTROL)
    assert announcements[5:] == ["Sent 2 comments"]
