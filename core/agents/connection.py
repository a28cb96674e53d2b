"""The connection to one external agent for one session: its process, the protocol, and the agent's own session."""

import asyncio
from pathlib import Path
from typing import Any, Protocol

from core import __version__
from core.agents.json_rpc import METHOD_NOT_FOUND, REQUEST_CANCELED, JsonRpcPeer, Params, PeerClosed, RpcError
from core.agents.process import AgentProcess, start_process
from core.agents.session_updates import parse_settings
from core.domain.external_agents import ExternalAgentSetting
from core.domain.problems import Problem
from core.domain.visible import visible
from core.settings.schema import ExternalAgentSettings

PROTOCOL_VERSION = 1
START_TIMEOUT_S = 120.0  # npx may download the program first
SESSION_TIMEOUT_S = 60.0
CANCEL_TIMEOUT_S = 10.0
STOP_S = 0.5  # seconds between the cancel notification and the kill
AUTH_REQUIRED = -32000
STEPS = {  # ACP method → what the agent was asked to do, for error messages
    "initialize": "to answer the first message (initialize)",
    "session/new": "to open a session (session/new)",
    "session/resume": "to resume its session (session/resume)",
    "session/load": "to load its session (session/load)",
}
MAX_TURN_BYTES = 64 << 20  # an agent that sends more than this in one turn is killed


class AgentHost(Protocol):
    """Handles notifications and requests of the agent during a run."""

    async def on_notification(self, method: str, params: Params) -> None: ...

    async def on_request(self, method: str, params: Params) -> object: ...


