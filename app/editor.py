"""Our engine as an editor drives it, over the Agent Client Protocol: sessions, prompts, updates, requests."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from app.editor_asks import Asks
from app.editor_given import folder_of, text_of, unused_servers, words_of
from app.editor_updates import Updates, chunk
from core import __version__
from core.agents.peer import BAD_PARAMS, INTERNAL, NO_METHOD, NOT_FOUND, Gone, Params, Peer, Refused, Write
from core.domain.consent import ConsentAsked, ConsentGiven
from core.domain.events import Replied, RunEnded, RunInterrupted, RunPaused, RunStarted
from core.domain.ids import session_id
from core.domain.modes import MODE_WORDS, MODES, Mode
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.visible import visible
from core.engine.drafts import Draft
from core.engine.engine import Engine
from core.store.told import Told

VERSION = 1
END_S = 10.0  # for what was asked to be answered, once the editor has closed its end
STOPS = {"completed": "end_turn", "stopped": "cancelled", "limit": "max_turn_requests"}
CAN: Params = {
    "loadSession": True,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "sessionCapabilities": {"list": {}},
}


@dataclass(slots=True)
class Open:
    """A session that the editor opened.

    Attributes:
        begun: it stands in our journal.
        notice: what its next turn begins with.
        heard: what happens in its turn.
    """

    folder: Path
    mode: Mode
    begun: bool = False
    notice: str = ""
    heard: "asyncio.Queue[Told | Draft | None] | None" = None


@dataclass(slots=True)
class Editor:
    """One editor at the other end. `start` is how its runs begin; the folder and the mode are the editor's.

    Attributes:
        questions: the editor can show forms.
        ending: it has closed its end; no turn begins any more.
    """

    engine: Engine
    start: RunStarted
    write: Write
    questions: bool = False
    ending: bool = False
    open: dict[str, Open] = field(default_factory=dict)
    peer: Peer = field(init=False)

    def __post_init__(self) -> None:
        self.peer = Peer(self.write, self._asked, self._told)

    async def serve(self, lines: "asyncio.Queue[bytes]") -> None:
        """Until the editor closes its end; runs that it began end with it."""
        forgets = [self.engine.listen(self._hear), self.engine.listen_drafts(self._draft)]
        try:
            with suppress(Gone):
                while line := await lines.get():
                    await self.peer.hear(line)
            await self._answer_all()
        finally:
            for forget in forgets:
                forget()
            await self._stop_turns()
            await self.peer.close("The editor has gone.")

    async def _answer_all(self) -> None:
        """What was read is answered, a turn as cancelled."""
        self.ending = True
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self._stop_turns()
                await self.peer.idle()

    async def _stop_turns(self) -> None:
        for name, one in list(self.open.items()):
            if one.heard:
                await self._stop(name)

    async def _stop(self, name: str) -> None:
        if self.engine.going(name):
            with suppress(Problem):  # it ended meanwhile
                await self.engine.stop(name)

    # What the editor asks

    async def _asked(self, method: str, params: Params) -> object:
        match method:
            case "initialize":
                return self._initialize(params)
            case "authenticate":
                return {}
            case "session/new":
                return self._new(folder_of(params), self._unused(params))
            case "session/load":
                return await self._load(text_of(params, "sessionId"), self._unused(params))
            case "session/list":
                return self._list(params.get("cwd"))
            case "session/prompt" if self.ending:
                return {"stopReason": "cancelled"}
            case "session/prompt":
                return await self._prompt(text_of(params, "sessionId"), words_of(params))
            case "session/set_mode":
                return await self._set_mode(text_of(params, "sessionId"), params.get("modeId"))
            case _:
                raise Refused(NO_METHOD, f"There is no method {method[:80]}.")

    async def _told(self, method: str, params: Params) -> None:
        name = str(params.get("sessionId"))
        if method == "session/cancel" and name in self.open:
            await self._stop(name)

    def _initialize(self, params: Params) -> Params:
        can = params.get("clientCapabilities")
        forms = can.get("elicitation") if isinstance(can, dict) else None
        self.questions = isinstance(forms, dict) and "form" in forms
        info = {"name": "journeyman", "title": "Journeyman", "version": __version__}
        return {"protocolVersion": VERSION, "agentCapabilities": CAN, "agentInfo": info, "authMethods": []}

    def _new(self, folder: Path, notice: str) -> Params:
        name = session_id()
        self.open[name] = Open(folder, self.start.mode, notice=notice)
        return {"sessionId": name, "modes": _modes(self.start.mode)}

    async def _load(self, name: str, notice: str) -> Params:
        """What was said and done, told once more; then it goes on."""
        row = self._known(name)
        made = self._updates(Path(row.folder))
        async for entry in self.engine.entries(row.id):
            for update in made.of(entry.event, told=True):
                await self._tell(name, update)
        mode = cast("Mode", row.mode or self.start.mode)
        self.open[name] = Open(Path(row.folder), mode, begun=True, notice=notice)
        return {"modes": _modes(mode)}

    def _list(self, folder: object) -> Params:
        rows = [row for row in self.engine.sessions() if not row.trashed and not row.parent]
        shown = [{"sessionId": row.id, "cwd": row.folder, "title": row.title} for row in rows]
        return {"sessions": [one for one in shown if folder in (None, one["cwd"])]}

    async def _set_mode(self, name: str, mode: Any) -> Params:
        one = self._open(name)
        if mode not in MODES:
            raise Refused(BAD_PARAMS, f"There is no such mode. The modes are: {', '.join(MODES)}.")
        one.mode = mode
        if one.begun:
            await self.engine.set_mode(name, mode)
        await self._tell(name, {"sessionUpdate": "current_mode_update", "currentModeId": mode})
        return {}

    # A turn

    async def _prompt(self, name: str, words: str) -> Params:
        one = self._open(name)
        if one.heard is not None:
            raise Refused(INTERNAL, "A turn of this session is going.")
        heard: asyncio.Queue[Told | Draft | None] = asyncio.Queue()
        one.heard = heard
        try:
            await self._begin(name, one, words)
            self.engine.when_gone(name, lambda: heard.put_nowait(None))  # of this turn: the next may have begun by then
            if self.ending:
                await self._stop(name)
            if one.notice:
                await self._tell(name, chunk("agent_message_chunk", one.notice))
                one.notice = ""
            return await self._follow(name, one, heard)
        finally:
            one.heard = None

    async def _begin(self, name: str, one: Open, words: str) -> None:
        """The first words open the session; later ones go on with it, or answer what it asked in words."""
        if not one.begun:
            await self.engine.start(words, one.folder, replace(self.start, mode=one.mode), name=name)
            one.begun = True
            return
        waiting = [question for row, question in self.engine.questions() if row.id == name]
        if waiting and not self.engine.going(name):
            await self.engine.answer(waiting[0].id, Answer(text=words), go_on=True)
        elif waiting:
            await self.engine.answer(waiting[0].id, Answer(text=words))
        else:
            await self.engine.say(name, words)

    async def _follow(self, name: str, one: Open, heard: "asyncio.Queue[Told | Draft | None]") -> Params:
        """Tell what happens until the run ends, or waits for words."""
        made = self._updates(one.folder)
        streamed = False
        async with asyncio.TaskGroup() as tasks:
            asks = Asks(self.engine, self.peer, name, made, self.questions, tasks)
            try:
                while (what := await heard.get()) is not None:
                    if isinstance(what, Draft):
                        streamed = True
                        await self._stream(name, what)
                        continue
                    event = what.entry.event
                    if what.entry.session == name:
                        for update in made.of(event, streamed=streamed):
                            await self._tell(name, update)
                        if isinstance(event, Replied):
                            streamed = False
                        if isinstance(event, RunEnded | RunPaused | RunInterrupted):
                            return await self._stopped(name, event, made)
                    match event:
                        case ConsentAsked(request=request):
                            asks.permit(request)
                        case QuestionAsked(question=question):
                            if words := asks.ask(question):
                                await self._tell(name, chunk("agent_message_chunk", words))
                                return self._end("end_turn", made)
                        case ConsentGiven(request_id=asked) | QuestionAnswered(question_id=asked):
                            asks.forget(asked)
                        case _:
                            pass
            finally:
                asks.close()
        return self._end("cancelled", made)

    async def _stream(self, name: str, draft: Draft) -> None:
        if draft.reasoning:
            await self._tell(name, chunk("agent_thought_chunk", draft.reasoning))
        if draft.text:
            await self._tell(name, chunk("agent_message_chunk", draft.text))

    async def _stopped(self, name: str, event: RunEnded | RunPaused | RunInterrupted, made: Updates) -> Params:
        if isinstance(event, RunEnded):
            if event.status == "failed":
                trouble = event.trouble
                said = str(trouble) if trouble else event.reason
                raise Refused(INTERNAL, said)
            if event.status == "limit":
                await self._tell(name, chunk("agent_message_chunk", f"[It ended: {event.reason}.]"))
            return self._end(STOPS[event.status], made)
        if isinstance(event, RunPaused):
            trouble = event.trouble
            said = f"{trouble.what} {trouble.why}" if trouble else event.why
            await self._tell(name, chunk("agent_message_chunk", f"[Paused: {said.strip()} Send a message to go on.]"))
            return self._end("end_turn", made)
        return self._end("cancelled", made)

    def _end(self, reason: str, made: Updates) -> Params:
        used = made.usage
        usage = {"inputTokens": used.input, "outputTokens": used.output, "totalTokens": used.input + used.output}
        return {"stopReason": reason, "usage": usage}

    # What happens

    def _hear(self, told: Told) -> None:
        """Also what sub-agents ask: it waits for the same person."""
        name = told.entry.session
        if name not in self.open and isinstance(
            told.entry.event, ConsentAsked | ConsentGiven | QuestionAsked | QuestionAnswered
        ):
            name = self.engine.root(name)
        if (one := self.open.get(name)) and one.heard:
            one.heard.put_nowait(told)

    def _draft(self, draft: Draft) -> None:
        if (draft.text or draft.reasoning) and (one := self.open.get(draft.session)) and one.heard:
            one.heard.put_nowait(draft)

    async def _tell(self, name: str, update: Params) -> None:
        await self.peer.tell("session/update", {"sessionId": name, "update": update})

    def _open(self, name: str) -> Open:
        if one := self.open.get(name):
            return one
        raise Refused(BAD_PARAMS, "There is no such session here. Open it with session/new or session/load.")

    def _known(self, name: str) -> SessionRow:
        """By its whole id only: updates are told under the name that the editor has for it."""
        with suppress(Problem):
            if (row := self.engine.session(name)).id == name:
                return row
        raise Refused(NOT_FOUND, f"There is no session {visible(name[:80])}.")

    def _unused(self, params: Params) -> str:
        return unused_servers(params, [server.name for server in self.engine.servers.list() if server.on])

    def _updates(self, folder: Path) -> Updates:
        return Updates(folder, self.engine.whole, self.engine.blob)


def _modes(now: Mode) -> Params:
    known = [{"id": mode, "name": words} for mode, words in MODE_WORDS.items()]
    return {"currentModeId": now, "availableModes": known}
