"""The Context tab: what fills the context window, request by request, and where it was compacted."""

from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from core.domain.event_values import InstructionFile
from core.timeline.session_activity import MAX_REQUESTS, SessionActivity
from tests.ui.hands import click, find, press
from ui.context.panel import CATEGORIES, ContextChart, ContextPanel
from ui.style.theme import Look
from ui.widgets import empty_note


def sent(seq: int, **tokens: int) -> dict[str, Any]:
    named = {name.replace("__", ":"): count for name, count in tokens.items()}
    return {
        "kind": "request_sent",
        "seq": seq,
        "run": 1,
        "at": 0,
        "turn": seq,
        "context_window": 128_000,
        "tokens": named,
    }


def filled() -> SessionActivity:
    past = SessionActivity()
    past.apply(sent(n, tools=4_000, system=2_600, results__read=n * 9_000, results__run=n * 500) for n in range(1, 9))
    past.apply(
        [
            {
                "kind": "context_compacted",
                "seq": 9,
                "run": 1,
                "at": 0,
                "tokens_before": 82_600,
                "tokens_after": 18_400,
                "reason": "80%",
            }
        ]
    )
    past.apply([sent(10, tools=4_000, system=2_600, summary=1_800, results__search=10_000)])
    return past


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> ContextPanel:
    made = ContextPanel(look)
    qtbot.addWidget(made)
    made.resize(800, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.show_past(filled(), loading=False, running=False)
    return made


@pytest.mark.colors
def test_the_last_request_is_broken_down_by_category(panel: ContextPanel, look: Look) -> None:
    assert find(panel, QLabel, "context.title").text() == "18.4k of 128k tokens"
    assert find(panel, QLabel, "context.told").text() == "14% · estimated, turn 10 · prompt and tools 6.6k"
    said = find(panel, QWidget, "context.shares").accessibleName()
    assert said.startswith("Tools 4,000 (22%), System prompt 2,600 (14%)") and "Results: files 10,000 (54%)" in said
    panel.restyle(look)
    panel.grab()


def test_the_request_under_the_pointer_is_described(panel: ContextPanel) -> None:
    chart = find(panel, ContextChart, "context.chart")
    for x in (400, 22):  # a move to the present position would not be reported
        QTest.mouseMove(chart, QPoint(x, 100))
    assert find(panel, QLabel, "context.told").text().endswith("turn 1 · prompt and tools 6.6k")


def test_the_request_under_the_pointer_is_described_again_after_an_update(panel: ContextPanel) -> None:
    chart, detail = find(panel, ContextChart, "context.chart"), find(panel, QLabel, "context.told")
    for x in (400, 22):
        QTest.mouseMove(chart, QPoint(x, 100))
    panel.show_past(filled(), loading=False, running=True)
    assert "turn 10" in detail.text()
    QTest.mouseMove(chart, QPoint(23, 100))
    assert "turn 1 ·" in detail.text()


def test_a_compact_prompt_and_the_first_token_are_shown_and_the_size_can_be_changed(
    panel: ContextPanel, qtbot: QtBot
) -> None:
    button, past = find(panel, QPushButton, "context.prompt_size"), filled()
    with qtbot.waitSignal(panel.prompt_size_chosen, check_params_cb=lambda size: size == "compact"):
        click(button)
    past.apply([{"kind": "run_started", "seq": 11, "prompt_size": "compact"}, sent(12, tools=600, system=240)])
    past.apply([{"kind": "replied", "seq": 13, "first_token_s": 4.1}])
    panel.show_past(past, loading=False, running=False)
    said = find(panel, QLabel, "context.told").text()
    assert said == "1% · estimated, turn 12 · compact prompt 840 · first token after 4.1s"
    with qtbot.waitSignal(panel.prompt_size_chosen, check_params_cb=lambda size: size == "full"):
        click(button)


def test_the_context_is_compacted_manually(panel: ContextPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.compact_requested):
        click(find(panel, QPushButton, "context.compact"))
    panel.show_past(SessionActivity(), loading=False, running=False)
    assert find(panel, QLabel, "context.empty").isVisible()


def test_a_million_requests_are_sampled_and_the_last_is_kept() -> None:
    past = SessionActivity()
    past.apply(sent(n, tools=n) for n in range(1, 20_001))
    assert len(past.requests) <= MAX_REQUESTS and past.requests[-1].seq == 20_000
    assert [each.seq for each in past.requests] == sorted(each.seq for each in past.requests)


def test_every_category_has_a_name_of_its_own() -> None:
    assert len({each.name for each in CATEGORIES}) == len({each.label for each in CATEGORIES}) == len(CATEGORIES)


def test_the_instructions_of_the_latest_run_are_listed_with_their_tokens(panel: ContextPanel) -> None:
    activity = filled()
    files = [
        {"name": "../AGENTS.md", "size": 40, "included": 40, "tokens": 1_200},
        {"name": "CLAUDE.md", "size": 9, "error": "It is not followed."},
    ]
    activity.apply([{"kind": "run_started", "seq": 11, "run": 2, "at": 0, "instruction_files": files}])
    panel.show_past(activity, loading=False, running=False)
    shown = find(panel, QLabel, "context.instructions")
    assert shown.text() == "../AGENTS.md, about 1,200 tokens\nCLAUDE.md: It is not followed." and shown.isVisible()
    panel.show_past(filled(), loading=False, running=False)
    assert shown.text().startswith("None")


def test_long_paths_of_instructions_wrap_and_do_not_widen_the_page(panel: ContextPanel, qtbot: QtBot) -> None:
    past = filled()
    past.instructions = (InstructionFile("folder-of-a-package/" * 20 + "AGENTS.md", 10, 10, tokens=3),)
    panel.show_past(past, loading=False, running=False)
    button = find(panel, QPushButton, "context.compact")
    qtbot.waitUntil(lambda: button.mapTo(panel, button.rect().topRight()).x() < panel.width())
    assert find(panel, QLabel, "context.instructions").text().replace("\u200b", "").startswith("folder-of-a-package/")


def test_a_tab_that_is_still_empty_is_read_and_so_is_what_it_shows_later(
    look: Look, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced = list[str]()
    monkeypatch.setattr(empty_note, "announce", lambda _, text: announced.append(text))
    panel = ContextPanel(look)
    qtbot.addWidget(panel)
    with qtbot.waitActive(panel):
        panel.show()
        panel.activateWindow()
    panel.show_past(SessionActivity(), loading=True, running=True)
    panel.setFocus()
    empty = find(panel, QLabel, "context.empty")
    assert panel.window().focusWidget() is empty and empty.text() == "Reading…"
    panel.show_past(SessionActivity(), loading=False, running=True)
    assert announced[-1].startswith("No requests sent yet.")
    panel.show_past(filled(), loading=False, running=True)
    assert panel.window().focusWidget() is panel.findChild(QScrollArea)


@pytest.mark.colors
def test_the_tab_is_focused_without_a_button_that_enter_would_press(
    panel: ContextPanel, qtbot: QtBot, look: Look
) -> None:
    with qtbot.waitActive(panel):
        panel.activateWindow()
    panel.setFocus()
    with qtbot.assertNotEmitted(panel.compact_requested), qtbot.assertNotEmitted(panel.prompt_size_chosen):
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            press(panel.window().focusWidget(), key)
    for name in ("context.prompt_size", "context.compact"):
        press(panel.window().focusWidget(), Qt.Key.Key_Tab)
        button = find(panel, QPushButton, name)
        assert panel.window().focusWidget() is button
        assert button.grab().toImage().pixelColor(button.width() // 2, 0) == look.theme.accent
