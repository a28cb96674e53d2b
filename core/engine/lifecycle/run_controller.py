"""Starts, stops, pauses and resumes runs, and owns their asyncio tasks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from core.domain.events import (
    EVENT_CLASSES,
    ReplyInterrupted,
    RunEnded,
    RunInterrupted,
    RunStarted,
    SessionCreated,
    SessionEvent,
    UntrustedContentRead,
    UserMessage,
)
from core.domain.ids import session_id
from core.domain.permissions import PermissionDecided
from core.domain.problems import ErrorDetails, Problem, StorageProblem
from core.domain.question import QuestionAnswered
from core.domain.sessions import SessionRow
from core.domain.text import Attachment, Text
from core.engine.lifecycle.answer_recorder import AnswerRecorder
from core.engine.lifecycle.live_run import LiveRun, RunOutcome, finish_uncanceled, run_to_end, spawn_background
from core.engine.lifecycle.run_factory import RunFactory
from core.engine.policy.imported_sessions import refuse_imported
from core.engine.run.context_budget import compact_idle_session
from core.engine.run.delegate import STOPPED_WITH_PARENT, SubAgents
from core.engine.run.run_context import RunContext
from core.engine.state.conversation import Conversation, next_run_start
from core.engine.state.stored_conversation import find_unresolved_calls, load_conversation
from core.engine.state.unresolved_calls import (
    UNFINISHED,
    Resolution,
    UnresolvedCallsError,
    resolution_events,
    root_session,
)
from core.models.model import Model
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader
from core.tools.recover_commands import recover_folders
from core.tools.tool_context import ToolContext

STOPPED_BY_USER = "stopped by you"
INTERRUPTED_REASON = "Journeyman exited while the run was active."
RECOVERED = " What its command changed in files that other programs execute or follow was reverted: {}."
IMPORT_CUT = "Journeyman exited while the session was being imported."
ANSWER_NOT_RECEIVED = "The answer came after Journeyman had exited, so the run has not received it yet."
ENDED = {
    "done": "It has completed.",
    "failed": "It failed.",
    "stopped": "It was stopped.",
    "limit": "It reached its limit.",
}
CONTINUE_HINT = "Send it a message; on the command line: journeyman fork {} --say TEXT."
CHECK_INTERVAL_S = 0.02
REQUEST_KINDS = frozenset({"request_sent", "request_retried", "replied", "reply_interrupted"})


class RunController:
    """Manages the active runs of all sessions.

    Attributes:
        report: called with an unexpected exception, which is a bug in Journeyman.
        prepare_start: called with a RunStarted event and the folder; returns the event with the system prompt.
        open_tools: called with the folder and the session ID; returns the context for the run's tools.
        factory: creates the context of a run and executes it.
        claimed: IDs of the questions and permission requests that are being answered, so that each is answered once.
    """

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        report: Callable[[BaseException], None],
        prepare_start: Callable[[RunStarted, Path], Awaitable[RunStarted]],
        open_tools: Callable[[Path, str], ToolContext],
        factory: RunFactory,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._report = report
        self.prepare_start = prepare_start
        self._open_tools = open_tools
        self._factory = factory
        self._live: dict[str, LiveRun] = {}
        self.claimed: set[str] = set()
        self.answers = AnswerRecorder(journal, reader, self.claimed)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closing = False
        self._unsubscribe = journal.listen(self._on_event)
        self.sub_agents = SubAgents(
            journal=journal,
            reader=reader,
            check=self.check_start,
            start_child=self.open,
            resume=self.resume,
            stop=self.stop,
            is_active=self.is_active,
            shutting_down=lambda: self._closing,
            preferred_model=factory.preferred_model,
            check_model=factory.check_delegated_model,
            send=self._send_to_sub_agent,
            pause=self._pause_and_wait,
        )

    def is_active(self, session: str) -> bool:
        return session in self._live

    async def recover(self, data: Path, partial_replies: Mapping[str, str]) -> None:
        """Mark every run that a crash ended as interrupted. Called at startup. No run is resumed automatically.

        `data` is the data folder; `partial_replies` are the replies that the crash interrupted, by session.
        """
        reverted = await recover_folders(data, lambda folder: self._open_tools(folder, ""))
        for row in self._reader.sessions():
            if row.imported_from and row.status in UNFINISHED:
                await self._journal.append(row.id, RunEnded("stopped", IMPORT_CUT))
            elif row.status == "running" and not self.is_active(row.id):
                events: list[SessionEvent] = [await self._interruption(row, reverted.get(row.folder, ()))]
                partial_reply = partial_replies.get(row.id)
                if partial_reply and self._awaits_reply(row):
                    events.insert(0, ReplyInterrupted(Text(partial_reply), INTERRUPTED_REASON))
                await self._journal.append(row.id, *events)

    async def _interruption(self, row: SessionRow, reverted: Sequence[str]) -> RunInterrupted:
        """Return the event for a run that a crash ended; `reverted` are the files whose changes were undone since."""
        last_event = EVENT_CLASSES[self._reader.event(row.id, row.last_seq)["kind"]]
        is_answer = issubclass(last_event, QuestionAnswered | PermissionDecided)
        reason = ANSWER_NOT_RECEIVED if is_answer else INTERRUPTED_REASON
        if reverted:
            reason += RECOVERED.format(", ".join(reverted))
        return RunInterrupted(reason, tuple((await self.conversation(row.id)).unresolved_calls()))

    def _awaits_reply(self, row: SessionRow) -> bool:
        """Return whether the session's last request to the model has no recorded reply."""
        kinds = (self._reader.event(row.id, seq)["kind"] for seq in range(row.last_seq, 0, -1))
        return next((kind for kind in kinds if kind in REQUEST_KINDS), "") == "request_sent"

    async def open(
        self,
        opened: SessionCreated,
        task: str,
        run_start: RunStarted,
        *origin: SessionEvent,
        attached: tuple[Attachment, ...] = (),
        typed: int | None = None,
    ) -> str:
        """Create a session with its first run in one transaction and return the session's ID.

        `origin` are events that record what started the session, such as a schedule. `typed` is as in UserMessage.
        """
        name = opened.session_id or session_id()
        model = self.check_start(run_start)
        run_start = await self.prepare_start(run_start, Path(opened.folder))
        async with self.session_lock(name):
            self._refuse_closing()
            events = (replace(opened, session_id=name), *origin, UserMessage(Text(task), attached, typed), run_start)
            await self._launch(name, opened.folder, *events, model=model)
        return name

    async def start(self, session: str, events: tuple[SessionEvent, ...]) -> None:
        """Start a run. The last of `events` is its RunStarted event."""
        async with self.session_lock(session):
            await self._start(session, *events)

    @asynccontextmanager
    async def hold_idle(self, session: str) -> AsyncIterator[None]:
        """Prevent runs of the session from being started, stopped or resumed. Raise Problem if a run is active."""
        async with self.session_lock(session):
            row = self._reader.require_session(session)
            refuse_imported(row)
            self._refuse_active(row)
            yield

    def check_start(self, run_start: RunStarted) -> Model:
        """Return the run's model, or raise Problem if its model, script or grants are invalid.

        Callers use it before they write any event.
        """
        return self._factory.check_start(run_start)

    async def send_message(
        self,
        session: str,
        text: str,
        *,
        now: bool = False,
        attached: Sequence[Attachment] = (),
        typed: int | None = None,
        no_questions: bool = False,
    ) -> None:
        """Send a message; `typed` is as in UserMessage, and `no_questions` that of a run which the message starts.

        An active run receives the message after its current turn, or at once with `now`, which interrupts the reply. An
        interrupted or paused run is resumed with the message. Otherwise the message starts the next run.
        """
        async with self.session_lock(session):
            refuse_imported(self._reader.require_session(session))
            message = UserMessage(Text(text), tuple(attached), typed)
            if live := self._live.get(session):
                await self._journal.append(session, message)
                if now:
                    live.context.interrupt_reply()
                # The run ended in the meantime without receiving the message. A paused run receives it when resumed.
                if not self.is_active(session) and self._reader.require_session(session).status not in UNFINISHED:
                    await self._start(session, next_run_start(await self.conversation(session)))
            elif self._reader.require_session(session).status in UNFINISHED:
                # Only queue the message if the user must first decide about unresolved calls, or if this session is
                # that of a sub-agent, which its parent resumes.
                if root_session(self._reader, session) != session or await self.unresolved_calls(session):
                    await self._journal.append(session, message)
                else:
                    await self._resume(session, "", message)
            else:
                start = replace(next_run_start(await self.conversation(session)), no_questions=no_questions)
                await self._start(session, message, start)

    async def _send_to_sub_agent(self, session: str, text: str, untrusted_sources: tuple[str, ...]) -> None:
        """Send a message from an agent to its running sub-agent. Raise Problem if the sub-agent has ended.

        The untrusted sources that the sender has read become those of the sub-agent. They are recorded with every
        message, because they also say that the user has not written it.
        """
        async with self.session_lock(session):
            sources = [UntrustedContentRead("", source) for source in untrusted_sources]
            await self._journal.append(session, *sources, UserMessage(Text(text)))
            if self._reader.require_session(session).status not in UNFINISHED:
                raise Problem("The message was not read.", "The sub-agent has ended.", "Start another one.")

    async def conversation(self, session: str) -> Conversation:
        """Return the current conversation of the session, active or not."""
        live = self._live.get(session)
        return live.context.conversation if live else await load_conversation(self._journal, session)

    def interrupt_reply(self, session: str) -> bool:
        """Interrupt the reply in progress so that queued messages are sent. Return whether a run is active."""
        if live := self._live.get(session):
            live.context.interrupt_reply()
        return live is not None

    async def pause(self, session: str) -> None:
        """Pause the run after its current turn."""
        async with self.session_lock(session):
            if (live := self._live.get(session)) is None:
                raise Problem("This run is not active.", f"It is {self._reader.require_session(session).status}.", "")
            live.context.pause_requested = True

    async def _pause_and_wait(self, session: str) -> None:
        """Pause a run that may be active, and wait until it is paused."""
        with suppress(Problem):  # No run is active.
            await self.pause(session)
        await self.wait_idle(session)

    async def compact(self, session: str) -> bool:
        """Compact the context: after the current turn if a run is active, otherwise at once.

        Return False if no run is active and there is nothing to compact.
        """
        async with self.session_lock(session):
            if live := self._live.get(session):
                live.context.compaction_requested = True
                return True
            self._refuse_closing()
            row = self._reader.require_session(session)
            refuse_imported(row)
            tool_context = self._open_tools(Path(row.folder), session)
            try:
                return await compact_idle_session(await self._run_context(session, tool_context, None))
            finally:
                await tool_context.close()

    async def stop(self, session: str, reason: str = STOPPED_BY_USER) -> None:
        """Cancel the model request, kill the run's processes, and end the run and its sub-agents."""
        async with self.session_lock(session):
            if live := self._live.get(session):
                live.stop_reason = reason
                live.task.cancel()
                await asyncio.wait({live.task})
                if self._live.pop(session, None):  # Canceled before its first step, the task recorded nothing.
                    await live.context.tool_context.close()
                    await self._journal.append(session, RunEnded("stopped", reason))
                return
            row = self._reader.require_session(session)
            if row.status not in UNFINISHED:
                raise Problem("This run is not active.", f"It is {row.status}.", "")
            await self._journal.append(session, RunEnded("stopped", reason))
        await self._stop_children(session)

    async def _stop_children(self, session: str) -> None:
        """Stop the session's unfinished sub-agents, because they must not outlive the session."""
        for child in self._reader.children(session):
            if child.status in UNFINISHED:
                await self.stop(child.id, STOPPED_WITH_PARENT)

    async def resume(self, session: str, resolution: Resolution = "") -> None:
        """Resume an interrupted or paused run. `resolution` decides about calls that may have run before a crash."""
        async with self.session_lock(session):
            await self._resume(session, resolution)

    async def _resume(self, session: str, resolution: Resolution, *first_events: SessionEvent) -> None:
        row = self._reader.require_session(session)
        if row.status == "paused":  # The last event is written, so the task ends in a moment.
            await self.wait_idle(session)
        refuse_imported(row)
        self._refuse_active(row)
        self._refuse_closing()
        if row.status not in UNFINISHED:
            why = ENDED.get(row.status, "It has ended.")
            raise Problem("There is nothing to resume.", why, CONTINUE_HINT.format(session))
        conversation = await self.conversation(session)
        unresolved = await self.unresolved_calls(session)
        if resolution != "abort":
            self.check_start(next_run_start(conversation))
        if unresolved and not resolution:
            raise UnresolvedCallsError(session, tuple(unresolved.values()))
        events = [
            *first_events,
            *resolution_events(
                row.status, resolution, conversation.unresolved_calls(), unresolved, conversation.open_questions
            ),
        ]
        if resolution != "abort":
            await self._launch(session, row.folder, *events)
            self._live[session].context.resolution = resolution
        else:
            await self._journal.append(session, *events)
            await self._stop_children(session)

    async def run_again(self, session: str) -> None:
        """Start another run with the same settings and no new message, for example after a provider failure."""
        await self.start(session, (next_run_start(await self.conversation(session)),))

    async def unresolved_calls(self, session: str) -> dict[str, str]:
        """Return the calls that started but did not return, as ID → what the call acts on. Sub-agents are included."""
        return await find_unresolved_calls(self._journal, self._reader, session)

    async def wait_idle(self, session: str) -> None:
        """Wait until no run of the session is active."""
        if live := self._live.get(session):
            await asyncio.wait({live.task})

    async def await_policy_check(self, session: str) -> None:
        """Wait until a resumed run has checked its pending permission requests against the current mode and rules."""
        while (live := self._live.get(session)) and not live.task.done():
            if all(
                pending.request.id in live.context.needs_user
                for pending in self._reader.permission_requests()
                if pending.session == session
            ):
                return
            await asyncio.wait({live.task}, timeout=CHECK_INTERVAL_S)

    async def await_hooks(self, session: str) -> None:
        """Wait until the user's hooks have been notified of the run's questions."""
        if live := self._live.get(session):
            await live.context.hooks_finished()

    def call_when_idle(self, session: str, call: Callable[[], None]) -> None:
        """Call back once no run of the session is active; immediately if none is."""
        if live := self._live.get(session):
            live.task.add_done_callback(lambda _: call())
        else:
            call()

    async def close(self) -> None:
        """Cancel every run. Runs that were not waiting for the user are marked as interrupted."""
        if self._closing:
            return
        self._closing = True
        tasks = [live.task for live in self._live.values()]
        for live in self._live.values():
            live.context.closing = True
            live.task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._unsubscribe()

    async def _start(self, session: str, *events: SessionEvent) -> None:
        row = self._reader.require_session(session)
        refuse_imported(row)
        self._refuse_active(row)
        self._refuse_closing()
        model = next((self.check_start(event) for event in events if isinstance(event, RunStarted)), None)
        prepared = [
            await self.prepare_start(event, Path(row.folder)) if isinstance(event, RunStarted) else event
            for event in events
        ]
        await self._launch(session, row.folder, *prepared, model=model)

    async def _launch(self, session: str, folder: str, *events: SessionEvent, model: Model | None = None) -> None:
        """Record the events and start the run's task. If the folder is missing, raise Problem and record nothing."""
        tool_context = self._open_tools(Path(folder), session)
        try:
            if events:
                await self._journal.append(session, *events)
            context = await self._run_context(session, tool_context, model)
        except BaseException:
            await tool_context.close()
            raise
        self._live[session] = LiveRun(asyncio.create_task(self._execute(context), name=f"run {session}"), context)

    async def _run_context(self, session: str, tool_context: ToolContext, model: Model | None) -> RunContext:
        return await self._factory.create(session, tool_context, model, self.claimed, self.sub_agents)

    async def _execute(self, run: RunContext) -> None:
        """Execute runs until no message is waiting, and record how each ends.

        Messages that arrived too late for a run start the next run.
        """
        live = self._live[run.session]
        start_events: tuple[SessionEvent, ...] = ()
        try:
            while True:
                end = await self._run_to_end(live, self._work(run, start_events))
                end = await self._run_to_end(live, self._end_background(run, end))
                await finish_uncanceled(run.tool_context.close())  # Background processes end before the run ends.
                if end is None:
                    return
                await finish_uncanceled(self._journal.append(run.session, end))
                await finish_uncanceled(run.run_end_hooks(end))
                all_sent = not run.conversation.has_new_input or getattr(end, "status", "") != "completed"
                if all_sent or live.stop_reason or self._closing:
                    return
                run.tool_context = self._open_tools(run.tool_context.folder, run.session)
                start_events = (await self.prepare_start(next_run_start(run.conversation), run.tool_context.folder),)
        except Problem as problem:  # The event log cannot be written. The next start marks the run as interrupted.
            self._report(problem)
        finally:
            self._live.pop(run.session, None)
            await finish_uncanceled(run.tool_context.close())

    async def _work(self, run: RunContext, start_events: tuple[SessionEvent, ...]) -> RunOutcome:
        """Execute a run, with the sub-agents that were in the background when it was paused or interrupted."""
        run.agents.spawn = spawn_background
        await self.sub_agents.follow_again(run)
        return await run_to_end(run, start_events, self._factory.execute)

    async def _end_background(self, run: RunContext, end: RunOutcome | None) -> RunOutcome | None:
        """Pause or stop the sub-agents in the background of a run that ends, and return its end."""
        await finish_uncanceled(self.sub_agents.end_background(run, end))
        return end

    async def _run_to_end(self, live: LiveRun, work: Awaitable[RunOutcome | None]) -> RunOutcome | None:
        """Await `work` and return the event that ends the run, also if it fails or is canceled.

        Return None if Journeyman exits while the run waits for the user.
        """
        try:
            return await work
        except asyncio.CancelledError:
            if live.stop_reason:
                return RunEnded("stopped", live.stop_reason)
            if self._reader.require_session(live.context.session).status == "waiting":
                return None
            return RunInterrupted("Journeyman was closed.", tuple(live.context.conversation.unresolved_calls()))
        except StorageProblem as problem:  # The run can be resumed once the event log can be written again.
            self._report(problem)
            return RunInterrupted(problem.details.message, tuple(live.context.conversation.unresolved_calls()))
        except Problem as problem:
            return RunEnded("failed", problem.details.message, problem.details)
        except Exception as error:  # A bug ends only this run; the program and the other runs continue.
            self._report(error)
            details = ErrorDetails("Internal error", f"{type(error).__name__}: {error}", code="internal")
            return RunEnded("failed", details.message, details)

    def session_lock(self, session: str) -> asyncio.Lock:
        """Return the lock that serializes start, stop and resume of a session."""
        return self._locks.setdefault(session, asyncio.Lock())

    def _refuse_closing(self) -> None:
        if self._closing:
            raise Problem("Journeyman is shutting down.", "", "Start it again, then retry.")

    def _refuse_active(self, row: SessionRow) -> None:
        if self.is_active(row.id):
            raise Problem("A run is already active in this session.", "", "Stop it first, or send it a message.")

    def _on_event(self, update: JournalUpdate) -> None:
        if live := self._live.get(update.entry.session):
            live.context.conversation.apply(update.entry)
