"""The commands that look back: typed as a person would, in a home of their own."""

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.main import main
from tests.core.engine.scenes import calling, played

SCRIPT = played(
    calling("write", path="a.txt", content="one\n"),
    calling("read", path="missing.txt"),
    calling("write", path="a.txt", content="two\n"),
    {"text": "Done", "usage": {"input": 7, "output": 3}},
)


class Typed:
    """Types commands; `lines` are what the last one printed."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *words: str) -> int:
        code = main(list(words))
        self.out, self.err = self._capsys.readouterr()
        return code

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def session(self) -> str:
        """The newest."""
        assert self("sessions", "--json") == 0
        return str(self.lines[0]["id"])


@pytest.fixture
def typed(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Typed]:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "script.json").write_text(SCRIPT)
    before = Path.cwd()
    os.chdir(folder)
    yield Typed(folder, capsys)
    os.chdir(before)


@pytest.fixture
def session(typed: Typed) -> str:
    assert typed("run", "Do it", "--script", "script.json", "--mode", "trust") == 0
    return typed.session()


def test_a_replay_prints_the_entries_of_the_session(typed: Typed, session: str) -> None:
    assert typed("show", session, "--json") == 0
    shown = typed.lines
    assert typed("replay", session, "--json") == 0
    assert typed.lines == shown
    assert typed("replay", session, "--speed", "1000") == 0
    assert "made again by the engine" in typed.out and len(list(typed.folder.iterdir())) == 2
    assert typed("sessions", "--json") == 0 and len(typed.lines) == 1


def test_a_replay_goes_step_by_step(typed: Typed, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\n"))
    assert typed("replay", session, "--step") == 0
    assert typed.err.count("Enter: next step") == 3  # two keys came, then none any more


@pytest.mark.parametrize("words", [("--speed", "0"), ("--speed", "nan"), ("--speed", "2", "--step")])
def test_a_pace_that_is_none_is_refused(typed: Typed, words: tuple[str, ...]) -> None:
    assert typed("replay", "x", *words) == 2


def test_what_is_not_there_is_said_in_words(typed: Typed) -> None:
    assert typed("replay", "nobody") == 1 and "no sessions yet" in typed.err
    for command in (["fork"], ["verdict", "up"], ["rewind", "--undo"], ["show", "--report"]):
        assert typed(command[0], "nobody", *command[1:]) == 1 and "There is no session" in typed.err


def test_words_that_occur_nowhere_are_told_so(typed: Typed, session: str) -> None:
    assert typed("sessions", "--search", "crocodile") == 0 and typed.out == "These words occur in no session.\n"
    assert typed("sessions", "--search", "crocodile", "--json") == 0 and typed.out == ""


def test_a_pipe_is_read_only_where_the_shell_made_it(typed: Typed) -> None:
    """Nobody may ever write to another one."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with a name")
    os.mkfifo(typed.folder / "pipe.json")
    for name in "pipe.json", ".", "/dev/null":
        assert typed("run", "Do it", "--script", name) == 1 and "no ordinary file" in typed.err
    read, write = os.pipe()
    try:
        os.write(write, SCRIPT.encode())
        os.close(write)
        assert typed("run", "Do it", "--script", f"/dev/fd/{read}", "--mode", "trust") == 0 and "Done" in typed.out
    finally:
        os.close(read)


def test_a_fork_is_gone_on_with(typed: Typed, session: str) -> None:
    assert typed("fork", session, "--at", "2", "--json") == 0
    (made,) = typed.lines
    assert made["origin"] == session and made["session"] != session
    assert typed("fork", session, "--say", "More", "--json") == 0
    assert [line["kind"] for line in typed.lines][:2] == ["person_spoke", "run_started"]
    assert typed("fork", session, "--instead", "Do that") == 0 and "forked from" in typed.out
    assert typed("fork", session, "--again", "--script", "script.json") == 0
    for step in "99", "0":
        assert typed("fork", session, "--at", step) == 1 and f"no step {step}." in typed.err
    assert typed("fork", session, "--model", "x") == 1 and "--again" in typed.err
    for step in "2", "0":
        assert typed("fork", session, "--at", step, "--again") == 1 and "two places" in typed.err
    assert typed("sessions", "--json") == 0
    assert sorted(line["origin"] for line in typed.lines) == ["", *[session] * 4]


def test_a_run_is_done_again_without_a_memory(typed: Typed, session: str) -> None:
    assert typed("memory", "add", "Letters are stamped with blue ink.", "--json") == 0
    name = typed.lines[0]["id"]
    again = ("fork", session, "--again", "--script", "script.json")
    assert typed(*again, "--without", name[:5], "--json") == 0
    (start,) = [line for line in typed.lines if line["kind"] == "run_started"]
    assert start["without"] == [name]
    assert typed(*again, "--without", name, "--without", "nothing") == 1 and "no skill 'nothing'" in typed.err
    assert typed(*again, "--without", name) == 0 and f"journeyman compare {session} " in typed.out
    assert typed("fork", session, "--without", name) == 1 and "--again" in typed.err


