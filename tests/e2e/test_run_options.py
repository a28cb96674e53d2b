"""Options of `run` that limit a run, shape its reply or keep it from asking, and how the terminal reports its end."""

import json
import signal
from typing import Any

from tests.e2e.terminal import Terminal, read_until, wait_for_exit

LOOK = {"calls": [{"name": "find", "arguments": {"pattern": "*.md"}}]}


def test_a_limit_says_its_reason_in_the_terminal(terminal: Terminal) -> None:
    terminal.script(LOOK, then="loop")
    ended = terminal.run("--max-turns", "2")
    assert ended.code == 4 and "The run ended: 2 turns, the limit of this run." in ended.err
    quiet = terminal.run("--max-turns", "2", "-q")
    assert quiet.code == 4 and "2 turns" in quiet.err
    as_json = terminal.run("--max-turns", "2", "--json")
    assert as_json.lines[-1]["reason"] == "2 turns, the limit of this run" and not as_json.err


def test_tokens_and_minutes_are_limited(terminal: Terminal) -> None:
    terminal.script(LOOK | {"usage": {"input": 90, "output": 30}}, then="loop")
    ended = terminal.run("--max-tokens", "100", "--json")
    assert ended.code == 4 and ended.lines[-1]["reason"].startswith("100 tokens")
    started = next(line for line in ended.lines if line["kind"] == "run_started")
    assert (started["max_tokens"], started["max_minutes"]) == (100, 0.0)
    terminal.script({"fault": "silence", "seconds": 600}, name="silent.json")
    ended = terminal.run("--max-minutes", "0.005", "--json", script="silent.json")
    assert ended.code == 4 and "minutes" in ended.lines[-1]["reason"]


def test_a_reply_matches_the_schema_or_the_run_fails(terminal: Terminal) -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    (terminal.folder / "schema.json").write_text(json.dumps(schema))
    terminal.script({"text": "Three."}, {"text": '{"count": 3}'})
    ended = terminal.run("--schema", "schema.json", "-q")
    assert ended.code == 0 and ended.out == '{"count": 3}\n'
    terminal.script({"text": "Three."}, {"text": '{"count": "three"}'}, name="wrong.json")
    ended = terminal.run("--schema", "schema.json", script="wrong.json")
    assert ended.code == 1 and "The run ended:" in ended.err and "count" in ended.err
    ended = terminal.run("--schema", "schema.json", "-q", script="wrong.json")
    assert ended.code == 1 and not ended.out
    refused_schemas = (
        ("{", "not valid JSON"),
        ('{"type": "integr"}', "'integr' is not valid"),
        ('{"$ref": "a"}', "is not a part of the schema"),
    )
    for text, why in refused_schemas:
        (terminal.folder / "schema.json").write_text(text)
        refused = terminal.run("--schema", "schema.json")
        assert refused.code == 1 and "The JSON Schema cannot be used." in refused.err and why in refused.err


def test_a_schema_may_be_true_or_false(terminal: Terminal) -> None:
    terminal.script({"text": "Three."}, {"text": "3"})
    for schema, code in (("true", 0), ("false", 1)):
        (terminal.folder / "schema.json").write_text(schema)
        ended = terminal.run("--schema", "schema.json", "-q")
        assert ended.code == code and "Internal error" not in ended.err


def test_a_run_and_its_session_show_that_a_limit_is_near(terminal: Terminal) -> None:
    terminal.script(*[LOOK] * 4, {"text": "Done."})
    ended = terminal.run("--max-turns", "5")
    assert ended.code == 0 and "Notice: 4 of 5 turns" in ended.out
    session = ended.out.split()[1]
    assert "Notice: 4 of 5 turns" in terminal("show", session).out


def test_without_questions_nobody_is_said_to_have_answered(terminal: Terminal) -> None:
    ask = {"name": "ask_user", "arguments": {"question": "Which one?"}}
    terminal.script({"calls": [ask]}, {"text": "Done."})
    ended = terminal.run("--no-questions", "--json")
    answer = next(line["answer"] for line in ended.lines if line["kind"] == "question_answered")
    assert answer["declined"] and answer["answered_by"] == "no_questions"
    assert ended.lines[-1]["status"] == "completed"


