"""The agent side of the Agent Client Protocol (ACP), through which an editor opens sessions and sends prompts."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from app.acp.editor_questions import EditorQuestions
from app.acp.request_params import (
    PromptParts,
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
from core.domain import ids
from core.domain.events import Replied, RunEnded, RunInterrupted, RunPaused, RunStarted, SessionEvent
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
        for session_id, session in list(self.sessions.items()):
            if session.updates:
                await self._stop(session_id)

    async def _stop(self, session_id: str) -> None:
        if self.engine.is_active(session_id):
            with suppress(Problem):  # stopping fails if the run has just ended by itself
                await self.engine.stop(session_id)

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
                return await self._prompt(required_text(params, "sessionId"), prompt_parts(params))
            case "session/set_mode":
                return await self._set_mode(required_text(params, "sessionId"), params.get("modeId"))
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]}.")

    async def _handle_notification(self, method: str, params: Params) -> None:
        session_id = str(params.get("sessionId"))
        if method == "session/cancel" and session_id in self.sessions:
            await self._stop(session_id)

    def _initialize(self, params: Params) -> Params:
        match params.get("clientCapabilities"):
            case {"elicitation": {"form": _}}:
                self.has_forms = True
            case _:
                self.has_forms = False
        info = {"name": "journeyman", "title": "Journeyman", "version": __version__}
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": info,
            "authMethods": [],
        }

    def _new(self, folder: Path, notice: str) -> Params:
        session_id = ids.session_id()
        self.sessions[session_id] = EditorSession(folder, self.run_template.mode, notice=notice)
        return {"sessionId": session_id, "modes": _modes(self.run_template.mode)}

    async def _load(self, session_id: str, notice: str) -> Params:
        """Open an existing session and send its messages and tool calls to the editor. The next prompt continues it."""
        row = self._find_row(session_id)
        updates = self._updates(Path(row.folder))
        async for entry in self.engine.events(row.id):
            for update in updates.updates_for(entry.event, replayed=True):
                await self._send_update(session_id, update)
        mode = cast("Mode", row.mode or self.run_template.mode)
        self.sessions[session_id] = EditorSession(Path(row.folder), mode, in_event_log=True, notice=notice)
        return {"modes": _modes(mode)}

    def _list(self, folder: object) -> Params:
        rows = [row for row in self.engine.sessions() if not row.trashed and not row.parent]
        sessions = [{"sessionId": row.id, "cwd": row.folder, "title": row.title} for row in rows]
        return {"sessions": [session for session in sessions if folder in (None, session["cwd"])]}

    async def _set_mode(self, session_id: str, mode: Any) -> Params:
        session = self._open(session_id)
        if mode not in MODES:
            raise RpcError(INVALID_PARAMS, f"Unknown mode. The modes are: {', '.join(MODES)}.")
        session.mode = mode
        if session.in_event_log:
            await self.engine.set_mode(session_id, mode)
        await self._send_update(session_id, {"sessionUpdate": "current_mode_update", "currentModeId": mode})
        return {}

    async def _prompt(self, session_id: str, prompt: PromptParts) -> Params:
        session = self._open(session_id)
        if session.updates is not None:
            raise RpcError(INTERNAL_ERROR, "A turn of this session is in progress.")
        updates: asyncio.Queue[JournalUpdate | LiveUpdate | None] = asyncio.Queue()
        session.updates = updates
        try:
            await self._begin(session_id, session, prompt)
            # The callback keeps this turn's queue: the next turn may already have replaced `session.updates` when it
            # runs.
            self.engine.call_when_idle(session_id, lambda: updates.put_nowait(None))
            if self.closing:
                await self._stop(session_id)
            if session.notice:
                await self._send_update(session_id, text_chunk("agent_message_chunk", session.notice))
                session.notice = ""
            return await self._follow(session_id, session, updates)
        finally:
            session.updates = None

    async def _begin(self, session_id: str, session: EditorSession, prompt: PromptParts) -> None:
        """Start the session with its first prompt.

        A later prompt answers the open question, or continues the session.
        """
        if not session.in_event_log:
            run_started = replace(self.run_template, mode=session.mode)
            await self.engine.start(prompt.text, session.folder, run_started, name=session_id, embedded=prompt.embedded)
            session.in_event_log = True
            return
        open_questions = [question for row, question in self.engine.open_questions() if row.id == session_id]
        if not open_questions:
            await self.engine.send_message(session_id, prompt.text, embedded=prompt.embedded)
            return
        if prompt.embedded:  # an answer cannot carry files, so they are sent as a message before it
            await self.engine.send_message(session_id, ATTACHED_TEXT, embedded=prompt.embedded)
        await self.engine.answer(open_questions[0].id, Answer(text=prompt.text), resume=True)

    async def _follow(
        self, session_id: str, session: EditorSession, updates: asyncio.Queue[JournalUpdate | LiveUpdate | None]
    ) -> Params:
        """Send the turn's updates to the editor until the run ends, pauses, or needs the next prompt as an answer."""
        session_updates = self._updates(session.folder)
        streamed = False
        async with asyncio.TaskGroup() as tasks:
            questions = EditorQuestions(
                self.engine, self.peer, session_id, session_updates, tasks, has_forms=self.has_forms
            )
            try:
                while (item := await updates.get()) is not None:
                    if isinstance(item, LiveUpdate):
                        streamed = True
                        await self._stream(session_id, item)
                        continue
                    event = item.entry.event
                    if item.entry.session == session_id:
                        for update in session_updates.updates_for(event, streamed=streamed):
                            await self._send_update(session_id, update)
                        if isinstance(event, Replied):
                            streamed = False
                        if isinstance(event, RunEnded | RunPaused | RunInterrupted):
                            return await self._finish_turn(session_id, event, session_updates)
                    if question_text := _pass_on(event, questions):
                        await self._send_update(session_id, text_chunk("agent_message_chunk", question_text))
                        return self._turn_result("end_turn", session_updates)
            finally:
                questions.close()
        return self._turn_result("cancelled", session_updates)

    async def _stream(self, session_id: str, draft: LiveUpdate) -> None:
        if draft.reasoning:
            await self._send_update(session_id, text_chunk("agent_thought_chunk", draft.reasoning))
        if draft.text:
            await self._send_update(session_id, text_chunk("agent_message_chunk", draft.text))

    async def _finish_turn(
        self, session_id: str, event: RunEnded | RunPaused | RunInterrupted, updates: SessionUpdates
    ) -> Params:
        if isinstance(event, RunEnded):
            if event.status == "failed":
                raise RpcError(INTERNAL_ERROR, str(event.error) if event.error else event.reason)
            if event.status == "limit":
                await self._send_update(
                    session_id, text_chunk("agent_message_chunk", f"[The run ended: {event.reason}.]")
                )
            return self._turn_result(STOP_REASONS[event.status], updates)
        if isinstance(event, RunPaused):
            error = event.error
            reason = f"{error.message} {error.cause}" if error else event.reason
            await self._send_update(
                session_id, text_chunk("agent_message_chunk", f"[Paused: {reason.strip()} Send a message to continue.]")
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
        session_id = update.entry.session
        if session_id not in self.sessions and isinstance(
            update.entry.event, PermissionRequested | PermissionDecided | QuestionAsked | QuestionAnswered
        ):
            session_id = self.engine.root_session(session_id)
        if (session := self.sessions.get(session_id)) and session.updates:
            session.updates.put_nowait(update)

    def _on_live_update(self, draft: LiveUpdate) -> None:
        if (draft.text or draft.reasoning) and (session := self.sessions.get(draft.session)) and session.updates:
            session.updates.put_nowait(draft)

    async def _send_update(self, session_id: str, update: Params) -> None:
        await self.peer.notify("session/update", {"sessionId": session_id, "update": update})

    def _open(self, session_id: str) -> EditorSession:
        if session := self.sessions.get(session_id):
            return session
        raise RpcError(INVALID_PARAMS, "The session is not open. Open it with session/new or session/load.")

    def _find_row(self, session_id: str) -> SessionRow:
        """Look up a session by its full ID, not by a prefix: updates must carry the ID that the editor uses."""
        with suppress(Problem):
            if (row := self.engine.session(session_id)).id == session_id:
                return row
        raise RpcError(RESOURCE_NOT_FOUND, f"There is no session {visible(session_id[:80])}.")

    def _unused_notice(self, params: Params) -> str:
        enabled = [server.name for server in self.engine.mcp_servers.list() if server.enabled]
        return unused_servers_notice(params, enabled)

    def _updates(self, folder: Path) -> SessionUpdates:
        return SessionUpdates(folder, self.engine.full_text, self.engine.read_blob)


def _pass_on(event: SessionEvent, questions: EditorQuestions) -> str:
    """Show a question or permission request in the editor, or withdraw one that was answered.

    Return the text of a question that the editor cannot show, which is to be sent as a message; otherwise an empty
    string.
    """
    match event:
        case PermissionRequested(request=request):
            questions.request_permission(request)
        case QuestionAsked(question=question):
            return questions.ask(question)
        case PermissionDecided(request_id=decided_id) | QuestionAnswered(question_id=decided_id):
            questions.withdraw(decided_id)
        case _:
            pass
    return ""


def _modes(current: Mode) -> Params:
    available = [{"id": mode, "name": label} for mode, label in MODE_LABELS.items()]
    return {"currentModeId": current, "availableModes": available}
