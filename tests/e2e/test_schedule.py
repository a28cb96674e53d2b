"""The command `schedule`: adding, listing, watching and removing."""

import json
import signal
import sqlite3
from contextlib import closing

import pytest

from tests.e2e.terminal import Terminal, read_until, wait_for_exit


def test_a_schedule_is_stored_started_and_removed(terminal: Terminal) -> None:
    terminal.script({"text": "Looked."})
    words = ("schedule", "add", "Look after it.", "--every", "1d", "--at", "23:59", "--script", "script.json")
    made = terminal(*words, "--json").lines[0]
    assert made["due"] and made["folder"] == str(terminal.folder) and "script" not in made
    listed = terminal("schedule", "list")
    assert "every day, next" in listed.out and "23:59" in listed.out and "Nothing starts now" in listed.out
    assert terminal("sessions").out == "No sessions.\n"
    with closing(sqlite3.connect(terminal.home / "journeyman.db")) as db:  # makes the schedule due three days ago
        db.execute("UPDATE schedule SET first_due = first_due - 3 * 86400000000, due = due - 3 * 86400000000")
        db.commit()
    watch = terminal.start("schedule", "watch", "--json")
    begun = json.loads(read_until(watch, made["id"])[-1])
    while not begun["last_session"]:  # the first lines list the schedules
        begun = json.loads(read_until(watch, made["id"])[-1])
    assert "watches the schedules already" in terminal("schedule", "watch").out
    assert "Nothing starts now" not in terminal("schedule", "list").out
    events = terminal("show", begun["session"], "--json").lines
    assert [line["kind"] for line in events][:4] == [
        "session_created",
        "schedule_triggered",
        "user_message",
        "run_started",
    ]
    assert events[1]["late"] and events[1]["missed_count"] >= 2
    assert wait_for_exit(watch, signal.SIGINT).code == 130
    assert terminal("schedule", "remove", made["id"]).code == 0
    assert terminal("schedule", "list").out == "No schedules.\n"
    assert terminal("schedule", "remove", made["id"]).code == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x", "--every", "2y"], "'2y' is not an interval."),
        (["x", "--at", "soon"], "'soon' is not a time."),
        (["x", "--at", "2001-01-01 10:00"], "is in the past."),
        (["x", "--every", "1h", "-C", "nowhere"], "There is no folder"),
    ],
)
def test_errors_are_reported(words: list[str], says: str, terminal: Terminal) -> None:
    done = terminal("schedule", "add", *words)
    assert done.code == 1 and says in done.err


def test_a_schedule_without_a_time_is_a_usage_error(terminal: Terminal) -> None:
    done = terminal("schedule", "add", "x")
    assert done.code == 2 and "The schedule has no time." in done.err
