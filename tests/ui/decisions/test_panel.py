"""The Decisions tab: the list with causes, filters, details, and revoking rules."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QLabel, QListView, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.steps import Step
from core.timeline.decision_outcome import decision_outcome
from core.timeline.session_activity import SessionActivity
from tests.ui.hands import click, find, press
from ui.decisions.decision_rows import DecisionRows, outcome_line, outcome_text
from ui.decisions.panel import DecisionsPanel
from ui.style.theme import Look


class MemoryEvents:
    def event(self, session: str, seq: int) -> dict[str, Any]:
        return {"kind": "call_started", "call_id": "c1", "tool": "run", "object": "exiftool *.jpg"} if seq == 2 else {}

    def row_of(self, session: str, seq: int) -> int | None:
        return seq * 10

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        """Return what followed the decision, which has row 30: a failed command, a change, and the end of the run."""
        assert first == 31
        return [
            Step(31, "command", "failed", 0, number=4, ended_at=SECOND, run=1),
            Step(32, "write", "done", 0, number=5, ended_at=SECOND, run=1, cost=0.25,
                 metrics={"files": 1, "added": 3, "removed": 1}),
            Step(33, "end", "done", 0, run=1),
        ]  # fmt: skip


LINES: list[dict[str, Any]] = [
    {"kind": "call_allowed", "call_id": "c1", "reason": "your rule", "rule_id": "r1"},
    {"kind": "permission_requested", "request": {"id": "a", "tool": "run", "object": "make deploy"}},
    {
        "kind": "decision_made", "intent": "Which law?", "choice": "The Act", "reason": "It is stronger.",
        "options": [{"label": "The Act", "pros": ["clear"], "confidence": 80}, {"label": "The clause"}],
    },
    {
        "kind": "issue_reported", "severity": "high", "description": "No pandoc", "cause": "not there",
        "fix": "install it",
    },
    {"kind": "limit_threshold_reached", "limit": "turns", "used": 48, "allowed": 60},
]  # fmt: skip


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> DecisionsPanel:
    made = DecisionsPanel(look, MemoryEvents())
    qtbot.addWidget(made)
    made.resize(800, 500)
    with qtbot.waitExposed(made):
        made.show()
    past = SessionActivity()
    past.apply({"seq": seq, "run": 1, "at": 0} | line for seq, line in enumerate(LINES, 1))
    made.show_past("s", past, loading=False)
    return made


def row_texts(panel: DecisionsPanel) -> list[str]:
    model = find(panel, QListView, "decisions.list").model()
    return [model.index(place, 0).data() for place in range(model.rowCount())]


@pytest.mark.colors
def test_every_decision_is_shown_with_its_cause(panel: DecisionsPanel) -> None:
    assert row_texts(panel) == [
        "Allowed: run exiftool *.jpg, by your rule",
        "Permission request: run make deploy, waiting for you",
        "Decision: Which law?, The Act · by the agent · It is stronger.",
        "Issue: No pandoc, high · by the agent · not there · install it",
        "Limit: 48 of 60 turns, ",
    ]
    panel.grab()


def test_the_focused_list_has_a_current_decision_once_it_is_filled(panel: DecisionsPanel, qtbot: QtBot) -> None:
    rows, past = find(panel, QListView, "decisions.list"), panel._activity
    panel.show_past("other", SessionActivity(), loading=True)
    panel.activateWindow()
    panel.setFocus()
    panel.show_past("s", past, loading=False)
    assert panel.focusWidget() is rows and rows.currentIndex().row() == 0
    press(rows, Qt.Key.Key_Down)
    assert rows.currentIndex().row() == 1


def test_the_list_is_filtered(panel: DecisionsPanel) -> None:
    click(find(panel, QPushButton, "decisions.filter.consents"))
    assert len(row_texts(panel)) == 2
    click(find(panel, QPushButton, "decisions.filter.answers"))
    assert row_texts(panel) == [] and find(panel, QLabel, "decisions.empty").isVisible()
    click(find(panel, QPushButton, "decisions.filter.all"))
    assert len(row_texts(panel)) == 5


def test_a_decision_is_shown_in_detail_and_in_the_run(panel: DecisionsPanel, qtbot: QtBot) -> None:
    listed = find(panel, QListView, "decisions.list")
    listed.setCurrentIndex(listed.model().index(2, 0))
    assert find(panel, QLabel, "decisions.options").text() == "● The Act — + clear · 80% confident\n○ The clause"
    assert not find(panel, QPushButton, "decisions.revoke").isVisible()
    with qtbot.waitSignal(panel.row_requested) as told:
        click(find(panel, QPushButton, "decisions.show"))
    assert told.args == [30]


def test_a_rule_is_revoked(panel: DecisionsPanel, qtbot: QtBot, look: Look) -> None:
    listed = find(panel, QListView, "decisions.list")
    listed.setCurrentIndex(listed.model().index(0, 0))
    revoke = find(panel, QPushButton, "decisions.revoke")
    with qtbot.waitSignal(panel.revoke_requested) as told:
        click(revoke)
    assert told.args == ["r1"]
    panel.mark_revoked("r1")
    assert revoke.text() == "Revoked" and not revoke.isEnabled()
    panel.restyle(look)


def test_the_approval_that_saved_rules_offers_to_revoke_them(panel: DecisionsPanel, qtbot: QtBot) -> None:
    activity = SessionActivity()
    request = {"id": "p1", "tool": "run", "object": "git log && git tag"}
    lines: tuple[dict[str, object], ...] = (
        {"kind": "permission_requested", "request": request},
        {
            "kind": "permission_decided",
            "request_id": "p1",
            "allowed": True,
            "scope": "always",
            "rule_ids": ["r7", "r8"],
        },
    )
    for seq, line in enumerate(lines, 1):
        activity.apply([{"seq": seq, "run": 1, "at": 0} | line])
    panel.show_past("s2", activity, loading=False)
    listed = find(panel, QListView, "decisions.list")
    listed.setCurrentIndex(listed.model().index(0, 0))
    with qtbot.waitSignal(panel.revoke_requested) as revoked:
        click(find(panel, QPushButton, "decisions.revoke"))
    assert revoked.args == ["r7 r8"]


def test_the_model_passes_the_model_tester_while_growing(qtbot: QtBot) -> None:
    model = DecisionRows(lambda choice: "")
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    past = SessionActivity()
    for seq, line in enumerate(LINES * 3, 1):
        past.apply([{"seq": seq, "run": 1, "at": 0} | line])
        model.show(list(past.decisions))
        assert model.rowCount() == len(past.decisions)


def test_the_texts_of_a_long_decision_are_wrapped_and_scrolled_by_keys(panel: DecisionsPanel, qtbot: QtBot) -> None:
    text = "a long reason with a-very-long-name-of-a-file-without-a-space " * 30
    activity = SessionActivity()
    line: dict[str, object] = {"kind": "decision_made", "intent": text, "choice": "A", "reason": text}
    options = [{"label": "A" * 180, "pros": [text]}, {"label": "B"}]
    activity.apply([{"seq": 3, "run": 1, "at": 0, "options": options, "constraints": [text]} | line])
    panel.show_past("s2", activity, loading=False)
    rows = find(panel, QListView, "decisions.list")
    rows.setCurrentIndex(rows.model().index(0, 0))
    texts = find(panel, QScrollArea, "decisions.texts")
    bar = texts.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    content = texts.widget()
    assert content is not None and content.width() <= texts.viewport().width() and rows.height() > 0
    assert find(panel, QPushButton, "decisions.show").visibleRegion().boundingRect().height() > 20
    assert texts.focusPolicy() & Qt.FocusPolicy.TabFocus
    press(texts, Qt.Key.Key_PageDown)
    assert bar.value() > 0


def test_a_decision_shows_how_it_turned_out(panel: DecisionsPanel) -> None:
    rows = find(panel, QListView, "decisions.list")
    rows.setCurrentIndex(rows.model().index(2, 0))
    said = find(panel, QLabel, "decisions.outcome")
    assert said.isVisible()
    assert said.text() == "Then 2 steps, 1 failed · 1 file change, +3 −1 · 2.0s · $0.25 · the run completed"
    rows.setCurrentIndex(rows.model().index(1, 0))
    assert not said.isVisible()


def test_the_outcome_ends_at_the_next_decision_and_an_open_run_has_none_yet() -> None:
    done = Step(1, "write", "done", 0, number=1, run=1)
    later = Step(3, "write", "done", 0, number=2, run=1)
    assert decision_outcome([done, Step(2, "decision", "done", 0, number=2, run=1), later], 1).steps == 1
    assert decision_outcome([done._replace(run=2)], 1).steps == 0
    assert outcome_text(decision_outcome([], 1)) == "Nothing has followed yet."


def test_the_choice_of_a_tier_rule_is_a_decision_and_repeated_ones_are_not() -> None:
    def sent(seq: int, model: str, tier: str, reason: str) -> dict[str, Any]:
        return {"seq": seq, "run": 1, "at": 0, "kind": "request_sent", "model": model, "tier": tier, "reason": reason,
                "tokens": {"system": 5}}  # fmt: skip

    past = SessionActivity()
    past.apply(
        [
            sent(1, "a/big", "frontier", "first step"), sent(2, "a/big", "frontier", "first step"),
            sent(3, "a/mid", "mid", "any other"), sent(4, "a/one", "", ""),
        ]
    )  # fmt: skip
    assert [(one.kind, one.chosen, one.why, one.cause) for one in past.decisions] == [
        ("tier", "a/big", "first step", "the rules for tiers (frontier)"),
        ("tier", "a/mid", "any other", "the rules for tiers (mid)"),
    ]
    assert outcome_line(past.decisions[1]) == "a/mid · by the rules for tiers (mid) · any other"
