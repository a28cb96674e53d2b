"""Providers on the command line: list, add, test, set API keys, and whole runs against third-party servers."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.models.test_api_aimock import FIXTURES, ROOTS, call
from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.terminal import BOUND_S, Terminal
from tests.servers.aimock import serve_aimock
from tests.servers.real import ENABLED, REASON
from tests.servers.real_litellm import serve_litellm
from tests.servers.real_llamacpp import serve_llamacpp
from tests.servers.real_transformers import serve_transformers

KEY = "sk-canary-0123456789abcdef0123456789"
TASK = "count the lines"
TRIAL: list[dict[str, Any]] = [
    {"match": {"userMessage": "Count from one"}, "response": {"content": "one, two, three, four, five, six"}},
    {"match": {"userMessage": "Call the tool"}, "response": {"toolCalls": [call("note", word="pencil")]}},
]
CHAINS = [
    'I look first.<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call>',
    '<tool_call>\n{"name": "ask_user", "arguments": {"question": "Blank lines too?"}}\n</tool_call>',
    "There are 3 lines.",
]
real = pytest.mark.skipif(not ENABLED, reason=REASON)


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_aimock([*FIXTURES, *TRIAL], tmp_path_factory.mktemp("aimock"), "-l", "5", "-c", "6") as url:
        yield url


def add(terminal: Terminal, wire: str, url: str) -> None:
    done = terminal("models", "add", "box", url, "--api", wire, "--api-key-env", "BOX_KEY")
    assert (done.code, done.err) == (0, ""), done


def run_session(terminal: Terminal, model: str, key: str = KEY) -> list[str]:
    """Run a task with a tool call and a question, check that the API key does not leak; return its event kinds."""
    (terminal.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (terminal.folder / "b.txt").write_text("three\n", encoding="utf-8")
    done = terminal("run", TASK, "--model", model, "--answer", "No.", "--json", BOX_KEY=key)
    assert done.code == 0, (done.out[-2000:], done.err)
    assert_key_absent(terminal, done.out + done.err, key)
    assert [line["text"] for line in done.lines if line["kind"] == "replied"][-1] == "There are 3 lines."
    assert [line["answer"]["text"] for line in done.lines if line["kind"] == "question_answered"] == ["No."]
    return done.kinds()


def assert_key_absent(terminal: Terminal, said: str, key: str = KEY) -> None:
    """Check that the API key is neither in the output nor in any file of the data folder."""
    assert key not in said
    files = [path for path in terminal.home.rglob("*") if path.is_file()]
    assert any(path.name == "journeyman.db" for path in files)
    assert [path.name for path in files if key.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("wire", sorted(ROOTS))
def test_s1_a_complete_run_against_aimock(wire: str, aimock: str, terminal: Terminal) -> None:
    """Read two files at once, ask a question, finish; the API key from the environment does not leak."""
    add(terminal, wire, aimock + ROOTS[wire])
    kinds = run_session(terminal, "box/gpt-4o")
    assert kinds.count("tool_returned") == 2 and kinds.count("request_sent") == 3 and kinds[-1] == "run_ended"


def test_a_model_is_checked_and_selected(aimock: str, terminal: Terminal) -> None:
    add(terminal, "chat", f"{aimock}/v1")
    done = terminal("models", "test", "box/gpt-4o", "--json", BOX_KEY=KEY)
    trial = json.loads(done.out)
    assert done.code == 0 and (trial["streams"], trial["tools"], trial["error"]) == (True, True, None)
    shown = terminal("models", "test", "box/gpt-4o", BOX_KEY=KEY)
    assert "Streams: yes" in shown.out and "Calls tools: yes" in shown.out
    assert terminal("models", "use", "box/gpt-4o").code == 0
    (terminal.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (terminal.folder / "b.txt").write_text("three\n", encoding="utf-8")
    assert "There are 3 lines." in terminal("run", TASK, "--answer", "No.").out
    assert_key_absent(terminal, done.out + shown.out)


def test_the_list_names_key_sources_and_never_a_key(aimock: str, terminal: Terminal) -> None:
    add(terminal, "chat", f"{aimock}/v1")
    rows = {
        line["name"]: line for line in terminal("models", "--json", BOX_KEY=KEY).lines if line["kind"] == "provider"
    }
    assert rows["box"]["key_from"] == "BOX_KEY" and rows["box"]["reachable"] is True
    assert "box/gpt-4o" in {model["name"] for model in rows["box"]["models"]}
    assert rows["openai"]["key_from"] == "" and rows["openai"]["models"] == []
    shown = terminal("models", BOX_KEY=KEY)
    assert "key: BOX_KEY" in shown.out and KEY not in shown.out
    last = terminal("models", "--json").lines[-1]
    assert last["keyring"] == "" and "keyring" in last["keyring_error"]["message"] and last["prices_date"]
    doctor = terminal("doctor", BOX_KEY=KEY)
    assert "Models:" in doctor.out and "Keyring: none" in doctor.out and KEY not in doctor.out
    add(terminal, "chat", "http://127.0.0.1:9/v1")
    doctor = terminal("doctor")
    assert doctor.code == 1 and "Models of box: Nothing listens at http://127.0.0.1:9/v1." in doctor.out + doctor.err
    assert terminal("models", "remove", "box").code == 0
    assert terminal("models", "remove", "box").code == 1
    assert terminal("models", "remove", "openai").code == 1


@pytest.mark.parametrize("key", [f"{KEY}\n", f"  {KEY}\r\n"])
def test_s2_without_a_keyring_a_key_is_not_written_to_disk(key: str, terminal: Terminal) -> None:
    """The output and the exit code say that the API key was not saved, and no file contains it."""
    words, surroundings = program_command("models", "key", "openai"), program_environment(terminal.home)
    done = subprocess.run(
        words,
        input=key,
        env=surroundings,
        cwd=terminal.folder,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 1 and "until Journeyman exits" in done.stdout and "keyring" in done.stderr
    assert_key_absent(terminal, done.stdout + done.stderr)


def test_s9_the_settings_are_readable_by_their_owner_only(terminal: Terminal) -> None:
    assert terminal("models", "proxy", "http://127.0.0.1:9").code == 0
    file = terminal.home / "settings.json"
    assert file.stat().st_mode & 0o077 == 0 and terminal.home.stat().st_mode & 0o077 == 0
    assert terminal("models", "proxy", "http://me:pw@127.0.0.1:9").code == 1
    assert "pw" not in file.read_text()


def test_m26_a_proxy_of_the_environment_is_offered_and_not_used(aimock: str, terminal: Terminal) -> None:
    add(terminal, "chat", f"{aimock}/v1")
    done = terminal("models", HTTPS_PROXY="http://me:pw@127.0.0.1:9")
    assert "journeyman models proxy http://127.0.0.1:9" in done.out and "pw" not in done.out
    assert "box/gpt-4o" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "x"], "No model is set up."),
        (["run", "x", "--model", "nope/x"], "There is no provider 'nope'."),
        (["run", "x", "--model", "openai/gpt-5"], "There is no API key for OpenAI."),
        (["models", "test", "box/x"], "There is no provider 'box'."),
        (["models", "add", "box", "http://10.0.0.1/v1"], "Anyone on the network"),
        (["models", "add", "box", "https://me:pw@example.org/v1"], "user name or password"),
        (["models", "add", "Big Box", "https://example.org/v1"], "is not a valid name"),
    ],
)
def test_missing_configuration_is_reported(words: list[str], says: str, terminal: Terminal) -> None:
    done = terminal(*words)
    assert done.code == 1 and says in done.err


def test_another_model_continues_a_session(aimock: str, terminal: Terminal) -> None:
    """The next run of the session uses the new model, and the list shows it."""
    add(terminal, "chat", f"{aimock}/v1")
    terminal.script({"text": "By the script."})
    session = terminal.run("--json").lines[0]["session"]
    assert terminal("models", "use", "box/gpt-4o", "--session", session, "--effort", "low").code == 0
    row = next(line for line in terminal("sessions", "--json").lines if line["id"] == session)
    assert row["model"] == "box/gpt-4o"
    assert terminal("models", "use", "nope/x", "--session", session).code == 1


@real
@pytest.mark.parametrize("wire", ["anthropic", "chat", "responses"])
def test_a_complete_run_against_llamacpp(wire: str, llamacpp: str, terminal: Terminal) -> None:
    """A real server streams, with its own chat template and its own parsing of tool calls."""
    add(terminal, wire, llamacpp + ROOTS[wire])
    assert run_session(terminal, "box/scripted").count("tool_returned") == 1


@pytest.fixture(scope="module")
def llamacpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_llamacpp(CHAINS, tmp_path_factory.mktemp("llamacpp")) as url:
        yield url


@pytest.fixture(scope="module")
def litellm(aimock: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with serve_litellm(aimock, tmp_path_factory.mktemp("litellm")) as place:
        yield place


@real
@pytest.mark.parametrize("wire", ["anthropic", "chat", "responses"])
def test_a_complete_run_against_litellm(wire: str, litellm: tuple[str, str], terminal: Terminal) -> None:
    add(terminal, wire, litellm[0] + ROOTS[wire])
    assert run_session(terminal, "box/up", litellm[1]).count("tool_returned") == 2


@real
def test_a_run_against_transformers(tmp_path: Path, terminal: Terminal) -> None:
    """The tiny model produces random text and no tool calls, so the run ends after one reply."""
    with serve_transformers(tmp_path) as (url, model):
        add(terminal, "chat", url)
        done = terminal("run", "Say something.", "--model", f"box/{model}", "--max-output-tokens", "12", "--json")
        assert done.code == 0 and done.kinds()[-1] == "run_ended", (done.out[-2000:], done.err)
