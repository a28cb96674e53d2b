"""The ACP agent, driven by the client of the official library over a real process."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, schema, spawn_agent_process, text_block

from tests.e2e.terminal import Terminal, wait_for_exit
from tests.e2e.test_command_line_shared import owner

ROOT = Path(__file__).parents[2]
BOUND_S = 120.0


class Client:
    """The ACP client of an editor. `words` are the kinds or names of the permission options to choose, in order."""

    def __init__(self, *words: str, form: dict[str, Any] | None = None) -> None:
        self.words = list(words)
        self.form = form
        self.asked: list[tuple[str, list[str]]] = []
        self.shown: list[str] = []  # the texts of the permission requests
        self.updates: list[dict[str, Any]] = []
        self.heard = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))
        self.heard.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call.title, [option.name for option in options]))
        self.heard.set()
        self.shown += [block.content.text for block in tool_call.content or () if block.type == "content"]
        word = self.words.pop(0)
        chosen = next((option.option_id for option in options if word in (option.kind, option.name)), word)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> schema.AcceptElicitationResponse:
        self.asked.append((message, []))
        return schema.AcceptElicitationResponse(action="accept", content=self.form)

    def said(self) -> str:
        """Return the text of the agent's messages."""
        kind = "agent_message_chunk"
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def calls(self) -> list[tuple[str, str]]:
        return [(e["kind"], e["title"]) for e in self.updates if e["sessionUpdate"] == "tool_call"]


def play_script(home: Path, *replies: dict[str, Any]) -> None:
    """Write the script that the model plays."""
    home.mkdir(exist_ok=True)
    (home / "script.json").write_text(json.dumps({"replies": list(replies)}), "utf-8")


def call_reply(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"text": "I act. ", "calls": [{"name": tool, "arguments": arguments}]}


def edited(home: Path, client: Client, talk: Any, *, forms: bool = False, mode: str = "ask") -> None:
    """Start the process, initialize the connection, open a session in `work`, and run `talk`."""
    (work := home / "work").mkdir(parents=True, exist_ok=True)

    async def life() -> None:
        words = ["-m", "app", "--data-dir", str(home), "acp", "--script", str(home / "script.json"), "--mode", mode]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        async with (
            asyncio.timeout(BOUND_S),
            spawn_agent_process(client, sys.executable, *words, env=env, cwd=ROOT, use_unstable_protocol=True) as (  # type: ignore[arg-type]
                conn,
                _,
            ),
        ):
            can = schema.ClientCapabilities(
                elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()) if forms else None
            )
            hello = await conn.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=can)
            assert hello.agent_info is not None and hello.agent_info.name == "journeyman"
            assert hello.agent_capabilities is not None and hello.agent_capabilities.load_session
            opened = await conn.new_session(cwd=str(work), mcp_servers=[])
            assert opened.modes is not None and opened.modes.current_mode_id == mode
            await talk(conn, opened.session_id)

    asyncio.run(life())


def test_a_prompt_runs_with_updates_and_a_permission_request(tmp_path: Path) -> None:
    play_script(
        tmp_path,
        call_reply("write", path="a.txt", content="hello\n"),
        {"text": "Done.", "usage": {"input": 9, "output": 2}},
    )
    client = Client("allow_once", "allow_once")

    async def talk(conn: Any, session: str) -> None:
        answer = await conn.prompt(session_id=session, prompt=[text_block("Write it.")])
        assert answer.stop_reason == "end_turn" and answer.usage.output_tokens >= 2
        assert (tmp_path / "work" / "a.txt").read_text() == "hello\n"
        [(title, options)] = client.asked
        assert title == "write: a.txt" and options[0] == "Allow once" and options[-1] == "Deny" and len(options) == 5
        assert client.said() == "I act. Done." and client.calls() == [("edit", "Writing a.txt")]
        end = next(each for each in client.updates if each["sessionUpdate"] == "tool_call_update")
        diff = next(block for block in end["content"] if block["type"] == "diff")
        assert end["status"] == "completed" and diff["newText"] == "hello\n"
        listed = await conn.list_sessions()
        assert [one.session_id for one in listed.sessions] == [session]
        client.updates.clear()
        await conn.load_session(cwd=str(tmp_path / "work"), session_id=session, mcp_servers=[])
        assert client.updates[0]["content"]["text"] == "Write it." and client.said() == "I act. Done."
        again = await conn.prompt(session_id=session, prompt=[text_block("Once more.")])
        assert again.stop_reason == "end_turn"

    edited(tmp_path, client, talk)


def test_an_editor_shows_what_an_approval_makes_writable(tmp_path: Path) -> None:
    play_script(tmp_path, call_reply("run", command="ls .vscode; ./a\u202ehs"), {"text": "Done."})
    client = Client("reject_once")

    async def talk(conn: Any, session: str) -> None:
        await conn.prompt(session_id=session, prompt=[text_block("Run it.")])
        assert client.asked[0][0] == "run: ls .vscode; ./a⟦U+202E⟧hs"
        assert "lets it change .vscode, which other programs execute" in client.shown[0]
        assert "network: none" in client.shown[0]

    edited(tmp_path, client, talk)


