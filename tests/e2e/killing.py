"""Kill the real program in the middle of a run, and look at what is left."""

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

from app import places
from app.assemble import assemble
from app.output import plain_entry
from core.domain.events import ToolReturned
from tests.e2e.forked import ROOT, finished

ROUNDS = 8
BOUND_S = 180


def program(*words: str, before: tuple[str, ...] = ()) -> list[str]:
    return [*before, sys.executable, "-P", "-m", "app", *words]


def environment(home: Path) -> dict[str, str]:
    """Our own packages are found wherever a command is started from."""
    return os.environ | {"JOURNEYMAN_HOME": str(home), "PYTHONPATH": str(ROOT)}


@dataclass
class Place:
    """A home, a work folder whose file `effects` shows every act, and what was printed."""

    home: Path
    folder: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path) -> "Place":
        place = cls(folder / "home", folder / "work")
        place.folder.mkdir(parents=True)
        replies: list[dict[str, Any]] = []
        for number in range(ROUNDS):
            call = {"name": "run", "arguments": {"command": f"echo {number} >> effects; sleep 0.01"}}
            write = {"name": "write", "arguments": {"path": f"{number}.txt", "content": "x" * 6000}}
            replies.append({"text": f"Round {number}.", "calls": [call, write][: 1 + number % 2]})
        (folder / "script.json").write_text(json.dumps({"replies": replies}))
        return place

    def begin(self, before: tuple[str, ...] = ()) -> "subprocess.Popen[bytes]":
        script = str(self.home.parent / "script.json")
        words = program(
            "run", "Go.", "-C", str(self.folder), "--script", script, "--mode", "trust", "--json", before=before
        )
        return self._start(words)

    def finish(self, *words: str) -> int:
        """Let a command end by itself."""
        done = finished(words, self.folder, environment(self.home), BOUND_S)
        self.hear(done.stdout.encode())
        return done.returncode

    def hear(self, out: bytes) -> None:
        """Whole lines were acknowledged."""
        whole, _, _ = out.rpartition(b"\n")
        self.lines += [json.loads(line) for line in whole.splitlines()]

    def effects(self) -> Counter[str]:
        file = self.folder / "effects"
        return Counter(file.read_text().split() if file.exists() else ())

    def _start(self, words: list[str]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(self.home),
            start_new_session=True,
        )


def kill_after_lines(place: Place, count: int) -> None:
    """Kill once so many facts were printed."""
    process = place.begin()
    assert process.stdout is not None
    read = [process.stdout.readline() for _ in range(count)]
    process.send_signal(signal.SIGKILL)
    with process.stdout:  # `communicate` would pass over what is read ahead already
        out = process.stdout.read()
    process.wait(BOUND_S)
    place.hear(b"".join(read) + out)


def kill_at_write(place: Place, number: int) -> bool:
    """Kill at the number-th write to a file; False when the run ended before it."""
    strace = ("strace", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", "trace=pwrite64")
    process = place.begin((*strace, "-e", f"inject=pwrite64:signal=SIGKILL:when={number}"))
    out, _ = process.communicate(timeout=BOUND_S)
    place.hear(out)
    return process.returncode != 0


def judge(place: Place) -> str:
    """Nothing acknowledged is lost, nothing is run twice, and the run can go on. How it went on."""
    kept = asyncio.run(_entries(place.home))
    _agree(place, kept)
    effects = place.effects()
    if not kept:
        assert not effects
        return "nothing"
    session = kept[0]["session"]
    code = place.finish("resume", session, "--json")
    assert code in {0, 1, 3}, code
    how = {0: "went on", 1: "was done", 3: "asked"}[code]
    if code == 3:
        assert place.effects() == effects, "resume acted without a word"
        assert place.finish("resume", session, "--skip", "--json") == 0
    kept = asyncio.run(_entries(place.home))
    _agree(place, kept)
    assert kept[-1]["kind"] == "run_ended" and kept[-1]["status"] == "completed", kept[-1]
    twice = [name for name, count in place.effects().items() if count > 1]
    assert not twice, f"run twice: {twice}"
    assert len(place.effects()) >= ROUNDS - (code == 3), place.effects()
    return how


async def _entries(home: Path) -> list[dict[str, Any]]:
    """What the file says, read as the next command would."""
    if not places.database(home).exists():
        return []
    services = await assemble(home, _raise)
    try:
        engine = services.engine
        rows = [row for row in engine.sessions() if not row.parent]  # a review of the run may stand below it
        assert len(rows) <= 1
        found = [entry for row in rows async for entry in engine.entries(row.id)]
        assert all(isinstance(engine.whole(e.event.output), str) for e in found if isinstance(e.event, ToolReturned))
        return [json.loads(json.dumps(plain_entry(entry, engine.blob))) for entry in found]
    finally:
        await services.close()


def _raise(error: BaseException) -> None:
    raise error


def _agree(place: Place, kept: list[dict[str, Any]]) -> None:
    assert [entry["seq"] for entry in kept] == list(range(1, len(kept) + 1))
    by_seq = {entry["seq"]: entry for entry in kept}
    for line in place.lines:
        assert by_seq.get(line["seq"]) == line, f"lost or changed: {line}"
    if kept:
        with sqlite3.connect(places.database(place.home)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("PRAGMA foreign_key_check").fetchone() is None
        db.close()
