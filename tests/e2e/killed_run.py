"""Kills the real program during a run and checks that the run can be resumed without loss."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.process import data_folder
from app.process.output import event_json
from app.process.services import build_services
from core.domain.events import ToolReturned
from tests.e2e.forked_process import ROOT, run_forked

ROUNDS = 8
BOUND_S = 180


def program_command(*words: str, before: tuple[str, ...] = ()) -> list[str]:
    return [*before, sys.executable, "-P", "-m", "app", *words]


def program_environment(home: Path) -> dict[str, str]:
    """Return an environment in which our packages are importable from any folder."""
    return os.environ | {"JOURNEYMAN_HOME": str(home), "PYTHONPATH": str(ROOT)}


@dataclass
class KillableRun:
    """A data folder, a work folder whose file `effects` records every command, and the printed events."""

    home: Path
    folder: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path) -> "KillableRun":
        place = cls(folder / "home", folder / "work")
        place.folder.mkdir(parents=True)
        replies: list[dict[str, Any]] = []
        for number in range(ROUNDS):
            call = {"name": "run", "arguments": {"command": f"echo {number} >> effects; sleep 0.01"}}
            write = {"name": "write", "arguments": {"path": f"{number}.txt", "content": "x" * 6000}}
            replies.append({"text": f"Turn {number}.", "calls": [call, write][: 1 + number % 2]})
        (folder / "script.json").write_text(json.dumps({"replies": replies}))
        return place

    def start(self, before: tuple[str, ...] = ()) -> "subprocess.Popen[bytes]":
        script = str(self.home.parent / "script.json")
        words = program_command(
            "run", "Go.", "-C", str(self.folder), "--script", script, "--mode", "auto", "--json", before=before
        )
        return self._start(words)

    def run_to_end(self, *words: str) -> int:
        """Run a command to its end; return the exit code."""
        done = run_forked(words, self.folder, program_environment(self.home), BOUND_S)
        self.record_output(done.stdout.encode())
        return done.returncode

    def record_output(self, out: bytes) -> None:
        """Remember the complete lines of the output as acknowledged events."""
        whole, _, _ = out.rpartition(b"\n")
        self.lines += [json.loads(line) for line in whole.splitlines()]

    def sessions(self) -> list[dict[str, Any]]:
        """Return all sessions, with those of sub-agents, as they are after a start of the program."""

        async def read() -> list[dict[str, Any]]:
            services = await build_services(self.home, _raise)
            try:
                return [row._asdict() for row in services.engine.sessions()]
            finally:
                await services.close()

        return asyncio.run(read())

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the session as they are after a start of the program."""
        return asyncio.run(_entries(self.home))

    def effects(self) -> Counter[str]:
        file = self.folder / "effects"
        return Counter(file.read_text().split() if file.exists() else ())

    def _start(self, words: list[str]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=program_environment(self.home),
            start_new_session=True,
        )


def kill_after_lines(place: KillableRun, count: int) -> None:
    """Kill the run once it has printed `count` events."""
    process = place.start()
    assert process.stdout is not None
    read = [process.stdout.readline() for _ in range(count)]
    process.send_signal(signal.SIGKILL)
    with process.stdout:  # `communicate` would skip what is already buffered
        out = process.stdout.read()
    process.wait(BOUND_S)
    place.record_output(b"".join(read) + out)


def kill_at_write(place: KillableRun, number: int) -> bool:
    """Kill the run at its `number`-th write to a file; return False if it ended before."""
    strace = ("strace", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", "trace=pwrite64")
    process = place.start((*strace, "-e", f"inject=pwrite64:signal=SIGKILL:when={number}"))
    out, _ = process.communicate(timeout=BOUND_S)
    place.record_output(out)
    return process.returncode != 0


def check_recovery(place: KillableRun) -> str:
    """Check that nothing acknowledged was lost, nothing ran twice, and the run can be resumed; return how."""
    kept = asyncio.run(_entries(place.home))
    _agree(place, kept)
    effects = place.effects()
    if not kept:
        assert not effects
        return "nothing"
    session = kept[0]["session"]
    code = place.run_to_end("resume", session, "--json")
    assert code in {0, 1, 3}, code
    how = {0: "resumed", 1: "already done", 3: "asked"}[code]
    if code == 3:
        assert place.effects() == effects, "resume ran a call without a decision"
        assert place.run_to_end("resume", session, "--skip", "--json") == 0
    kept = asyncio.run(_entries(place.home))
    _agree(place, kept)
    assert kept[-1]["kind"] == "run_ended" and kept[-1]["status"] == "completed", kept[-1]
    twice = [name for name, count in place.effects().items() if count > 1]
    assert not twice, f"ran twice: {twice}"
    assert len(place.effects()) >= ROUNDS - (code == 3), place.effects()
    return how


async def _entries(home: Path) -> list[dict[str, Any]]:
    """Return the events in the data file, read as the next command would."""
    if not data_folder.database_path(home).exists():
        return []
    services = await build_services(home, _raise)
    try:
        engine = services.engine
        rows = [
            row for row in engine.sessions() if not row.parent
        ]  # without child sessions, such as a review of the run
        assert len(rows) <= 1
        found = [entry for row in rows async for entry in engine.events(row.id)]
        assert all(
            isinstance(engine.full_text(e.event.output), str) for e in found if isinstance(e.event, ToolReturned)
        )
        return [json.loads(json.dumps(event_json(entry, engine.read_blob))) for entry in found]
    finally:
        await services.close()


def _raise(error: BaseException) -> None:
    raise error


def _agree(place: KillableRun, kept: list[dict[str, Any]]) -> None:
    assert [entry["seq"] for entry in kept] == list(range(1, len(kept) + 1))
    by_seq = {entry["seq"]: entry for entry in kept}
    for line in place.lines:
        assert by_seq.get(line["seq"]) == line, f"lost or changed: {line}"
    if kept:
        with sqlite3.connect(data_folder.database_path(place.home)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("PRAGMA foreign_key_check").fetchone() is None
        db.close()
