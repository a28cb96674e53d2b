"""One agent at work for one session: the program, its side of the protocol, and the session there."""

import asyncio
from pathlib import Path
from typing import Protocol

from core import __version__
from core.agents.peer import CANCELLED, NO_METHOD, Gone, Params, Peer, Refused
from core.agents.program import Program, start
from core.agents.told import read_settings
from core.domain.agents import AgentSetting
from core.domain.problems import Problem
from core.domain.visible import visible
from core.settings.schema import OutsideAgent

VERSION = 1
START_S = 120.0  # npx may fetch the program first
OPEN_S = 60.0
CANCEL_S = 10.0
STOP_S = 0.5  # it is told to cancel before it is killed
LOGIN = -32000
FLOOD = 64 << 20  # bytes of one turn


class Host(Protocol):
    """Our side, while a run is going."""

    async def told(self, method: str, params: Params) -> None: ...

    async def asked(self, method: str, params: Params) -> object: ...


class Connection:
    """From the start of the program to its end. One that ended is not used again.

    Attributes:
        host: hears what it tells while a run is going; without one it is not heard.
        theirs: the session on its side; `settings` is what can be chosen there.
        name, version: as it calls itself.
        remembers: it knows what was said before in the session.
    """

    def __init__(self, agent: OutsideAgent, program: Program) -> None:
        self.agent = agent
        self.host: Host | None = None
        self.theirs = ""
        self.name, self.version = agent.name, ""
        self.settings: tuple[AgentSetting, ...] = ()
        self.remembers = True
        self.takes: Params = {}
        self._can: Params = {}
        self._logins = ""
        self._program = program
        self._peer = Peer(program.write, self._asked, self._told)
        self._why = ""
        self._began = 0
        self._turn: asyncio.Task[Params] | None = None
        self._reading = asyncio.create_task(self._read(), name=f"agent {agent.name}")
        self._errors = asyncio.create_task(program.hear_errors(), name=f"errors of agent {agent.name}")

    @property
    def open(self) -> bool:
        return not self._reading.done()

    @property
    def pid(self) -> int:
        return self._program.pid

    async def prompt(self, blocks: list[Params]) -> Params:
        """One turn; a wait that is cut leaves it going. Raises Problem where it fails."""
        self._began = self._peer.heard
        turn = self._ask("session/prompt", {"sessionId": self.theirs, "prompt": blocks}, None)
        self._turn = asyncio.create_task(turn, name=f"turn of agent {self.agent.name}")
        await asyncio.wait({self._turn})
        return self._turn.result()

    async def cancelled(self, seconds: float = CANCEL_S) -> bool:
        """Cancel the turn; whether it ended in this time. What it still asks of us is answered as cancelled."""
        if self._turn is None or self._turn.done():
            return True
        self._peer.drop_requests()
        await self._peer.tell("session/cancel", {"sessionId": self.theirs})
        await asyncio.wait({self._turn}, timeout=seconds)
        return self._turn.done()

    async def choose(self, setting: AgentSetting, value: str) -> None:
        """Set one of its settings."""
        if setting.plain:
            params = {"sessionId": self.theirs, "configId": setting.id, "value": value}
            self.settings = read_settings(await self._ask("session/set_config_option", params, OPEN_S)) or self.settings
        else:
            await self._ask("session/set_mode", {"sessionId": self.theirs, "modeId": value}, OPEN_S)

    async def close(self) -> None:
        """Kill it and all it started, and wait for its end, whatever comes."""
        self._why = self._why or "It was ended."
        closing = asyncio.create_task(self._close(), name=f"end of agent {self.agent.name}")
        cut = False
        while not closing.done():
            try:
                await asyncio.wait({closing})
            except asyncio.CancelledError:
                cut = True
        closing.result()
        if cut:
            raise asyncio.CancelledError

    async def _close(self) -> None:
        await self._program.end()
        await self._peer.close(self._why)
        tasks = {self._reading, self._errors, *({self._turn} if self._turn else ())}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # it was told to who waited for it

    async def open_session(self, folder: Path, theirs: str) -> None:
        """Shake hands, and take up the session of this name there, or begin one."""
        hello = {
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
            "clientInfo": {"name": "journeyman", "title": "Journeyman", "version": __version__},
        }
        told = await self._ask("initialize", hello, START_S)
        if told.get("protocolVersion") != VERSION:
            why = f"It speaks version {visible(str(told.get('protocolVersion')))[:40]} of the protocol, not {VERSION}."
            raise Problem(f"{self.agent.name} cannot work here.", why, "Update it, or Journeyman.")
        self._can = _dict(told.get("agentCapabilities"))
        self.takes = _dict(self._can.get("promptCapabilities"))
        info = _dict(told.get("agentInfo"))
        self.name = visible(str(info.get("title") or info.get("name") or self.agent.name))[:80]
        self.version = visible(str(info.get("version") or ""))[:40]
        self._logins = _logins(told.get("authMethods"))
        where = {"cwd": str(folder), "mcpServers": []}
        if theirs and await self._took_up(theirs, where):
            return
        answer = await self._ask("session/new", where, OPEN_S)
        if not isinstance(name := answer.get("sessionId"), str):
            raise Problem(f"{self.agent.name} opened no session.", "Its answer names none.", "Tell its makers.")
        self.theirs, self.remembers = name, not theirs
        self.settings = read_settings(answer)

    async def _took_up(self, theirs: str, where: Params) -> bool:
        """Without the replay of what was said, where it can do so; we have that in our journal."""
        ways = {"session/resume": "resume" in _dict(self._can.get("sessionCapabilities")),
                "session/load": bool(self._can.get("loadSession"))}  # fmt: skip
        for method in (method for method, can in ways.items() if can):
            try:
                answer = await self._peer_ask(method, {"sessionId": theirs, **where}, OPEN_S)
            except Refused:
                continue
            self.theirs, self.settings = theirs, read_settings(answer)
            return True
        return False

    async def _ask(self, method: str, params: Params, seconds: float | None) -> Params:
        try:
            return await self._peer_ask(method, params, seconds)
        except Refused as error:
            if error.code == LOGIN:
                do = f"Log in with its own program, then try again. {self._logins}".strip()
                raise Problem(f"{self.agent.name} wants you to log in.", error.message, do) from error
            if error.code == CANCELLED:
                return {"stopReason": "cancelled"}
            more = error.data if isinstance(error.data, str) else _said(error.data)
            why = visible(f"{error.message} {more}".strip())[:2_000]
            raise Problem(f"{self.agent.name} refused.", why, "Try again, or look at its own settings.") from error

    async def _peer_ask(self, method: str, params: Params, seconds: float | None) -> Params:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._peer.ask(method, params)
        except TimeoutError as error:
            why = f"It did not answer in {seconds:g} s.{self._program.last_words()}"
            raise Problem(f"{self.agent.name} did not start.", why, "Try its command in a terminal.") from error
        except Gone as gone:
            self._raise_ours()
            what = f"{self.agent.name} {'did not start' if method == 'initialize' else 'has ended'}."
            raise Problem(what, f"{gone}{self._program.last_words()}", "Try its command in a terminal.") from gone
        return answer if isinstance(answer, dict) else {}

    def _raise_ours(self) -> None:
        """What we did with what it told may have failed, and that is why nothing is heard any more."""
        if self._reading.done() and not self._reading.cancelled() and (fault := self._reading.exception()):
            raise fault

    async def _read(self) -> None:
        why = ""
        try:
            why = await self._program.read(self._heard)
        finally:
            self._peer.end(self._why or why or "It was ended.")

    async def _heard(self, line: bytes) -> None:
        await self._peer.hear(line)
        if self._peer.heard - self._began > FLOOD:
            raise Gone(f"It sent more than {FLOOD >> 20} MB in one turn.")

    async def _told(self, method: str, params: Params) -> None:
        if self.host and params.get("sessionId") == self.theirs:
            await self.host.told(method, params)

    async def _asked(self, method: str, params: Params) -> object:
        if self.host is None:
            raise Refused(NO_METHOD, "No turn is going.")
        if params.get("sessionId") != self.theirs:
            raise Refused(-32602, "There is no such session.")
        return await self.host.asked(method, params)


async def connect(agent: OutsideAgent, folder: Path, data: Path, theirs: str = "") -> Connection:
    """Start an agent in a folder, and open its session there. Raises Problem where that cannot be; nothing is left."""
    connection = Connection(agent, await start(agent.words(), folder, data))
    try:
        await connection.open_session(folder, theirs)
    except BaseException:
        await connection.close()
        raise
    return connection


def _dict(value: object) -> Params:
    return value if isinstance(value, dict) else {}


def _said(data: object) -> str:
    found = _dict(data)
    return next((str(found[key]) for key in ("details", "message", "error") if key in found), "")


def _logins(methods: object) -> str:
    """Its own ways to log in, in its own words."""
    said = [
        str(one.get("description") or one.get("name"))
        for one in (methods[:5] if isinstance(methods, list) else ())
        if isinstance(one, dict)
    ]
    return visible(f"Its ways: {'; '.join(said)}.")[:500] if said else ""
