"""The commands that read, fork, rewind and rate sessions, as typed by a user in a data folder of their own."""

import asyncio
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.main import main
from core.domain.events import RunStarted
from core.domain.text import Text
from tests.core.engine.harness import call_reply, open_engine, scripted_replies

SCRIPT = scripted_replies(
    call_reply("write", path="a.txt", content="one\n"),
    call_reply("read", path="missing.txt"),
    call_reply("write", path="a.txt", content="two\n"),
    {"text": "Done", "usage": {"input": 7, "output": 3}},
)


class Typed:
    """Runs commands; `lines` are the JSON lines that the last one printed."""

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
        """Return the ID of the newest session."""
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
    assert typed("run", "Do it", "--script", "script.json", "--mode", "auto") == 0
    return typed.session()


def test_a_replay_prints_the_events_of_the_session(typed: Typed, session: str) -> None:
    assert typed("show", session, "--json") == 0
    shown = typed.lines
    assert typed("replay", session, "--json") == 0
    assert typed.lines == shown
    assert typed("replay", session, "--speed", "1000") == 0
    assert "made by the engine" in typed.out and len(list(typed.folder.iterdir())) == 2
    assert typed("sessions", "--json") == 0 and len(typed.lines) == 1


def test_a_replay_can_be_stepped(typed: Typed, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\n"))
    assert typed("replay", session, "--step") == 0
    assert typed.err.count("Press Enter for the next step") == 3  # two key presses, then the end of the input


@pytest.mark.parametrize("words", [("--speed", "0"), ("--speed", "nan"), ("--speed", "2", "--step")])
def test_an_invalid_speed_is_refused(typed: Typed, words: tuple[str, ...]) -> None:
    assert typed("replay", "x", *words) == 2


def test_missing_sessions_are_reported(typed: Typed) -> None:
    assert typed("replay", "nobody") == 1 and "no sessions yet" in typed.err
    for command in (["fork"], ["rate", "good"], ["rewind", "--undo"], ["show", "--report"]):
        assert typed(command[0], "nobody", *command[1:]) == 1 and "There is no session" in typed.err


def test_a_search_without_matches_says_so(typed: Typed, session: str) -> None:
    assert typed("sessions", "--search", "crocodile") == 0 and typed.out == "No session contains these words.\n"
    assert typed("sessions", "--search", "crocodile", "--json") == 0 and typed.out == ""


def test_a_search_has_filters(typed: Typed, session: str) -> None:
    (typed.folder / "elsewhere").mkdir()
    assert typed("run", "Another task", "--script", "script.json", "--mode", "auto", "-C", "elsewhere") == 0
    other = typed.session()

    def found(text: str) -> dict[str, list[str]]:
        assert typed("sessions", "--json", "--search", text) == 0
        return {line["id"]: [hit["kind"] for hit in line["hits"]] for line in typed.lines}

    assert set(found("missing")) == {session, other}
    assert set(found("missing folder:elsewhere")) == {other}
    assert set(found("status:done date:today model:scripted")) == {session, other}
    assert found("status:failed") == {} == found("date:2020-01") == found("missing before:2020-01-01")
    assert found("kind:read folder:elsewhere") == {other: ["call_started"]}  # without words, the last such step
    assert found("missing kind:write") == {} and set(found("missing kind:read")) == {session, other}
    assert typed("sessions", "--search", "status:failed") == 0 and typed.out == "No session matches.\n"


def test_standard_input_is_read_only_from_a_pipe_of_the_shell(typed: Typed) -> None:
    """A named pipe or a device could block forever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with a name")
    os.mkfifo(typed.folder / "pipe.json")
    for name in "pipe.json", ".", "/dev/null":
        assert typed("run", "Do it", "--script", name) == 1 and "not a regular file" in typed.err
    read, write = os.pipe()
    try:
        os.write(write, SCRIPT.encode())
        os.close(write)
        assert typed("run", "Do it", "--script", f"/dev/fd/{read}", "--mode", "auto") == 0 and "Done" in typed.out
    finally:
        os.close(read)


def test_a_fork_can_be_continued(typed: Typed, session: str) -> None:
    assert typed("fork", session, "--at", "2", "--json") == 0
    (made,) = typed.lines
    assert made["forked_from"] == session and made["session"] != session
    assert typed("fork", session, "--say", "More", "--json") == 0
    assert [line["kind"] for line in typed.lines][:2] == ["user_message", "run_started"]
    assert typed("fork", session, "--edit", "Do that") == 0 and "forked from" in typed.out
    assert typed("fork", session, "--retry", "--script", "script.json") == 0
    for step in "99", "0":
        assert typed("fork", session, "--at", step) == 1 and f"no step {step}." in typed.err
    assert typed("fork", session, "--model", "x") == 2 and "--retry" in typed.err
    for step in "2", "0":
        assert typed("fork", session, "--at", step, "--retry") == 2 and "two places" in typed.err
    assert typed("sessions", "--json") == 0
    assert sorted(line["forked_from"] for line in typed.lines) == ["", *[session] * 4]


def test_a_run_is_repeated_without_a_memory(typed: Typed, session: str) -> None:
    assert typed("memory", "add", "Letters are stamped with blue ink.", "--json") == 0
    name = typed.lines[0]["id"]
    again = ("fork", session, "--retry", "--script", "script.json")
    assert typed(*again, "--without", name[:5], "--json") == 0
    (start,) = [line for line in typed.lines if line["kind"] == "run_started"]
    assert start["excluded"] == [name]
    assert typed(*again, "--without", name, "--without", "nothing") == 1 and "memory or skill 'nothing'" in typed.err
    assert typed(*again, "--without", name) == 0 and f"journeyman compare {session} " in typed.out
    assert typed("fork", session, "--without", name) == 2 and "--retry" in typed.err


def test_files_are_reverted_and_restored(typed: Typed, session: str) -> None:
    held = typed.folder / "a.txt"
    assert typed("rewind", session, "--to", "2", "--dry-run") == 0 and "revert" in typed.out
    assert held.read_text() == "two\n"
    assert typed("rewind", session, "--to", "2") == 0 and held.read_text() == "one\n"
    assert typed("rewind", session, "--undo") == 0 and held.read_text() == "two\n"
    held.write_text("mine\n")
    assert typed("rewind", session, "--to", "0") == 1 and held.read_text() == "mine\n"
    assert "conflict" in typed.out and "changed outside this session" in typed.out
    assert typed("rewind", session, "--to", "0", "--force", "b.txt") == 1 and "is not one of the files" in typed.err
    assert typed("rewind", session, "--to", "0", "--force", "a.txt", "--json") == 0 and not held.exists()
    assert typed.lines[0]["action"] == "remove"
    assert typed("rewind", session) == 2


def test_a_rewind_lists_each_path_once_and_names_contents_not_kept(typed: Typed) -> None:
    name = "a.txt\nconflict   b.txt"
    calls = call_reply("write", path=name, content="x"), call_reply("run", command="ln -s script.json link")
    (typed.folder / "odd.json").write_text(scripted_replies(*calls, {"text": "Done"}))
    assert typed("run", "Do it", "--script", "odd.json", "--mode", "auto") == 0
    assert typed("rewind", typed.session(), "--to", "0", "--dry-run") == 0
    rows = typed.out.splitlines()
    assert rows[0].startswith("remove     a.txt⟦U+000A⟧conflict   b.txt") and not rows[1].startswith("conflict")
    assert "earlier contents are not kept" in typed.out and "  link" in rows
    assert typed("rewind", typed.session(), "--to", "0", "--dry-run", "--json") == 0
    assert typed.lines[-1] == {"path": "link", "action": "unrestorable"}


def test_untrust_lists_the_files_once(typed: Typed) -> None:
    (typed.folder / "AGENTS.md").write_text("Use tabs.")
    assert typed("untrust") == 0 and typed.out.splitlines()[1:] == ["  AGENTS.md"]
    assert typed("untrust", "--json") == 0 and typed.lines[0]["changed"] == []


def test_no_run_starts_in_a_folder_whose_name_is_not_text(typed: Typed) -> None:
    folder = typed.folder / os.fsdecode(b"n\xffx")
    folder.mkdir()
    script = str(typed.folder / "script.json")
    assert typed("run", "-C", str(folder), "Do it", "--script", script, "--mode", "auto") == 1
    assert "UTF-8" in typed.err and "Rename it" in typed.err
    assert typed("sessions", "--json") == 0 and typed.lines == []


def test_runs_are_rated_and_queried(typed: Typed, session: str) -> None:
    assert typed("sessions", "--json") == 0 and typed.lines[0]["cost"] is None and typed.lines[0]["tokens"] == 10
    assert typed("failures", "--json") == 0 and typed.lines == []
    assert typed("failures") == 0 and typed.out == "No failed runs.\n"
    assert typed("rate", session, "bad", "--note", "Missed one", "--tag", "late") == 0
    assert typed("failures", "--json") == 0
    (failure,) = typed.lines
    assert (failure["reason"], failure["root_cause"]["object"], failure["status"]) == (
        "Missed one",
        "missing.txt",
        "rated bad",
    )
    assert typed("failures") == 0 and "first failure: read missing.txt" in typed.out
    assert typed("failures", "--by", "tool") == 0 and "2 of 2" in typed.out and "0 of 1" in typed.out
    assert typed("failures", "--by", "decision", "--json") == 0
    assert {line["name"]: line["bad"] for line in typed.lines} == {"model scripted": 1, "read": 1, "write": 1}
    assert typed("failures", "--repeated") == 0 and typed.out == "No repeated errors.\n"
    assert typed("run", "Do it", "--script", "script.json", "--mode", "auto") == 0
    assert typed("failures", "--repeated") == 0 and "2 × in 2 runs  read" in typed.out
    assert typed("show", session, "--failures") == 0 and "missing.txt" in typed.out
    assert "\nrun 1 done, rated bad: Missed one\n" in typed.out
    assert typed("show", session, "--failures", "--json") == 0 and typed.lines[0]["tool"] == "read"
    assert typed("show", session, "--report") == 0 and "Rating: bad." in typed.out and "file a.txt" in typed.out
    assert typed("show", session, "--report", "--json") == 0 and typed.lines[0]["run"]["effective_rating"] == "bad"
    assert typed("rate", session, "none") == 0
    assert typed("failures", "--json") == 0 and typed.lines == []


def test_a_limit_of_0_lists_all_failures(typed: Typed, session: str) -> None:
    assert typed("rate", session, "bad") == 0
    assert typed("run", "Do it", "--script", "script.json", "--mode", "auto") == 0
    assert typed("rate", typed.session(), "bad") == 0
    for limit, count in (("1", 1), ("0", 2)):
        assert typed("failures", "--limit", limit, "--json") == 0 and len(typed.lines) == count
    for limit, count in (("1", 1), ("0", 2)):
        assert typed("failures", "--by", "tool", "--limit", limit, "--json") == 0 and len(typed.lines) == count
    assert typed("failures", "--limit", "0") == 0 and "No failed runs" not in typed.out
    assert typed("failures", "--repeated", "--limit", "0") == 0 and "2 × in 2 runs  read" in typed.out


def test_rating_again_keeps_the_note_and_tags_that_are_not_given(typed: Typed, session: str) -> None:
    def rated(*words: str) -> tuple[str, list[str]]:
        assert typed("rate", session, *words) == 0
        assert typed("show", session, "--json") == 0
        last = [line for line in typed.lines if line["kind"] == "run_rated"][-1]
        return last["note"], last["tags"]

    assert rated("good", "--note", "Größe 1,5 statt 1.5", "--tag", "late") == ("Größe 1,5 statt 1.5", ["late"])
    assert rated("bad") == ("Größe 1,5 statt 1.5", ["late"])
    assert rated("bad", "--tag", "wrong") == ("Größe 1,5 statt 1.5", ["wrong"])
    assert rated("good", "--note", "") == ("", ["wrong"])
    assert rated("none") == ("", [])
    assert rated("good") == ("", [])


def test_an_empty_task_is_a_usage_error(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    for task in ("", " \n"):
        assert typed("run", task, "--script", "script.json") == 2
        assert "expected a text that is not empty" in typed.err and "usage: " in typed.err
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(task.encode())))
        assert typed("run", "-", "--script", "script.json") == 2 and "The task is empty." in typed.err
    assert typed("schedule", "add", "", "--every", "1h") == 2
    assert typed("sessions", "--json") == 0 and typed.lines == []


def test_V1_the_times_of_a_report_are_in_utc(typed: Typed, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert typed("show", session, "--json") == 0
    first, last = [line["at"] for line in typed.lines if line["kind"] in {"run_started", "run_ended"}]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert typed("show", session, "--report", "--json") == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    (report,) = typed.lines
    assert (report["run"]["started_at"], report["run"]["ended_at"]) == (first, last) and first.endswith("Z")


def test_two_sessions_are_compared(typed: Typed, session: str) -> None:
    (typed.folder / "script.json").write_text(
        scripted_replies(call_reply("write", path="b.txt", content="x"), {"text": "Done"})
    )
    assert typed("run", "Do it", "--script", "script.json", "--mode", "auto") == 0
    other = typed.session()
    assert typed("compare", session, session) == 0 and "First difference" not in typed.out
    assert typed("compare", session, other) == 0 and "First difference, after 1 equal step:" in typed.out
    assert typed("compare", f"{session}/1", f"{other}/1") == 0 and "First difference, after 1 equal step:" in typed.out
    assert [line.split()[1:] for line in typed.out.splitlines() if line.startswith("cost")] == [["unknown"] * 3]
    for wrong in ("2", "0", "x", "²"):
        assert typed("compare", session, f"{other}/{wrong}") == 1 and "There is no run" in typed.err
    assert typed("compare", session, other, "--json") == 0
    assert typed.lines[-1]["a"]["cost"] is None and typed.lines[-1]["delta"]["cost"] is None
    assert typed.lines[-1]["first_difference"] == 1 and typed.lines[-1]["delta"]["tokens"] == -10


def test_a_comparison_names_the_memories_and_skills_of_only_one_session(typed: Typed) -> None:
    assert typed("memory", "add", "The parrot is called Coco.", "--json") == 0
    memory = typed.lines[0]["id"]
    skill = call_reply("use_skill", name="code-review")
    (typed.folder / "script.json").write_text(scripted_replies(skill, {"text": "Coco"}))
    assert typed("run", "What is the parrot called?", "--script", "script.json") == 0
    session = typed.session()
    (typed.folder / "other.json").write_text(scripted_replies({"text": "Coco"}))
    assert typed("fork", session, "--retry", "--script", "other.json", "--without", memory) == 0
    other = typed.session()
    assert typed("compare", session, other) == 0
    assert "Only in A: the memory “The parrot is called Coco.”" in typed.out
    assert "Only in A: the skill code-review, version 1" in typed.out
    assert typed.out.count("Only in B: ") == 1  # the outcome of the first session
    assert typed("compare", other, session, "--json") == 0
    assert len(typed.lines[-1]["only_a"]) == 1 and len(typed.lines[-1]["only_b"]) == 2


def test_unreviewed_files_are_listed_and_marked(typed: Typed, home: Path) -> None:
    async def write() -> None:
        async with open_engine(home, typed.folder) as scene:
            script = scripted_replies(
                call_reply("write", path="notes.md", content="from the page"),
                call_reply("write", path="b.md", content="and more"),
                {"text": "Done"},
            )
            began = RunStarted("scripted", 9, Text(script), mode="auto", untrusted_sources=("web: evil.example",))
            await scene.engine.wait_idle(await scene.engine.start("Go.", typed.folder, began))

    asyncio.run(write())
    assert typed("unreviewed") == 0
    assert [line.split("  ")[0] for line in typed.out.splitlines()] == ["b.md", "notes.md"]
    assert "after reading web: evil.example" in typed.out
    assert typed("unreviewed", "mark", "script.json") == 1 and "script.json is not in the list" in typed.err
    assert typed("unreviewed", "mark", "./notes.md") == 0 and "1 file" in typed.out
    assert typed("unreviewed", "--json") == 0
    assert [(line["name"], line["sources"]) for line in typed.lines] == [("b.md", ["web: evil.example"])]
    assert typed("unreviewed", "mark", "--all") == 0 and typed("unreviewed") == 0 and typed.out == "none\n"


def test_instructions_and_trust_of_a_missing_folder_are_errors(typed: Typed) -> None:
    for command in ("instructions", "trust"):
        assert typed(command, "missing") == 1 and "There is no folder" in typed.err


def test_the_report_of_a_waiting_run_says_so(typed: Typed) -> None:
    (typed.folder / "ask.json").write_text(scripted_replies(call_reply("ask_user", question="Which?")))
    assert typed("run", "Do it", "--script", "ask.json") == 3
    session = typed.session()
    assert typed("show", session, "--report") == 0 and "It is waiting for you." in typed.out
    assert typed("show", session, "--report", "--json") == 0 and typed.lines[0]["run"]["status"] == "waiting"


def test_an_empty_check_is_an_error(typed: Typed) -> None:
    assert typed("run", "Do it", "--script", "script.json", "--check", " ") == 2
    assert "--check" in typed.err
