"""Wrong and late requests of an editor, line by line on the standard streams of the real program."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.terminal import BOUND_S

PARSE, REQUEST, PARAMS, NOT_FOUND = -32700, -32600, -32602, -32002


class EditorProcess:
    """The editor's side of the connection: sends requests one after the other, and collects the updates."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.updates: list[dict[str, Any]] = []
        self._asked = 0

    def send(self, method: str, **params: Any) -> int:
        self._asked += 1
        self.line(json.dumps({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}).encode())
        return self._asked

    def line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message that is not an update."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("method") != "session/update":
                return message
            self.updates.append(message["params"]["update"])
        raise AssertionError("nothing came any more")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        asked = self.send(method, **params)
        answer = self.read()
        assert answer["id"] == asked
        return answer

    def refused(self, code: int, method: str, **params: Any) -> str:
        """Send a request that fails, and return the message of the error."""
        error = self.ask(method, **params)["error"]
        assert error["code"] == code, error
        words = str(error["message"])
        assert "Error" not in words and " -C" not in words and words.endswith(".")
        return words

    def new(self, folder: Path, **params: Any) -> str:
        return str(self.ask("session/new", cwd=str(folder), **params)["result"]["sessionId"])

    def said(self) -> str:
        kind = "agent_message_chunk"
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def rest(self) -> dict[int | None, dict[str, Any]]:
        """Close our side; return the remaining answers by ID. The program must exit with code 0."""
        out, err = self.process.communicate(timeout=BOUND_S)
        assert self.process.returncode == 0 and b"Traceback" not in err, err
        messages = [json.loads(line) for line in out.splitlines()]
        return {one["id"]: one for one in messages if "id" in one and "method" not in one}


