"""Faults injected into the real program from outside: kills, too few file handles, a removed data folder, a sleep."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.process import data_folder
from app.process.services import build_services
from core.domain.events import RunEnded, RunStarted
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from tests.e2e.forked_process import run_forked
from tests.e2e.killed_run import BOUND_S, KillableRun, program_command, program_environment
from tests.e2e.screen import leftover_processes, wait_until
from tests.faults.tally import CountFaults

NAP = f"41.{os.getpid()}"
ACT = {"calls": [{"name": "run", "arguments": {"command": f"echo x >> effects; exec sleep {NAP}"}}]}
ASKS = {"calls": [{"name": "run", "arguments": {"command": "echo x >> effects"}}]}
DONE = {"text": "done"}


class Killed(KillableRun):
    """Commands on one data folder; a run can be killed at an event of a given kind."""

    def plays(self, *replies: dict[str, Any], **more: Any) -> None:
        (self.home.parent / "script.json").write_text(json.dumps({"replies": replies, **more}))

    def ask(self, *words: str) -> tuple[int, list[dict[str, Any]], str]:
        """Run a command to its end; return exit code, JSON lines and standard error."""
        done = run_forked(words, self.folder, program_environment(self.home), BOUND_S)
        assert "Traceback" not in done.stderr, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()] if "--json" in words else []
        return done.returncode, lines, done.stderr

    def kill_at(self, kind: str, *words: str) -> None:
        """Kill the command as soon as it prints an event of this kind."""
        self._kill_when(lambda: self.lines[-1]["kind"] == kind, words)

    def kill_after(self, count: int, *words: str) -> None:
        """Kill the command once it has printed `count` events, if it prints that many."""
        goal = len(self.lines) + count
        self._kill_when(lambda: len(self.lines) >= goal, words)

    def _kill_when(self, reached: Callable[[], bool], words: tuple[str, ...]) -> None:
        process = self._start(program_command(*words, "--json"))
        assert process.stdout is not None
        for line in process.stdout:
            self.record_output(line)
            if reached():
                break
        process.kill()
        process.communicate(timeout=BOUND_S)
        wait_until(lambda: not leftover_processes(self.home.parent) or None, "the commands have ended too")

    def run(self, mode: str) -> tuple[str, ...]:
        script = str(self.home.parent / "script.json")
        return ("run", "Go.", "-C", str(self.folder), "--script", script, "--mode", mode)

    def status(self) -> str:
        _, lines, _ = self.ask("sessions", "--json")
        status: str = lines[0]["status"]
        return status


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    return Killed.make(tmp_path)  # type: ignore[return-value]  # `make` builds the class it is called on


def test_c7_a_kill_while_it_asks_asks_again_with_the_same_fingerprint(killed: Killed, tried: CountFaults) -> None:
    killed.plays(ASKS, DONE)
    killed.kill_at("permission_requested", *killed.run("ask-all"))
    (asked,) = (line["request"] for line in killed.lines if line["kind"] == "permission_requested")
    for _ in range(2):
        _, (again,), _ = killed.ask("pending", "--json")
        assert (again["id"], again["fingerprint"]) == (asked["id"], asked["fingerprint"])
        killed.ask("resume", killed.lines[0]["session"], "--json")
        tried(1)
    assert not killed.effects()


@pytest.mark.parametrize("lines", range(1, 6))
def test_c8_a_kill_right_after_approval_runs_the_call_at_most_once(
    killed: Killed, lines: int, tried: CountFaults
) -> None:
    killed.plays(ASKS, DONE)
    code, printed, _ = killed.ask(*killed.run("ask-all"), "--json")
    session = printed[0]["session"]
    (name,) = (line["request"]["id"] for line in printed if line["kind"] == "permission_requested")
    assert code == 3 and killed.ask("approve", name)[0] == 0
    killed.kill_after(lines, "resume", session)
    tried(1)
    before = sum(killed.effects().values())
    if killed.status() != "done":
        code, _, _ = killed.ask("resume", session, "--json")
        if code == 3:
            assert sum(killed.effects().values()) == before, "the call ran without a decision"
            code, _, _ = killed.ask("resume", session, "--skip", "--json")
        assert code == 0 and killed.status() == "done"
    assert sum(killed.effects().values()) <= 1


def test_c9_a_kill_at_each_event_around_a_compaction_can_be_resumed(tmp_path: Path, tried: CountFaults) -> None:
    words = "I think about what I did, and about what is to be done. " * 60
    note = {"name": "todo", "arguments": {"items": []}}
    replies = [{"text": words, "calls": [note]} for _ in range(8)] + [DONE]
    whole = Killed.make(tmp_path / "whole")
    assert isinstance(whole, Killed)
    whole.plays(*replies, window=9000, roles={"summary": [{"text": "What was done."}]})
    code, lines, said = whole.ask(*whole.run("auto"), "--json")
    kinds = [line["kind"] for line in lines]
    assert code == 0 and "context_compacted" in kinds, (kinds, said)
    middle = kinds.index("context_compacted")
    for number in range(middle - 1, middle + 3):
        place = Killed.make(tmp_path / str(number))
        assert isinstance(place, Killed)
        place.plays(*replies, window=9000, roles={"summary": [{"text": "What was done."}]})
        place.kill_after(number, *place.run("auto"))
        code, more, said = place.ask("resume", place.lines[0]["session"], "--json")
        assert (code, place.status()) in {(0, "done"), (1, "done")}, (number, said)
        assert len({line["seq"] for line in place.lines + more}) == len(place.lines) + len(more)
        tried(1)


def test_c16_c17_commands_end_with_the_program_and_a_run_can_be_killed_three_times(
    killed: Killed, tried: CountFaults
) -> None:
    killed.plays(ACT, DONE)
    killed.kill_at("call_started", *killed.run("auto"))
    session = killed.lines[0]["session"]
    for number in range(1, 4):
        wait_until(lambda: not sleeping() or None, "the command has ended")
        assert killed.status() == "interrupted"
        assert not leftover_processes(killed.folder), "a process is left"
        before = killed.effects()
        assert killed.ask("resume", session, "--json")[0] == 3
        assert killed.effects() == before, "the call ran without a decision"
        tried(1)
        if number < 3:
            killed.kill_at("call_started", "resume", session, "--retry")
    assert killed.ask("resume", session, "--abort")[0] == 0 and killed.status() != "interrupted"


def sleeping() -> bool:
    """Return whether a command of the agent still runs."""
    wanted = f"sleep\0{NAP}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cmdline").read_bytes() == wanted:
                return True
    return False


def test_f16_too_few_file_handles_are_reported_and_lose_nothing(killed: Killed, tried: CountFaults) -> None:
    killed.plays(ASKS, DONE)
    ended = set()
    for most in range(4, 64, 4):
        words = program_command(*killed.run("auto"), before=("prlimit", f"--nofile={most}"))
        done = subprocess.run(
            words, env=program_environment(killed.home), capture_output=True, timeout=BOUND_S, check=False
        )
        assert done.returncode >= 0, (most, done.stderr)
        ended.add(done.returncode)
        tried(1)
    assert 0 in ended and len(ended) > 1
    before = sum(killed.effects().values())
    assert killed.ask(*killed.run("auto"), "--json")[0] == 0 and sum(killed.effects().values()) == before + 1
    assert asyncio.run(health(killed.home)) == ()


async def health(home: Path) -> tuple[object, ...]:
    services = await build_services(home, _raise)
    try:
        return services.warnings
    finally:
        await services.close()


def _raise(error: BaseException) -> None:
    raise error


def test_f17_a_removed_data_folder_is_reported_and_not_recreated(killed: Killed, tried: CountFaults) -> None:
    killed.plays(*[{"text": "On.", "calls": ASKS["calls"]}] * 400, DONE)
    process = subprocess.Popen(
        program_command(*killed.run("auto")),
        env=program_environment(killed.home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: sum(killed.effects().values()) > 2 or None, "the run has made three changes")
    away = killed.home.with_name("away")
    killed.home.rename(away)
    _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 1 and b"Traceback" not in said and b"error:" in said, said
    assert not data_folder.database_path(killed.home).exists()
    tried(1)
    away.rename(killed.home)
    assert killed.status() in {"interrupted", "failed", "paused"}


def test_k6_an_answer_to_a_stopped_run_is_no_longer_needed(killed: Killed, tried: CountFaults) -> None:
    question = {"name": "ask_user", "arguments": {"question": "Which?", "options": [{"label": "A"}]}}
    killed.plays({"calls": [question]}, DONE)
    code, lines, _ = killed.ask(*killed.run("auto"), "--json")
    (name,) = (line["question"]["id"] for line in lines if line["kind"] == "question_asked")
    assert code == 3 and killed.ask("stop", lines[0]["session"])[0] == 0
    code, _, said = killed.ask("answer", name, "--option", "1")
    assert code == 1 and "error:" in said
    tried(1)


def test_k11_a_run_survives_a_suspended_machine(killed: Killed, tried: CountFaults) -> None:
    """Suspend and resume the program; the clocks of its limits are suspended as well."""
    replies = [{"text": "word " * 20, "chunks": 10, "delay_s": 0.3, "calls": ASKS["calls"]} for _ in range(3)]
    killed.plays(*replies, DONE)
    process = killed._start(program_command(*killed.run("auto"), "--json"))
    assert process.stdout is not None
    killed.record_output(process.stdout.readline())
    for _ in range(3):
        process.send_signal(signal.SIGSTOP)
        gone = time.monotonic() + 0.5
        wait_until(lambda end=gone: time.monotonic() > end, "a nap")  # type: ignore[misc]  # bound in this iteration
        process.send_signal(signal.SIGCONT)
        killed.record_output(process.stdout.readline())
        tried(1)
    with process.stdout:
        killed.record_output(process.stdout.read())
    assert process.wait(BOUND_S) == 0 and sum(killed.effects().values()) == 3
    assert [line["seq"] for line in killed.lines] == list(range(1, len(killed.lines) + 1))


def test_k9_a_session_that_is_deleted_while_it_runs_is_stopped_first(killed: Killed, tried: CountFaults) -> None:
    killed.plays(ACT, DONE)

    async def main() -> None:
        services = await build_services(killed.home, _raise)
        engine = services.engine
        try:
            began = RunStarted(SCRIPTED, script=Text((killed.home.parent / "script.json").read_text()), mode="auto")
            session = await engine.start("Go.", killed.folder, began)
            await asyncio.to_thread(wait_until, sleeping, "its command")
            await engine.archive.trash([session])
            assert not engine.is_active(session) and not sleeping()
            last = [entry.event async for entry in engine.events(session)][-2]
            assert isinstance(last, RunEnded) and last.status == "stopped"
            await engine.archive.empty_trash([session])
            assert engine.sessions() == []
        finally:
            await services.close()

    asyncio.run(main())
    tried(1)