def test_files_go_back_and_forth(typed: Typed, session: str) -> None:
    held = typed.folder / "a.txt"
    assert typed("rewind", session, "--to", "2", "--preview") == 0 and "put back" in typed.out
    assert held.read_text() == "two\n"
    assert typed("rewind", session, "--to", "2") == 0 and held.read_text() == "one\n"
    assert typed("rewind", session, "--undo") == 0 and held.read_text() == "two\n"
    held.write_text("mine\n")
    assert typed("rewind", session, "--to", "0") == 1 and held.read_text() == "mine\n"
    assert "conflict" in typed.out and "Somebody else changed it" in typed.out
    assert typed("rewind", session, "--to", "0", "--force", "b.txt") == 1 and "none of the files" in typed.err
    assert typed("rewind", session, "--to", "0", "--force", "a.txt", "--json") == 0 and not held.exists()
    assert typed.lines[0]["action"] == "remove"
    assert typed("rewind", session) == 2


def test_a_rewind_shows_each_name_as_one_row_and_names_what_was_not_kept(typed: Typed) -> None:
    name = "a.txt\nconflict   b.txt"
    calls = calling("write", path=name, content="x"), calling("run", command="ln -s script.json link")
    (typed.folder / "odd.json").write_text(played(*calls, {"text": "Done"}))
    assert typed("run", "Do it", "--script", "odd.json", "--mode", "trust") == 0
    assert typed("rewind", typed.session(), "--to", "0", "--preview") == 0
    rows = typed.out.splitlines()
    assert rows[0].startswith("remove     a.txt⟦U+000A⟧conflict   b.txt") and not rows[1].startswith("conflict")
    assert "not kept, and are not put back" in typed.out and "  link" in rows
    assert typed("rewind", typed.session(), "--to", "0", "--preview", "--json") == 0
    assert typed.lines[-1] == {"path": "link", "action": "unkept"}


def test_a_folder_that_is_not_trusted_holds_nothing_unreadable(typed: Typed) -> None:
    (typed.folder / "AGENTS.md").write_text("Use tabs.")
    assert typed("trust", "--no") == 0 and typed.out.splitlines()[1:] == ["  AGENTS.md"]
    assert typed("trust", "--no", "--json") == 0 and typed.lines[0]["changed"] == []


def test_no_run_begins_in_a_folder_whose_name_is_no_text(typed: Typed) -> None:
    folder = typed.folder / os.fsdecode(b"n\xffx")
    folder.mkdir()
    script = str(typed.folder / "script.json")
    assert typed("run", "-C", str(folder), "Do it", "--script", script, "--mode", "trust") == 1
    assert "UTF-8" in typed.err and "Rename it" in typed.err
    assert typed("sessions", "--json") == 0 and typed.lines == []


def test_runs_are_judged_and_asked_about(typed: Typed, session: str) -> None:
    assert typed("failures", "--json") == 0 and typed.lines == []
    assert typed("failures") == 0 and typed.out == "No run went wrong.\n"
    assert typed("verdict", session, "down", "--note", "Missed one", "--tag", "late") == 0
    assert typed("failures", "--json") == 0
    (failure,) = typed.lines
    assert (failure["why"], failure["wrong"]["object"], failure["status"]) == (
        "Missed one",
        "missing.txt",
        "judged bad",
    )
    assert typed("failures") == 0 and "first wrong: read missing.txt" in typed.out
    assert typed("failures", "--limit", "0", "--json") == 0 and typed.lines == []
    assert typed("failures", "--by", "tool") == 0 and "2 of 2" in typed.out and "0 of 1" in typed.out
    assert typed("failures", "--by", "decision", "--json") == 0
    assert {line["name"]: line["bad"] for line in typed.lines} == {"model scripted": 1, "read": 1, "write": 1}
    assert typed("failures", "--repeated") == 0 and typed.out == ""
    assert typed("run", "Do it", "--script", "script.json", "--mode", "trust") == 0
    assert typed("failures", "--repeated") == 0 and "2 × in 2 runs  read" in typed.out
    assert typed("show", session, "--failures") == 0 and "missing.txt" in typed.out and "Missed one" in typed.out
    assert typed("show", session, "--failures", "--json") == 0 and typed.lines[0]["tool"] == "read"
    assert typed("show", session, "--report") == 0 and "Verdict: bad." in typed.out and "file a.txt" in typed.out
    assert typed("show", session, "--report", "--json") == 0 and typed.lines[0]["run"]["judgement"] == "bad"
    assert typed("verdict", session, "none") == 0
    assert typed("failures", "--json") == 0 and typed.lines == []


def test_two_sessions_are_compared(typed: Typed, session: str) -> None:
    (typed.folder / "script.json").write_text(played(calling("write", path="b.txt", content="x"), {"text": "Done"}))
    assert typed("run", "Do it", "--script", "script.json", "--mode", "trust") == 0
    other = typed.session()
    assert typed("compare", session, session) == 0 and "First difference" not in typed.out
    assert typed("compare", session, other) == 0 and "First difference, after 1 equal steps" in typed.out
    assert typed("compare", f"{session}/1", f"{other}/1") == 0 and "First difference, after 1 equal steps" in typed.out
    for wrong in ("2", "0", "x", "²"):
        assert typed("compare", session, f"{other}/{wrong}") == 1 and "There is no run" in typed.err
    assert typed("compare", session, other, "--json") == 0
    assert typed.lines[-1]["first_difference"] == 1 and typed.lines[-1]["delta"]["tokens"] == -10
