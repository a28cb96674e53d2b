"""The palette by keys: what fits first, what was used last, and back to where the keyboard was."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find, press, write
from ui.palette.entries import Entry, sort
from ui.palette.fuzzy import match
from ui.palette.panel import Entries, Palette
from ui.theme import Look, load_fonts

ENTRIES = [
    Entry("new", "New run", keys="Ctrl+N"),
    Entry("next", "Go to the next question"),
    Entry("stop", "Stop the run", can=False),
    Entry("theme", "Light or dark"),
]


def ids(typed: str, recent: tuple[str, ...] = ()) -> list[str]:
    return [found.entry.id for found in sort(ENTRIES, typed, recent)]


def test_the_best_fit_is_first_and_what_does_not_fit_is_gone() -> None:
    assert ids("run") == ["new", "stop"]
    assert ids("ld") == ["theme"]
    assert ids("question next") == ["next"]
    assert ids("xyz") == []


def test_nothing_typed_shows_what_was_used_last_first() -> None:
    assert ids("", ("theme", "stop")) == ["theme", "stop", "new", "next"]


def test_what_was_typed_as_a_title_is_not_the_detail_of_another() -> None:
    named = [Entry("eight", "Talk number 8", "~/work · 2 steps"), Entry("two", "Talk number 2", "~/work · stopped")]
    assert [found.entry.id for found in sort(named, "Talk number 2")] == ["two", "eight"]
    assert [found.entry.id for found in sort(named, "stopped")] == ["two"]


@pytest.mark.parametrize(
    ("typed", "text", "places"),
    [("nr", "New run", (0, 4)), ("run", "Prune a run", (8, 9, 10)), ("", "x", ()), ("ß", "Straße", (4,))],
)
def test_letters_are_found_rather_at_starts_of_words(typed: str, text: str, places: tuple[int, ...]) -> None:
    found = match(typed, text)
    assert found is not None and found.places == places


@pytest.mark.parametrize(
    ("typed", "wanted", "other"),
    [("Talk number 1", "Talk number 1", "Talk number 13"), ("number 3", "Number 3, 30 pages", "Number 30")],
)
def test_a_whole_word_fits_better_than_the_start_of_one(typed: str, wanted: str, other: str) -> None:
    better, worse = match(typed, wanted), match(typed, other)
    assert better is not None and worse is not None and better.score > worse.score


@pytest.fixture
def around(look: Look, qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    field = QLineEdit()
    field.setObjectName("before")
    QVBoxLayout(made).addWidget(field)
    made.resize(900, 600)
    made.show()
    field.setFocus()
    return made


def test_type_choose_and_come_back(look: Look, around: QWidget) -> None:
    palette, done = Palette(look, around), list[str]()
    QAbstractItemModelTester(
        palette.findChildren(Entries)[0], QAbstractItemModelTester.FailureReportingMode.Warning, palette
    )
    palette.open_with(ENTRIES, "What shall be done?", done.append)
    field = find(palette, QLineEdit, "palette.field")
    write(field, "next")
    press(field, Qt.Key.Key_Return)
    assert done == ["next"] and not palette.isVisible()
    assert find(around, QLineEdit, "before").hasFocus()


@pytest.mark.parametrize("worked", [True, False])
def test_the_keyboard_comes_back_by_no_other_way(look: Look, around: QWidget, qapp: QApplication, worked: bool) -> None:
    """Hidden with the keyboard in it, Qt hands that to whatever comes next: the other of two sessions."""
    palette, before = Palette(look, around), find(around, QLineEdit, "before")
    QLineEdit(around).show()
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


def test_arrows_pass_over_what_cannot_be_done_and_go_round(look: Look, around: QWidget) -> None:
    palette, done = Palette(look, around), list[str]()
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


def test_a_pointer_that_rests_where_lines_come_up_chooses_nothing(look: Look, around: QWidget) -> None:
    palette = Palette(look, around)
    palette.open_with(ENTRIES, "What shall be done?", str)
    listed = find(palette, QListView, "palette.list")
    last = listed.visualRect(listed.model().index(3, 0)).center()
    QCursor.setPos(listed.viewport().mapToGlobal(last))
    palette.leave()
    palette.open_with(ENTRIES, "What shall be done?", str)
    for moved in (False, True):
        if moved:
            press(find(palette, QLineEdit, "palette.field"), Qt.Key.Key_Down)
        chosen = listed.currentIndex().row()
        QTest.mouseMove(listed.viewport(), last)
        assert listed.currentIndex().row() == chosen != 3
    QTest.mouseMove(listed.viewport(), listed.visualRect(listed.model().index(0, 0)).center())
    assert listed.currentIndex().row() == 0


@pytest.mark.colours
def test_escape_and_the_same_key_again_close_it(look: Look, around: QWidget) -> None:
    palette = Palette(look, around)
    for _ in range(2):
        palette.open_with(ENTRIES, "What?", lambda _: None)
    assert not palette.isVisible()
    palette.open_with(ENTRIES, "What?", lambda _: None)
    palette.restyle(Look(look.theme, load_fonts(2.0)))
    assert around.rect().contains(palette.geometry())
    press(find(palette, QLineEdit, "palette.field"), Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_nothing_fits_is_said(look: Look, around: QWidget) -> None:
    palette = Palette(look, around)
    palette.open_with(ENTRIES, "What?", lambda _: None)
    field = find(palette, QLineEdit, "palette.field")
    write(field, "xyz")
    press(field, Qt.Key.Key_Return)
    assert find(palette, QWidget, "palette.none").isVisible() and palette.isVisible()
