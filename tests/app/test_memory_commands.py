"""The command `memory`."""

import json
from pathlib import Path

import pytest

from app.main import main
from app.process.exit_codes import DONE, FAILED, USAGE
from tests.core.engine.harness import call_reply, scripted_replies
from tests.core.memory.small_model import small_model


class Typed:
    """Runs commands, and returns what they print."""

    def __init__(self, home: Path, read: pytest.CaptureFixture[str]) -> None:
        self._home, self._read = home, read

    def __call__(self, *words: str, code: int = DONE) -> str:
        assert main(["--data-dir", str(self._home), *words]) == code
        said = self._read.readouterr()
        return said.out if code == DONE else said.err

    def rows(self, *words: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self("memory", *words, "--json").splitlines()]


@pytest.fixture
def run_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Typed(tmp_path / "home", capsys)


def test_memory_commands_cover_the_life_of_a_memory(run_command: Typed) -> None:
    assert run_command("memory", "list").startswith("No memories.")
    assert run_command("memory", "add", "They like short letters.", "--kind", "preference").startswith("Added: ")
    said = run_command("memory", "add", "They like long letters.", "--kind", "preference")
    assert "It contradicts" in said and "journeyman memory forget" in said
    assert (
        run_command("memory", "add", "they like long letters").count("Added") == 1
    )  # of the kind "knowledge", so not merged with the preference
    name = str(run_command.rows("search", "short letters")[0]["id"])
    assert run_command("memory", "pin", name).startswith("Pinned")
    assert run_command("memory", "edit", name, "They like short notes.").startswith("Changed")
    shown = run_command("memory", "show", name[:4])
    for words in (
        "preference: They like short notes.",
        "relevance: 1.00 now",
        "contradicts:",
        "user pinned",
        "0 runs",
    ):
        assert words in shown, words
    assert run_command("memory", "undo", name).startswith("Undone") and "short letters" in run_command(
        "memory", "show", name
    )
    assert run_command("memory", "forget", name).startswith("Forgot") and name not in run_command("memory", "list")
    assert "forgotten" in run_command("memory", "list", "--all")
    assert run_command("memory", "restore", name).startswith("Restored") and run_command("memory", "archive", name)
    assert name in run_command("memory", "list", "--archived")
    assert run_command("memory", "forget", name, "--permanently") == "Permanently forgotten.\n"
    assert "There is no memory" in run_command("memory", "show", name, code=FAILED)


def test_a_change_is_undone_by_an_id_prefix_and_redone(run_command: Typed) -> None:
    name = run_command("memory", "add", "The port is 8080.").split()[1]
    run_command("memory", "pin", name[:6])
    assert run_command("memory", "undo", name[:6]).startswith(f"Undone: {name}")
    gone = run_command("memory", "undo", name[:6])
    assert gone.startswith("Undone. The memory no longer exists.") and run_command.rows("list") == []
    assert run_command(*gone.split("journeyman ")[1].split()).startswith(f"Undone: {name}")
    assert [row["id"] for row in run_command.rows("list")] == [name]


def test_empty_text_is_not_saved_as_a_memory(run_command: Typed) -> None:
    for option in "--agent", "--folder", "--session":
        assert "not empty" in run_command("memory", "add", "The port is 8080.", option, "", code=USAGE)
        assert "not empty" in run_command("memory", "list", option, " ", code=USAGE)
    assert "not empty" in run_command("memory", "add", "", code=USAGE)
    for options in (), ("--kind", "heuristic", "--when", "it rains"), ("--kind", "anti-pattern", "--why", "it fails"):
        assert "--when and --do of a heuristic" in run_command("memory", "add", *options, code=USAGE)
    assert run_command.rows("list") == []


def test_what_is_forgotten_is_named_once_and_only_a_memory_is_deleted(run_command: Typed) -> None:
    name = run_command("memory", "add", "The port is 8080.", "--folder", ".").split()[1]
    assert "is required" in run_command("memory", "forget", code=USAGE)
    assert "not allowed with" in run_command("memory", "forget", name, "--folder", ".", code=USAGE)
    refused = run_command("memory", "forget", "--folder", ".", "--permanently", code=USAGE)
    assert "--permanently needs the ID of a memory." in refused
    assert [row["id"] for row in run_command.rows("list")] == [name]


def test_an_edit_without_changes_makes_no_version(run_command: Typed) -> None:
    name = run_command("memory", "add", "The port is 8080.").split()[1]
    assert "nothing to change" in run_command("memory", "edit", name, code=USAGE)
    run_command("memory", "edit", name, "The port is 8080.")
    assert [row["version"] for row in run_command.rows("list")] == [1]


