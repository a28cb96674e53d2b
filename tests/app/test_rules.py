"""The commands `rules` and `doctor --rule`."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.main import main
from app.process.data_folder import database_path
from app.process.exit_codes import DONE, FAILED
from core.domain.rules import new_rule
from core.store.data_folder import open_data_folder
from core.store.rule_store import RuleStore
from core.tools.tool_context import SANDBOX_PROOF_FILE
from core.workspace.sandbox import machine_sandbox


async def _add(book: RuleStore, folder: str) -> None:
    await book.add(
        [
            new_rule(
                "abc234",
                "allow",
                "run",
                "command",
                "git commit *",
                scope="folder",
                scope_id=folder,
                created_at=1,
                session="s1",
            ),
            new_rule("def567", "deny", "run", "command", "git tag *", scope="always", created_at=2),
        ]
    )


def test_a_rule_of_a_run_that_has_ended_is_not_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = open_data_folder(tmp_path)
    assert opened.database
    rule = new_rule("ghi234", "allow", "run", "command", "touch *", scope="run", scope_id="gone/1", created_at=1)
    asyncio.run(RuleStore(opened.path, opened.database).add([rule]))
    opened.database.close()
    assert run_command(tmp_path, "rules") == DONE
    assert capsys.readouterr().out == "No saved rules.\n"


def run_command(home: Path, *words: str) -> int:
    return main(["--data-dir", str(home), *words])


def test_rules_are_listed_tested_and_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    opened = open_data_folder(home)
    assert opened.database
    asyncio.run(_add(RuleStore(opened.path, opened.database), str(folder.resolve())))
    opened.database.close()

    assert run_command(home, "rules", "list") == DONE
    listed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[:2] for line in listed] == [
        ["def567", "deny run: git tag *"], ["abc234", "allow run: git commit *"],
    ]  # fmt: skip
    assert "session s1" in listed[1]

    told = {}
    for command in ("git commit -m x", "git tag v1", "git push", "ls > x", "git add a"):
        run_command(home, "doctor", "--json", "--rule", command)
        told[command] = json.loads(capsys.readouterr().out)
    assert [each["decision"] for each in told.values()] == ["allowed", "denied", "asks", "asks", "asks"]
    assert told["git tag v1"]["rule_id"] == "def567" and "cannot be undone" in told["git push"]["reason"]
    assert "with >" in told["ls > x"]["reason"] and told["git add a"]["patterns"] == ["git add *"]
    run_command(home, "doctor", "--rule", "git commit --quiet")
    assert capsys.readouterr().out == "allowed: your rule: allow run: git commit * [abc234]\n"

    assert run_command(home, "rules", "revoke", "abc234") == DONE
    assert run_command(home, "rules", "revoke", "abc234") == FAILED
    assert "There is no rule" in capsys.readouterr().err
    run_command(home, "doctor", "--rule", "git commit --quiet")
    assert capsys.readouterr().out.startswith("asks: ")


def test_a_command_is_evaluated_in_a_folder_and_mode_with_the_sandbox_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)

    def tried(*words: str) -> dict[str, str]:
        assert run_command(home, "rules", "test", "--json", *words) == DONE
        return dict(json.loads(capsys.readouterr().out))

    level = machine_sandbox(home / SANDBOX_PROOF_FILE).level
    planned = tried("touch made", "-C", "work", "--mode", "plan")
    assert (planned["folder"], planned["mode"], planned["sandbox"]) == (str(folder.resolve()), "plan", level)
    assert planned["decision"] == "denied"
    assert tried("touch made", "-C", "work")["decision"] == "asks"
    trusting = tried("echo 1 > made", "-C", "work", "--mode", "auto")
    assert trusting["decision"] == ("allowed" if level == "verified" else "asks")
    assert list(folder.iterdir()) == []

    assert run_command(home, "rules", "test", "ls", "-C", "nowhere") == FAILED
    assert "There is no folder" in capsys.readouterr().err


def test_rules_are_added_edited_revoked_and_restored_and_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder, link = tmp_path / "home", tmp_path / "work", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    monkeypatch.chdir(tmp_path)

    def output(*words: str) -> str:
        assert run_command(home, "rules", *words) == DONE
        return capsys.readouterr().out

    def decision(command: str, *words: str) -> str:
        return str(json.loads(output("test", "--json", command, *words))["decision"])

    added = output("add", "allow", "run", "git log *")
    denied = output("add", "deny", "run", "git log -p", "-C", str(link)).split()[1]
    assert "allow run: git log *  (everywhere" in added
    assert (decision("git log -3"), decision("git log -p"), decision("git log -p", "-C", "work")) == (
        "allowed", "allowed", "denied",
    )  # fmt: skip
    assert [line.split("  ")[1].split()[0] for line in output().splitlines()] == ["deny", "allow"]
    edited = output("edit", denied, "--effect", "ask", "--everywhere").split()[1]
    assert decision("git log -p") == "asks"
    assert f"[{edited}]" in output("test", "git log -p")
    output("revoke", edited)
    assert decision("git log -p") == "allowed"
    output("restore", edited)
    assert decision("git log -p") == "asks"

    for refused, reason in (
        (("allow", "run", "python *"), "can do anything"),
        (("allow", "run"), "would allow everything"),
        (("allow", "*"), "can only ask or deny"),
        (("deny", "fetch", "https://evil.example/"), "not a host name"),
        (("deny", "read", "/etc/*"), "relative to the folder"),
        (("deny", "shell", "ls"), "There is no tool"),
    ):
        assert run_command(home, "rules", "add", *refused) == FAILED
        assert reason in capsys.readouterr().err
    assert len(output().splitlines()) == 2


def test_permission_lists_of_other_agents_are_shown_and_then_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder, user = tmp_path / "home", tmp_path / "work", tmp_path / "user"
    (user / ".claude").mkdir(parents=True)
    folder.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.chdir(folder)
    lists = {
        "allow": ["Bash(git log:*)", "Bash(python:*)", "Read", "WebFetch(domain:docs.example.org)"],
        "ask": ["Bash(git tag *)"],
        "deny": ["Read(./secret/**)", "Bash(git push *)", "NotebookEdit"],
    }
    (user / ".claude/settings.json").write_text(json.dumps({"permissions": lists}))
    (folder / "opencode.json").write_text(json.dumps({"permission": {"bash": {"ls *": "allow", "git tag v1": "deny"}}}))

    assert run_command(home, "rules", "import") == DONE
    shown = capsys.readouterr().out
    assert "allow Bash(git log:*)  →  allow run: git log *" in shown
    assert "allow Bash(python:*)  →  not imported: `python` can do anything" in shown
    assert "allow Read  →  not imported: It would allow everything." in shown
    assert "deny NotebookEdit  →  not imported: Journeyman has no tool" in shown
    run_command(home, "rules", "list")
    assert capsys.readouterr().out == "No saved rules.\n"

    assert run_command(home, "rules", "import", "--save") == DONE
    capsys.readouterr()
    for command, decision in (("git log -3", "allowed"), ("git tag v2", "asks"), ("git tag v1", "denied")):
        run_command(home, "rules", "test", "--json", command)
        assert json.loads(capsys.readouterr().out)["decision"] == decision, command
    run_command(home, "rules", "import", "--save")
    assert "Rules added: 0" in capsys.readouterr().out


def test_the_list_in_the_home_folder_counts_everywhere_also_when_it_is_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"permissions": {"deny": ["Bash(git tag *)"]}}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run_command(tmp_path / "data", "rules", "import", "--save") == DONE
    run_command(tmp_path / "data", "rules")
    assert "deny run: git tag *  (everywhere" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("list",), ("edit", "abc234", "--effect", "deny"), ("import", "--save")])
def test_no_rule_counts_as_missing_if_the_rules_cannot_be_read(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An import would add every rule a second time."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(ls:*)"]}}')
    monkeypatch.chdir(tmp_path)
    opened = open_data_folder(home := tmp_path / "home")
    assert opened.database
    asyncio.run(_add(RuleStore(opened.path, opened.database), str(tmp_path)))
    opened.database.close()
    with closing(sqlite3.connect(database_path(home))) as database, database:
        (table,) = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%rule%'"
        ).fetchone()
        database.execute(f"UPDATE {table} SET effect = 'perhaps'")
    assert run_command(home, "rules", *words) == FAILED
    assert "Your permission rules cannot be read." in capsys.readouterr().err
    with closing(sqlite3.connect(database_path(home))) as database:
        assert database.execute("SELECT count(*) FROM rule").fetchone() == (2,)
