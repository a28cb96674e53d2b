"""An external agent for tests, built with the official ACP library. Words of the prompt select what it does."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import acp
from acp import (
    PROTOCOL_VERSION,
    plan_entry,
    schema,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)

MEMORY = Path(os.environ.get("ACP_MEMORY", "/nonexistent"))  # folder of the sessions that it can resume
REMEMBERS = MEMORY.is_dir()
OPTIONS = [("yes", "Allow once", "allow_once"), ("ever", "Always allow edits", "allow_always"),
           ("no", "Reject", "reject_once"), ("never", "Never again", "reject_always")]  # fmt: skip

ACTIONS = ("edit", "files", "terminal", "both", "turned", "wait", "die", "ask", "slow", "execute", "notice", "mute",
           "again", "started", "which", "consult")  # fmt: skip


def note(session: str, words: str) -> None:
    if REMEMBERS:
        with (MEMORY / session).open("a", encoding="utf-8") as file:
            file.write(words)


def write(path: str) -> None:
    Path(path).write_text("hello\n", "utf-8")


class Scripted:
    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.cwd = Path()
        self.mode = "build"

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(load_session=REMEMBERS),
            agent_info=schema.Implementation(
                name="scripted", title=os.environ.get("AGENT_TITLE", "Scripted Agent"), version="1.2"
            ),
        )

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        self.cwd = Path(cwd)
        name = f"theirs-{os.getpid()}"
        note(name, "")
        modes = schema.SessionModeState(
            current_mode_id="build",
            available_modes=[schema.SessionMode(id="build", name="Build"), schema.SessionMode(id="look", name="Look")],
        )
        return schema.NewSessionResponse(session_id=name, modes=modes)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        self.cwd = Path(cwd)
        await self.client.session_update(session_id, update_agent_message_text("What was said before, again."))
        return schema.LoadSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        self.mode = mode_id
        await self.say(
            session_id, schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode_id)
        )
        return schema.SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.stop.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> schema.PromptResponse:
        words = " ".join(getattr(block, "text", "") for block in prompt)
        note(session_id, words)
        self.stop.clear()
        for name in ACTIONS:
            if name in words.split():
                await getattr(self, name)(session_id)
        if "answered: Allow once. Repeat" in words:
            await (self.started if "The call was: append" in words else self.ask)(session_id)
        await self.say(session_id, update_agent_message_text(f"You said: {words}"))
        used = schema.UsageUpdate(
            session_update="usage_update", used=120, size=4000, cost=schema.Cost(amount=0.5, currency="USD")
        )
        await self.say(session_id, used)
        reason = "cancelled" if self.stop.is_set() else "end_turn"
        usage = schema.Usage(input_tokens=100, output_tokens=20, total_tokens=120)
        return schema.PromptResponse(stop_reason=reason, usage=usage)

    async def say(self, session: str, update: Any) -> None:
        await self.client.session_update(session, update)

    async def permit(self, session: str, call: Any) -> str:
        options = [schema.PermissionOption(option_id=i, name=n, kind=k) for i, n, k in OPTIONS]
        answer = await self.client.request_permission(session_id=session, tool_call=call, options=options)
        return str(getattr(answer.outcome, "option_id", "cancelled"))

    async def edit(self, session: str) -> None:
        """Reason, plan, read, ask for permission, and write a file without the client."""
        await self.say(session, update_agent_thought_text("I shall greet."))
        await self.say(session, update_plan([plan_entry("Greet", status="in_progress"), plan_entry("Rest")]))
        await self.say(session, update_agent_message_text("I look first."))
        path = str(self.cwd / "old.txt")
        await self.say(session, start_tool_call("t1", "Read old.txt", kind="read", status="pending",
                                                locations=[schema.ToolCallLocation(path=path)]))  # fmt: skip
        await self.say(session, update_tool_call("t1", status="completed", content=[tool_content(text_block("old"))]))
        await self.ask(session)

    async def ask(self, session: str) -> None:
        path = str(self.cwd / "new.txt")
        diff = tool_diff_content(path, "hello\n")
        await self.say(session, start_tool_call("t2", "Write new.txt", kind="edit", status="pending", content=[diff],
                                                raw_input={"filePath": path}))  # fmt: skip
        said = await self.permit(session, schema.ToolCallUpdate(tool_call_id="t2"))
        if said in ("yes", "ever"):
            write(path)
            await self.say(session, update_tool_call("t2", status="completed", content=[diff]))
        else:
            await self.say(session, update_tool_call("t2", status="failed"))
        await self.say(session, update_agent_message_text(f"They said {said}. "))

    async def which(self, session: str) -> None:
        await self.say(session, update_agent_message_text(f"Mode {self.mode}. "))

    async def started(self, session: str) -> None:
        """Report a call as in progress, then ask for permission to run it, as OpenCode and Codex do.

        If the user denies it, its end is not reported, as by Codex.
        """
        await self.say(session, start_tool_call("t11", "Append", kind="execute", status="in_progress",
                                                raw_input={"command": "append"}))  # fmt: skip
        if await self.permit(session, schema.ToolCallUpdate(tool_call_id="t11")) != "yes":
            return
        with (self.cwd / "appended").open("a", encoding="utf-8") as file:
            file.write("x")
        await self.say(session, update_agent_message_text("Appended."))
        if (self.cwd / "hang").exists():
            await self.stop.wait()
        await self.say(session, update_tool_call("t11", status="completed"))

    async def execute(self, session: str) -> None:
        """Ask for permission to run a command, and run it without the client."""
        await self.say(session, start_tool_call("t8", "Make it", kind="execute", status="pending",
                                                raw_input={"command": "touch executed"}))  # fmt: skip
        if await self.permit(session, schema.ToolCallUpdate(tool_call_id="t8")) == "yes":
            write(str(self.cwd / "executed"))
        await self.say(session, update_tool_call("t8", status="completed"))

    async def notice(self, session: str) -> None:
        """Send a notice and a reply as two messages."""
        for identifier, text in (("m1", "A new version is "), ("m1", "available."), ("m2", "Hello. ")):
            content = text_block(text)
            await self.say(session, schema.AgentMessageChunk(session_update="agent_message_chunk", content=content,
                                                             message_id=identifier))  # fmt: skip

    async def mute(self, session: str) -> None:
        """Say something, complete a call, then wait silently until the turn is canceled."""
        await self.say(session, update_agent_message_text("I look first."))
        await self.say(session, start_tool_call("t9", "Look", kind="search", status="in_progress"))
        await self.say(session, update_tool_call("t9", status="completed"))
        await self.stop.wait()

    async def again(self, session: str) -> None:
        """Name the same file by both of its paths."""
        location = schema.ToolCallLocation(path=str(self.cwd / "new.txt"))
        diff = tool_diff_content("new.txt", "hello\n")
        await self.say(session, start_tool_call("t10", "Write", kind="edit", status="in_progress", content=[diff],
                                                locations=[location]))  # fmt: skip
        await self.say(session, update_tool_call("t10", status="completed"))

    async def consult(self, session: str) -> None:
        """Read a file of the folder, then call a tool of which the client knows only the title."""
        for name, kind, title, paths in (
            ("t12", "read", "Read notes.txt", ["notes.txt"]),
            ("t13", "other", "mail__get_inbox", []),
            ("t14", "read", "Read a page", ["/etc/hosts"]),
            ("t15", "search", "Find in the tickets", []),
        ):
            locations = [schema.ToolCallLocation(path=str(self.cwd / path)) for path in paths]
            await self.say(session, start_tool_call(name, title, kind=kind, status="in_progress",  # type: ignore[arg-type]
                                                    locations=locations))  # fmt: skip
            await self.say(session, update_tool_call(name, status="completed"))

    async def files(self, session: str) -> None:
        """Read and write files through the client."""
        await self.client.write_text_file(
            session_id=session, path=str(self.cwd / "by_client.txt"), content="one\ntwo\n"
        )
        back = await self.client.read_text_file(session_id=session, path=str(self.cwd / "by_client.txt"), line=2)
        try:
            await self.client.read_text_file(session_id=session, path=str(self.cwd / "missing.txt"))
        except acp.RequestError as error:
            await self.say(session, update_agent_message_text(f"missing: {error.code} {error} "))
        try:
            await self.client.read_text_file(session_id=session, path="/etc/passwd")
        except acp.RequestError as error:
            await self.say(session, update_agent_message_text(f"read {back.content!r}; outside: {error} "))

    async def terminal(self, session: str) -> None:
        args = ["-c", "echo out; echo x > made"]
        made = await self.client.create_terminal(session_id=session, command="sh", args=args, cwd=str(self.cwd))
        await self.say(session, start_tool_call("t3", "Make it", kind="execute", status="in_progress",
                                                content=[tool_terminal_ref(made.terminal_id)]))  # fmt: skip
        end = await self.client.wait_for_terminal_exit(session_id=session, terminal_id=made.terminal_id)
        shown = await self.client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        await self.client.release_terminal(session_id=session, terminal_id=made.terminal_id)
        await self.say(session, update_tool_call("t3", status="completed"))
        await self.say(session, update_agent_message_text(f"exit {end.exit_code}: {shown.output.strip()} "))

    async def both(self, session: str) -> None:
        """Start two concurrent tool calls."""
        for name in ("t6", "t7"):
            await self.say(session, start_tool_call(name, f"Call {name}", kind="search", status="in_progress"))

    async def turned(self, session: str) -> None:
        """Complete the two calls, the second one first."""
        for name in ("t7", "t6"):
            found = tool_content(text_block(f"found by {name}"))
            await self.say(session, update_tool_call(name, status="completed", content=[found]))

    async def wait(self, session: str) -> None:
        """Start a child in its own process group, then wait until the turn is canceled."""
        child = await asyncio.create_subprocess_exec("sleep", "987", start_new_session=True)
        await self.say(session, start_tool_call("t4", f"child {child.pid}", kind="execute", status="in_progress"))
        await self.say(session, update_agent_message_text("Half a sen"))
        await self.stop.wait()

    async def slow(self, session: str) -> None:
        await self.say(session, update_agent_message_text("Slowly. "))
        await self.stop.wait()

    async def die(self, session: str) -> None:
        await self.say(session, start_tool_call("t5", "Doomed", kind="execute", status="in_progress"))
        sys.stderr.write("my last words\n")
        sys.stderr.flush()
        os._exit(3)


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Scripted()))  # type: ignore[arg-type]
