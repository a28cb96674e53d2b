"""A data folder used by many programs that are killed, stopped and resumed, and the invariants that must hold."""

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from app.process import data_folder
from app.process.output import event_json
from app.process.services import build_services
from core.store.rebuild import rebuild
from tests.core.store.made import dump
from tests.e2e.killed_run import program_command
from tests.e2e.screen import leftover_processes, wait_until
from tests.soak.script_generator import CANARY, ScriptGenerator

BOUND_S = 600  # longer means a hang; on a busy machine a start may take minutes
MARK = re.compile(r"mark-\d+")
OPEN = {"interrupted", "paused", "waiting"}
ENDINGS = ("end", "kill", "kill", "kill", "term", "int", "stop")


class InvariantViolated(Exception):
    """An invariant was violated; the message names it and what was observed."""


class SoakedFolder:
    """A data folder and a work folder; every printed event line is remembered, because it must be durable."""

    def __init__(self, folder: Path, chance: random.Random, scripts: ScriptGenerator) -> None:
        self.home, self.folder = folder / "home", folder / "work"
        self.folder.mkdir(parents=True)
        self._script = folder / "script.json"
        self._chance, self._scripts = chance, scripts
        self._told: dict[tuple[str, int], str] = {}
        self._again: Counter[str] = Counter()  # marks of calls that were retried, which may appear once more
        self.counts: Counter[str] = Counter()

    def run_once(self) -> None:
        """Start or resume a run, end it in a random way, and check every invariant."""
        waiting = [row for row, _ in asyncio.run(self._look()) if row["status"] in OPEN]
        if waiting and self._chance.random() < 0.5:
            self._take_up(self._chance.choice(waiting))
        else:
            self._script.write_text(self._scripts.make_script())
            words = ["run", "Go on.", "-C", str(self.folder), "--script", str(self._script), "--mode", "auto"]
            self._meet(words)
        self.check()

    def _take_up(self, row: dict[str, Any]) -> None:
        session = row["id"]
        for question in self._lines("pending"):
            if question["session"] == session:
                consent = question["kind"] == "consent"
                self._ask(*(("approve", question["id"]) if consent else ("answer", question["id"], "A")))
        settle = self._chance.choice(("--retry", "--skip", "--abort", ""))
        if settle == "--retry":
            self._again.update(self._open_marks(session))
        self._meet(["resume", session, *([settle] if settle else [])])

    def _open_marks(self, session: str) -> list[str]:
        """Return the marks of calls that started but have no result."""
        entries = next(entries for row, entries in asyncio.run(self._look()) if row["id"] == session)
        back = {entry.get("call_id") for entry in entries if entry["kind"] in {"tool_returned", "call_refused"}}
        open_ = [e for e in entries if e["kind"] == "call_started" and e["call_id"] not in back]
        return [mark for entry in open_ for mark in MARK.findall(entry.get("object", ""))]

    def _meet(self, words: list[str]) -> None:
        """Run a command and end it in a random way. Its output goes to a file, so that a full pipe cannot block it."""
        fate = self._chance.choice(ENDINGS)
        self.counts[fate] += 1
        out, err = self.folder.parent / "out", self.folder.parent / "err"
        with out.open("wb") as printed, err.open("wb") as said:
            process = subprocess.Popen(
                program_command(*words, "--json"),
                env=self._environment(),
                stdout=printed,
                stderr=said,
                start_new_session=True,
            )
        if fate != "end":
            goal = self._chance.randint(1, 40)
            wait_until(lambda: _lines_of(out) >= goal or process.poll() is not None, "lines, or the end", BOUND_S)
            if fate != "stop":
                process.send_signal({"kill": signal.SIGKILL, "int": signal.SIGINT}.get(fate, signal.SIGTERM))
            elif line := out.read_bytes().partition(b"\n")[0]:
                self._ask("stop", json.loads(line)["session"])
        code = process.wait(BOUND_S)
        self._hear(out.read_bytes())
        complaint = err.read_text()
        told = code != 1 or fate != "end" or "error:" in complaint or complaint == ""
        _hold("O11", "Traceback" not in complaint and told, complaint)

    def _nothing_left(self) -> bool:
        """Return whether no process is left; commands that had not begun are cleaned up by the next start."""
        if left := self._left():
            asyncio.run(self._look())
        return not left

    def _left(self) -> list[str]:
        return [words for words in leftover_processes(self.folder) if "tests.soak" not in words]

    def _hear(self, out: bytes) -> None:
        """Remember the complete lines of the output as acknowledged events."""
        whole, _, _ = out.rpartition(b"\n")
        for line in whole.splitlines():
            plain = json.loads(line)
            self._told[plain["session"], plain["seq"]] = line.decode()
        self.counts["events"] += len(whole.splitlines())

    def _ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            program_command(*words),
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        _hold("O11", "Traceback" not in done.stderr, done.stderr)
        return done

    def _lines(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._ask(*words, "--json").stdout.splitlines()]

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "JOURNEYMAN_HOME": str(self.home),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "SOME_API_KEY": CANARY,
        }

    # Invariants

    def check(self) -> None:
        kept: dict[tuple[str, int], dict[str, Any]] = {}
        allowed: Counter[str] = Counter()
        for row, entries in asyncio.run(self._look()):
            _hold("O2", [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1)), row)
            _hold("O9", row["status"] != "running", row)
            kept |= {(entry["session"], entry["seq"]): entry for entry in entries}
            for entry in entries:
                if entry["kind"] == "call_started":
                    allowed.update(MARK.findall(entry.get("object", "")))
        wait_until(self._nothing_left, "O9: no process is left")
        for place, line in self._told.items():
            _hold("O3", kept.get(place) == json.loads(line), line)
        self._check_effects(allowed)
        self._check_file()

    async def _look(self) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Return every session with its events, as the next program would find them."""
        services = await build_services(self.home, _raise)
        try:
            engine = services.engine
            return [
                (
                    row._asdict(),
                    [json.loads(json.dumps(event_json(e, engine.read_blob))) async for e in engine.events(row.id)],
                )
                for row in engine.sessions()
            ]
        finally:
            await services.close()

    def _check_effects(self, allowed: Counter[str]) -> None:
        file = self.folder / "effects"
        effects = Counter(file.read_text().split() if file.exists() else ())
        for mark, count in effects.items():
            _hold("O4", count <= 1 + self._again[mark], f"{mark} was made {count} times")
            _hold("O5", mark in allowed, f"{mark} was made without a recorded call")
        self.counts["effects"] = sum(effects.values())

    def _check_file(self) -> None:
        path = data_folder.database_path(self.home)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            _hold("O1", db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "integrity_check")
            _hold("O1", db.execute("PRAGMA foreign_key_check").fetchone() is None, "foreign_key_check")
            before = dump(path)
            db.execute("BEGIN")
            rebuild(db)
            db.execute("COMMIT")
        _hold("O6", dump(path) == before, "the derived tables differ from the event log")
        for file in self.home.rglob("*"):
            if file.is_file() and not file.is_symlink():
                _hold("O7", CANARY.encode() not in file.read_bytes(), file)


def _lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def _raise(error: BaseException) -> None:
    raise error


def _hold(oracle: str, holds: bool, seen: object) -> None:
    if not holds:
        raise InvariantViolated(f"{oracle}: {seen}")