def test_a_run_without_questions_asks_none_after_a_kill_unless_it_is_told_to(terminal: Terminal) -> None:
    wait = {"name": "run", "arguments": {"command": "echo begun; until [ -e go ]; do sleep 0.05; done"}}
    terminal.script(
        {"calls": [wait]},
        {"calls": [{"name": "ask_user", "arguments": {"question": "Which one?"}}]},
        {"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "a"}}]},
        {"text": "Done."},
    )
    options = ("--script", "script.json", "--allow", "run", "--json")
    killed = terminal.start("run", "Go.", "--no-questions", *options)
    read_until(killed, "begun")
    wait_for_exit(killed, signal.SIGKILL)
    (terminal.folder / "go").touch()
    session = terminal.session()

    asking = terminal("resume", session, "--retry", "--questions", "--json")
    assert asking.code == 3 and terminal("pending").out.count("Which one?") == 1
    resumed = terminal("resume", session, "--json")
    assert resumed.code == 0 and resumed.lines[-1]["status"] == "completed", resumed
    events = terminal("show", session, "--json").lines
    (started,) = [line for line in events if line["kind"] == "run_started"]
    assert started["no_questions"]
    (answered,) = [line for line in events if line["kind"] == "question_answered"]
    assert answered["answer"]["answered_by"] == "no_questions"
    assert [line["allowed"] for line in events if line["kind"] == "permission_decided"] == [False]
    assert not (terminal.folder / "a.txt").exists()


def test_a_repeated_run_asks_no_questions_either(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "ask_user", "arguments": {"question": "Which one?"}}]}, {"text": "Done."})
    assert terminal.run("--no-questions").code == 0
    session = terminal.session()
    assert terminal("fork", session, "--retry", "--json").lines[-1]["status"] == "completed"
    asking = terminal("fork", session, "--retry", "--questions", "--json")
    assert asking.code == 3
    assert not next(line for line in asking.lines if line["kind"] == "run_started")["no_questions"]


def test_a_fork_continued_with_a_message_records_that_it_asks_no_questions(terminal: Terminal) -> None:
    ask = {"calls": [{"name": "ask_user", "arguments": {"question": "Which one?"}}]}
    terminal.script({"text": "Done."}, ask, {"text": "Done again."})
    assert terminal.run().code == 0
    forked = terminal("fork", terminal.session(), "--say", "Go on.", "--no-questions", "--json")
    assert forked.code == 0 and forked.lines[-1]["status"] == "completed"
    starts = [line["no_questions"] for line in forked.lines if line["kind"] == "run_started"]
    assert starts == [True]


def test_a_repetition_without_questions_is_ended_by_the_option(terminal: Terminal) -> None:
    terminal.script({"calls": [{"name": "read", "arguments": {"path": "missing.txt"}}]}, then="loop")
    ended = terminal.run("--no-questions", "--json")
    assert ended.lines[-1]["reason"] == "ended by the option --no-questions: the agent was repeating itself"
    assert "by you" not in json.dumps(ended.lines)