def test_memories_of_a_folder_are_listed_and_found(run_command: Typed, tmp_path: Path) -> None:
    run_command("memory", "add", "--kind", "heuristic", "--when", "it rains", "--do", "close the roof", "--folder", ".")
    (row,) = run_command.rows("list", "--folder", ".")
    assert (row["scope"], row["scope_id"]) == ("folder", str((tmp_path / "work").resolve()))
    assert run_command("memory", "search", "rain on the roof", "--folder", "..") == "No memories match.\n"
    assert "close the roof" in run_command("memory", "search", "rain on the roof", "--folder", ".")
    assert run_command("memory", "forget", "--folder", ".").startswith(
        "Forgot 0 memories. Kept what you wrote yourself."
    )
    assert "learned 1" in run_command("memory", "log") and run_command("memory", "tidy") == "Archived 0 memories.\n"


def test_an_outcome_shows_the_fields_of_its_kind_and_its_marks(run_command: Typed, tmp_path: Path) -> None:
    calls = (call_reply("write", path="a.txt", content="a"), call_reply("read", path="missing.txt"))
    (tmp_path / "work" / "script.json").write_text(scripted_replies(*calls, {"text": "ok"}))
    run_command("run", "Write a.", "--script", "script.json", "--mode", "auto")
    (outcome,) = run_command.rows("list", "--kind", "outcome")
    run_command("memory", "edit", str(outcome["id"]), "--tag", "letters")
    shown = run_command("memory", "show", str(outcome["id"]))
    assert "\n  tools: write 1, read 1\n" in shown and "\n  tags: letters\n" in shown
    assert "  least: " not in shown and "  run: " not in shown  # stored for later lessons


def test_everything_forgotten_with_a_session_is_listed(run_command: Typed, tmp_path: Path) -> None:
    facts = ("The key lies under the pot.", "Bread is baked on Mondays.")
    calls = (call_reply("remember", kind="knowledge", text=text) for text in facts)
    (tmp_path / "work" / "script.json").write_text(scripted_replies(*calls, {"text": "ok"}))
    session = run_command("run", "Learn.", "--script", "script.json", "--mode", "auto").split()[1]
    learnt = [str(row["id"]) for row in run_command.rows("list")]
    gone = run_command("memory", "forget", "--session", session)
    assert len(learnt) == 3 and all(name in gone for name in learnt) and run_command.rows("list") == []


def test_memories_are_exported_and_imported(run_command: Typed, tmp_path: Path) -> None:
    run_command("memory", "add", "The key lies under the pot.")
    run_command("memory", "export", "-o", "out.json")
    assert run_command("memory", "import", "out.json") == "out.json: 0 new, 1 already known.\n"
    (tmp_path / "work" / "MEMORY.md").write_text("- Bread is baked on Mondays.\n")
    assert run_command("memory", "import", "MEMORY.md", "--folder", ".") == "MEMORY.md: 1 new, 0 already known.\n"
    assert [row["scope"] for row in run_command.rows("search", "bread")] == ["folder"]
    (tmp_path / "work" / "bad.json").write_text("{")
    assert "Nothing was imported" in run_command("memory", "import", "bad.json", code=FAILED)


def test_errors_are_reported(run_command: Typed) -> None:
    assert "It contains a secret" in run_command("memory", "add", "The password is hunter2", code=FAILED)
    assert "invalid Unicode" in run_command("memory", "add", "caf\udce9 is nice", code=FAILED)
    assert "whole number" in run_command("memory", "list", "--limit", "9" * 30, code=USAGE)
    assert "whole number" in run_command("memory", "search", "x", "--limit", "-1", code=USAGE)
    assert "not a valid value for --kind" in run_command("memory", "add", "x", "--kind", "opinion", code=USAGE)


def test_semantic_search_finds_memories(run_command: Typed, tmp_path: Path) -> None:
    model = small_model(tmp_path / "model")
    assert "found by keywords alone" in run_command("memory", "index")
    run_command("memory", "add", "The boat leaves at dawn.")
    assert "There is no file or folder" in run_command("memory", "index", "enable", "elsewhere", code=FAILED)
    assert "alone" in run_command("memory", "index"), "what cannot be used is not chosen"
    assert "1 of 1 memories indexed" in run_command("memory", "index", "enable", str(model))
    assert "1 of 1 memories indexed" in run_command("memory", "index", "build")
    (row,) = run_command.rows("search", "vessel sunrise")
    assert row["text"] == "The boat leaves at dawn." and str(row["match_reason"]).startswith("similarity: ")
    assert run_command.rows("index") == [{"model": str(model), "error": None, "embedded": 1, "memories": 1}]
    (model / "config.json").unlink()
    assert "config.json" in run_command("memory", "index", code=FAILED)
    assert "alone" in run_command("memory", "index", "disable")
    assert run_command("memory", "search", "vessel sunrise") == "No memories match.\n"


def test_the_forecast_ends_with_the_expiry_date(run_command: Typed) -> None:
    run_command("memory", "add", "The office is closed for building work.", "--expires", "60d")
    name = str(run_command.rows("list")[0]["id"])
    shown = run_command("memory", "show", name)
    assert "1.00 now; 1.00 in 30 days, 0.00 in 90 days, 0.00 in 180 days, 0.00 in 365 days" in shown