class AgentConnection:
    """A connection to an agent, from the start of its process to the end; it cannot be reopened.

    Attributes:
        host: handles notifications and requests during a run; if None, they are ignored or rejected.
        agent_session_id: the id of the agent's own session; `settings` are the settings of that session.
        name, version: as reported by the agent.
        has_history: whether the agent's session contains the earlier conversation.
        prompt_capabilities: the kinds of content the agent accepts in prompts.
    """

    def __init__(self, agent: ExternalAgentSettings, program: AgentProcess) -> None:
        self.agent = agent
        self.host: AgentHost | None = None
        self.agent_session_id = ""
        self.name = agent.name
        self.version = ""
        self.settings: tuple[ExternalAgentSetting, ...] = ()
        self.has_history = True
        self.prompt_capabilities: Params = {}
        self._capabilities: Params = {}
        self._login_hint = ""
        self._program = program
        self._peer = JsonRpcPeer(program.write, self._on_request, self._on_notification)
        self._end_reason = ""
        self._bytes_before_turn = 0
        self._turn: asyncio.Task[Params] | None = None
        self._reading = asyncio.create_task(self._read(), name=f"agent {agent.name}")
        self._errors = asyncio.create_task(program.read_stderr(), name=f"errors of agent {agent.name}")

    @property
    def is_open(self) -> bool:
        return not self._reading.done()

    @property
    def pid(self) -> int:
        return self._program.pid

    async def prompt(self, blocks: list[Params]) -> Params:
        """Run one prompt turn and return the agent's response. Canceling this coroutine does not end the turn.

        Raises `Problem` if the turn fails.
        """
        self._bytes_before_turn = self._peer.bytes_received
        turn = self._request("session/prompt", {"sessionId": self.agent_session_id, "prompt": blocks}, None)
        self._turn = asyncio.create_task(turn, name=f"turn of agent {self.agent.name}")
        await asyncio.wait({self._turn})
        return self._turn.result()

    async def cancel(self, seconds: float = CANCEL_TIMEOUT_S) -> bool:
        """Cancel the turn and return whether it ended in time.

        Pending requests of the agent are answered as canceled.
        """
        if self._turn is None or self._turn.done():
            return True
        self._peer.cancel_requests()
        await self._peer.notify("session/cancel", {"sessionId": self.agent_session_id})
        await asyncio.wait({self._turn}, timeout=seconds)
        return self._turn.done()

    async def change_setting(self, setting: ExternalAgentSetting, value: str) -> None:
        """Change a setting of the agent."""
        if setting.is_config_option:
            params = {"sessionId": self.agent_session_id, "configId": setting.id, "value": value}
            response = await self._request("session/set_config_option", params, SESSION_TIMEOUT_S)
            self.settings = parse_settings(response) or self.settings
        else:
            params = {"sessionId": self.agent_session_id, "modeId": value}
            await self._request("session/set_mode", params, SESSION_TIMEOUT_S)

    async def close(self) -> None:
        """Kill the agent with its child processes and wait for their end, even if this task is canceled meanwhile."""
        self._end_reason = self._end_reason or "It was stopped."
        closing = asyncio.create_task(self._close(), name=f"end of agent {self.agent.name}")
        was_canceled = False
        while not closing.done():
            try:
                await asyncio.wait({closing})
            except asyncio.CancelledError:
                was_canceled = True
        closing.result()
        if was_canceled:
            raise asyncio.CancelledError

    async def _close(self) -> None:
        await self._program.kill()
        await self._peer.close(self._end_reason)
        tasks: set[asyncio.Task[Any]] = {self._reading, self._errors}
        if self._turn:
            tasks.add(self._turn)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # Mark it as retrieved, or asyncio would log it.

    async def open_session(self, folder: Path, agent_session_id: str) -> None:
        """Initialize the protocol, then resume the agent's session with this id, or else create a new session."""
        initialization = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
            "clientInfo": {"name": "journeyman", "title": "Journeyman", "version": __version__},
        }
        response = await self._request("initialize", initialization, START_TIMEOUT_S)
        version = response.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            cause = f"It uses version {visible(str(version))[:40]} of the protocol, not {PROTOCOL_VERSION}."
            raise Problem(f"{self.agent.name} is not compatible.", cause, "Update it, or Journeyman.")
        self._capabilities = _dict_or_empty(response.get("agentCapabilities"))
        self.prompt_capabilities = _dict_or_empty(self._capabilities.get("promptCapabilities"))
        info = _dict_or_empty(response.get("agentInfo"))
        self.name = visible(str(info.get("title") or info.get("name") or self.agent.name))[:80]
        self.version = visible(str(info.get("version") or ""))[:40]
        self._login_hint = _login_hint(response.get("authMethods"))
        params = {"cwd": str(folder), "mcpServers": []}
        if agent_session_id and await self._resume(agent_session_id, params):
            return
        answer = await self._request("session/new", params, SESSION_TIMEOUT_S)
        new_session_id = answer.get("sessionId")
        if not isinstance(new_session_id, str):
            cause = "Its response contains no session id."
            raise Problem(f"{self.agent.name} did not open a session.", cause, "Report this to its developer.")
        self.agent_session_id = new_session_id
        self.has_history = not agent_session_id
        self.settings = parse_settings(answer)

    async def _resume(self, agent_session_id: str, params: Params) -> bool:
        """Resume the agent's session and return whether that worked.

        Prefer `session/resume`, because `session/load` sends the whole conversation again.
        """
        methods = []
        if "resume" in _dict_or_empty(self._capabilities.get("sessionCapabilities")):
            methods.append("session/resume")
        if self._capabilities.get("loadSession"):
            methods.append("session/load")
        for method in methods:
            try:
                answer = await self._peer_request(method, {"sessionId": agent_session_id, **params}, SESSION_TIMEOUT_S)
            except RpcError:
                continue
            self.agent_session_id = agent_session_id
            self.settings = parse_settings(answer)
            return True
        return False

    async def _request(self, method: str, params: Params, seconds: float | None) -> Params:
        try:
            return await self._peer_request(method, params, seconds)
        except RpcError as error:
            if error.code == AUTH_REQUIRED:
                fix = f"Log in with its own program, then try again. {self._login_hint}".strip()
                raise Problem(f"{self.agent.name} requires you to log in.", error.message, fix) from error
            if error.code == REQUEST_CANCELED:
                return {"stopReason": "cancelled"}
            detail = error.data if isinstance(error.data, str) else _error_detail(error.data)
            cause = visible(f"{error.message} {detail}".strip())[:2_000]
            raise Problem(
                f"{self.agent.name} returned an error.", cause, "Try again, or check its settings."
            ) from error

    async def _peer_request(self, method: str, params: Params, seconds: float | None) -> Params:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._peer.request(method, params)
        except TimeoutError as error:
            step = STEPS.get(method, f"to answer {method}")
            cause = f"It had {seconds:g} s {step}.{self._program.last_output()}"
            message = f"{self.agent.name} {'did not start' if method in STEPS else 'did not respond'}."
            raise Problem(message, cause, "Try running its command in a terminal.") from error
        except PeerClosed as closed:
            self._raise_handler_error()
            message = f"{self.agent.name} {'did not start' if method == 'initialize' else 'has ended'}."
            raise Problem(
                message, f"{closed}{self._program.last_output()}", "Try running its command in a terminal."
            ) from closed
        return _dict_or_empty(answer)

    def _raise_handler_error(self) -> None:
        """Raise the exception of the reading task, if it ended because one of Journeyman's handlers failed."""
        if self._reading.done() and not self._reading.cancelled() and (error := self._reading.exception()):
            raise error

    async def _read(self) -> None:
        reason = ""
        try:
            reason = await self._program.read(self._receive)
        finally:
            self._peer.end(self._end_reason or reason or "It was stopped.")

    async def _receive(self, line: bytes) -> None:
        if not line.lstrip().startswith((b"{", b"[")):
            self._program.keep_output(line)
        await self._peer.receive(line)
        if self._peer.bytes_received - self._bytes_before_turn > MAX_TURN_BYTES:
            raise PeerClosed(f"It sent more than {MAX_TURN_BYTES >> 20} MB in one turn.")

    async def _on_notification(self, method: str, params: Params) -> None:
        if self.host and params.get("sessionId") == self.agent_session_id:
            await self.host.on_notification(method, params)

    async def _on_request(self, method: str, params: Params) -> object:
        if self.host is None:
            raise RpcError(METHOD_NOT_FOUND, "No turn is in progress.")
        if params.get("sessionId") != self.agent_session_id:
            raise RpcError(-32602, "There is no such session.")
        return await self.host.on_request(method, params)


async def connect(
    agent: ExternalAgentSettings, folder: Path, data: Path, agent_session_id: str = ""
) -> AgentConnection:
    """Start an agent and open its session in a folder. Raises `Problem` on failure, leaving no process behind."""
    connection = AgentConnection(agent, await start_process(agent.argv(), folder, data))
    try:
        await connection.open_session(folder, agent_session_id)
    except BaseException:
        await connection.close()
        raise
    return connection


def _dict_or_empty(value: object) -> Params:
    return value if isinstance(value, dict) else {}


def _error_detail(data: object) -> str:
    details = _dict_or_empty(data)
    return next((str(details[key]) for key in ("details", "message", "error") if key in details), "")


def _login_hint(methods: object) -> str:
    """Return the agent's descriptions of its login methods."""
    if not isinstance(methods, list):
        return ""
    known_methods = [method for method in methods[:5] if isinstance(method, dict)]
    descriptions = "; ".join(str(method.get("description") or method.get("name")) for method in known_methods)
    return visible(f"Its login methods: {descriptions}.")[:500] if known_methods else ""
