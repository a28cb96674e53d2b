"""`kill -9` of the real program loses no acknowledged event and repeats no tool call."""

import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from app.process.exit_codes import DONE, WAITING
from core.store.partial_reply import FOLDER
from tests.e2e.killed_run import BOUND_S, ROUNDS, KillableRun, check_recovery, kill_after_lines, kill_at_write
from tests.e2e.terminal import wait_until

FULL = os.environ.get("JOURNEYMAN_FAULTS") == "full"
LINES = 3 + ROUNDS * 4  # minimum number of events of a complete run
STEP = 7


@pytest.mark.parametrize("number", range(50 if FULL else 6))
def test_killed_at_a_random_moment(tmp_path: Path, number: int, record_property: Callable[[str, object], None]) -> None:
    record_property("faults_tried", 1)
    chance = random.Random(number)
    place = KillableRun.make(tmp_path)
    kill_after_lines(place, chance.randrange(1, LINES))
    check_recovery(place)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills at a chosen write")
@pytest.mark.parametrize("first", range(1, 1 + STEP * 8, STEP) if FULL else (15, 190))
def test_killed_at_a_write(tmp_path: Path, first: int, record_property: Callable[[str, object], None]) -> None:
    """Kill at every 7th write; each of eight tests takes every 8th of these, so that they can run in parallel."""
    number = first
    while True:
        place = KillableRun.make(tmp_path / str(number))
        killed = kill_at_write(place, number)
        check_recovery(place)
        record_property("faults_tried", int(killed))
        number += STEP * 8
        if not killed or not FULL:
            break


def test_a_sub_agent_in_the_background_survives_a_kill_with_its_parent(tmp_path: Path) -> None:
    """Kill while a command of the sub-agent runs: it is not repeated, and both complete after `resume`."""
    place = KillableRun.make(tmp_path)
    command = {"name": "run", "arguments": {"command": "echo once >> effects; cat gate"}}
    delegate = {"name": "delegate", "arguments": {"task": "Count.", "name": "counter", "background": True}}
    script = {
        "replies": [{"calls": [delegate]}, {"text": "I wait."}, {"text": "All done."}],
        "roles": {"agent:counter": [{"calls": [command]}, {"text": "Counted."}]},
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    os.mkfifo(place.folder / "gate")
    process = place.start()
    with (place.folder / "gate").open("w"):  # opens once the command of the sub-agent reads from it
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=BOUND_S)
    sessions = place.sessions()
    parent, child = (next(row for row in sessions if bool(row["parent"]) == is_child) for is_child in (False, True))
    assert (parent["status"], child["status"]) == ("interrupted", "interrupted")
    assert place.run_to_end("resume", parent["id"], "--json") == WAITING
    assert place.run_to_end("resume", parent["id"], "--skip", "--json") == DONE
    assert {row["status"] for row in place.sessions()} == {"done"}
    assert place.effects() == {"once": 1}


def test_the_part_of_a_reply_that_had_arrived_survives_a_kill(tmp_path: Path) -> None:
    place = KillableRun.make(tmp_path)
    text = " ".join(f"word{number}" for number in range(1000))
    endless = {"text": text, "chunks": 1000, "delay_s": BOUND_S * 10}
    (tmp_path / "script.json").write_text(json.dumps({"replies": [endless], "then": "repeat_last"}))
    process = place.start()
    saved = place.home / FOLDER
    assert wait_until(lambda: any(file.stat().st_size > 20 for file in saved.glob("*")))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=BOUND_S)
    arrived = next(saved.iterdir()).read_text()
    kept = place.events()
    assert [event["kind"] for event in kept[-2:]] == ["reply_interrupted", "run_interrupted"]
    assert kept[-2]["text"] == arrived and text.startswith(arrived) and len(arrived) > 20
    assert not list(saved.iterdir())
    assert place.events() == kept, "the partial reply was stored twice"
