"""`schedule`: kept, listed, removed, and begun by a program that only watches."""

import json
import signal
import sqlite3
from contextlib import closing

import pytest

from tests.e2e.terminal import Terminal, ended, until


def test_a_schedule_is_kept_begun_and_removed(terminal: Terminal) -> None:
    terminal.script({"text": "Looked."})
    words = ("schedule", "add", "Look after it.", "--every", "1d", "--at", "23:59", "--script", "script.json")
    made = terminal(*words, "--json").lines[0]
    assert made["due"] and made["folder"] == str(terminal.folder) and "script" not in made
    listed = terminal("schedule", "list")
    assert "every day, next" in listed.out and "23:59" in listed.out and "Neither is so now." in listed.out
    assert terminal("sessions").out == ""
    with closing(sqlite3.connect(terminal.home / "journeyman.db")) as db:  # the time has come, days ago
        db.execute("UPDATE schedule SET first = first - 3 * 86400000000, due = due - 3 * 86400000000")
        db.commit()
    watch = terminal.start("schedule", "watch", "--json")
    begun = json.loads(until(watch, made["id"])[-1])
    while not begun["session"]:  # first it says what there is
        begun = json.loads(until(watch, made["id"])[-1])
    assert "looked after already" in terminal("schedule", "watch").out
    assert "Neither is so now." not in terminal("schedule", "list").out
    events = terminal("show", begun["session"], "--json").lines
    assert [line["kind"] for line in events][:4] == ["session_opened", "scheduled", "person_spoke", "run_started"]
    assert events[1]["late"] and events[1]["missed"] >= 2
    assert ended(watch, signal.SIGINT).code == 130
    assert terminal("schedule", "remove", made["id"]).code == 0
    assert terminal("schedule", "list").out == "There are no schedules.\n"
    assert terminal("schedule", "remove", made["id"]).code == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x"], "There is no time."),
        (["x", "--every", "2y"], "'2y' is no interval."),
        (["x", "--at", "soon"], "'soon' is no time."),
        (["x", "--at", "2001-01-01 10:00"], "is over."),
        (["x", "--every", "1h", "-C", "nowhere"], "There is no folder"),
        ([" ", "--every", "1h"], "There is no task."),
    ],
)
def test_what_is_wrong_is_said(words: list[str], says: str, terminal: Terminal) -> None:
    done = terminal("schedule", "add", *words)
    assert done.code == 1 and says in done.err
