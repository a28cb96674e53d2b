"""Approvals in a real window by keyboard: allow with a rule for the run, deny with a reason."""

import json
from pathlib import Path
from typing import Any

from core.store.reader import Reader
from tests.e2e.screen import Screen, running_program, wait_until
from tests.screens.sample_data_folder import make


def waiting(home: Path) -> list[str]:
    """Return the commands that wait for approval."""
    reader = Reader(home / "journeyman.db")
    try:
        return [one.request.object for one in reader.permission_requests() if one.request.tool == "run"]
    finally:
        reader.close()


def decisions_of(home: Path) -> list[dict[str, Any]]:
    """Return the decisions, in order."""
    reader = Reader(home / "journeyman.db")
    try:
        lines = (line for row in reader.sessions() for line in reader.raw_events(row.id))
        return [{"allowed": False} | json.loads(payload) for *_, kind, payload in lines if kind == "permission_decided"]
    finally:
        reader.close()


def test_requests_are_decided_with_the_keyboard(display: Screen, tmp_path: Path) -> None:
    home = tmp_path / "sample"
    make(home)
    first, second = waiting(home)
    with running_program(display, home) as program:
        wait_until(lambda: display.waiting_in_title() == 6, "five requests and an interrupted session")
        display.keys("ctrl+j")  # jump from the session shown first to the one that waits for approval
        wait_until(
            lambda: _pressed(display, home, "2", "a") == [second],
            "the first is allowed, after the delay of its buttons",
        )
        assert first not in waiting(home)
        display.keys("a", "Return", "space")
        display.keys("d", "n", "o", "Return")
        wait_until(lambda: waiting(home) == [], "the second is denied")
        yes, no = decisions_of(home)
        assert yes["allowed"] and yes["scope"] == "run" and yes["patterns"] == "ruff format *\npytest *"
        assert not no["allowed"] and no["reason"]["head"] == "no"
        program.kill()


def _pressed(display: Screen, home: Path, *keys: str) -> list[str]:
    display.keys(*keys)
    return waiting(home)
