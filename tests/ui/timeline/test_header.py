"""The branch of the folder stands in the header, and is asked for anew when it may have changed."""

import pytest
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from ui.theme import Look
from ui.timeline.header import FactLine, RunHeader


@pytest.fixture
def header(look: Look, qtbot: QtBot) -> RunHeader:
    made = RunHeader(look)
    qtbot.addWidget(made)
    return made


def said(header: RunHeader) -> str:
    found = header.findChild(FactLine, "run.facts")
    assert found is not None
    return found.accessibleName()


def test_the_branch_is_shown_for_its_folder_only(header: RunHeader) -> None:
    row = SessionRow("s1", "One", "/src/shop", status="running")
    header.show_session(row, 0)
    header.show_branch("/src/shop", "feature/till")
    header.show_session(row, 0)
    assert "feature/till" in said(header)
    header.show_branch("/elsewhere", "main")
    header.show_session(row, 0)
    assert "feature/till" in said(header)
    header.show_session(SessionRow("s2", "Two", "/elsewhere"), 0)
    assert "feature/till" not in said(header)


def test_it_is_asked_for_once_a_round(header: RunHeader) -> None:
    asked: list[str] = []
    header.branch_wanted.connect(asked.append)
    row = SessionRow("s1", "One", "/src/shop", status="running", rounds=1)
    for each in (row, row._replace(seq=9), row._replace(rounds=2), row._replace(rounds=2, status="done")):
        header.show_session(each, 0)
    assert asked == ["/src/shop"] * 3