WRITE = {"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "right\n"}}]}


def test_a_run_is_not_done_before_the_sealed_files_are_as_they_were(terminal: Terminal) -> None:
    tests = terminal.folder / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text("assert False\n")
    (tests / "b.txt").write_text("b\n")

    def change(text: str, new: str, removed: str, *other: str) -> dict[str, Any]:
        diff = f"--- a/tests/{removed}.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-{removed}\n"
        files = {"tests/test_a.py": text, f"tests/{new}.txt": new, **dict.fromkeys(other, "x")}
        writes = [
            {"name": "write", "arguments": {"path": path, "content": f"{content}\n"}} for path, content in files.items()
        ]
        return {"calls": [*writes, {"name": "patch", "arguments": {"diff": diff}}]}

    cheat, revert = change("assert True", "c", "b", "other.txt"), change("assert False", "b", "c")
    terminal.script(cheat, {"text": "It is done."}, revert, {"text": "It is done now."})
    ended = terminal.run("--seal", "tests", "--json")
    assert ended.code == 0, ended.err
    (message,) = [line for line in ended.lines if line["kind"] == "harness_message"]
    files = "tests/b.txt (removed), tests/c.txt (added), tests/test_a.py (changed)"
    assert files in message["text"] and "other.txt" not in message["text"]
    (start,) = [line for line in ended.lines if line["kind"] == "run_started"]
    assert "The user has sealed these files: tests." in start["session_context"]
    assert not any(line["kind"] == "run_rated" for line in ended.lines)  # Only a check says that the work is right.


def test_a_run_that_does_not_revert_a_sealed_file_fails_whatever_its_check_says(terminal: Terminal) -> None:
    (terminal.folder / "test_a.py").write_text("assert False\n")
    edit = {"name": "write", "arguments": {"path": "test_a.py", "content": "assert True\n"}}
    terminal.script({"calls": [edit]}, *[{"text": "It is done."}] * 3)
    ended = terminal.run("--seal", "**/test_*.py", "--check", "true", "--json")
    assert ended.code == 1 and ended.lines[-1]["status"] == "failed"
    assert "the sealed files are unchanged" in ended.lines[-1]["reason"]
    (rated,) = [line for line in ended.lines if line["kind"] == "run_rated"]
    assert rated["rating"] == "down" and "test_a.py (changed)" in rated["note"]


def test_a_pattern_that_seals_nothing_is_refused_before_the_run(terminal: Terminal) -> None:
    terminal.script({"text": "It is done."})
    refused = terminal.run("--seal", "tset")
    assert refused.code == 1 and "'tset' matches none" in refused.err
    assert not terminal("sessions", "--json").lines


def test_a_failing_check_sends_the_agent_back_and_a_passing_one_rates_the_run(terminal: Terminal) -> None:
    terminal.script({"text": "It is done."}, WRITE, {"text": "Now it is."})
    ended = terminal.run("--check", "grep -q right a.txt && echo checked", "--json")
    assert ended.code == 0, ended.err
    checks = [line for line in ended.lines if line["kind"] == "background_command_ended"]
    assert [check["exit_code"] for check in checks] == [2, 0] and "checked" in checks[1]["output"]
    (message,) = [line for line in ended.lines if line["kind"] == "harness_message"]
    assert "An acceptance check of the user failed: grep -q right a.txt" in message["text"]
    (rated,) = [line for line in ended.lines if line["kind"] == "run_rated"]
    assert (rated["rating"], rated["by"]) == ("up", "check")
    assert terminal("sessions", "--json").lines[0]["check_rating"] == "up"
    shown = terminal("show", terminal.session())
    assert shown.out.count("grep -q right a.txt") == 3  # two checks, and the notice that the first one failed


def test_a_check_that_keeps_failing_ends_the_run_as_failed(terminal: Terminal) -> None:
    terminal.script({"text": "It is done."}, then="repeat_last")
    ended = terminal.run("--check", "false", "--check", "touch never", "--json")
    assert ended.code == 1 and ended.lines[-1]["reason"] == "the check failed: false"
    assert sum(line["kind"] == "background_command_ended" for line in ended.lines) == 3
    assert [line["rating"] for line in ended.lines if line["kind"] == "run_rated"] == ["down"]
    assert not (terminal.folder / "never").exists()
    assert "false" in terminal("failures").out


def test_a_checked_session_replays_as_recorded(terminal: Terminal) -> None:
    terminal.script({"text": "It is done."}, WRITE, {"text": "Now it is."})
    assert terminal.run("--check", "grep -q right a.txt").code == 0
    replayed = terminal("replay", terminal.session())
    assert replayed.code == 0 and "differ" not in (replayed.out + replayed.err).replace("no difference", "")
