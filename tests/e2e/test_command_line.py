"""The command line: exit codes, output, answers and errors."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.terminal import BOUND_S, Terminal, read_until, wait_for_exit
from tests.servers.oauth_server import oauth_server

ASK: dict[str, Any] = {
    "calls": [
        {
            "name": "ask_user",
            "arguments": {"question": "Which tone?", "options": [{"label": "Firm"}, {"label": "Friendly"}]},
        }
    ]
}
ASK_MORE = {"calls": [{"name": "ask_user", "arguments": {"question": "In what form?"}}]}
SAY = {"text": "You said: {{answer}}"}
SLEEP = {"text": "I sleep.", "calls": [{"name": "run", "arguments": {"command": "sleep 600"}}]}


def test_a_complete_run(terminal: Terminal) -> None:
    write = {"name": "write", "arguments": {"path": "a.txt", "content": "é" * 5000}}
    terminal.script({"text": "On it — 日本.", "calls": [write]}, {"text": "Done."})
    done = terminal.run("--json")
    assert done.code == 0 and done.err == ""
    assert [line["seq"] for line in done.lines] == list(range(1, 13))
    assert done.kinds()[:4] == ["session_created", "user_message", "run_started", "request_sent"]
    assert done.kinds()[-1] == "run_ended"
    session = done.lines[0]["session"]
    assert terminal("show", session, "--json").out == done.out
    assert terminal("show", session[:5], "--json").out == done.out
    shown = terminal("show", session)
    assert shown.code == 0 and "Wrote" in shown.out and "On it — 日本." in shown.out
    plain = terminal.run()
    assert plain.code == 0 and "Done." in plain.out and plain.out.startswith("Session ")
    found = terminal("sessions", "--search", "日本", "--json")
    assert {row["id"] for row in found.lines} == {session, plain.out.split()[1]}


def test_a_failed_run_has_an_error_code(terminal: Terminal) -> None:
    terminal.script({"fault": "rate_limited", "retry_after_s": 3600})
    done = terminal.run("--json")
    assert done.code == 1 and done.lines[-1]["error"]["code"] == "rate_limited"
    terminal.script({"fault": "cut", "text": "One", "after_chars": 2}, {"text": "Done."})
    retried = terminal.run("--json")
    assert [line["error"]["code"] for line in retried.lines if line["kind"] == "request_retried"] == ["cut"]
    assert retried.code == 0 and retried.lines[-1]["error"] is None


def test_answers_on_the_command_line(terminal: Terminal) -> None:
    terminal.script(ASK, ASK_MORE, SAY)
    done = terminal.run("--answer", "friendly", "--answer", "in verse", "--json")
    given = [line["answer"] for line in done.lines if line["kind"] == "question_answered"]
    assert [(each["option"], each["text"]) for each in given] == [("Friendly", ""), ("", "in verse")]
    assert done.code == 0 and done.lines[-2]["text"] == "You said: in verse"
    done = terminal.run("--no-questions", "--json")
    assert [line["answer"]["declined"] for line in done.lines if line["kind"] == "question_answered"] == [True, True]
    assert done.code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--option", "2"], "You said: Friendly"),
        (["my own words"], "You said: my own words"),
        (["--decline"], "You said: The user declined to answer."),
    ],
    ids=["number", "text", "decline"],
)
def test_a_question_waits_for_its_answer(terminal: Terminal, words: list[str], said: str) -> None:
    terminal.script(ASK, SAY)
    waiting = terminal.run()
    assert waiting.code == 3 and "Which tone?" in waiting.out
    [asked] = terminal("pending", "--json").lines
    assert asked["id"] in waiting.out and [option["label"] for option in asked["options"]] == ["Firm", "Friendly"]
    assert terminal("resume", asked["session"]).code == 3
    for wrong, code in ((["--option", "3"], 1), (["x", "--option", "1"], 2), ([], 2)) if "--option" in words else ():
        refused = terminal("answer", asked["id"], *wrong)
        assert refused.code == code and refused.err.startswith("error: ")
    assert terminal("answer", asked["id"], *words).code == 0
    assert terminal("answer", asked["id"], *words).code == 1
    done = terminal("resume", asked["session"], "--json")
    assert done.code == 0 and done.lines[-2]["text"] == said
    again = terminal("resume", asked["session"])
    assert again.code == 1 and "nothing to resume" in again.err


def test_a_limit_exits_with_4(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "read", "arguments": {"path": "no"}}]}, then="loop")
    done = terminal.run("--max-turns", "3", "--json")
    assert done.code == 4 and done.kinds().count("replied") == 3
    assert done.lines[-1]["status"] == "limit"


def test_a_failure_exits_with_1_and_a_message(terminal: Terminal) -> None:
    terminal.script({"fault": "rate_limited", "retry_after_s": 3600})
    done = terminal.run()
    assert done.code == 1 and done.err.startswith("error: ") and "3600 s" in done.err


def test_ctrl_c_stops_the_run(terminal: Terminal) -> None:
    terminal.script(SLEEP)
    process = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(process, "call_started")
    done = wait_for_exit(process, signal.SIGINT)
    assert done.code == 130 and done.lines[-1]["status"] == "stopped"
    assert terminal("sessions", "--json").lines[0]["status"] == "stopped"


def test_sigterm_stops_the_run(terminal: Terminal) -> None:
    """SIGTERM stops the run that the command follows."""
    terminal.script(SLEEP)
    process = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(process, "call_started")
    assert wait_for_exit(process, signal.SIGTERM).code == 130
    assert terminal("sessions", "--json").lines[0]["status"] == "stopped"


@pytest.mark.parametrize(
    "words",
    [["nothing"], ["run"], ["run", "t", "--max-turns", "-1"], ["run", "t", "--max-turns", "x"], ["resume"],
     ["resume", "x", "--retry", "--skip"], ["resume", "x", "--last"], ["--nothing"], ["answer", "q", "--option", "x"],
     ["run", " "], ["schedule", "add", " ", "--every", "1h"]],
    ids=lambda words: " ".join(words),
)  # fmt: skip
def test_bad_usage_exits_with_2(terminal: Terminal, words: list[str]) -> None:
    done = terminal(*words)
    assert done.code == 2 and "usage:" in done.err and not terminal.home.exists()


def test_errors_are_reported(terminal: Terminal) -> None:
    (terminal.folder / "bad.json").write_text('{"replies": [{"texts": 1}]}')
    (terminal.folder / "bytes.json").write_bytes(b"\xff")
    terminal.script({"text": "x"})
    for words, said in (
        (["run", "t"], "No model is set up."),
        (["run", "t", "--script", "none.json"], "none.json cannot be read."),
        (["run", "t", "--script", "."], ". is not a regular file."),
        (["run", "t", "--script", "bytes.json"], "bytes.json cannot be read."),
        (["run", "t", "--script", "bad.json"], "At replies[0]: expected only"),
        (["run", "t", "--script", "script.json", "-C", "none"], "There is no folder"),
        (["show", "none"], "There is no session 'none'."),
        (["answer", "none", "x"], "The question none is not open."),
    ):
        done = terminal(*words)
        assert (done.code, done.out) == (1, "") and said in done.err and done.err.startswith("error: "), words
    assert terminal("sessions").out == "No sessions.\n"


def test_a_reader_that_closes_the_pipe(terminal: Terminal) -> None:
    reads = [{"name": "read", "arguments": {"path": f"a{number}"}} for number in range(50)]
    terminal.script(*({"text": "x" * 5000, "calls": [read], "delay_s": 0.05} for read in reads))
    process = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(process, "replied")
    process.stdout.close()
    assert process.wait(BOUND_S) == 1
    assert process.stderr.read() == ""
    process.stderr.close()
    assert terminal("sessions", "--json").lines[0]["status"] == "interrupted"
    assert terminal("resume", terminal.session()).code == 0


def test_a_reader_that_does_not_read_delays_no_stop(terminal: Terminal) -> None:
    read = {"name": "read", "arguments": {"path": "a.txt"}}
    (terminal.folder / "a.txt").write_text("x" * 50_000)
    terminal.script({"text": "On it.", "calls": [read] * 6}, SLEEP)
    process = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    session = json.loads(read_until(process, "session_created")[-1])["session"]
    shown = ""
    while '"command"' not in shown:  # by then more output is waiting than a pipe holds
        shown = terminal("show", session, "--json").out
    assert terminal("stop", session).code == 0
    out, err = process.communicate(timeout=BOUND_S)
    assert process.returncode == 130 and '"stopped"' in out and err == ""


def test_any_encoding_of_the_terminal(terminal: Terminal) -> None:
    terminal.script({"text": "Grüße — 日本"})
    odd = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = terminal("run", "Grüße", "--script", "script.json", "--mode", "auto", "--json", **odd)
    assert done.code == 0 and done.lines[-2]["text"] == "Grüße — 日本"
    assert terminal("show", done.lines[0]["session"], **odd).code == 0


def test_the_data_folder_may_have_any_path(terminal: Terminal) -> None:
    terminal.script({"text": "x"})
    for name in ("with space é", "long" * 50):
        terminal.home = terminal.home.parent / name
        assert terminal.run().code == 0
        assert terminal.home.stat().st_mode & 0o777 == 0o700


def test_a_data_folder_that_is_a_file(terminal: Terminal) -> None:
    terminal.home.write_text("")
    terminal.script({"text": "x"})
    done = terminal.run()
    assert done.code == 1 and done.err.startswith("error: The data folder")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_data_folder(terminal: Terminal) -> None:
    terminal.home.mkdir(mode=0o500)
    terminal.script({"text": "x"})
    done = terminal.run()
    assert done.code == 1 and "not writable" in done.err


def test_a_missing_folder(terminal: Terminal) -> None:
    gone = terminal.folder / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *program_command("sessions")],
        cwd=gone,
        env=program_environment(terminal.home),
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == 1 and done.stderr.startswith("error: The current folder is gone.")


def test_the_demo_needs_no_configuration(terminal: Terminal) -> None:
    done = terminal("demo", "--json", "--answer", "1")
    assert done.code == 0 and json.loads(done.out.splitlines()[-1])["status"] == "completed"
    assert (terminal.home / "demo" / "letters-1" / "complaint.md").exists()


def test_a_run_that_did_nothing_for_its_task_exits_with_1(terminal: Terminal) -> None:
    advice = {"text": "You should change the operator."}
    terminal.script(advice, advice)
    done = terminal("run", "Fix the bug in shop.py.", "--script", "script.json")
    assert done.code == 1 and "Ended without doing anything." in done.err
    done = terminal("run", "What is wrong in shop.py?", "--script", "script.json")
    assert done.code == 0 and done.err == ""


def test_the_instructions_of_a_folder_are_listed_with_their_tokens(terminal: Terminal) -> None:
    terminal.home.mkdir(exist_ok=True)
    (terminal.home / "AGENTS.md").write_text("Answer briefly.")
    (terminal.folder / "AGENTS.md").write_text("Read @style.md first.")
    (terminal.folder / "style.md").write_text("Use tabs.")
    before = terminal("instructions")
    assert "AGENTS.md: You have not trusted this folder" in before.out and "1 file used" in before.out
    assert terminal("trust").code == 0
    used = terminal("instructions", "--json").lines
    assert [Path(line["name"]).name for line in used] == ["AGENTS.md", "AGENTS.md", "style.md"]
    assert all(line["tokens"] > 0 and not line["error"] for line in used)


def test_the_prompt_of_a_run_is_shown_before_it_is_sent(terminal: Terminal) -> None:
    (terminal.folder / "AGENTS.md").write_text("Use tabs, always.")
    assert terminal("trust").code == 0
    (terminal.home / "agents").mkdir()
    (terminal.home / "agents" / "tester.toml").write_text('role = "You only test."\ntools = ["read", "run"]\n')
    (shown,) = terminal("instructions", "--prompt", "--agent", "tester", "--json").lines
    terminal.script({"text": "Done."})
    sent = next(line for line in terminal.run("--agent", "tester", "--json").lines if line["kind"] == "run_started")
    assert shown["system_prompt"] == sent["system_prompt"] and "You only test." in shown["system_prompt"]
    contexts = [each["session_context"] for each in (shown, sent)]
    first, second = (re.sub(re.search(r"Data token: (\w+)", text)[1], "TOKEN", text) for text in contexts)  # type: ignore[index]
    assert first == second and "Use tabs, always." in first
    assert shown["tools"] == sent["tools"]
    plain = terminal("instructions", "--prompt", "--agent", "tester").out
    assert shown["system_prompt"] in plain and f"Tools: {', '.join(shown['tools'])}" in plain
    assert len(terminal("sessions", "--json").lines) == 1, "a preview is no session"
    assert terminal("instructions", "--prompt", "--agent", "nobody").code == 1


def test_options_of_a_run_have_defaults_in_the_environment(terminal: Terminal) -> None:
    variables = {"JOURNEYMAN_TEMPERATURE": "0.25", "JOURNEYMAN_MAX_OUTPUT_TOKENS": "900"}
    terminal.script({"text": "Done."})

    def started(*words: str, **environ: str) -> dict[str, Any]:
        done = terminal("run", "--json", *words, **environ)
        return next(line for line in done.lines if line["kind"] == "run_started")

    start = started("--script", "script.json", "--", "Go.", **variables)
    assert (start["temperature"], start["max_output_tokens"], start["model"]) == (0.25, 900, "scripted")
    start = started("Go.", "--script", "script.json", "--temperature", "0", "--max-output-tokens", "0", **variables)
    assert (start["temperature"], start["max_output_tokens"]) == (0.0, 0)
    wrong = terminal("run", "Go.", JOURNEYMAN_MODEL="nobody/none")
    assert wrong.code == 1 and "nobody" in wrong.err
    wrong = terminal("run", "Go.", "--script", "script.json", JOURNEYMAN_TEMPERATURE="warm")
    assert wrong.code == 2 and "--temperature" in wrong.err
    assert terminal("sessions", JOURNEYMAN_TEMPERATURE="warm").code == 0


def test_an_mcp_server_is_added_by_signing_in(terminal: Terminal) -> None:
    with oauth_server() as server:
        adding = terminal.start("mcp", "add", "--oauth", "greeter", server.mcp)
        (line,) = read_until(adding, "to sign in: ")
        urllib.request.urlopen(line.split("to sign in: ")[1].strip(), timeout=30).close()
        done = wait_for_exit(adding)
        assert done.code == 0 and "greeter__greet" in done.out and "lasts only until Journeyman exits" in done.err
        refused = terminal("mcp", "test", "greeter")
        assert refused.code == 1 and "journeyman mcp login greeter" in refused.err
        assert "not signed in" in terminal("mcp", "logout", "greeter").out
        assert terminal("mcp", "list", "--json").lines[0]["oauth"] is False


def test_memories_are_tagged_rated_and_tidied_on_trial(terminal: Terminal) -> None:
    added = terminal("memory", "add", "The office is closed.", "--tag", "News", "--expires", "30d", "--json").lines[0]
    assert added["fields"]["tags"] == "news" and added["fields"]["expires"] > "2026"
    assert "The office is closed." in terminal("memory", "list", "--tag", "news").out
    assert terminal("memory", "list", "--tag", "other").out.startswith("No memories")
    assert terminal("memory", "edit", added["id"], "--expires", "yesterday").code == 1
    assert "Rated bad" in terminal("memory", "rate", added["id"], "bad").out
    assert terminal("memory", "rate", added["id"], "none").code == 0
    assert terminal("memory", "edit", added["id"], "--expires", "never", "--tag", "").code == 0
    assert terminal("memory", "show", added["id"], "--json").lines[0]["listed"]["fields"] == {}
    assert terminal("memory", "tidy", "--dry-run").out == "There is nothing to tidy.\n"
    terminal("memory", "archive", added["id"])
