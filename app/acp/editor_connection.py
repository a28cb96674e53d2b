"""The agent side of the Agent Client Protocol (ACP), through which an editor opens sessions and sends prompts."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from app.acp.editor_questions import EditorQuestions
from app.acp.request_params import (
    prompt_parts,
    required_text,
    unused_servers_notice,
    workspace_param,
)
from app.acp.session_updates import SessionUpdates, text_chunk
from core import __version__
from core.agents.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    JsonRpcPeer,
    Params,
    PeerClosed,
    RpcError,
    Write,
)
from core.domain.events import Replied, RunEnded, RunInterrupted, RunPaused, RunStarted
from core.domain.ids import session_id
from core.domain.message_files import EmbeddedText
from core.domain.modes import MODE_LABELS, MODES, Mode
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.visible import visible
from core.engine.api.engine import Engine
from core.engine.state.live_updates import LiveUpdate
from core.store.journal_update import JournalUpdate

PROTOCOL_VERSION = 1
END_S = 10.0  # time limit for answering the requests that are open when the editor closes the connection
ATTACHED_TEXT = "These files belong to my answer."
STOP_REASONS = {"completed": "end_turn", "stopped": "cancelled", "limit": "max_turn_requests"}
CAPABILITIES: Params = {
    "loadSession": True,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "sessionCapabilities": {"list": {}},
}


@dataclass(slots=True)
class EditorSession:
    """A session that the editor opened.

    Attributes:
        in_event_log: Whether the session exists in the event log. A new session is added to it by its first prompt.
        notice: Text to send to the editor at the start of the next turn.
        updates: The events and streamed text of the turn in progress; a None in the queue ends the turn. None between
            turns.
    """

    folder: Path
    mode: Mode
    in_event_log: bool = False
    notice: str = ""
    updates: asyncio.Queue[JournalUpdate | LiveUpdate | None] | None = None


@dataclass(slots=True)
class EditorConnection:
    """The connection to one editor.

    Attributes:
        run_template: The model, limits and profile of new runs; the editor sets their folder and mode.
        has_forms: Whether the editor can show forms.
        closing: Whether the editor has closed the connection, so that no turn may begin.
    """

    engine: Engine
    run_template: RunStarted
    write: Write
    has_forms: bool = False
    closing: bool = False
    sessions: dict[str, EditorSession] = field(default_factory=dict)
    peer: JsonRpcPeer = field(init=False)

    def __post_init__(self) -> None:
        self.peer = JsonRpcPeer(self.write, self._handle_request, self._handle_notification)

    async def serve(self, lines: asyncio.Queue[bytes]) -> None:
        """Serve until the editor closes the connection, then stop the runs of its open turns."""
        unsubscribes = [
            self.engine.subscribe(self._on_update),
            self.engine.subscribe_live_updates(self._on_live_update),
        ]
        try:
            with suppress(PeerClosed):
                while line := await lines.get():
                    await self.peer.receive(line)
            await self._answer_all()
        finally:
            for unsubscribe in unsubscribes:
                unsubscribe()
            await self._stop_turns()
            await self.peer.close("The editor has closed the connection.")

    async def _answer_all(self) -> None:
        """Stop all turns, and wait until every request that was read before the connection closed has its reply."""
        self.closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self._stop_turns()
                await self.peer.wait_until_idle()

    async def _stop_turns(self) -> None:
        for name, session in list(self.sessions.items()):
            if session.updates:
                await self._stop(name)

    async def _stop(self, name: str) -> None:
        if self.engine.is_active(name):
            with suppress(Problem):  # stopping fails if the run has just ended by itself
                await self.engine.stop(name)

    # Requests from the editor

    async def _handle_request(self, method: str, params: Params) -> object:
        match method:
            case "initialize":
                return self._initialize(params)
            case "authenticate":
                return {}
            case "session/new":
                return self._new(workspace_param(params), self._unused_notice(params))
            case "session/load":
                return await self._load(required_text(params, "sessionId"), self._unused_notice(params))
            case "session/list":
                return self._list(params.get("cwd"))
            case "session/prompt" if self.closing:
                return {"stopReason": "cancelled"}
            case "session/prompt":
                return await self._prompt(required_text(params, "sessionId"), *prompt_parts(params))
            case "session/set_mode":
                return await self._set_mode(required_text(params, "sessionId"), params.get("modeId"))
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]}.")

    async def _handle_notification(self, method: str, params: Params) -> None:
        name = str(params.get("sessionId"))
        if method == "session/cancel" and name in self.sessions:
            await self._stop(name)

    def _initialize(self, params: Params) -> Params:
        capabilities = params.get("clientCapabilities")
        forms = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
        self.has_forms = isinstance(forms, dict) and "form" in forms
        info = {"name": "journeyman", "title": "Journeyman", "version": __version__}
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": info,
            "authMethods": [],
        }

    def _new(self, folder: Path, notice: str) -> Params:
        name = session_id()
        self.sessions[name] = EditorSession(folder, self.run_template.mode, notice=notice)
        return {"sessionId": name, "modes": _modes(self.run_template.mode)}

    async def _load(self, name: str, notice: str) -> Params:
        """Open an existing session and send its messages and tool calls to the editor. The next prompt continues it."""
        row = self._find_row(name)
        updates = self._updates(Path(row.folder))
        async for entry in self.engine.events(row.id):
            for update in updates.updates_for(entry.event, replayed=True):
                await self._send_update(name, update)
        mode = cast("Mode", row.mode or self.run_template.mode)
        self.sessions[name] = EditorSession(Path(row.folder), mode, in_event_log=True, notice=notice)
        return {"modes": _modes(mode)}

    def _list(self, folder: object) -> Params:
        rows = [row for row in self.engine.sessions() if not row.trashed and not row.parent]
        sessions = [{"sessionId": row.id, "cwd": row.folder, "title": row.title} for row in rows]
        return {"sessions": [session for session in sessions if folder in (None, session["cwd"])]}

    async def _set_mode(self, name: str, mode: Any) -> Params:
        session = self._open(name)
        if mode not in MODES:
            raise RpcError(INVALID_PARAMS, f"Unknown mode. The modes are: {', '.join(MODES)}.")
        session.mode = mode
        if session.in_event_log:
            await self.engine.set_mode(name, mode)
        await self._send_update(name, {"sessionUpdate": "current_mode_update", "currentModeId": mode})
        return {}

    async def _prompt(self, name: str, text: str, embedded: list[EmbeddedText]) -> Params:
        session = self._open(name)
        if session.updates is not None:
            raise RpcError(INTERNAL_ERROR, "A turn of this session is in progress.")
        updates: asyncio.Queue[JournalUpdate | LiveUpdate | None] = asyncio.Queue()
        session.updates = updates
        try:
            await self._begin(name, session, text, embedded)
            # The callback keeps this turn's queue: the next turn may already have replaced `session.updates` when it
            # runs.
            self.engine.call_when_idle(name, lambda: updates.put_nowait(None))
            if self.closing:
                await self._stop(name)
            if session.notice:
                await self._send_update(name, text_chunk("agent_message_chunk", session.notice))
                session.notice = ""
            return await self._follow(name, session, updates)
        finally:
            session.updates = None

    async def _begin(self, name: str, session: EditorSession, text: str, embedded: list[EmbeddedText]) -> None:
        """Start the session with its first prompt.

        A later prompt answers the open question, or continues the session.
        """
        if not session.in_event_log:
            began = replace(self.run_template, mode=session.mode)
            await self.engine.start(text, session.folder, began, name=name, embedded=embedded)
            session.in_event_log = True
            return
        open_questions = [question for row, question in self.engine.open_questions() if row.id == name]
        if not open_questions:
            await self.engine.send_message(name, text, embedded=embedded)
            return
        if embedded:  # an answer cannot carry files, so they are sent as a message before it
            await self.engine.send_message(name, ATTACHED_TEXT, embedded=embedded)
        await self.engine.answer(open_questions[0].id, Answer(text=text), resume=True)

    async def _follow(
        self, name: str, session: EditorSession, updates: asyncio.Queue[JournalUpdate | LiveUpdate | None]
    ) -> Params:
        """Send the turn's updates to the editor until the run ends, pauses, or needs the next prompt as an answer."""
        session_updates = self._updates(session.folder)
        streamed = False
        async with asyncio.TaskGroup() as tasks:
            questions = EditorQuestions(self.engine, self.peer, name, session_updates, tasks, has_forms=self.has_forms)
            try:
                while (item := await updates.get()) is not None:
                    if isinstance(item, LiveUpdate):
                        streamed = True
                        await self._stream(name, item)
                        continue
                    event = item.entry.event
                    if item.entry.session == name:
                        for update in session_updates.updates_for(event, streamed=streamed):
                            await self._send_update(name, update)
                        if isinstance(event, Replied):
                            streamed = False
                        if isinstance(event, RunEnded | RunPaused | RunInterrupted):
                            return await self._finish_turn(name, event, session_updates)
                    match event:
                        case PermissionRequested(request=request):
                            questions.request_permission(request)
                        case QuestionAsked(question=question):
                            if text := questions.ask(question):
                                await self._send_update(name, text_chunk("agent_message_chunk", text))
                                return self._turn_result("end_turn", session_updates)
                        case PermissionDecided(request_id=decided_id) | QuestionAnswered(question_id=decided_id):
                            questions.withdraw(decided_id)
                        case _:
                            pass
            finally:
                questions.close()
        return self._turn_result("cancelled", session_updates)

    async def _stream(self, name: str, draft: LiveUpdate) -> None:
        if draft.reasoning:
            await self._send_update(name, text_chunk("agent_thought_chunk", draft.reasoning))
        if draft.text:
            await self._send_update(name, text_chunk("agent_message_chunk", draft.text))

    async def _finish_turn(
        self, name: str, event: RunEnded | RunPaused | RunInterrupted, updates: SessionUpdates
    ) -> Params:
        if isinstance(event, RunEnded):
            if event.status == "failed":
                error = event.error
                reason = str(error) if error else event.reason
                raise RpcError(INTERNAL_ERROR, reason)
            if event.status == "limit":
                await self._send_update(name, text_chunk("agent_message_chunk", f"[The run ended: {event.reason}.]"))
            return self._turn_result(STOP_REASONS[event.status], updates)
        if isinstance(event, RunPaused):
            error = event.error
            reason = f"{error.message} {error.cause}" if error else event.reason
            await self._send_update(
                name, text_chunk("agent_message_chunk", f"[Paused: {reason.strip()} Send a message to continue.]")
            )
            return self._turn_result("end_turn", updates)
        return self._turn_result("cancelled", updates)

    def _turn_result(self, reason: str, updates: SessionUpdates) -> Params:
        total = updates.usage
        usage = {"inputTokens": total.input, "outputTokens": total.output, "totalTokens": total.input + total.output}
        return {"stopReason": reason, "usage": usage}

    # Events from the engine

    def _on_update(self, update: JournalUpdate) -> None:
        """Queue an event for the turn of its session.

        A question or permission request of a sub-agent is queued for the session that the editor opened.
        """
        name = update.entry.session
        if name not in self.sessions and isinstance(
            update.entry.event, PermissionRequested | PermissionDecided | QuestionAsked | QuestionAnswered
        ):
            name = self.engine.root_session(name)
        if (session := self.sessions.get(name)) and session.updates:
            session.updates.put_nowait(update)

    def _on_live_update(self, draft: LiveUpdate) -> None:
        if (draft.text or draft.reasoning) and (session := self.sessions.get(draft.session)) and session.updates:
            session.updates.put_nowait(draft)

    async def _send_update(self, name: str, update: Params) -> None:
        await self.peer.notify("session/update", {"sessionId": name, "update": update})

    def _open(self, name: str) -> EditorSession:
        if session := self.sessions.get(name):
            return session
        raise RpcError(INVALID_PARAMS, "The session is not open. Open it with session/new or session/load.")

    def _find_row(self, name: str) -> SessionRow:
        """Look up a session by its full ID, not by a prefix: updates must carry the ID that the editor uses."""
        with suppress(Problem):
            if (row := self.engine.session(name)).id == name:
                return row
        raise RpcError(RESOURCE_NOT_FOUND, f"There is no session {visible(name[:80])}.")

    def _unused_notice(self, params: Params) -> str:
        return unused_servers_notice(
            params, [server.name for server in self.engine.mcp_servers.list() if server.enabled]
        )

    def _updates(self, folder: Path) -> SessionUpdates:
        return SessionUpdates(folder, self.engine.full_text, self.engine.read_blob)


def _modes(current: Mode) -> Params:
    available = [{"id": mode, "name": label} for mode, label in MODE_LABELS.items()]
    return {"currentModeId": current, "availableModes": available}
