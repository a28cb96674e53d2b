"""The Decisions tab: every choice with its cause, narrowed, looked into, and rules taken back."""

from typing import Any

import pytest
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QLabel, QListView, QPushButton
from pytestqt.qtbot import QtBot

from core.timeline.past import Past
from tests.ui.hands import click, find
from ui.decisions.panel import DecisionsPanel
from ui.decisions.rows import ChoiceRows
from ui.theme import Look


class Entries:
    def entry(self, session: str, seq: int) -> dict[str, Any]:
        return {"kind": "call_started", "call_id": "c1", "tool": "run", "object": "exiftool *.jpg"} if seq == 2 else {}

    def row_of(self, session: str, seq: int) -> int | None:
        return seq * 10


LINES: list[dict[str, Any]] = [
    {"kind": "call_allowed", "call_id": "c1", "cause": "your rule", "rule": "r1"},
    {"kind": "consent_asked", "request": {"id": "a", "tool": "run", "object": "make deploy"}},
    {
        "kind": "decision_made", "intent": "Which law?", "choice": "The Act", "reason": "It is stronger.",
        "options": [{"label": "The Act", "pros": ["clear"], "confidence": 80}, {"label": "The clause"}],
    },
    {"kind": "problem_reported", "severity": "high", "what": "No pandoc", "cause": "not there", "fix": "install it"},
    {"kind": "limit_met", "limit": "rounds", "used": 48, "allowed": 60},
]  # fmt: skip


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> DecisionsPanel:
    made = DecisionsPanel(look, Entries())
    qtbot.addWidget(made)
    made.resize(800, 500)
    with qtbot.waitExposed(made):
        made.show()
    past = Past()
    past.hear({"seq": seq, "run": 1, "at": 0} | line for seq, line in enumerate(LINES, 1))
    made.show_past("s", past, reading=False)
    return made


def said(panel: DecisionsPanel) -> list[str]:
    model = find(panel, QListView, "decisions.list").model()
    return [model.index(place, 0).data() for place in range(model.rowCount())]


@pytest.mark.colours
def test_every_choice_stands_with_its_cause(panel: DecisionsPanel) -> None:
    assert said(panel) == [
        "Allowed: run exiftool *.jpg, by your rule",
        "Consent: run make deploy, waits for you",
        "Decision: Which law?, The Act · by the agent · It is stronger.",
        "Problem: No pandoc, high · by the agent · not there · install it",
        "Limit: 48 of 60 rounds, ",
    ]
    panel.grab()


def test_the_list_is_narrowed(panel: DecisionsPanel) -> None:
    click(find(panel, QPushButton, "decisions.filter.consents"))
    assert len(said(panel)) == 2
    click(find(panel, QPushButton, "decisions.filter.answers"))
    assert said(panel) == [] and find(panel, QLabel, "decisions.empty").isVisible()
    click(find(panel, QPushButton, "decisions.filter.all"))
    assert len(said(panel)) == 5


def test_a_choice_is_looked_into_and_shown_in_the_run(panel: DecisionsPanel, qtbot: QtBot) -> None:
    listed = find(panel, QListView, "decisions.list")
    listed.setCurrentIndex(listed.model().index(2, 0))
    assert find(panel, QLabel, "decisions.options").text() == "● The Act — + clear · 80 % sure\n○ The clause"
    assert not find(panel, QPushButton, "decisions.revoke").isVisible()
    with qtbot.waitSignal(panel.row_wanted) as told:
        click(find(panel, QPushButton, "decisions.show"))
    assert told.args == [30]


def test_a_rule_is_revoked(panel: DecisionsPanel, qtbot: QtBot, look: Look) -> None:
    listed = find(panel, QListView, "decisions.list")
    listed.setCurrentIndex(listed.model().index(0, 0))
    revoke = find(panel, QPushButton, "decisions.revoke")
    with qtbot.waitSignal(panel.revoke_wanted) as told:
        click(revoke)
    assert told.args == ["r1"]
    panel.tell_revoked("r1")
    assert revoke.text() == "Revoked" and not revoke.isEnabled()
    panel.restyle(look)


def test_the_model_grows_soundly(qtbot: QtBot) -> None:
    model = ChoiceRows(lambda choice: "")
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    past = Past()
    for seq, line in enumerate(LINES * 3, 1):
        past.hear([{"seq": seq, "run": 1, "at": 0} | line])
        model.show(list(past.choices))
        assert model.rowCount() == len(past.choices)
