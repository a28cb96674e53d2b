"""The first screen and the empty centre."""

from PySide6.QtWidgets import QFrame, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find
from ui.start.empty import no_session
from ui.start.panel import StartPanel
from ui.theme import Look, load_fonts, load_theme


def test_the_demo_starts(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="/home/me/.local/share/journeyman")
    qtbot.addWidget(panel)
    panel.show()
    with qtbot.waitSignal(panel.demo_wanted):
        click(find(panel, QPushButton, "start.demo"))


def test_it_says_where_data_is_kept(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="/data/<b>x</b>")
    qtbot.addWidget(panel)
    assert "/data/<b>x</b>" in find(panel, QLabel, "start.place").text()


def test_every_button_on_it_is_connected(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    assert [button.objectName() for button in panel.findChildren(QPushButton)] == ["start.demo"]


def test_the_card_stays_in_the_middle(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.resize(1200, 800)
    panel.show()
    card = find(panel, QFrame, "start.card")
    assert abs(card.geometry().center().x() - 600) <= 1 and card.width() <= 620
    panel.resize(520, 600)
    assert card.width() < 520


def test_an_empty_centre_says_what_to_do(look: Look, qtbot: QtBot) -> None:
    empty = no_session(look)
    qtbot.addWidget(empty)
    assert "Ctrl+N" in find(empty, QLabel, "empty.text").text()
    assert "No session chosen" in empty.accessibleName()


def test_themes_change_at_run_time(look: Look, qtbot: QtBot) -> None:
    panel, empty = StartPanel(look, data_folder="x"), no_session(look)
    other = Look(load_theme("light"), load_fonts(2.0))
    for widget in (panel, empty):
        qtbot.addWidget(widget)
        widget.restyle(other)
        assert not widget.grab().isNull()
    assert find(panel, QLabel, "start.title").font().pixelSize() == 40
