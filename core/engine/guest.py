"""Work one run to its end where an agent of others does the work: we send it words, hear what it does, and answer."""

import asyncio
import base64
from dataclasses import replace
from typing import Any

from core.agents.connection import STOP_S, Connection
from core.agents.guests import Guests
from core.agents.peer import Params
from core.agents.told import CallTold, Plan, SettingsTold, Turned, Used, Words, number, read_update
from core.domain.agents import AgentJoined, AgentSetting, AgentTurned
from core.domain.events import Nudged, RequestSent, RunEnded, RunPaused, ToolReturned, Usage
from core.domain.exchanged import RecordKept
from core.domain.messages import Message
from core.domain.problems import Problem, Trouble
from core.domain.text import Attachment, Text
from core.engine.finish import check_end
from core.engine.guards import check_limits, completed, cut_at_limit
from core.engine.guest_calls import NO_RESULT, GuestCalls
from core.engine.guest_files import GuestFiles
from core.engine.guest_host import GuestHost, word_from_before
from core.engine.limits import reached
from core.engine.work import Work

KEPT = 100  # updates of a run that are kept because they are not understood
RAW = 20_000
CUT_OFF = "[Journeyman was closed while this call was open, so nobody saw the end of it.]"
GO_ON = "[Journeyman was closed while you were at work. Go on with the task.]"
OVER = "[The person let you go on. Continue with the task.]"
LIMITS = {
    "max_tokens": "its model reached the most tokens it may use",
    "max_turn_requests": "the agent's own limit of requests",
}


async def work_guest(run: Work, guests: Guests) -> RunEnded | RunPaused:
    """Turn after turn, until nothing waits to be said. A run that is stopped leaves no process."""
    guest = Guest(run, guests)
    kept = False
    try:
        ended = await guest.work()
        kept = not (isinstance(ended, RunEnded) and ended.status == "failed")
        return ended
    finally:
        guest.close()
        if kept:
            guests.rest(run.session)
        else:
            await guests.end(run.session)


