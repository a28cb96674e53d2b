"""A command that asks: what it prints, how long it waits, and what the person's own commands are told."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.terminal import Terminal

ASK: dict[str, Any] = {"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "default": "Firm"}}]}
DELEGATE = {"calls": [{"name": "delegate", "arguments": {"name": "reader", "task": "Read."}}]}
RUN = {"calls": [{"name": "run", "arguments": {"command": "echo hi; touch made"}}]}
SAY = {"text": "You said: {{answer}}"}


def asked(lines: list[dict[str, Any]]) -> list[str]:
    """The ids that were printed."""
    return [
        (line.get("question") or line["request"])["id"]
        for line in lines
        if line["kind"] in {"question_asked", "consent_asked"}
    ]


def waiting(terminal: Terminal) -> list[str]:
    return [line["id"] for line in terminal("questions", "--json").lines]


@pytest.mark.parametrize(("call", "mode"), [(ASK, "trust"), (RUN, "ask")])
def test_code_three_names_what_a_sub_agent_asks(terminal: Terminal, call: dict[str, Any], mode: str) -> None:
    terminal.script(DELEGATE, {"text": "done"}, roles={"agent:reader": [call, {"text": "read"}]})
    done = terminal("run", "Go.", "--script", "script.json", "--mode", mode, "--json")
    assert done.code == 3 and asked(done.lines) == waiting(terminal) != []
    again = terminal("resume", done.lines[0]["session"], "--json")
    assert again.code == 3 and asked(again.lines) == asked(done.lines)


@pytest.mark.parametrize(("call", "mode"), [(ASK, "trust"), (RUN, "ask")])
def test_code_three_of_a_resumed_run_names_what_waits(terminal: Terminal, call: dict[str, Any], mode: str) -> None:
    terminal.script(call, SAY)
    done = terminal("run", "Go.", "--script", "script.json", "--mode", mode, "--json")
    assert done.code == 3 and len(asked(done.lines)) == 1
    again = terminal("resume", done.lines[0]["session"], "--json")
    assert again.code == 3 and asked(again.lines) == asked(done.lines) == waiting(terminal)


@pytest.mark.parametrize(("call", "mode"), [(ASK, "trust"), (RUN, "ask")])
def test_the_persons_own_command_is_told_before_the_end(terminal: Terminal, call: dict[str, Any], mode: str) -> None:
    told = terminal.folder / "told"
    terminal.home.mkdir()
    (terminal.home / "hooks.toml").write_text(
        f'[[hook]]\non = "question"\ncommand = "sleep 0.5; cat > {told}"\n', encoding="utf-8"
    )
    terminal.script(call, SAY)
    done = terminal("run", "Go.", "--script", "script.json", "--mode", mode, "--json")
    assert done.code == 3 and done.kinds()[-1] == "hook_ran"
    assert [json.loads(told.read_text())["question"]["id"]] == asked(done.lines)


def test_a_question_that_expires_is_waited_for(terminal: Terminal) -> None:
    terminal.script(ASK, SAY)
    done = terminal.run("--answer-minutes", "0.01", "--unanswered", "default", "--json")
    assert done.code == 0 and "Firm" in done.lines[-2]["text"]
    (answer,) = [line["answer"] for line in done.lines if line["kind"] == "question_answered"]
    assert answer["expired"] and answer["by"] == "nobody"
    done = terminal.run("--answer-minutes", "0.01")
    assert done.code == 3 and "Paused: nobody answered in time." in done.out
    assert f"journeyman resume {terminal.session()}" in done.out
    assert terminal("resume", terminal.session()).code == 0


@pytest.mark.parametrize("minutes", ["nan", "-5", "inf"])
def test_a_time_that_is_none_is_wrong_usage(terminal: Terminal, minutes: str) -> None:
    terminal.script(ASK, SAY)
    assert terminal.run("--answer-minutes", minutes).code == 2


def test_a_limit_of_cost_that_cannot_hold_is_said_once(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "list", "arguments": {"path": "."}}]}, {"text": "done"})
    done = terminal.run("--max-cost", "0.5", "--json")
    assert done.code == 0 and done.err.count("the limit of 0.5 US dollars does not hold") == 1
    assert terminal.run("--max-cost", "0", "--json").err == ""


def test_a_run_that_is_over_says_what_can_be_done(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "list", "arguments": {"path": "."}}]}, then="repeat_last")
    assert terminal.run("--max-rounds", "1").code == 4
    session = terminal.session()
    done = terminal("resume", session)
    assert done.code == 1 and "It reached its limit." in done.err
    assert f"journeyman fork {session} --say TEXT" in done.err


def test_a_form_is_answered_with_a_line_for_each_question(terminal: Terminal) -> None:
    program = Path(__file__).parents[1] / "servers" / "asking.py"
    assert terminal("mcp", "add", "who", sys.executable, str(program)).code == 0
    terminal.script({"calls": [{"name": "who__greet", "arguments": {}}]}, {"text": "It said: {{result}}"})
    done = terminal.run("--allow", "who__greet")
    assert done.code == 3 and "TEXT, with a line for each question" in done.out
    (question,) = waiting(terminal)
    assert terminal("answer", question, "Quinn\n\nlarge\nYes").code == 0
    done = terminal("resume", terminal.session(), "--again")
    assert "It said: Quinn, 30, large, True." in done.out
