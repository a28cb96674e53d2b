"""A kill at each write during an export, an import, a skill update or a review: the result is complete or absent."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.forked_process import run_forked
from tests.e2e.killed_run import BOUND_S, program_command, program_environment
from tests.faults.conftest import REASON
from tests.faults.tally import CountFaults

STRIDE = 1 if os.environ.get("EVERY_FAULT") else 96
SKILL = "---\nname: tidy\ndescription: Tidies up.\n---\n" + "Sweep the floor.\n" * 400

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason=REASON)


def do(home: Path, *words: str, fault: str = "", before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    """Run a command until it ends or is killed by the injected fault."""
    if fault:
        only = ("--seccomp-bpf", "-e", f"trace={fault.partition(':')[0]}")  # trace no other calls
        before = ("strace", "-f", "-qq", "-o", os.devnull, *only, "-e", f"inject={fault}")
    if not before:
        return run_forked(words, Path.cwd(), program_environment(home), BOUND_S)
    return subprocess.run(
        program_command(*words, before=before),
        env=program_environment(home),
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )


def lines(home: Path, *words: str) -> list[dict[str, Any]]:
    done = do(home, *words, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed_everywhere(
    work: Callable[[str], int],
    look: Callable[[], None],
    tried: CountFaults,
    calls: tuple[str, ...] = ("pwrite64", "write", "rename", "fdatasync"),
) -> None:
    """Run `work` with a kill at every STRIDE-th write and every rename until it survives; call `look` after each."""
    for call in calls:
        points = 0
        for number in range(1, 2_000, 1 if call == "rename" else STRIDE):
            if work(f"{call}:signal=SIGKILL:when={number}") == 0:
                break
            look()
            points += 1
        tried(points)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A data folder with a session that wrote files."""
    home = tmp_path / "made"
    assert do(home, "demo", "--answer", "Kind").returncode == 0
    return home


def test_c15_a_kill_while_exporting_leaves_no_file_or_a_whole_one(
    made: Path, tmp_path: Path, tried: CountFaults
) -> None:
    (session,) = (row["id"] for row in lines(made, "sessions"))
    target, first = tmp_path / "out" / "a.json", tmp_path / "first.json"
    target.parent.mkdir()
    assert do(made, "export", session, "--as", "json", "-o", str(first)).returncode == 0
    _, _, whole = first.read_bytes().partition(b"\n")  # the first line contains the time

    def look() -> None:
        assert not target.exists() or target.read_bytes().partition(b"\n")[2] == whole
        target.unlink(missing_ok=True)

    def work(fault: str) -> int:
        return do(made, "export", session, "--as", "json", "-o", str(target), fault=fault).returncode

    killed_everywhere(work, look, tried)


def test_c14_a_kill_while_importing_leaves_nothing_or_all_of_it(made: Path, tmp_path: Path, tried: CountFaults) -> None:
    (session,) = (row["id"] for row in lines(made, "sessions"))
    file = tmp_path / "a.journeyman.json"
    assert do(made, "export", session, "--as", "json", "-o", str(file)).returncode == 0
    steps = len(lines(made, "show", session))
    empty, home = tmp_path / "empty", tmp_path / "home"
    assert lines(empty, "sessions") == []

    def look() -> None:
        for row in lines(home, "sessions"):
            assert len(lines(home, "show", row["id"])) >= steps

    def work(fault: str) -> int:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(empty, home)
        return do(home, "import", str(file), fault=fault).returncode

    killed_everywhere(work, look, tried)


def test_c11_a_kill_while_saving_a_skill_leaves_the_old_or_the_new(tmp_path: Path, tried: CountFaults) -> None:
    skill, empty, home = tmp_path / "tidy", tmp_path / "empty", tmp_path / "home"
    skill.mkdir()
    (skill / "SKILL.md").write_text(SKILL)
    assert do(empty, "skills", "add", str(skill)).returncode == 0
    newer = SKILL.replace("floor", "stairs")
    (skill / "SKILL.md").write_text(newer)
    seen = set()

    def look() -> None:
        done = do(home, "skills", "show", "tidy")
        assert done.returncode == 0 and "Traceback" not in done.stderr
        floors, stairs = done.stdout.count("the floor."), done.stdout.count("the stairs.")
        assert {floors, stairs} == {0, 400}, "a mixture of both versions"
        seen.add(stairs)

    def work(fault: str) -> int:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(empty, home)
        return do(home, "skills", "add", "--replace", str(skill), fault=fault).returncode

    killed_everywhere(work, look, tried)
    look()
    assert 400 in seen, "the new version was never saved"


def test_c10_a_kill_during_a_review_leaves_no_half_proposal(tmp_path: Path, tried: CountFaults) -> None:
    """Its proposals are complete or absent, and the reviewed run is unchanged."""
    calls = [
        {"name": "remember", "arguments": {"kind": "preference", "text": text, "scope": "everywhere"}}
        for text in ("They like letters in blue ink.", "Meetings never begin before ten.")
    ]
    work = {"calls": [{"name": "find", "arguments": {"pattern": "*"}}]}
    script = tmp_path / "script.json"
    review = [{"calls": calls}, {"text": "two"}]
    script.write_text(json.dumps({"replies": [work, {"text": "done"}], "roles": {"review": review}}))
    home, points = tmp_path / "home", iter(range(10_000))

    def run(fault: str) -> int:
        nonlocal home
        home = tmp_path / f"home{next(points)}"
        home.mkdir()
        (home / "settings.json").write_text(json.dumps({"version": 2, "review_after_calls": 1}))
        words = ("run", "Go.", "-C", str(folder), "--script", str(script), "--mode", "auto")
        return do(home, *words, fault=fault).returncode

    def shown(rows: list[dict[str, Any]]) -> set[tuple[str, ...]]:
        return {(one["action"], one["text"], one["reason"]) for one in rows}

    def look() -> None:
        rows = lines(home, "proposals", "list")
        assert shown(rows) <= whole and len(rows) <= len(whole)
        assert all(do(home, "proposals", "keep", one["id"]).returncode == 0 for one in rows[:1])
        shutil.rmtree(home)

    folder = tmp_path / "work"
    folder.mkdir()
    assert run("") == 0
    whole = shown(lines(home, "proposals", "list"))
    assert len(whole) == 2
    killed_everywhere(run, look, tried, ("pwrite64",))