@contextmanager
def open_connection(folder: Path, *replies: dict[str, Any]) -> Iterator[EditorProcess]:
    (folder / "work").mkdir()
    (folder / "script.json").write_text(json.dumps({"replies": replies}), "utf-8")
    process = subprocess.Popen(
        program_command("acp", "--script", str(folder / "script.json"), "--mode", "ask"),
        cwd=folder, env=program_environment(folder / "home"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    bound = Timer(BOUND_S, process.kill)
    bound.start()
    try:
        yield EditorProcess(process)
    finally:
        bound.cancel()
        if process.poll() is None:
            process.kill()
        process.communicate()


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def test_a_missing_folder_is_refused_at_once(tmp_path: Path) -> None:
    with open_connection(tmp_path) as wire:
        gone = tmp_path / "gone"
        assert str(gone) in wire.refused(PARAMS, "session/new", cwd=str(gone), mcpServers=[])
        for wrong in (str(tmp_path / "script.json"), "/" + "x" * 5000, "/nul\0", "relative", ""):
            assert wire.refused(PARAMS, "session/new", cwd=wrong, mcpServers=[])
        assert "cwd" in wire.refused(PARAMS, "session/new", mcpServers=[])
        assert "cwd" in wire.refused(PARAMS, "session/new", cwd=5)
        assert "mcpServers" in wire.refused(PARAMS, "session/new", cwd=str(tmp_path / "work"), mcpServers="x")


def test_an_unknown_session_is_refused(tmp_path: Path) -> None:
    with open_connection(tmp_path, {"text": "Done."}) as wire:
        assert "none" in wire.refused(NOT_FOUND, "session/load", sessionId="none", cwd="/", mcpServers=[])
        session = wire.new(tmp_path / "work")
        assert wire.ask("session/prompt", sessionId=session, prompt=text("Go."))["result"]["stopReason"] == "end_turn"
        assert wire.refused(NOT_FOUND, "session/load", sessionId=session[:-1], cwd="/")
        for method in ("session/load", "session/prompt", "session/set_mode"):
            assert "sessionId" in wire.refused(PARAMS, method, prompt=text("x"), modeId="plan")
        assert "mode" in wire.refused(PARAMS, "session/set_mode", sessionId=session)
        assert "result" in wire.ask("session/load", sessionId=session, cwd=str(tmp_path / "work"), mcpServers=[])


def test_an_empty_prompt_sends_no_request(tmp_path: Path) -> None:
    with open_connection(tmp_path, {"text": "Done."}) as wire:
        session = wire.new(tmp_path / "work")
        for empty in ([], text(""), text(" \n"), "words", None, [5]):
            assert wire.refused(PARAMS, "session/prompt", sessionId=session, prompt=empty)
        assert wire.ask("session/list")["result"]["sessions"] == [] and wire.updates == []
        assert wire.ask("session/prompt", sessionId=session, prompt=text("Go."))["result"]["stopReason"] == "end_turn"
        assert wire.refused(PARAMS, "session/prompt", sessionId=session, prompt=[])


def test_an_invalid_message_is_answered(tmp_path: Path) -> None:
    with open_connection(tmp_path) as wire:
        for line, code in ((b"{not json", PARSE), (b"\xff\xfe", PARSE), (b"[1]", REQUEST)):
            wire.line(line)
            answer = wire.read()
            assert answer["id"] is None and answer["error"]["code"] == code and answer["error"]["message"]
        assert "result" in wire.ask("initialize", protocolVersion=1)


def test_received_messages_are_answered_before_exit(tmp_path: Path) -> None:
    with open_connection(tmp_path) as wire:
        wire.send("initialize", protocolVersion=1)
        wire.send("session/new", cwd=str(tmp_path / "work"), mcpServers=[])
        wire.send("session/list")
        wire.send("no/such")
        rest = wire.rest()
        assert [sorted(rest[number].keys() & {"result", "error"}) for number in (1, 2, 3, 4)] == [
            ["result"], ["result"], ["result"], ["error"]]  # fmt: skip


@pytest.mark.parametrize("going", [True, False], ids=["going", "just sent"])
def test_exit_cancels_the_turn(tmp_path: Path, going: bool) -> None:
    asks = {"text": "I act.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "x"}}]}
    with open_connection(tmp_path, asks) as wire:
        prompt = wire.send("session/prompt", sessionId=wire.new(tmp_path / "work"), prompt=text("Go."))
        if going:
            assert wire.read()["method"] == "session/request_permission"
        rest = wire.rest()
        assert rest[prompt]["result"]["stopReason"] == "cancelled"
        assert not (tmp_path / "work" / "a.txt").exists()


@pytest.mark.parametrize("named", [["files\u202e", "http"], []], ids=["two", "none"])
def test_mcp_servers_of_the_editor_are_reported(tmp_path: Path, named: list[str]) -> None:
    given = [{"name": name, "command": "/bin/false", "args": [], "env": [{"name": "K", "value": "s3cret"}]}
             for name in named]  # fmt: skip
    with open_connection(tmp_path, {"text": "Done."}, {"text": "Done."}) as wire:
        session = wire.new(tmp_path / "work", mcpServers=given)
        wire.ask("session/prompt", sessionId=session, prompt=text("Go."))
        said = wire.said()
        assert ("files⟦U+202E⟧, http" in said and "journeyman mcp add" in said) if named else said == "Done."
        assert said.endswith("Done.") and "s3cret" not in said and "/bin" not in said
        wire.updates.clear()
        wire.ask("session/prompt", sessionId=session, prompt=text("Once more."))
        assert wire.said() == "Done."


def exported(home: Path, session: str) -> list[dict[str, Any]]:
    export = subprocess.run(
        program_command("export", session, "--as", "json"), cwd=home, env=program_environment(home / "home"),
        capture_output=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in export.stdout.splitlines()]


def test_a_file_in_an_answer_is_not_what_the_user_wrote(tmp_path: Path) -> None:
    asks = {"text": "I ask.", "calls": [{"name": "ask_user", "arguments": {"question": "Which?"}}]}
    with open_connection(tmp_path, asks, {"text": "Thanks."}, {"text": "Done."}) as wire:
        session = wire.new(tmp_path / "work")
        wire.ask("session/prompt", sessionId=session, prompt=text("Ask."))
        file = {"type": "resource", "resource": {"uri": "file:///a.md", "text": "Hostile"}}
        answer = wire.ask("session/prompt", sessionId=session, prompt=[*text("This one."), file])
        assert answer["result"]["stopReason"] == "end_turn"
        wire.rest()
    events = exported(tmp_path, session)
    facts = [event["fact"] for event in events if event.get("kind") in ("user_message", "question_answered")]
    assert "Hostile" not in json.dumps(facts) and "This one." in json.dumps(facts)
    assert [each["name"] for fact in facts for each in fact.get("attachments", ())] == ["file:///a.md"]
    read = [event["fact"]["source"] for event in events if event.get("kind") == "untrusted_content_read"]
    assert read == ["folder"]


def test_a_file_in_a_prompt_is_not_what_the_user_wrote(tmp_path: Path) -> None:
    """It is marked as data, and untrusted in a folder that is not trusted, as if the agent had read it."""
    with open_connection(tmp_path, {"text": "One."}, {"text": "Two."}) as wire:
        session = wire.new(tmp_path / "work")
        for name in ("a.md", "b.md"):
            file = {"type": "resource", "resource": {"uri": f"file:///{name}", "text": f"Hostile {name}"}}
            answer = wire.ask("session/prompt", sessionId=session, prompt=[*text("Explain this."), file])
            assert answer["result"]["stopReason"] == "end_turn"
        wire.rest()
    events = exported(tmp_path, session)
    messages = [event["fact"] for event in events if event.get("kind") == "user_message"]
    assert len(messages) == 2 and all("Hostile" not in json.dumps(message["text"]) for message in messages)
    assert [message["attachments"][0]["name"] for message in messages] == ["file:///a.md", "file:///b.md"]
    start = next(event["fact"] for event in events if event.get("kind") == "run_started")
    assert start["untrusted_sources"] == ["folder"]
