"""The header of the run page: its facts, and when the git branch is read again."""

import pytest
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from ui.style.theme import Look, load_fonts
from ui.timeline.header_facts import FactLine, header_facts
from ui.timeline.run_header import RunHeader


@pytest.fixture
def header(look: Look, qtbot: QtBot) -> RunHeader:
    made = RunHeader(look)
    qtbot.addWidget(made)
    return made


def facts_text(header: RunHeader) -> str:
    found = header.findChild(FactLine, "run.facts")
    assert found is not None
    return found.accessibleName()


@pytest.mark.colors
def test_height_follows_the_current_font(header: RunHeader, look: Look, qtbot: QtBot) -> None:
    once_large = RunHeader(Look(look.theme, load_fonts(2.0)))
    qtbot.addWidget(once_large)
    for each in (header, once_large):
        each.show()
        each.restyle(look)
    qtbot.waitUntil(lambda: once_large.sizeHint().height() == header.sizeHint().height())


def test_the_branch_is_shown_for_its_folder_only(header: RunHeader) -> None:
    row = SessionRow("s1", "One", "/src/shop", status="running")
    header.show_session(row, 0)
    header.show_branch("/src/shop", "feature/till")
    header.show_session(row, 0)
    assert "feature/till" in facts_text(header)
    header.show_branch("/elsewhere", "main")
    header.show_session(row, 0)
    assert "feature/till" in facts_text(header)
    header.show_session(SessionRow("s2", "Two", "/elsewhere"), 0)
    assert "feature/till" not in facts_text(header)


def test_branch_is_requested_once_per_turn(header: RunHeader) -> None:
    asked: list[str] = []
    header.branch_requested.connect(asked.append)
    row = SessionRow("s1", "One", "/src/shop", status="running", turns=1)
    for each in (row, row._replace(last_seq=9), row._replace(turns=2), row._replace(turns=2, status="done")):
        header.show_session(each, 0)
    assert asked == ["/src/shop"] * 3


def test_narrow_header_drops_facts_before_eliding_the_folder(look: Look, qtbot: QtBot) -> None:
    line = FactLine(look)
    qtbot.addWidget(line)
    row = SessionRow(
        "s1", "One", "/srv/work/checkout", "anthropic/claude-sonnet-4-5", "done", turns=4, tokens=105_000, cost=0.44
    )
    line.show_facts(header_facts(row, 48_000_000, "feature/till"))

    def shown(width: int) -> list[str]:
        line.resize(width, 20)
        return [fact.text for fact, _ in line.fit_facts(lambda fact: 8 * len(fact.text) + 20)]

    assert shown(2_000)[2] == "anthropic/claude-sonnet-4-5" and len(shown(2_000)) == 6
    assert shown(750)[2] == "claude-sonnet-4-5" and "4 turns" in shown(750)
    assert "4 turns" not in shown(600) and "105k tok · $0.44" in shown(600)
    assert shown(200) == ["/srv/work/checkout", "48s"]
    assert "claude" in line.toolTip() and "feature/till" in line.accessibleName()
