"""Tests of the `packages` command."""

import json
from pathlib import Path

import pytest

from app.main import main
from app.process.exit_codes import DONE, FAILED
from tests.core.packages.made import make_package


def run_packages(home: Path, *words: str) -> int:
    return main(["--data-dir", str(home), "packages", *words])


def test_a_package_is_added_shown_trusted_updated_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, source = tmp_path / "home", make_package(tmp_path / "review")
    assert run_packages(home) == DONE and "No packages." in capsys.readouterr().out
    assert run_packages(home, "add", str(source)) == DONE
    said = capsys.readouterr().out
    for words in (
        "It is not used yet, and nothing was run", "Review helpers 1.2: not trusted yet",
        'Hook at before_call of write, with your permissions: "$PACKAGE_ROOT"/guard.sh', "MCP server box, with your",
        "Skill careful-review: Reviews a change.", "Command /summarize: Summarizes", "Not used: agents:",
        "Not used: /status: it runs shell commands", "journeyman packages trust review",
    ):  # fmt: skip
        assert words in said, words
    assert run_packages(home, "trust", "review") == DONE
    assert "MCP server review-box: 6 tools" in capsys.readouterr().out
    assert run_packages(home, "list") == DONE
    assert "review  (used)  1 hook, 1 MCP server, 1 skill, 1 command" in capsys.readouterr().out
    assert run_packages(home, "update", "review") == DONE and "is up to date" in capsys.readouterr().out
    (source / "guard.sh").write_text("exit 0\n", "utf-8")
    assert run_packages(home, "update", "review") == DONE
    assert "Since you trusted it: changed guard.sh" in capsys.readouterr().out
    main(["--data-dir", str(home), "doctor"])
    assert "FAIL  Package review: changed since you trusted it" in capsys.readouterr().out
    assert run_packages(home, "show", "--json", "review") == DONE
    plain = json.loads(capsys.readouterr().out)
    assert plain["state"] == "changed" and plain["hooks"][0]["on"] == "before_call"
    assert run_packages(home, "trust", "review", "--digest", "old") == FAILED
    assert "has changed since it was shown" in capsys.readouterr().err
    assert run_packages(home, "trust", "review", "--digest", plain["digest"]) == DONE
    assert run_packages(home, "untrust", "review") == DONE
    main(["--data-dir", str(home), "mcp"])
    assert "No MCP servers" in capsys.readouterr().out
    assert run_packages(home, "remove", "review") == DONE
    assert run_packages(home, "show", "review") == FAILED and "There is no package" in capsys.readouterr().err


def test_characters_that_hide_text_are_spelled_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = make_package(tmp_path / "review")
    (source / "hooks.toml").write_text('[[hook]]\non = "run_start"\ncommand = "echo \\u202ehidden"\n', "utf-8")
    assert run_packages(tmp_path / "home", "add", str(source)) == DONE
    assert "⟦U+202E⟧" in capsys.readouterr().out