class Guest:
    """One run of an agent of others, from its first turn to its last."""

    def __init__(self, run: Work, guests: Guests) -> None:
        self._run = run
        self._guests = guests
        self._files = GuestFiles(run)
        self._calls = GuestCalls(run, self._files)
        self._kept = 0
        self._used = Used(0, 0)
        self._paid = 0.0  # of what the agent says its session has cost, what stands in the journal
        self._over = False

    def close(self) -> None:
        self._files.close()

    async def work(self) -> RunEnded | RunPaused:
        run = self._run
        if not run.talk.turn:
            await run.hooked("run start")
        await self._settle()
        while True:
            if run.pausing:
                return RunPaused(run.pause_why)
            if ended := await check_limits(run):
                return ended
            if not run.talk.waiting:
                text, why = (OVER, "let go on") if self._over else (GO_ON, "told to go on")
                await run.record(Nudged(Text(text), why))
            self._over = False
            if ended := await self._turn():
                return ended
            if not run.talk.waiting and not self._over:
                ended = await check_end(run)
                if ended or not run.talk.waiting:
                    return ended or await completed(run)

    async def _settle(self) -> None:
        """Calls that were open when Journeyman ended have no end that anybody saw; the agent is told."""
        run = self._run
        for name, call in list(run.talk.pending.items()):
            said = await word_from_before(run, name)
            note = f" The person was asked about it, and says: {said}." if said else ""
            await run.record(ToolReturned(name, Text(f"{CUT_OFF}{note}"), failed=True))
            what = run.talk.started.get(name, "") or run.whole(call.arguments)[:500]
            again = " Do it again if it is still needed." if run.settle != "skip" else " Leave it out."
            told = f"{CUT_OFF[1:-1]} It was: {what}.{note}{again}"
            await run.record(Nudged(Text(f"[{told}]"), "told what became of an open call"))

    async def _turn(self) -> RunEnded | None:
        """Send what waits, and hear what the agent does until it is done."""
        run = self._run
        connection = await self._connected()
        await self._files.look()
        before = len(run.talk.messages)
        await run.record(RequestSent(run.model_name, run.talk.rounds + 1, window=self._used.size))
        self._calls.thinking = True
        said = [message for message in run.talk.messages[before:] if message.role == "user"]
        connection.host = host = GuestHost(run, self._calls, self._hear)
        try:
            answer = await self._prompt(connection, [block for one in said for block in self._blocks(one, connection)])
            await host.close()
            await self._calls.finish_all(NO_RESULT)
            return await self._ended(answer)
        except asyncio.CancelledError:
            await connection.cancelled(STOP_S)
            await self._guests.end(run.session)
            await host.close()
            await self._calls.cut("stopped")
            raise
        except Problem as problem:
            await self._guests.end(run.session)
            await host.close()
            await self._calls.cut("the agent failed")
            return RunEnded("failed", problem.trouble.what, problem.trouble, Text(run.said()))
        finally:
            connection.host = None

    async def _prompt(self, connection: Connection, blocks: list[Params]) -> Params | None:
        """What the agent answers to the turn; None where it was cut: for words sent now, or at a limit."""
        run = self._run
        try:
            async with cut_at_limit(run) as run.reading:
                return await connection.prompt(blocks)
        except TimeoutError:
            self._over = self._over or not run.talk.waiting
        finally:
            run.reading = None
        if not await connection.cancelled():
            raise Problem(f"{connection.name} did not end its turn.", "It was asked to.", "Send a message to go on.")
        return None

    async def _ended(self, answer: Params | None) -> RunEnded | None:
        """The last words of the turn with what it used, and how the run ends where it does."""
        told = answer or {}
        stop = str(told.get("stopReason", "cancelled"))
        cost = None if self._used.cost is None else max(0.0, self._used.cost - self._paid)
        self._paid += cost or 0.0
        said = "" if stop == "end_turn" else stop
        await self._calls.flush(usage=_usage(told.get("usage")), stop=said, cost=cost)
        if answer is None:
            return None
        if stop in LIMITS:
            return RunEnded("limit", LIMITS[stop], summary=Text(self._run.said()))
        if stop == "refusal":
            trouble = Trouble("The agent refused to go on.", "It gives no other reason.", "Say it in another way.")
            return RunEnded("failed", trouble.what, trouble, Text(self._run.said()))
        if stop == "cancelled" and not self._run.talk.waiting:
            return RunEnded("stopped", "the agent ended its turn by itself")
        return None

    async def _connected(self) -> Connection:
        """The agent, as it was or started anew; who it is stands in the journal."""
        run = self._run
        held = self._guests.at(run.session)
        theirs = "" if held else await self._theirs()
        connection = await self._guests.connected(run.session, run.model_name, run.place.folder, theirs)
        if connection is not held:
            command = " ".join(connection.agent.words())
            await run.record(
                AgentJoined(connection.name, connection.version, command, connection.theirs, connection.settings,
                            connection.remembers)
            )  # fmt: skip
        return connection

    async def _theirs(self) -> str:
        """The session of this agent from before."""
        found, here = "", self._guests.named(self._run.model_name)
        async for entry in self._run.journal.read(self._run.session):
            if isinstance(entry.event, AgentJoined) and entry.event.command == " ".join(here.words()):
                found = entry.event.theirs
        return found

    async def _hear(self, update: Params) -> None:
        """What the agent tells."""
        run, told = self._run, read_update(update)
        match told:
            case Words(text=text, thought=thought):
                await self._calls.say(text, thought=thought)
            case CallTold():
                await self._calls.hear(told)
                self._look_at_limits()
            case Plan():
                await self._calls.plan(told)
            case Used():
                self._used = told
            case Turned(setting=setting, value=value):
                await self._turned(setting, value)
            case SettingsTold(settings=settings):
                for one in settings:
                    await self._turned(one.id, one.value)
            case None if self._kept < KEPT:
                self._kept += 1
                await run.record(RecordKept(f"acp {str(update.get('sessionUpdate'))[:40]}", Text(str(update)[:RAW])))
            case _:
                pass

    async def _turned(self, setting: str, value: str) -> None:
        connection = self._guests.at(self._run.session)
        if connection and (changed := turned(connection.settings, setting, value)) is not None:
            connection.settings = changed
            await self._run.record(AgentTurned(setting, value, "agent"))

    def _look_at_limits(self) -> None:
        """At a limit the turn is cut; whether it goes on is asked before the next."""
        if not self._over and any(met.share >= 1 for met in reached(self._run.talk.spent, self._run.talk.allowed)):
            self._over = True
            self._run.cut()

    def _blocks(self, message: Message, connection: Connection) -> list[Params]:
        """A message in the form of the wire; files as far as the agent takes them."""
        blocks: list[Params] = [{"type": "text", "text": self._run.whole(message.text)}]
        return blocks + [self._block(one, connection.takes) for one in message.attachments]

    def _block(self, one: Attachment, takes: Params) -> Params:
        body = self._run.contents(one)
        if one.media_type.startswith("image/") and takes.get("image"):
            return {"type": "image", "mimeType": one.media_type, "data": base64.b64encode(body).decode()}
        if takes.get("embeddedContext") and not one.media_type.startswith("image/"):
            name: dict[str, Any] = {"uri": f"attachment:///{one.name}", "mimeType": one.media_type}
            try:
                return {"type": "resource", "resource": {**name, "text": body.decode()}}
            except UnicodeDecodeError:
                return {"type": "resource", "resource": {**name, "blob": base64.b64encode(body).decode()}}
        return {"type": "text", "text": f"[The person sent the file {one.name}, which you cannot take.]"}


def turned(settings: tuple[AgentSetting, ...], name: str, value: str) -> tuple[AgentSetting, ...] | None:
    """The settings with one at another value; None where that changes nothing."""
    wanted = [one for one in settings if name in (one.id, one.category)]
    if not wanted or wanted[0].value == value:
        return None
    return tuple(replace(one, value=value) if one is wanted[0] else one for one in settings)


def _usage(told: Any) -> Usage | None:
    if not isinstance(told, dict):
        return None
    return Usage(
        number(told.get("inputTokens")) + number(told.get("cachedReadTokens")) + number(told.get("cachedWriteTokens")),
        number(told.get("outputTokens")),
        number(told.get("cachedReadTokens")),
        number(told.get("cachedWriteTokens")),
        number(told.get("thoughtTokens")),
    )
