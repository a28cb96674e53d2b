"""Consent in a real window: remembered with keys, for good without one, refused with a reason."""

import json
from pathlib import Path
from typing import Any

from app.sample_home import make
from core.store.reader import Reader
from tests.e2e.screen import Screen, opened, until


def waiting(home: Path) -> list[str]:
    """The commands that wait."""
    reader = Reader(home / "journeyman.db")
    try:
        return [one.request.object for one in reader.consents() if one.request.tool == "run"]
    finally:
        reader.close()


def given(home: Path) -> list[dict[str, Any]]:
    """The words that were said, in order."""
    reader = Reader(home / "journeyman.db")
    try:
        lines = (line for row in reader.sessions() for line in reader.raw(row.id))
        return [{"allowed": False} | json.loads(payload) for *_, kind, payload in lines if kind == "consent_given"]
    finally:
        reader.close()


def test_consents_are_decided_with_keys(display: Screen, tmp_path: Path) -> None:
    home = tmp_path / "sample"
    make(home)
    first, for_good = waiting(home)
    with opened(display, home) as program:
        until(lambda: display.titles() == ["(5) Journeyman"], "all that waits")
        display.keys("ctrl+j")  # from the session that was shown first to the one that wants consent
        until(lambda: _pressed(display, home, "2", "a") == [for_good], "the first is allowed, after its moment")
        assert first not in waiting(home)
        display.keys("a", "Return", "space")
        display.keys("d", "n", "o", "Return")
        until(lambda: waiting(home) == [], "the second is refused")
        yes, no = given(home)
        assert yes["allowed"] and yes["scope"] == "run" and yes["pattern"] == "pip install *\npytest *"
        assert not no["allowed"] and no["reason"]["head"] == "no"
        program.kill()


def _pressed(display: Screen, home: Path, *keys: str) -> list[str]:
    display.keys(*keys)
    return waiting(home)
