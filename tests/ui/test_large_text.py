"""At 200% text in a small window, rows name their objects, all tabs can be reached, and headers keep their buttons."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QMargins, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFrame,
    QLabel,
    QLineEdit,
    QListWidget,
    QScrollArea,
    QStyle,
    QTabBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.skill import SkillRow
from core.domain.steps import Step
from core.settings.schema import MODELS, Settings
from core.timeline.usage_totals import UsageTotals
from tests.screens.sample_local_models import DOWNLOADING
from tests.screens.sample_providers import PROVIDERS
from tests.ui.ask.permissions import CHAIN
from tests.ui.ask.questions import TONE, noon
from tests.ui.changes.test_panel import changed, past
from tests.ui.context.test_panel import filled
from tests.ui.hands import find
from ui.ask.dialogs import PermissionDialog, QuestionDialog
from ui.changes.changed_files import ChangedFileDelegate
from ui.changes.file_column import FileColumn
from ui.changes.review_bar import ReviewBar
from ui.compare.header import ComparisonHeader
from ui.context.panel import ContextPanel
from ui.dialogs.export_dialog import ExportDialog, ExportFormat
from ui.dialogs.help_dialog import HelpDialog
from ui.sessions.session_menu import session_menu
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.settings_dialog import SettingsDialog, SettingsSnapshot
from ui.shell.shortcuts_dialog import ShortcutsDialog
from ui.shell.status_line import StatusLine
from ui.skills.header import SkillHeader
from ui.start.new_session import ProviderOffer
from ui.start.panel import StartPanel
from ui.start.run_options import RunOptions, RunOptionsDialog
from ui.style.theme import Look, load_fonts, load_theme
from ui.timeline.row_layout import RowColumns
from ui.timeline.row_menu import RowState, row_menu
from ui.timeline.run_end_card import RunEndCard
from ui.timeline.waterfall.panel import ShortcutHints
from ui.usage.bars import Bar
from ui.usage.plot import UsagePlot
from ui.usage.table import MIN_NAME_WIDTH, UsageModel, UsageTable
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.elided import ElidedLabel
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import TextField
from ui.widgets.number_field import NumberField
from ui.widgets.tab_strip import CountTabBar, TabCount, TabStrip

BACK = Qt.KeyboardModifier.ShiftModifier
CENTER = 750  # pixels beside the sidebar in a window of 1,280 at 200% text


@pytest.fixture
def large(qapp: QApplication) -> Look:
    return Look(load_theme("light"), load_fonts(2.0))


def test_rows_leave_out_the_duration_bars_so_that_the_object_has_room(large: Look, look: Look) -> None:
    assert RowColumns.of(CENTER, look.fonts).bar_width > 0
    columns = RowColumns.of(CENTER, large.fonts)
    assert columns.bar_width == 0 and columns.badge_right - columns.verb > CENTER / 2


def test_tabs_that_do_not_fit_can_be_scrolled_to(large: Look, qtbot: QtBot) -> None:
    tabs = TabStrip(large, QLabel(), name="run.tabs", accessible_name="Views")
    qtbot.addWidget(tabs)
    for name in ("Steps", "Timeline", "Changes", "Context", "Decisions", "Terminal"):
        tabs.add(name, name)
    tabs.resize(CENTER, 60)
    tabs.show()
    assert any(button.isVisible() for button in tabs.findChildren(QToolButton))
    tabs.resize(3 * CENTER, 60)
    assert not any(button.isVisible() for button in tabs.findChildren(QToolButton))


def test_tabs_leave_out_their_counts_rather_than_their_last_title(large: Look, qtbot: QtBot) -> None:
    tabs = TabStrip(large, QLabel(), name="run.tabs", accessible_name="Views")
    qtbot.addWidget(tabs)
    for name in ("Steps", "Changes", "Terminal"):
        tabs.add(name, name)
    tabs.resize(2 * CENTER, 60)
    tabs.show()
    bar = find(tabs, QTabBar, "run.tabs")
    widths = [bar.tabRect(2).right()]
    tabs.show_counts("Changes", [TabCount("+1,234", "done"), TabCount("−567", "failed")])
    widths.append(bar.tabRect(2).right())
    assert widths[1] > widths[0]
    tabs.resize(tabs.width() - bar.width() + widths[0] + 20, 60)
    assert bar.tabRect(2).right() == widths[0] and bar.accessibleTabName(1) == "Changes +1,234 −567"
    tabs.resize(2 * CENTER, 60)
    assert bar.tabRect(2).right() == widths[1]


def test_a_header_without_room_shows_its_buttons_as_icons(large: Look, qtbot: QtBot) -> None:
    row, command = CompactRow(), ElidedLabel("wc -w complaint.md && grep -c", large.fonts.mono)
    qtbot.addWidget(row)
    row.row.addWidget(command, 1)
    buttons = [Button(large, text, name=text, icon="copy") for text in ("Copy output", "Show step")]
    buttons[1].setToolTip("More than the name")
    for button in buttons:
        row.row.addWidget(button)
    row.resize(CENTER, 60)
    row.show()
    wide = [button.width() for button in buttons]
    row.resize(CENTER // 2, 60)
    qtbot.waitUntil(lambda: all(button.width() < full for button, full in zip(buttons, wide, strict=True)))
    assert [button.toolTip() for button in buttons] == ["Copy output", "More than the name"]
    assert command.width() > 5 * command.fontMetrics().averageCharWidth()
    row.resize(CENTER, 60)
    qtbot.waitUntil(lambda: [button.width() for button in buttons] == wide)
    assert [button.toolTip() for button in buttons] == ["", "More than the name"]


def test_a_digit_with_a_modifier_selects_no_option(look: Look, qtbot: QtBot) -> None:
    dialog = QuestionDialog(look, TONE, context="", clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    for modifier in (Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier):
        QTest.keyClick(dialog.form, Qt.Key.Key_3, modifier)
    assert not any(option.isChecked() for option in dialog.form.options)
    QTest.keyClick(dialog.form, Qt.Key.Key_3)
    assert dialog.form.options[2].isChecked()


@pytest.mark.parametrize("backwards", [False, True])
def test_tab_goes_through_every_settings_page_from_top_to_bottom_and_then_to_close(
    look: Look, qtbot: QtBot, backwards: bool
) -> None:
    dialog = SettingsDialog(look, SettingsSnapshot(Settings(), []))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    pages = find(dialog, QListWidget, "settings.pages")
    for row in range(pages.count()):
        pages.setCurrentRow(row)
        if pages.item(row).text() == MODELS:  # these rows come after the page was shown
            dialog.providers.show_providers(PROVIDERS)
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        pages.setFocus()
        parts = list[QWidget]()
        while not parts or parts[-1] is not pages:
            focused: QWidget | None = dialog.focusWidget()
            assert focused is not None and len(parts) < 60
            QTest.keyClick(focused, Qt.Key.Key_Tab, BACK if backwards else Qt.KeyboardModifier.NoModifier)
            parts.append(dialog.focusWidget())
        parts = parts[::-1] if backwards else [*parts[-1:], *parts[:-1]]
        names = [part.objectName() for part in parts]
        assert names[0] == "settings.pages" and names[-2:] == ["settings.close", "settings.search"]
        heights = [part.mapTo(dialog, part.rect().center()).y() for part in parts[1:-2]]
        assert all(below - above > -12 for above, below in pairwise(heights)), names
        assert len(names) > 3 or pages.item(row).text() in ("Trusted folders", "Data")


def test_the_providers_page_fits_beside_its_scroll_bar_in_the_narrowest_settings(large: Look, qtbot: QtBot) -> None:
    dialog = SettingsDialog(large, SettingsSnapshot(Settings(), []))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show_page(MODELS)
    dialog.providers.show_providers(PROVIDERS)
    dialog.show()
    dialog.resize(820, 600)
    area = next(area for area in dialog.findChildren(FittingScrollArea) if area.isAncestorOf(dialog.providers))
    qtbot.waitUntil(area.verticalScrollBar().isVisible)
    content = area.widget()
    assert content is not None
    qtbot.waitUntil(lambda: content.width() <= area.viewport().width())


def test_the_header_of_a_skill_keeps_its_name(large: Look, qtbot: QtBot) -> None:
    header = SkillHeader(large)
    qtbot.addWidget(header)
    header.show_skill(SkillRow("builtin/code-review", "code-review", "builtin", "enabled"), 1, "Reviews code.", [])
    header.update_save_button(enabled=False, label="Save a copy")
    header.resize(880, 100)
    header.show()
    title = find(header, ElidedLabel, "skill.title")
    qtbot.waitUntil(lambda: title.width() >= title.sizeHint().width())
    assert find(header, Button, "skill.show_versions").accessibleName() == "1 version"


def test_the_end_of_a_run_leaves_out_its_question_rather_than_what_the_run_did(large: Look, qtbot: QtBot) -> None:
    around = QWidget()
    qtbot.addWidget(around)
    around.show()
    card = RunEndCard(large, around)
    prompt = find(card, QLabel, "end.asks")
    card.show()
    for width, shown in ((560, False), (1000, True)):
        card.resize(width, 120)
        assert prompt.isVisible() == shown


def test_a_side_of_a_comparison_keeps_its_title(large: Look, qtbot: QtBot) -> None:
    header = ComparisonHeader(large, "Choose a session", name="compare.left", margins=QMargins(20, 8, 42, 8))
    qtbot.addWidget(header)
    header.show_session(SessionRow("a", "Fix flaky checkout test", status="failed"))
    header.resize(CENTER // 2 + 60, 100)
    header.show()
    title = find(header, ElidedLabel, "compare.left.title")
    qtbot.waitUntil(lambda: title.width() >= 10 * title.fontMetrics().averageCharWidth())
    assert find(header, Button, "compare.left.open").toolTip() == "Open session"


def test_the_status_line_elides_a_long_text_instead_of_widening_the_window(large: Look, qtbot: QtBot) -> None:
    line = StatusLine(large, data_folder="~/.local/share/journeyman")
    qtbot.addWidget(line)
    usual = line.minimumSizeHint().width()
    line.show_local_models(DOWNLOADING)
    line.show_sandbox("none", "")
    assert line.minimumSizeHint().width() < usual + 500
    assert find(line, Button, "status.models").accessibleName().startswith("Downloading Qwen2.5 Coder")


def test_the_fields_of_the_mcp_form_are_complete_and_it_scrolls(large: Look, qtbot: QtBot) -> None:
    dialog = AddMcpServerDialog(large)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    source, values = (find(dialog, TextField, f"add_mcp_server.{name}") for name in ("source", "values"))
    source.setPlainText("http://tools.example.org/mcp")
    assert dialog.height() <= dialog.screen().availableGeometry().height()
    area = find(dialog, FittingScrollArea, "add_mcp_server.form")
    assert area.horizontalScrollBar().maximum() == 0
    for field in (source, values):
        field.setFocus(Qt.FocusReason.TabFocusReason)
        assert field.visibleRegion().boundingRect().height() == field.height()


@pytest.mark.parametrize("make", [ShortcutsDialog, HelpDialog, lambda look: RunOptionsDialog(look, RunOptions())])
def test_dialogs_fit_on_the_screen(large: Look, qtbot: QtBot, make: Callable[[Look], QDialog]) -> None:
    dialog = make(large)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    room = dialog.screen().availableGeometry()
    assert dialog.width() <= room.width() and dialog.height() <= room.height()


@pytest.mark.parametrize("scale", [0.8, 1.0, 2.0])
def test_icons_in_menus_are_as_large_as_the_text(look: Look, qtbot: QtBot, scale: float) -> None:
    scaled = Look(look.theme, load_fonts(scale))
    parent = QWidget()
    qtbot.addWidget(parent)
    state = RowState(Step(0, "read", "done", 1, object="a.txt"), own=True)
    session_actions = session_menu(scaled, [SessionRow("s", "Letters")], lambda _: None, parent)
    for menu in (session_actions, row_menu(scaled, state, print, print, parent)):
        menu.popup(parent.pos())
        size = menu.style().pixelMetric(QStyle.PixelMetric.PM_SmallIconSize, None, menu)
        assert size == scaled.size(16)
        assert {action.icon().actualSize(QSize(99, 99)).width() for action in menu.actions() if action.text()} == {size}
        menu.hide()


def test_no_title_in_the_list_of_help_pages_is_cut_off_by_its_scroll_bar(look: Look, qtbot: QtBot) -> None:
    dialog = HelpDialog(look)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.resize(900, 300)
    dialog.show()
    pages = find(dialog, QListWidget, "help.pages")
    qtbot.waitUntil(pages.verticalScrollBar().isVisible)
    assert not pages.horizontalScrollBar().isVisible()
    assert pages.sizeHintForColumn(0) <= pages.viewport().width()


def test_the_list_of_shortcuts_is_scrolled_by_keyboard(large: Look, qtbot: QtBot) -> None:
    dialog = ShortcutsDialog(large)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    area = find(dialog, QScrollArea, "keys.scroll")
    assert dialog.focusWidget() in (None, area)
    QTest.keyClick(area, Qt.Key.Key_PageDown)
    assert area.verticalScrollBar().value() > 0


def test_a_dialog_grows_for_the_result_it_shows(large: Look, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    dialog = ExportDialog(large, "Letter", [ExportFormat("md", "Markdown", "Text.", ".md")], "/srv", window)
    dialog.open()
    dialog.show_done("/srv/a-folder-with-a-name/" * 3 + "letter.md", 3_400, "Nothing was removed.")
    message = find(dialog, QLabel, "export.said")
    qtbot.waitUntil(lambda: message.height() >= message.heightForWidth(message.width()))
    dialog.close()


def test_the_new_session_page_is_not_wider_than_the_window(large: Look, qtbot: QtBot) -> None:
    panel = StartPanel(large, data_folder="/home/me/.local/share/journeyman")
    qtbot.addWidget(panel)
    panel.show_providers([ProviderOffer("work", "Work", ("work/a-model-with-a-long-name",), is_local=True)], "")
    panel.resize(CENTER, 700)
    panel.show()
    buttons = [find(panel, Button, f"start.{name}") for name in ("go", "options", "folder", "local")]
    qtbot.waitUntil(lambda: all(is_fully_visible(button) for button in buttons))
    assert find(panel, QScrollArea, "start.scroll").horizontalScrollBar().maximum() == 0


def test_the_context_page_shows_its_numbers_and_buttons(large: Look, qtbot: QtBot) -> None:
    panel = ContextPanel(large)
    qtbot.addWidget(panel)
    panel.resize(CENTER, 900)
    panel.show()
    panel.show_past(filled(), loading=False, running=False)
    shares = find(panel, QWidget, "context.shares")
    buttons = [find(panel, Button, f"context.{name}") for name in ("compact", "prompt_size")]
    qtbot.waitUntil(lambda: all(is_fully_visible(button) for button in buttons))
    assert shares.width() <= CENTER


def test_the_bar_below_a_diff_keeps_its_count_and_buttons(large: Look, qtbot: QtBot) -> None:
    column = QWidget()
    qtbot.addWidget(column)
    column.show()
    bar = ReviewBar(large, column)
    bar.show_drafts(1, "")
    bar.resize(583, 60)  # the width beside the list of files
    bar.show()
    count, send = find(bar, QLabel, "changes.drafts.count"), find(bar, Button, "changes.send")
    qtbot.waitUntil(lambda: count.width() >= count.sizeHint().width() and send.width() >= send.sizeHint().width())
    assert send.accessibleName() == "Send 1 comment"


def test_shortcut_hints_without_room_are_left_out_as_a_whole(large: Look, qtbot: QtBot) -> None:
    hints = ShortcutHints(large)
    qtbot.addWidget(hints)
    hints.show()
    pictures = []
    for missing in (0, 20, 40):  # pixels; the last hint needs more
        hints.resize(hints.sizeHint().width() - missing, hints.sizeHint().height())
        pictures.append(hints.grab().toImage().copy(0, 0, hints.sizeHint().width() - 40, hints.height()))
    assert pictures[0] != pictures[1] and pictures[1] == pictures[2]


def test_the_list_of_changed_files_shows_names_rather_than_line_counts(large: Look, qtbot: QtBot) -> None:
    column = FileColumn(large)
    qtbot.addWidget(column)
    rows, story = column.rows, past(changed(1, "notes-about-the-release.md", "", "first", 17)).changed_files()
    rows.show_review(lambda _: True, lambda _: 1)
    rows.show_unreviewed(lambda _: True)
    rows.show(story)
    delegate = column.files.itemDelegate()
    assert isinstance(delegate, ChangedFileDelegate)
    shown = [badge.text for badge in delegate.fitting_badges(story[0], 280)]
    assert shown == []
    assert "not reviewed" in str(rows.data(rows.index(0), Qt.ItemDataRole.ToolTipRole))
    shown = [badge.text for badge in delegate.fitting_badges(story[0], 480)]
    assert shown == ["not reviewed", "1 comment"]
    assert [badge.text for badge in delegate.fitting_badges(story[0], 2_000)] == [
        "+17",
        "not reviewed",
        "1 comment",
        "kept",
    ]


def is_fully_visible(widget: QWidget) -> bool:
    """Return whether nothing is cut off at the left and right."""
    left = widget.mapTo(widget.window(), widget.rect().topLeft()).x()
    fits = left >= 0 and left + widget.width() <= widget.window().width()
    return fits and widget.width() >= widget.sizeHint().width()


def test_a_permission_dialog_grows_for_the_reason_and_keeps_a_size_set_by_the_user(look: Look, qtbot: QtBot) -> None:
    dialog = PermissionDialog(look, [CHAIN], clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitExposed(dialog)
    field, bar = find(dialog, QFrame, "consent.field"), dialog.form.findChildren(QScrollArea)[0].verticalScrollBar()
    dialog.form.deny_or_show_reason()
    qtbot.waitUntil(lambda: field.height() >= field.sizeHint().height() and bar.maximum() == 0)
    dialog.resize(dialog.width(), 300)
    dialog.form.edit_call()
    QApplication.sendPostedEvents()
    assert dialog.height() == 300


def test_fields_are_as_high_as_buttons(look: Look, large: Look, qtbot: QtBot) -> None:
    button = Button(large, "Choose…", name="choose")
    for field in (QLineEdit(), NumberField()):
        qtbot.addWidget(field)
        field.setFont(large.fonts.text)
        field.ensurePolished()
        assert abs(field.sizeHint().height() - button.sizeHint().height()) <= 2


def test_the_labels_of_the_usage_plot_are_complete(large: Look, qtbot: QtBot) -> None:
    plot = UsagePlot(large)
    qtbot.addWidget(plot)
    plot.resize(CENTER, plot.sizeHint().height())
    used = UsageTotals("a/model", replies=1, time=11 * 60 * 1_000_000)
    plot.show_bars([Bar("2026-11-20", "2026-11-20", used, (used,))], "time")
    plot.show()
    image = plot.grab().toImage()
    assert len({image.pixel(0, y) for y in range(image.height())}) == 1, "no label begins left of the plot"


def test_the_usage_table_shows_names_and_scrolls_sideways(large: Look, qtbot: QtBot) -> None:
    model = UsageModel()
    table = UsageTable(large, model)
    qtbot.addWidget(table)
    table.resize(CENTER, 300)
    table.show()
    model.show_sums([UsageTotals("2026-11-20", replies=1)], "day")
    qtbot.waitUntil(lambda: table.columnWidth(0) >= large.size(MIN_NAME_WIDTH))
    assert table.horizontalScrollBar().maximum() > 0
    table.resize(3 * CENTER, 300)
    qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
    assert table.horizontalHeader().length() == table.viewport().width()


def test_a_tab_title_below_the_arrows_is_elided(large: Look, qtbot: QtBot) -> None:
    tabs = TabStrip(large, QLabel(), name="run.tabs", accessible_name="Views")
    qtbot.addWidget(tabs)
    for name in ("Steps", "Decisions", "Terminal"):
        tabs.add(name, name)
    bar = find(tabs, QTabBar, "run.tabs")
    assert isinstance(bar, CountTabBar)
    tabs.resize(2 * CENTER, 60)
    tabs.show()
    complete = bar.grab().toImage()
    needed = bar.tabRect(2).right()
    tabs.resize(tabs.width() - bar.width() + needed - 20, 60)
    arrow = min(button.x() for button in bar.findChildren(QToolButton) if button.isVisible())
    title = bar.tabRect(2).adjusted(0, 0, 0, -4)
    title.setRight(arrow - 1)
    assert bar.grab(title).toImage() != complete.copy(title)
