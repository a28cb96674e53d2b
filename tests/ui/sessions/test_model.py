"""The model fulfills the contract of Qt's item models and changes as few rows as possible when a session moves."""

import random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from tests.ui.sessions.test_rows import DAY, MINUTE, NOON, row
from ui.sessions.session_rows import SessionHeading, SessionHit
from ui.sessions.sessions_model import Role, SessionsModel


class FakeClock:
    """A clock that shows the time it is set to."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def model(qapp: QApplication, clock: FakeClock) -> SessionsModel:
    made = SessionsModel(home="/home/me", clock=clock)
    # Kept alive as a child of the model: the tester reports a signal that breaks the contract.
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Warning, made)
    return made


def texts(model: SessionsModel) -> list[str]:
    found = []
    for number in range(model.rowCount()):
        item = model.item(model.index(number))
        found.append(
            f"[{item.title}]" if isinstance(item, SessionHeading) else str(model.index(number).data(Role.SESSION))
        )
    return found


def test_headings_cannot_be_selected(model: SessionsModel) -> None:
    model.show_sessions([row("a", "waiting")])
    heading, line = model.index(0), model.index(1)
    assert model.flags(heading) == Qt.ItemFlag.NoItemFlags
    assert model.flags(line) & Qt.ItemFlag.ItemIsSelectable
    assert heading.data() == "Waiting for you" and heading.data(Role.SESSION) is None
    assert line.data() == "Title a" and line.data(Role.SESSION) == "a"


def test_rows_have_a_complete_accessible_text(model: SessionsModel) -> None:
    model.show_sessions([row("a", "waiting", folder="/home/me/letters", activity="which tone?")])
    said = model.index(1).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "Title a, waiting for you, ~/letters · asks: which tone?"


def test_a_change_in_place_updates_one_row(model: SessionsModel, qtbot: QtBot) -> None:
    model.show_sessions([row("a", "running"), row("b"), row("c")])
    with qtbot.waitSignal(model.dataChanged) as changed, qtbot.assertNotEmitted(model.modelReset):
        model.update_session(row("a", "running", steps=7))
    assert changed.args is not None
    assert changed.args[0].row() == 1


def test_a_session_moves_to_its_new_group(model: SessionsModel, qtbot: QtBot) -> None:
    model.show_sessions([row("a", "running"), row("b")])
    with qtbot.assertNotEmitted(model.modelReset):
        model.update_session(row("a", "waiting"))
        assert texts(model) == ["[Waiting for you]", "a", "[Today]", "b"]
        model.update_session(row("a", "done", age=0))
        assert texts(model) == ["[Today]", "a", "b"]
        model.update_session(row("new", "running"))
        assert texts(model) == ["[Running]", "new", "[Today]", "a", "b"]


def test_a_new_day_rebuilds_the_list(model: SessionsModel, clock: FakeClock) -> None:
    model.show_sessions([row("a"), row("b")])
    clock.now += DAY
    model.update_session(SessionRow(id="c", title="c", updated_at=clock.now))
    assert texts(model) == ["[Today]", "c", "[Yesterday]", "b", "a"]


def test_any_order_of_changes_equals_a_fresh_list(model: SessionsModel, clock: FakeClock) -> None:
    chance = random.Random(7)
    known = {name: row(name) for name in "abcdefgh"}
    model.show_sessions(known.values())
    for _ in range(300):
        name = chance.choice("abcdefghijkl")
        known[name] = row(name, chance.choice(["waiting", "running", "done"]), chance.randrange(40) * DAY // 4)
        model.update_session(known[name])
        fresh = SessionsModel(home="/home/me", clock=clock)
        fresh.show_sessions(known.values())
        assert texts(model) == texts(fresh)


def test_search_filters_and_ends(model: SessionsModel) -> None:
    model.show_sessions([row("a"), row("b")])
    model.search("title b", [SessionHit("a", "found here")])
    assert texts(model) == ["[Today]", "b", "[Found in the text]", "a"]
    assert "found here" in str(model.index(3).data(Qt.ItemDataRole.AccessibleTextRole))
    model.search("")
    assert texts(model) == ["[Today]", "b", "a"]


def test_row_of_a_session(model: SessionsModel) -> None:
    model.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    assert model.index_of("b").row() == 2
    assert not model.index_of("gone").isValid()
