"""`memory`, typed by a person."""

import json
from pathlib import Path

import pytest

from app.commands.exits import DONE, FAILED, USAGE
from app.main import main
from tests.core.engine.scenes import calling, played
from tests.core.memory.small_model import small_model


class Typed:
    """What commands print."""

    def __init__(self, home: Path, read: pytest.CaptureFixture[str]) -> None:
        self._home, self._read = home, read

    def __call__(self, *words: str, code: int = DONE) -> str:
        assert main(["--home", str(self._home), *words]) == code
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


def test_a_memory_from_its_beginning_to_its_end(typed: Typed) -> None:
    assert typed("memory", "list").startswith("Nothing is remembered yet.")
    assert typed("memory", "add", "They like short letters.", "--kind", "preference").startswith("Remembered: ")
    said = typed("memory", "add", "They like long letters.", "--kind", "preference")
    assert "It says otherwise than" in said and "journeyman memory forget" in said
    assert typed("memory", "add", "they like long letters").count("Remembered") == 1  # of another kind
    name = str(typed.rows("search", "short letters")[0]["id"])
    assert typed("memory", "pin", name).startswith("Pinned")
    assert typed("memory", "edit", name, "They like short notes.").startswith("Changed")
    shown = typed("memory", "show", name[:4])
    for words in (
        "preference: They like short notes.",
        "strength: 1.00 now",
        "says otherwise:",
        "person pinned",
        "0 runs",
    ):
        assert words in shown, words
    assert typed("memory", "undo", name).startswith("Taken back") and "short letters" in typed("memory", "show", name)
    assert typed("memory", "forget", name).startswith("Forgot") and name not in typed("memory", "list")
    assert "forgotten" in typed("memory", "list", "--all")
    assert typed("memory", "restore", name).startswith("Restored") and typed("memory", "archive", name)
    assert name in typed("memory", "list", "--archived")
    assert typed("memory", "forget", name, "--for-good") == "Forgotten for good.\n"
    assert "There is no memory" in typed("memory", "show", name, code=FAILED)


def test_a_change_is_taken_back_by_the_start_of_a_name_and_back_again(typed: Typed) -> None:
    name = typed("memory", "add", "The port is 8080.").split()[1]
    typed("memory", "pin", name[:6])
    assert typed("memory", "undo", name[:6]).startswith(f"Taken back: {name}")
    gone = typed("memory", "undo", name[:6])
    assert gone.startswith("Taken back. Nothing is left of it.") and typed.rows("list") == []
    assert typed(*gone.split("journeyman ")[1].split()).startswith(f"Taken back: {name}")
    assert [row["id"] for row in typed.rows("list")] == [name]


def test_what_is_empty_is_kept_for_nobody(typed: Typed) -> None:
    for option in "--agent", "--folder", "--session":
        assert "expected a name" in typed("memory", "add", "The port is 8080.", option, "", code=USAGE)
        assert "expected a name" in typed("memory", "list", option, " ", code=USAGE)
    assert typed.rows("list") == []
    assert typed("memory", "add", "", code=FAILED).endswith("Say it in a sentence.\n")
    assert "or give when and do." in typed("memory", "add", "", "--kind", "heuristic", code=FAILED)


def test_an_edit_of_nothing_is_no_version(typed: Typed) -> None:
    name = typed("memory", "add", "The port is 8080.").split()[1]
    assert "Nothing was named" in typed("memory", "edit", name, code=FAILED)
    typed("memory", "edit", name, "The port is 8080.")
    assert [row["version"] for row in typed.rows("list")] == [1]


def test_for_a_folder_and_all_of_it(typed: Typed, tmp_path: Path) -> None:
    typed("memory", "add", "--kind", "heuristic", "--when", "it rains", "--do", "close the roof", "--folder", ".")
    (row,) = typed.rows("list", "--folder", ".")
    assert (row["reach"], row["place"]) == ("folder", str((tmp_path / "work").resolve()))
    assert typed("memory", "search", "rain on the roof", "--folder", "..") == "Nothing remembered fits these words.\n"
    assert "close the roof" in typed("memory", "search", "rain on the roof", "--folder", ".")
    assert typed("memory", "forget", "--folder", ".").startswith("Forgot 0. What you wrote yourself was kept.")
    assert "learnt 1" in typed("memory", "journey") and typed("memory", "tidy") == "Archived 0.\n"


def test_all_that_was_forgotten_with_a_session_is_named(typed: Typed, tmp_path: Path) -> None:
    facts = ("The key lies under the pot.", "Bread is baked on Mondays.")
    calls = (calling("remember", kind="knowledge", text=text) for text in facts)
    (tmp_path / "work" / "script.json").write_text(played(*calls, {"text": "ok"}))
    session = typed("run", "Learn.", "--script", "script.json", "--mode", "trust").split()[1]
    learnt = [str(row["id"]) for row in typed.rows("list")]
    gone = typed("memory", "forget", "--session", session)
    assert len(learnt) == 3 and all(name in gone for name in learnt) and typed.rows("list") == []


def test_out_and_in(typed: Typed, tmp_path: Path) -> None:
    typed("memory", "add", "The key lies under the pot.")
    typed("memory", "export", "-o", "out.json")
    assert typed("memory", "import", "out.json") == "out.json: 0 new, 1 known already.\n"
    (tmp_path / "work" / "MEMORY.md").write_text("- Bread is baked on Mondays.\n")
    assert typed("memory", "import", "MEMORY.md", "--folder", ".") == "MEMORY.md: 1 new, 0 known already.\n"
    assert [row["reach"] for row in typed.rows("search", "bread")] == ["folder"]
    (tmp_path / "work" / "bad.json").write_text("{")
    assert "Nothing was taken in" in typed("memory", "import", "bad.json", code=FAILED)


def test_what_is_wrong_is_said(typed: Typed) -> None:
    assert "It tells a secret" in typed("memory", "add", "The password is hunter2", code=FAILED)
    assert "Name a memory" in typed("memory", "forget", code=FAILED)
    assert "signs that are no text" in typed("memory", "add", "caf\udce9 is nice", code=FAILED)
    assert "whole number" in typed("memory", "list", "--limit", "9" * 30, code=USAGE)
    assert "whole number" in typed("memory", "search", "x", "--limit", "-1", code=USAGE)
    assert "invalid choice" in typed("memory", "add", "x", "--kind", "opinion", code=USAGE)


def test_found_by_meaning_too(typed: Typed, tmp_path: Path) -> None:
    model = small_model(tmp_path / "model")
    assert "found by their words alone" in typed("memory", "vectors")
    typed("memory", "add", "The boat leaves at dawn.")
    assert "no folder" in typed("memory", "vectors", "on", "elsewhere", code=FAILED)
    assert "alone" in typed("memory", "vectors"), "what cannot be used is not chosen"
    assert "it has seen 0 of 1 memories" in typed("memory", "vectors", "on", str(model))
    assert "it has seen 1 of 1 memories" in typed("memory", "vectors", "build")
    (row,) = typed.rows("search", "vessel sunrise")
    assert row["text"] == "The boat leaves at dawn." and str(row["words"]).startswith("meaning: ")
    assert typed.rows("vectors") == [{"model": str(model), "trouble": None, "made": 1, "memories": 1}]
    (model / "config.json").unlink()
    assert "config.json" in typed("memory", "vectors", code=FAILED)
    assert "alone now" in typed("memory", "vectors", "off")
    assert typed("memory", "search", "vessel sunrise") == "Nothing remembered fits these words.\n"
