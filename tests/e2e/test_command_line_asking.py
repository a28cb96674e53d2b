"""Questions and permission requests of a run: what is printed, timeouts, and hooks."""

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


def printed_request_ids(lines: list[dict[str, Any]]) -> list[str]:
    """Return the IDs of the questions and requests that were printed."""
    return [
        (line.get("question") or line["request"])["id"]
        for line in lines
        if line["kind"] in {"question_asked", "permission_requested"}
    ]


def waiting(terminal: Terminal) -> list[str]:
    return [line["id"] for line in terminal("pending", "--json").lines]


@pytest.mark.parametrize(("call", "mode"), [(ASK, "auto"), (RUN, "ask-all")])
def test_exit_code_3_lists_pending_requests_of_sub_agents(terminal: Terminal, call: dict[str, Any], mode: str) -> None:
    terminal.script(DELEGATE, {"text": "done"}, roles={"agent:reader": [call, {"text": "read"}]})
    done = terminal("run", "Go.", "--script", "script.json", "--mode", mode, "--json")
    assert done.code == 3 and printed_request_ids(done.lines) == waiting(terminal) != []
    again = terminal("resume", done.lines[0]["session"], "--json")
    assert again.code == 3 and printed_request_ids(again.lines) == printed_request_ids(done.lines)


@pytest.mark.parametrize(("call", "mode"), [(ASK, "auto"), (RUN, "ask-all")])
def test_exit_code_3_of_a_resumed_run_lists_pending_requests(
    terminal: Terminal, call: dict[str, Any], mode: str
) -> None:
    terminal.script(call, SAY)
    done = terminal("run", "Go.", "--script", "script.json", "--mode", mode, "--json")
    assert done.code == 3 and len(printed_request_ids(done.lines)) == 1
    again = terminal("resume", done.lines[0]["session"], "--json")
    assert again.code == 3 and printed_request_ids(again.lines) == printed_request_ids(done.lines) == waiting(terminal)


@pytest.mark.parametrize(("call", "mode"), [(ASK, "auto"), (RUN, "ask-all")])
def test_a_hook_of_the_user_finishes_before_exit(terminal: Terminal, call: dict[str, Any], mode: str) -> None:
    told = terminal.folder / "told"
    terminal.home.mkdir()
    (terminal.home / "hooks.toml").write_text(
        f'[[hook]]\non = "question"\ncommand = "sleep 0.5; cat > {told}"\n', encoding="utf-8"
    )
    terminal.script(call, SAY)
    done = terminal("run", "Go.", "--script", "script.json", "--mode", mode, "--json")
    assert done.code == 3 and done.kinds()[-1] == "hook_ran"
    assert [json.loads(told.read_text())["question"]["id"]] == printed_request_ids(done.lines)


def test_an_expiring_question_is_waited_for(terminal: Terminal) -> None:
    terminal.script(ASK, SAY)
    done = terminal.run("--answer-timeout", "0.6s", "--unanswered", "default", "--json")
    assert done.code == 0 and "Firm" in done.lines[-2]["text"]
    (answer,) = [line["answer"] for line in done.lines if line["kind"] == "question_answered"]
    assert answer["expired"] and answer["answered_by"] == "nobody"
    done = terminal.run("--answer-timeout", "0.6s")
    assert done.code == 3 and "Paused: nobody answered in time." in done.out
    assert f"journeyman resume {terminal.session()}" in done.out
    assert terminal("resume", terminal.session()).code == 0


@pytest.mark.parametrize("wrong", ["nan", "-5s", "inf", "5", "0s", "1e3s"])
def test_an_invalid_timeout_is_a_usage_error(terminal: Terminal, wrong: str) -> None:
    terminal.script(ASK, SAY)
    assert terminal.run("--answer-timeout", wrong).code == 2


def test_a_cost_limit_without_prices_is_reported_once(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "list", "arguments": {"path": "."}}]}, {"text": "done"})
    done = terminal.run("--max-cost", "0.5", "--json")
    assert done.code == 0 and done.err.count("--max-cost 0.5 has no effect") == 1
    assert terminal.run("--max-cost", "0", "--json").err == ""


def test_a_finished_run_names_the_possible_commands(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "list", "arguments": {"path": "."}}]}, then="repeat_last")
    assert terminal.run("--max-turns", "1").code == 4
    session = terminal.session()
    done = terminal("resume", session)
    assert done.code == 1 and "It reached its limit." in done.err
    assert f"journeyman fork {session} --say TEXT" in done.err


def test_a_form_is_answered_with_a_line_for_each_question(terminal: Terminal) -> None:
    program = Path(__file__).parents[1] / "servers" / "asking.py"
    assert terminal("mcp", "add", "who", sys.executable, str(program)).code == 0
    terminal.script({"calls": [{"name": "who__greet", "arguments": {}}]}, {"text": "It said: {{result}}"})
    done = terminal.run("--allow", "who__greet")
    assert done.code == 3 and "TEXT, one line per question" in done.out
    (question,) = waiting(terminal)
    assert terminal("answer", question, "Quinn\n\nlarge\nYes").code == 0
    done = terminal("resume", terminal.session(), "--retry")
    assert "It said: Quinn, 30, large, True." in done.out


def test_a_call_is_approved_with_changes(terminal: Terminal) -> None:
    terminal.script(RUN, {"text": "It said: {{result}}"})
    assert terminal("run", "Go.", "--script", "script.json", "--mode", "ask-all").code == 3
    (request,) = waiting(terminal)
    wrong = terminal("approve", request, "--change", " ")
    assert wrong.code == 2 and "not empty" in wrong.err and waiting(terminal) == [request]
    done = terminal("approve", request, "--change", "echo changed")
    assert done.code == 0 and "Approved with your changes." in done.out
    resumed = terminal("resume", terminal.session())
    assert resumed.code == 0 and "It said: changed" in resumed.out and not (terminal.folder / "made").exists()
    shown = terminal("show", terminal.session()).out
    assert "run echo hi; touch made  (allowed with your changes" in shown and "Ran      echo changed" in shown
