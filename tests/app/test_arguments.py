"""Parsing of the command line: suggestions, help, groups and durations."""

import argparse
import io
import sys
from inspect import iscoroutinefunction
from pathlib import Path

import pytest

from app.cli.arguments import SECTIONS, parse, parser
from app.cli.command_parser import CommandParser, UsageError
from app.cli.value_types import duration
from app.commands.command_table import COMMANDS, command_function
from app.main import main
from tests.core.engine.harness import call_reply, scripted_replies


@pytest.mark.parametrize(
    ("line", "error", "hint"),
    [
        ("sesions", "There is no command `journeyman sesions`.", "Did you mean 'sessions'?"),
        ("mcp ad", "There is no command `journeyman mcp ad`.", "Did you mean 'add'?"),
        ("run task --modle x", "Unknown option '--modle'.", "Did you mean '--mode'?"),
        ("run task --max-turn=3", "Unknown option '--max-turn'.", "Did you mean '--max-turns'?"),
        ("export s --as hmtl", "'hmtl' is not a valid value for --as.", "Did you mean 'html'? Choose one of: md, html"),
        ("show s more", "Unexpected argument 'more'.", "See `journeyman show --help`."),
        ("db", "The following arguments are required: COMMAND.", "See `journeyman db --help`."),
    ],
)
def test_a_typo_is_reported_with_a_suggestion(line: str, error: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(line.split())
    assert raised.value.details.message == error and raised.value.details.fix.startswith(hint)
    assert raised.value.usage.startswith("usage: journeyman")


EMPTY_VALUES = (
    ["run", ""], ["run", "task", "-C", " "], ["run", "task", "--check", ""], ["run", "task", "--allow", ""],
    ["memory", "add", ""], ["memory", "edit", "m", ""], ["memory", "search", ""], ["memory", "import", "a.md", ""],
    ["memory", "forget", "--session", ""], ["fork", "s", "--say", ""], ["trust", ""], ["untrust", ""],
    ["rules", "add", "allow", "run", ""], ["rules", "test", ""], ["rules", "edit", "r", "--pattern", ""],
    ["models", "use", "a/b", "--session", ""], ["models", "proxy", ""], ["db", "restore", ""], ["import", ""],
    ["show", ""], ["rewind", "", "--to", "1"], ["answer", "q", ""], ["skills", "add", "", "letters"],
    ["worktree", "remove", "\t"], ["--data-dir", "", "sessions"], ["--data-dir=", "sessions"],
)  # fmt: skip


@pytest.mark.parametrize("words", EMPTY_VALUES)
def test_an_empty_value_is_a_usage_error(words: list[str]) -> None:
    """A script mostly passes one for a variable that is not set; `trust ""` must not trust the current folder."""
    with pytest.raises(UsageError, match="expected a text that is not empty"):
        parse(words)


def test_some_values_may_be_empty() -> None:
    assert parse(["rate", "s", "good", "--note", "", "--tag", ""]).note == ""
    assert parse(["memory", "add", "A", "--tag", ""]).tag == [""]
    assert parse(["deny", "p", "--reason", ""]).reason == ""
    assert parse(["skills", "save", "a", "-", "--note", ""]).note == ""
    assert parse(["mcp", "add", "a", "echo", ""]).args == [""]
    assert parse(["--given=", "run", "-"]).given == [""]


@pytest.mark.parametrize("words", [["rewind", "s"], ["rewind"]])
def test_rewind_without_a_step_says_where_to_find_it(words: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        parse(words)
    details = raised.value.details
    assert "--to or --undo is required" in details.message or "required: SESSION" in details.message
    assert "`journeyman show SESSION`" in details.fix and "`journeyman rewind SESSION --to STEP`" in details.fix


def test_every_command_has_a_function() -> None:
    without_engine = {"open", "replay", "help"}
    assert COMMANDS.keys() == parser().commands.keys() - without_engine
    assert all(map(iscoroutinefunction, map(command_function, COMMANDS)))


@pytest.mark.parametrize("group", ["models", "mcp", "agents", "skills", "memory", "proposals", "rules", "schedule"])
def test_a_group_lists_by_default(group: str) -> None:
    assert parse([group]) == parse([group, "list"])
    assert parse([group, "--json"]) == parse([group, "list", "--json"])


@pytest.mark.parametrize("words", [["help", "mcp", "add"], ["mcp", "add", "--help"], ["mcp", "add", "-h"]])
def test_help_of_a_command_is_its_help_option(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse(words)
    assert raised.value.code == 0
    assert "usage: journeyman mcp add [OPTIONS] NAME PROGRAM [ARGS...]\n" in capsys.readouterr().out


def test_the_usage_names_a_required_option() -> None:
    command = CommandParser(prog="tool")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--to", metavar="DIR", required=True)
    assert command.format_usage() == "usage: tool [OPTIONS] --to DIR FILE\n"


def test_without_arguments_those_of_the_process_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["journeyman", "show", "s1"])
    assert parser().parse_args().session == "s1" and parser().parse_args([]).command is None


def test_every_command_is_in_one_section_and_every_argument_has_a_help_text() -> None:
    names = [name for _, section in SECTIONS for name in section]
    assert sorted(names) == sorted(parser().commands)
    for command in _all(parser()):
        for action in command._actions:
            shown = not isinstance(action, argparse._SubParsersAction) and action.help != argparse.SUPPRESS
            if shown and (
                action.option_strings or action.metavar not in {"SESSION", "NAME", "FILE", "TEXT", "VERSION"}
            ):
                assert action.help and not action.help.endswith("."), f"{command.prog}: {action.dest}"
        assert command is parser() or (command.description or "").endswith((".", ").")), command.prog


def _all(command: object) -> list[argparse.ArgumentParser]:
    found = [command]
    for inner in command.commands.values():  # type: ignore[attr-defined]
        found += _all(inner)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("0.5m", 30), ("1d", 86_400)])
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.fixture
def folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder := tmp_path / "work").mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_task_comes_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "script.json").write_text(scripted_replies({"text": "Done"}))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Größe\nmessen\n".encode())))
    assert main(["run", "-", "--script", "script.json"]) == 0
    assert main(["sessions"]) == 0 and "Größe" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert main(["run", "-", "--script", "script.json"]) == 1
    assert "error: Standard input cannot be read." in capsys.readouterr().err


