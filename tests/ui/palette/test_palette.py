"""The palette by keyboard: ranking, recently used entries, and restoring the focus."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find, press, write
from ui.palette.fuzzy import fuzzy_match
from ui.palette.panel import Palette, PaletteModel
from ui.palette.ranking import PaletteEntry, rank_entries
from ui.style.theme import Look, load_fonts

ENTRIES = [
    PaletteEntry("new", "New runner", keys="Ctrl+N"),
    PaletteEntry("next", "Go to the next question"),
    PaletteEntry("stop", "Stop the run", enabled=False),
    PaletteEntry("theme", "Light or dark"),
]


def ids(typed: str, recent: tuple[str, ...] = ()) -> list[str]:
    return [found.entry.id for found in rank_entries(ENTRIES, typed, recent)]


def test_the_best_match_is_first_and_others_are_hidden() -> None:
    assert ids("run") == ["new", "stop"]
    assert ids("ld") == ["theme"]
    assert ids("question next") == ["next"]
    assert ids("xyz") == []


def test_an_empty_query_lists_recently_used_entries_first() -> None:
    assert ids("", ("theme", "stop")) == ["theme", "stop", "new", "next"]


def test_a_match_in_a_title_precedes_one_in_a_detail() -> None:
    named = [
        PaletteEntry("eight", "Talk number 8", "~/work · 2 steps"),
        PaletteEntry("two", "Talk number 2", "~/work · stopped"),
    ]
    assert [found.entry.id for found in rank_entries(named, "Talk number 2")] == ["two", "eight"]
    assert [found.entry.id for found in rank_entries(named, "stopped")] == ["two"]


@pytest.mark.parametrize(
    ("typed", "text", "places"),
    [("nr", "New runner", (0, 4)), ("run", "Prune a run", (8, 9, 10)), ("", "x", ()), ("ß", "Straße", (4,))],
)
def test_letters_match_preferably_at_starts_of_words(typed: str, text: str, places: tuple[int, ...]) -> None:
    found = fuzzy_match(typed, text)
    assert found is not None and found.positions == places


@pytest.mark.parametrize(
    ("typed", "wanted", "other"),
    [("Talk number 1", "Talk number 1", "Talk number 13"), ("number 3", "Number 3, 30 pages", "Number 30")],
)
def test_a_whole_word_matches_better_than_a_prefix(typed: str, wanted: str, other: str) -> None:
    better, worse = fuzzy_match(typed, wanted), fuzzy_match(typed, other)
    assert better is not None and worse is not None and better.score > worse.score


@pytest.fixture
def parent(look: Look, qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    field = QLineEdit()
    field.setObjectName("before")
    QVBoxLayout(made).addWidget(field)
    made.resize(900, 600)
    made.show()
    field.setFocus()
    return made


def test_type_select_and_return(look: Look, parent: QWidget) -> None:
    palette, done = Palette(look, parent), list[str]()
    QAbstractItemModelTester(
        palette.findChildren(PaletteModel)[0], QAbstractItemModelTester.FailureReportingMode.Warning, palette
    )
    palette.open_with(ENTRIES, "What shall be done?", done.append)
    field = find(palette, QLineEdit, "palette.field")
    write(field, "next")
    press(field, Qt.Key.Key_Return)
    assert done == ["next"] and not palette.isVisible()
    assert find(parent, QLineEdit, "before").hasFocus()


@pytest.mark.parametrize("worked", [True, False])
def test_the_focus_returns_directly_to_the_previous_widget(
    look: Look, parent: QWidget, qapp: QApplication, worked: bool
) -> None:
    """Hiding a focused widget makes Qt focus the next one, which would activate the other session."""
    palette, before = Palette(look, parent), find(parent, QLineEdit, "before")
    QLineEdit(parent).show()
    if not worked:
        before.clearFocus()
    palette.open_with(ENTRIES, "What shall be done?", str)
    heard: list[QWidget | None] = []

    def hear(_: QWidget | None, to: QWidget | None) -> None:
        heard.append(to)

    qapp.focusChanged.connect(hear)
    press(find(palette, QLineEdit, "palette.field"), Qt.Key.Key_Escape)
    qapp.focusChanged.disconnect(hear)
    assert not palette.isVisible() and heard == [before if worked else None]


def test_arrows_skip_disabled_entries_and_wrap_around(look: Look, parent: QWidget) -> None:
    palette, done = Palette(look, parent), list[str]()
    palette.open_with(ENTRIES, "What shall be done?", done.append)
    field, listed = find(palette, QLineEdit, "palette.field"), find(palette, QListView, "palette.list")
    for _ in range(2):
        press(field, Qt.Key.Key_Down)
    assert listed.currentIndex().row() == 3
    press(field, Qt.Key.Key_Down)
    assert listed.currentIndex().row() == 0
    press(field, Qt.Key.Key_Up)
    press(field, Qt.Key.Key_Return)
    assert done == ["theme"]


@pytest.mark.parametrize(("key", "row"), [(Qt.Key.Key_Down, 0), (Qt.Key.Key_Up, 3), (Qt.Key.Key_PageDown, 3)])
def test_arrows_start_at_the_ends_if_nothing_is_selected(look: Look, parent: QWidget, key: Qt.Key, row: int) -> None:
    palette = Palette(look, parent)
    palette.open_with(ENTRIES, "What shall be done?", str)
    listed = find(palette, QListView, "palette.list")
    listed.setCurrentIndex(QModelIndex())
    press(find(palette, QLineEdit, "palette.field"), key)
    assert listed.currentIndex().row() == row


def test_a_resting_pointer_selects_nothing(look: Look, parent: QWidget) -> None:
    palette = Palette(look, parent)
    palette.open_with(ENTRIES, "What shall be done?", str)
    listed = find(palette, QListView, "palette.list")
    last = listed.visualRect(listed.model().index(3, 0)).center()
    QCursor.setPos(listed.viewport().mapToGlobal(last))
    palette.dismiss()
    palette.open_with(ENTRIES, "What shall be done?", str)
    for moved in (False, True):
        if moved:
            press(find(palette, QLineEdit, "palette.field"), Qt.Key.Key_Down)
        chosen = listed.currentIndex().row()
        QTest.mouseMove(listed.viewport(), last)
        assert listed.currentIndex().row() == chosen != 3
    QTest.mouseMove(listed.viewport(), listed.visualRect(listed.model().index(0, 0)).center())
    assert listed.currentIndex().row() == 0


@pytest.mark.colors
def test_escape_and_the_same_key_again_close_it(look: Look, parent: QWidget) -> None:
    palette = Palette(look, parent)
    for _ in range(2):
        palette.open_with(ENTRIES, "What?", lambda _: None)
    assert not palette.isVisible()
    palette.open_with(ENTRIES, "What?", lambda _: None)
    palette.restyle(Look(look.theme, load_fonts(2.0)))
    assert parent.rect().contains(palette.geometry())
    press(find(palette, QLineEdit, "palette.field"), Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_a_message_is_shown_if_nothing_matches(look: Look, parent: QWidget) -> None:
    palette = Palette(look, parent)
    palette.open_with(ENTRIES, "What?", lambda _: None)
    field = find(palette, QLineEdit, "palette.field")
    write(field, "xyz")
    press(field, Qt.Key.Key_Return)
    assert find(palette, QWidget, "palette.none").isVisible() and palette.isVisible()
