"""`rules` and `doctor --rule`, typed by a person."""

import json
from pathlib import Path

import pytest

from app.commands.exits import DONE, FAILED
from app.main import main
from core.domain.rules import made_rule
from core.store.opening import open_data
from core.store.rule_book import RuleBook
from core.tools.place import PROOF
from core.workspace.sandbox import of_this_machine


async def _add(book: RuleBook, folder: str) -> None:
    await book.add([
        made_rule("abc234", "allow", "run", "command", "git log *", scope="folder", where=folder, made=1, session="s1"),
        made_rule("def567", "deny", "run", "command", "git tag *", scope="always", made=2),
    ])  # fmt: skip


def typed(home: Path, *words: str) -> int:
    return main(["--home", str(home), *words])


def test_rules_are_listed_tried_and_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    opened = open_data(home)
    assert opened.database
    asyncio.run(_add(RuleBook(opened.path, opened.database), str(folder.resolve())))
    opened.database.close()

    assert typed(home, "rules", "list") == DONE
    listed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[:2] for line in listed] == [
        ["abc234", "allow run: git log *"], ["def567", "deny run: git tag *"],
    ]  # fmt: skip
    assert "session s1" in listed[0]

    told = {}
    for command in ("git log -3", "git tag v1", "git push", "ls > x", "git status"):
        typed(home, "doctor", "--json", "--rule", command)
        told[command] = json.loads(capsys.readouterr().out)
    assert [each["verdict"] for each in told.values()] == ["allowed", "denied", "asks", "asks", "asks"]
    assert told["git tag v1"]["rule"] == "def567" and "cannot be undone" in told["git push"]["why"]
    assert "with >" in told["ls > x"]["why"] and told["git status"]["patterns"] == ["git status *"]
    typed(home, "doctor", "--rule", "git log --oneline")
    assert capsys.readouterr().out == "allowed: your rule: allow run: git log * [abc234]\n"

    assert typed(home, "rules", "revoke", "abc234") == DONE
    assert typed(home, "rules", "revoke", "abc234") == FAILED
    assert "There is no rule" in capsys.readouterr().err
    typed(home, "doctor", "--rule", "git log --oneline")
    assert capsys.readouterr().out.startswith("asks: ")


def test_a_command_is_tried_in_a_folder_and_a_mode_with_the_walls_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)

    def tried(*words: str) -> dict[str, str]:
        assert typed(home, "rules", "test", "--json", *words) == DONE
        return dict(json.loads(capsys.readouterr().out))

    level = of_this_machine(home / PROOF).level
    planned = tried("touch made", "-C", "work", "--mode", "plan")
    assert (planned["folder"], planned["mode"], planned["sandbox"]) == (str(folder.resolve()), "plan", level)
    assert planned["verdict"] == "denied"
    assert tried("touch made", "-C", "work")["verdict"] == "asks"
    trusting = tried("echo 1 > made", "-C", "work", "--mode", "trust")
    assert trusting["verdict"] == ("allowed" if level == "verified" else "asks")
    assert list(folder.iterdir()) == []

    assert typed(home, "rules", "test", "ls", "-C", "nowhere") == FAILED
    assert "There is no folder" in capsys.readouterr().err