def test_quiet_prints_the_reply_and_verbose_the_output_of_calls(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.txt").write_text("Forty-two\n")
    (folder / "script.json").write_text(scripted_replies(call_reply("read", path="a.txt"), {"text": "Done"}))
    run = ["run", "Read it", "--script", "script.json"]
    assert main([*run, "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Done"
    assert main([*run, "-q"]) == 0 and "Read " not in capsys.readouterr().out
    assert main(run) == 0 and "Forty-two" not in capsys.readouterr().out
    assert main([*run, "-v"]) == 0 and "Forty-two" in capsys.readouterr().out


def test_the_last_session_is_resumed_and_an_abort_exits_with_zero(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", "--last"]) == 1 and "There is no session to resume." in capsys.readouterr().err
    (folder / "script.json").write_text(scripted_replies(call_reply("ask_user", question="Which?"), {"text": "Done"}))
    run = ["run", "Ask", "--script", "script.json"]
    assert main(run) == 3
    assert main(["resume", "--last", "--abort"]) == 0
    assert main(["resume", "--last"]) == 1
    assert main(run) == 3
    assert main(["resume", "--last", "--answer", "This one"]) == 0
    assert "\nDone\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (["--option", "0"], "expected the number of an option, from 1"),
        ([""], "expected a text that is not empty"),
        ([], "is required"),
    ],
)
def test_an_answer_needs_a_text_or_the_number_of_an_option(reply: list[str], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        parse(["answer", "q1", *reply])


def test_a_call_is_approved_or_denied_and_a_question_is_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.json").write_text(
        scripted_replies(call_reply("write", path="a.txt", content="x"), {"text": "Done"})
    )
    assert main(["pending"]) == 0
    assert capsys.readouterr().out == "No pending questions or permission requests.\n"
    run = ["run", "Write", "--script", "script.json"]
    for decision, code, exists in (("deny", 0, False), ("approve", 0, True)):
        assert main(run) == 3
        name = capsys.readouterr().out.split("journeyman approve ")[1].split()[0]
        assert main(["answer", name, "yes"]) == 1 and f"journeyman approve {name}" in capsys.readouterr().err
        for option in ("0", "-1"):
            assert main(["approve", name, "--option", option]) == 2 and not (folder / "a.txt").exists()
        assert main([decision, name]) == code
        assert main(["resume", "--last"]) == 0 and (folder / "a.txt").exists() is exists
    assert main(["approve", name]) == 1 and "is not open" in capsys.readouterr().err