def test_an_option_that_was_not_offered_allows_nothing(tmp_path: Path) -> None:
    """The request stays open, and can be answered elsewhere."""
    terminal = Terminal(tmp_path)
    try:
        play_script(terminal.home, call_reply("write", path="a.txt", content="x"), {"text": "Done."})
        client = Client("yes")

        async def talk(conn: Any, session: str) -> None:
            turn = asyncio.ensure_future(conn.prompt(session_id=session, prompt=[text_block("Write it.")]))
            while not client.asked:
                await client.heard.wait()
                client.heard.clear()
            [request] = (await asyncio.to_thread(terminal, "pending", "--json")).lines
            assert (await asyncio.to_thread(terminal, "deny", request["id"])).code == 0
            assert (await turn).stop_reason == "end_turn"

        edited(terminal.home, client, talk)
        assert not (terminal.home / "work" / "a.txt").exists()
    finally:
        terminal.close()


def test_a_cancel_stops_the_run_and_a_denial_is_applied(tmp_path: Path) -> None:
    slow = {"text": "x" * 2000, "chunks": 2000, "delay_s": 0.05}
    play_script(tmp_path, call_reply("write", path="a.txt", content="x"), slow)
    client = Client("Deny")

    async def talk(conn: Any, session: str) -> None:
        turn = asyncio.ensure_future(conn.prompt(session_id=session, prompt=[text_block("Write it.")]))
        while not client.said().endswith("x"):
            await client.heard.wait()
            client.heard.clear()
        assert not (tmp_path / "work" / "a.txt").exists()
        await conn.cancel(session_id=session)
        assert (await turn).stop_reason == "cancelled"

    edited(tmp_path, client, talk)


def test_questions_become_forms_options_or_text(tmp_path: Path) -> None:
    options = [{"label": "Red"}, {"label": "Blue"}]
    asks = call_reply("ask_user", question="Which?", options=options)
    play_script(tmp_path, asks, {"text": "It is {{answer}}."})

    def talk(client: Client) -> Any:
        async def say(conn: Any, session: str) -> None:
            await conn.prompt(session_id=session, prompt=[text_block("Ask.")])
            assert "Which?" in client.asked[0][0] and "It is Blue." in client.said()

        return say

    client = Client(form={"answer1": "Blue"})
    edited(tmp_path, client, talk(client), forms=True)
    client = Client("Blue")
    edited(tmp_path, client, talk(client))
    assert client.asked[0] == ("Question: Which?", ["Red", "Blue", "Decline to answer"])
    play_script(tmp_path, call_reply("ask_user", question="What else?"), {"text": "It is {{answer}}."})
    client = Client()

    async def words(conn: Any, session: str) -> None:
        assert (await conn.prompt(session_id=session, prompt=[text_block("Ask.")])).stop_reason == "end_turn"
        assert "What else?" in client.said()
        await conn.prompt(session_id=session, prompt=[text_block("Green")])
        assert "It is Green." in client.said()

    edited(tmp_path, client, words)


def test_an_editor_shows_hidden_characters_of_options(tmp_path: Path) -> None:
    asks = call_reply("ask_user", question="Run\u202e it?", options=[{"label": "No\u202e"}, {"label": "Yes"}])
    shown = ["No⟦U+202E⟧", "Yes", "Decline to answer"]
    for forms, client in ((False, Client("No⟦U+202E⟧")), (True, Client(form={"answer1": "No⟦U+202E⟧"}))):
        play_script(tmp_path, asks, {"text": "It is {{answer}}."})

        async def talk(conn: Any, session: str, client: Client = client) -> None:
            await conn.prompt(session_id=session, prompt=[text_block("Ask.")])
            assert "It is No" in client.said()

        edited(tmp_path, client, talk, forms=forms)
        assert "Run⟦U+202E⟧ it?" in client.asked[0][0]
        assert client.asked[0][1] == ([] if forms else shown)


def test_errors_have_a_message(tmp_path: Path) -> None:
    play_script(tmp_path, {"fault": "server_error"}, {"fault": "server_error"})

    async def talk(conn: Any, session: str) -> None:
        for wrong in (
            conn.prompt(session_id="none", prompt=[text_block("x")]),
            conn.set_session_mode(session_id=session, mode_id="none"),
            conn.new_session(cwd="relative", mcp_servers=[]),
            conn.load_session(cwd="/", session_id="none", mcp_servers=[]),
            conn.prompt(session_id=session, prompt=[]),
        ):
            try:
                await wrong
            except RequestError as error:
                assert str(error)
            else:
                raise AssertionError("it was taken")
        await conn.set_session_mode(session_id=session, mode_id="plan")

    edited(tmp_path, Client(), talk)


def test_an_editor_works_through_the_running_journeyman(tmp_path: Path) -> None:
    """The session runs in the owner, whose own run continues after the editor has closed."""
    terminal = Terminal(tmp_path)
    try:
        _, first = owner(terminal)
        play_script(terminal.home, call_reply("write", path="a.txt", content="hello\n"), {"text": "Done."})
        client = Client("allow_once")

        async def talk(conn: Any, session: str) -> None:
            answer = await conn.prompt(session_id=session, prompt=[text_block("Write it.")])
            assert answer.stop_reason == "end_turn" and client.said() == "I act. Done."
            assert [title for title, _ in client.asked] == ["write: a.txt"]
            shown = {row["id"]: row["status"] for row in terminal("sessions", "--json").lines}
            assert shown.pop(session) == "done" and list(shown.values()) == ["running"]

        edited(terminal.home, client, talk)
        assert (terminal.home / "work" / "a.txt").read_text("utf-8") == "hello\n"
        (terminal.folder / "go").touch()
        assert wait_for_exit(first).code == 0
    finally:
        terminal.close()
