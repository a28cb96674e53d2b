"""The Overview page in a real window: ten sessions are found, answered and cleared, by mouse and by keyboard."""

import sys
import time
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.accessibility import AccessibilityBus, AccessibilityTree
from tests.e2e.screen import Program, Screen, running_program, wait_until
from tests.e2e.simulated_user import SimulatedUser
from tests.e2e.terminal import Terminal

QUESTION = {"question": "Which tone?", "why": "It decides.", "options": [{"label": "Firm"}, {"label": "Kind"}]}
ASKS = {"text": "I ask.", "calls": [{"name": "ask_user", "arguments": QUESTION}]}
WRITES = {"text": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.md", "content": "One line.\n"}}]}
DONE = {"text": "All done."}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "Write": [WRITES, DONE],
    "Ask": [ASKS, DONE],
    "Fail": [{"fault": "rate_limited", "retry_after_s": 3600}],
    "Work": [{"fault": "silence", "seconds": 600}],
}
TASKS = [
    "Write 1",
    "Write 2",
    "Ask 1",
    "Ask 2",
    *(f"{kind} {number}" for kind in ("Fail", "Work") for number in (1, 2, 3)),
]


def start_ten_sessions(program: Program, terminal: Terminal) -> None:
    """Start the sessions from the command line, while the window is open."""
    for kind, replies in SCRIPTS.items():
        terminal.script(*replies, name=kind)
    for task in TASKS:
        terminal.start("run", task, "--script", task.split()[0], "--mode", "ask")
    statuses = ["failed"] * 3 + ["running"] * 3 + ["waiting"] * 4
    wait_until(lambda: sorted(program.statuses()) == statuses, "ten sessions")


class Board:
    """The Overview page as the user operates it. `actions` counts the key presses and clicks."""

    def __init__(self, user: SimulatedUser) -> None:
        self.user = user
        self.actions = 0

    def keys(self, *keys: str) -> None:
        self.actions += len(keys)
        self.user.display.keys(*keys)

    def click(self, id_: str = "", name: str = "") -> None:
        self.actions += 1
        self.user.click(id_, name)

    def wait_for_counts(self, text: str) -> None:
        self.user.wait_for("overview.counts", text)

    def wait_for_card(self) -> str:
        """Wait for the card of a request that can be answered; return the kind of the request."""

        def kind() -> str:
            if any(one.is_usable() for one in self.user.find("consent.allow")):
                return "consent"
            return "question" if self.user.find("question.option.1") else ""

        return wait_until(kind, "the card of a request")


def answer_by_keyboard(board: Board) -> None:
    board.keys("ctrl+shift+o")
    board.wait_for_counts("4 waiting for you · 3 running · 3 failed")
    board.keys("Return")
    for left in (3, 2, 1, 0):
        board.keys(*(("a",) if board.wait_for_card() == "consent" else ("1", "Return")))
        board.wait_for_counts(f"{left} waiting for you" if left else "3 running · 3 failed · 4 finished")
    board.user.wait_for_focus("page.overview")
    board.keys("End", *["x"] * 7)


def answer_by_mouse(board: Board) -> None:
    board.click("sessions.overview")
    board.wait_for_counts("4 waiting for you · 3 running · 3 failed")
    for left in (3, 2, 1, 0):
        if board.wait_for_card() == "consent":
            board.click("consent.allow")
        else:
            board.click("question.option.1")
            board.click("question.answer")
        board.wait_for_counts(f"{left} waiting for you" if left else "3 running · 3 failed · 4 finished")
    board.click(name="Clear: Fail 3")
    board.wait_for_counts("3 running · 2 failed · 4 finished")
    board.click("overview.clear")


@pytest.mark.parametrize("answer", [answer_by_keyboard, answer_by_mouse])
def test_ten_sessions_are_found_answered_and_cleared(
    display: Screen, accessibility_bus: AccessibilityBus, terminal: Terminal, answer: Any
) -> None:
    terminal.home.mkdir(mode=0o700, exist_ok=True)
    with closing(AccessibilityTree(accessibility_bus)) as tree:
        tree.subscribe_announcements()
        with running_program(display, terminal.home) as program:
            start_ten_sessions(program, terminal)
            board = Board(SimulatedUser(display, program, tree))
            begin = time.monotonic()
            answer(board)
            wait_until(lambda: board.user.find("overview.counts", "3 running") and True, "all are cleared")
            board.user.wait_until_gone("overview.clear")
            seconds = time.monotonic() - begin
            sys.stdout.write(f"{answer.__name__}: {board.actions} actions, {seconds:.1f} s\n")
            assert sorted(program.statuses()) == ["done"] * 4 + ["failed"] * 3 + ["running"] * 3
            assert not board.user.find(name="Clear: ")
            heard = [tree.next_announcement()]
            while not heard[-1].startswith("Cleared "):
                heard.append(tree.next_announcement())
            assert any(text.startswith("4 waiting for you · 3 running · 3 failed. ") for text in heard)
            twice = [text for text in heard if text.startswith(("Permission request: ", "Question: "))]
            assert twice == [], "a screen reader reads the row, or the card with the focus"
