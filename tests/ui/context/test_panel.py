"""The Context tab: what fills the window, request by request, and where it was emptied."""

from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.timeline.past import MOST_REQUESTS, Past
from tests.ui.hands import click, find
from ui.context.panel import CATEGORIES, Chart, ContextPanel
from ui.theme import Look


def sent(seq: int, **tokens: int) -> dict[str, Any]:
    named = {name.replace("__", ":"): count for name, count in tokens.items()}
    return {"kind": "request_sent", "seq": seq, "run": 1, "at": 0, "round": seq, "window": 128_000, "tokens": named}


def filled() -> Past:
    past = Past()
    past.hear(sent(n, tools=4_000, system=2_600, results__read=n * 9_000, results__run=n * 500) for n in range(1, 9))
    past.hear(
        [{"kind": "context_compacted", "seq": 9, "run": 1, "at": 0, "before": 82_600, "after": 18_400, "why": "80 %"}]
    )
    past.hear([sent(10, tools=4_000, system=2_600, summary=1_800, results__search=10_000)])
    return past


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> ContextPanel:
    made = ContextPanel(look)
    qtbot.addWidget(made)
    made.resize(800, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.show_past(filled(), reading=False, going=False)
    return made


@pytest.mark.colours
def test_the_last_request_is_told_by_category(panel: ContextPanel, look: Look) -> None:
    assert find(panel, QLabel, "context.title").text() == "18.4k of 128k tokens"
    assert find(panel, QLabel, "context.told").text() == "14 % · estimated, round 10"
    said = find(panel, QWidget, "context.shares").accessibleName()
    assert (
        said.startswith("Tools 4,000 (22 %), System and AGENTS.md 2,600 (14 %)")
        and "Results: files 10,000 (54 %)" in said
    )
    panel.restyle(look)
    panel.grab()


def test_a_request_under_the_pointer_is_told(panel: ContextPanel) -> None:
    chart = find(panel, Chart, "context.chart")
    for x in (400, 22):  # a pointer that is there already does not move
        QTest.mouseMove(chart, QPoint(x, 100))
    assert find(panel, QLabel, "context.told").text().endswith("round 1")


def test_it_is_compacted_by_hand(panel: ContextPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.compact_wanted):
        click(find(panel, QPushButton, "context.compact"))
    panel.show_past(Past(), reading=False, going=False)
    assert find(panel, QLabel, "context.empty").isVisible()


def test_a_million_requests_are_thinned_and_the_last_is_kept() -> None:
    past = Past()
    past.hear(sent(n, tools=n) for n in range(1, 20_001))
    assert len(past.requests) <= MOST_REQUESTS and past.requests[-1].seq == 20_000
    assert [each.seq for each in past.requests] == sorted(each.seq for each in past.requests)


def test_every_category_has_a_name_of_its_own() -> None:
    assert len({each.name for each in CATEGORIES}) == len({each.said for each in CATEGORIES}) == len(CATEGORIES)
