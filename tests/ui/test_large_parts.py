"""At 200% text, marks and buttons grow with the text, and what does not fit is elided or left out as a whole."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from tests.ui.timeline.session_data import START, MemorySteps, letter_session
from ui.changes.diff_header import DiffHeader
from ui.dialogs.export_dialog import ExportDialog, ExportFormat
from ui.memory.header import MemoryHeader
from ui.style.theme import Look, load_fonts, load_theme
from ui.timeline.folds import RowRange
from ui.timeline.run_end_card import RunEnd, RunEndCard, RunFileChange
from ui.timeline.waterfall.model import ShownRun
from ui.timeline.waterfall.panel import WaterfallPanel
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox, RadioButton, mark_rect
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import TextField
from ui.widgets.tab_strip import TabStrip

BESIDE_FILES = 583  # pixels beside the list of changed files in a window of 1,280


@pytest.fixture
def large(qapp: QApplication) -> Look:
    return Look(load_theme("light"), load_fonts(2.0))


def test_the_header_of_a_diff_keeps_the_name_and_moves_its_buttons_below(large: Look, qtbot: QtBot) -> None:
    header = DiffHeader(large)
    qtbot.addWidget(header)
    header.show_file("notes-about-a-release.md", "all changes", side_by_side=False)
    header.show_kept(False)
    header.commit.show()
    header.resize(BESIDE_FILES, header.sizeHint().height())
    header.show()
    name, keep = find(header, ElidedLabel, "changes.name"), header.keep
    qtbot.waitUntil(lambda: name.width() >= name.sizeHint().width())
    assert keep.mapTo(header, keep.rect().topLeft()).y() > name.geometry().bottom()
    header.resize(400, header.height())
    qtbot.waitUntil(lambda: header.scope.width() < header.scope.full_width())
    qtbot.waitUntil(lambda: name.width() > 400 // 2)
    header.resize(4 * BESIDE_FILES, header.height())
    qtbot.waitUntil(lambda: keep.mapTo(header, keep.rect().topLeft()).y() < name.geometry().bottom())
    assert keep.width() >= keep.full_width()


def test_the_link_to_all_files_of_a_run_is_left_out_rather_than_cut(large: Look, qtbot: QtBot) -> None:
    window, rows = QWidget(), letter_session()
    qtbot.addWidget(window)
    window.show()
    card = RunEndCard(large, window)
    card.show_end(rows.rows[11], RunEnd(rows.rows[1], tuple(RunFileChange(f"{n}.md", 1, 0, True) for n in range(8))))
    card.show()
    end = RunEnd(rows.rows[1], (RunFileChange("a.md", 1, 0, True),), open_proposals=2)
    narrow = RunEndCard(large, window)
    narrow.show_end(rows.rows[11], end)
    narrow.resize(480, narrow.height_at(480))
    assert find(narrow, QPushButton, "end.proposals").text().strip() == "2"
    narrow.resize(1_100, narrow.height())
    narrow.show()
    qtbot.waitUntil(lambda: find(narrow, QPushButton, "end.proposals").text().strip() == "2 proposals")
    narrow.hide()
    files, more = find(card, QPushButton, "end.files"), find(card, QPushButton, "end.more")
    for width, shown in ((560, False), (1_100, True)):
        card.resize(width, card.height_at(width))
        qtbot.waitUntil(lambda shown=shown: files.isVisible() == shown)  # type: ignore[misc]  # bound as a default
        assert not shown or files.width() >= files.sizeHint().width()
        assert more.isVisible()


def test_a_text_field_has_room_for_its_whole_placeholder(large: Look, qtbot: QtBot) -> None:
    field = TextField(large.fonts.text, max_lines=4)
    qtbot.addWidget(field)
    field.resize(600, 60)
    field.show()
    one_line = field.height()
    field.setPlaceholderText("Add to this run… Enter queues the message, Ctrl+Enter sends it now")
    assert field.height() > one_line
    field.setPlainText("x")
    assert field.height() == one_line


def test_check_boxes_and_radio_buttons_grow_with_the_text(large: Look, look: Look, qtbot: QtBot) -> None:
    sides, heights = list[int](), list[int]()
    for each in (look, large):
        window, check = QWidget(), CheckBox(each, "On")
        dialog = ExportDialog(each, "Letter", [ExportFormat("md", "Markdown", "Text.", ".md")], "/srv", window)
        radio = find(dialog, RadioButton, "export.format.md")
        for widget in (window, check):
            qtbot.addWidget(widget)
        for button in (check, radio):
            button.setChecked(True)
            button.resize(button.sizeHint())
            picture, box = button.grab().toImage(), mark_rect(button, each)
            middle = box.center().y() - box.height() // 3
            accent = [picture.pixelColor(x, middle) == each.theme.accent for x in range(picture.width())]
            sides.append(sum(accent))
            heights.append(button.height())
    assert sides[2] > 1.6 * sides[0] > 0 and sides[3] > 1.6 * sides[1] > 0
    assert all(high >= 28 for high in heights[2:])


def test_the_buttons_that_scroll_the_tabs_have_room_for_their_arrows(large: Look, qtbot: QtBot) -> None:
    tabs = TabStrip(large, QLabel(), name="tabs", accessible_name="Views")
    qtbot.addWidget(tabs)
    for name in ("Steps", "Timeline", "Changes", "Context", "Decisions"):
        tabs.add(name, name)
    tabs.resize(500, 60)
    tabs.show()
    buttons = [button for button in tabs.findChildren(QWidget) if button.objectName().startswith("Scroll")]
    assert buttons and all(button.width() >= large.size(14) for button in buttons)
    arrows = [button.arrowType() for button in tabs.findChildren(QToolButton)]
    assert set(arrows) == {Qt.ArrowType.NoArrow}, "an arrow of Qt would have the size of the usual text"


def test_the_header_of_the_memories_shows_how_many_there_are(large: Look, qtbot: QtBot) -> None:
    header = MemoryHeader(large)
    qtbot.addWidget(header)
    header.show_figures([], 3, is_limited=False)
    header.show_folders(["/home/me/a-folder-with-a-rather-long-name"])
    header.choose_scope("/home/me/a-folder-with-a-rather-long-name")
    header.resize(560, header.sizeHint().height())
    header.show()
    figures = find(header, ElidedLabel, "memory.figures")
    count = figures.fontMetrics().horizontalAdvance("1,234 memories")
    qtbot.waitUntil(lambda: figures.width() >= count)


def test_a_bar_of_the_timeline_is_as_high_as_the_duration_on_it(large: Look, qtbot: QtBot) -> None:
    steps: MemorySteps = letter_session()
    panel = WaterfallPanel(large, steps, clock=lambda: START + 500_000_000)
    qtbot.addWidget(panel)
    panel.resize(900, 500)
    panel.show()
    panel.show_run("s", ShownRun(number=2, run_count=2, rows=RowRange(0, 12)))
    bars = panel.bars
    picture = bars.viewport().grab().toImage()
    row = bars.visualRect(bars.model().index(0, 0))
    left = round(bars.x_of(START)) + 20
    colors = [picture.pixelColor(max(left, bars.name_width + 20), y) for y in range(row.top(), row.bottom())]
    bar = sum(color == colors[len(colors) // 2] for color in colors)
    assert large.size(14) - 2 <= bar <= large.size(14)


def test_buttons_name_what_they_do_when_only_their_icons_fit(large: Look, qtbot: QtBot) -> None:
    header = DiffHeader(large)
    qtbot.addWidget(header)
    header.show_file("a-name-that-takes-much-room.md", "all changes", side_by_side=True)
    header.show_kept(False)
    header.resize(BESIDE_FILES // 2, header.height())
    header.show()
    buttons = [button for button in header.findChildren(Button) if button.isVisible() and button.has_icon()]
    assert len(buttons) >= 5 and all(button.toolTip() and button.accessibleName() for button in buttons)
