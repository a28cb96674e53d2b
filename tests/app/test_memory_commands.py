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
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Typed(tmp_path / "home", capsys)


def test_memory_commands_cover_the_life_of_a_memory(typed: Typed) -> None:
    assert typed("memory", "list").startswith("No memories.")
    assert typed("memory", "add", "They like short letters.", "--kind", "preference").startswith("Added: ")
    said = typed("memory", "add", "They like long letters.", "--kind", "preference")
    assert "It contradicts" in said and "journeyman memory forget" in said
    assert (
        typed("memory", "add", "they like long letters").count("Added") == 1
    )  # of the kind "knowledge", so not merged with the preference
    name = str(typed.rows("search", "short letters")[0]["id"])
    assert typed("memory", "pin", name).startswith("Pinned")
    assert typed("memory", "edit", name, "They like short notes.").startswith("Changed")
    shown = typed("memory", "show", name[:4])
    for words in (
        "preference: They like short notes.",
        "relevance: 1.00 now",
        "contradicts:",
        "user pinned",
        "0 runs",
    ):
        assert words in shown, words
    assert typed("memory", "undo", name).startswith("Undone") and "short letters" in typed("memory", "show", name)
    assert typed("memory", "forget", name).startswith("Forgot") and name not in typed("memory", "list")
    assert "forgotten" in typed("memory", "list", "--all")
    assert typed("memory", "restore", name).startswith("Restored") and typed("memory", "archive", name)
    assert name in typed("memory", "list", "--archived")
    assert typed("memory", "forget", name, "--permanently") == "Permanently forgotten.\n"
    assert "There is no memory" in typed("memory", "show", name, code=FAILED)


def test_a_change_is_undone_by_an_id_prefix_and_redone(typed: Typed) -> None:
    name = typed("memory", "add", "The port is 8080.").split()[1]
    typed("memory", "pin", name[:6])
    assert typed("memory", "undo", name[:6]).startswith(f"Undone: {name}")
    gone = typed("memory", "undo", name[:6])
    assert gone.startswith("Undone. The memory no longer exists.") and typed.rows("list") == []
    assert typed(*gone.split("journeyman ")[1].split()).startswith(f"Undone: {name}")
    assert [row["id"] for row in typed.rows("list")] == [name]


def test_empty_text_is_not_saved_as_a_memory(typed: Typed) -> None:
    for option in "--agent", "--folder", "--session":
        assert "expected a name" in typed("memory", "add", "The port is 8080.", option, "", code=USAGE)
        assert "expected a name" in typed("memory", "list", option, " ", code=USAGE)
    assert typed.rows("list") == []
    assert typed("memory", "add", "", code=FAILED).endswith("Give it as a sentence.\n")
    assert "or give when and do." in typed("memory", "add", "", "--kind", "heuristic", code=FAILED)


def test_an_edit_without_changes_makes_no_version(typed: Typed) -> None:
    name = typed("memory", "add", "The port is 8080.").split()[1]
    assert "nothing to change" in typed("memory", "edit", name, code=FAILED)
    typed("memory", "edit", name, "The port is 8080.")
    assert [row["version"] for row in typed.rows("list")] == [1]


def test_memories_of_a_folder_are_listed_and_found(typed: Typed, tmp_path: Path) -> None:
    typed("memory", "add", "--kind", "heuristic", "--when", "it rains", "--do", "close the roof", "--folder", ".")
    (row,) = typed.rows("list", "--folder", ".")
    assert (row["scope"], row["scope_id"]) == ("folder", str((tmp_path / "work").resolve()))
    assert typed("memory", "search", "rain on the roof", "--folder", "..") == "No memories match.\n"
    assert "close the roof" in typed("memory", "search", "rain on the roof", "--folder", ".")
    assert typed("memory", "forget", "--folder", ".").startswith("Forgot 0 memories. Kept what you wrote yourself.")
    assert "learned 1" in typed("memory", "log") and typed("memory", "tidy") == "Archived 0 memories.\n"


def test_everything_forgotten_with_a_session_is_listed(typed: Typed, tmp_path: Path) -> None:
    facts = ("The key lies under the pot.", "Bread is baked on Mondays.")
    calls = (call_reply("remember", kind="knowledge", text=text) for text in facts)
    (tmp_path / "work" / "script.json").write_text(scripted_replies(*calls, {"text": "ok"}))
    session = typed("run", "Learn.", "--script", "script.json", "--mode", "auto").split()[1]
    learnt = [str(row["id"]) for row in typed.rows("list")]
    gone = typed("memory", "forget", "--session", session)
    assert len(learnt) == 3 and all(name in gone for name in learnt) and typed.rows("list") == []


def test_memories_are_exported_and_imported(typed: Typed, tmp_path: Path) -> None:
    typed("memory", "add", "The key lies under the pot.")
    typed("memory", "export", "-o", "out.json")
    assert typed("memory", "import", "out.json") == "out.json: 0 new, 1 already known.\n"
    (tmp_path / "work" / "MEMORY.md").write_text("- Bread is baked on Mondays.\n")
    assert typed("memory", "import", "MEMORY.md", "--folder", ".") == "MEMORY.md: 1 new, 0 already known.\n"
    assert [row["scope"] for row in typed.rows("search", "bread")] == ["folder"]
    (tmp_path / "work" / "bad.json").write_text("{")
    assert "Nothing was imported" in typed("memory", "import", "bad.json", code=FAILED)


def test_errors_are_reported(typed: Typed) -> None:
    assert "It contains a secret" in typed("memory", "add", "The password is hunter2", code=FAILED)
    assert "Name a memory" in typed("memory", "forget", code=FAILED)
    assert "invalid Unicode" in typed("memory", "add", "caf\udce9 is nice", code=FAILED)
    assert "whole number" in typed("memory", "list", "--limit", "9" * 30, code=USAGE)
    assert "whole number" in typed("memory", "search", "x", "--limit", "-1", code=USAGE)
    assert "not a valid value for --kind" in typed("memory", "add", "x", "--kind", "opinion", code=USAGE)


def test_semantic_search_finds_memories(typed: Typed, tmp_path: Path) -> None:
    model = small_model(tmp_path / "model")
    assert "found by keywords alone" in typed("memory", "index")
    typed("memory", "add", "The boat leaves at dawn.")
    assert "is not a folder" in typed("memory", "index", "enable", "elsewhere", code=FAILED)
    assert "alone" in typed("memory", "index"), "what cannot be used is not chosen"
    assert "0 of 1 memories indexed" in typed("memory", "index", "enable", str(model))
    assert "1 of 1 memories indexed" in typed("memory", "index", "build")
    (row,) = typed.rows("search", "vessel sunrise")
    assert row["text"] == "The boat leaves at dawn." and str(row["match_reason"]).startswith("similarity: ")
    assert typed.rows("index") == [{"model": str(model), "error": None, "embedded": 1, "memories": 1}]
    (model / "config.json").unlink()
    assert "config.json" in typed("memory", "index", code=FAILED)
    assert "alone" in typed("memory", "index", "disable")
    assert typed("memory", "search", "vessel sunrise") == "No memories match.\n"
