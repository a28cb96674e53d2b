"""Follows a run to its end: prints its events, and answers its questions from the command line."""

import asyncio
import time

from app.commands.invocation import Invocation
from app.commands.permission_requests import print_request
from app.commands.questions import parse_answer, print_question
from app.commands.timeline_lines import step_line
from app.process.exit_codes import BY_STATUS, FAILED, STOPPED, WAITING
from app.process.output import event_json
from core.domain.events import (
    EventRecord,
    Replied,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunStarted,
    SessionEvent,
    ToolReturned,
)
from core.domain.external_agents import AGENT_PREFIX, is_external_agent
from core.domain.permissions import PendingPermissionRequest, PermissionDecided, PermissionRequested
from core.domain.problems import ErrorDetails
from core.domain.question import Answer, Question, QuestionAnswerStarted, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.steps import OPEN_STATUSES
from core.domain.text import Text
from core.domain.visible import strip_colors, visible
from core.engine.state.live_updates import LiveUpdate
from core.models.errors import format_duration
from core.store.journal_update import JournalUpdate
from core.timeline.idle_runs import ENDED_IDLE, ended_idle

NO_USER = "No user is available to approve it."
UNKNOWN_PRICE = "The price of this model is unknown, so --max-cost {:g} has no effect."
AGENT_ANSWER_TIMEOUT_S = 600.0  # how long an external agent is kept for a decision if --answer-timeout is not given
ACTIVITY_S = 10.0  # between two lines about what a model does before its reply begins
ASKING = (QuestionAsked, QuestionAnswerStarted, PermissionRequested)


class RunFollower:
    """Prints a run. It subscribes to events when it is created, before the run starts, so that it misses none."""

    def __init__(self, context: Invocation) -> None:
        self._context = context
        self._updates: asyncio.Queue[JournalUpdate | None] = asyncio.Queue()
        self._answers: list[str] = list(context.args.answer)
        self._shown: set[str] = set()
        self._cost_limit = 0.0
        self._deadline: float | None = None  # when to give up waiting for permission decisions, in the loop's time
        self._session = ""
        self._activity_due = time.monotonic() + ACTIVITY_S
        engine = context.engine
        self._subscriptions = (
            engine.subscribe(self._updates.put_nowait), engine.subscribe_live_updates(self._on_live_update)
        )  # fmt: skip

    def close(self) -> None:
        for unsubscribe in self._subscriptions:
            unsubscribe()

    def _on_live_update(self, update: LiveUpdate) -> None:
        """Say from time to time what a slow model does before its reply begins."""
        args, now = self._context.args, time.monotonic()
        is_shown = update.session == self._session and not (args.json or args.quiet)
        if update.activity and is_shown and now >= self._activity_due:
            self._activity_due = now + ACTIVITY_S
            self._context.out.write_error(f"{update.activity[0].upper()}{update.activity[1:]}")

    async def follow(self, session: str) -> int:
        """Follow the current run of a session, and return its exit code. Cancellation stops the run."""
        self._session = session
        self._context.engine.call_when_idle(session, lambda: self._updates.put_nowait(None))
        try:
            code = await self._until_code(session)
        except asyncio.CancelledError:
            if self._context.engine.is_active(session):
                await self._context.engine.stop(session)
            code = STOPPED
        while not self._updates.empty():
            if (update := self._updates.get_nowait()) and update.entry.session == session:
                self._print(update)
        return code

    async def _until_code(self, session: str) -> int:
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    update = await self._updates.get()
            except TimeoutError:
                return WAITING
            if update is None:
                return FAILED  # the run ended without an end event, so the event log could not be written
            if isinstance(update.entry.event, PermissionDecided) and not self._pending_requests(session):
                self._deadline = None
            is_own = update.entry.session == session
            if is_own:
                self._print(update)
            if is_own or (isinstance(update.entry.event, ASKING) and self._is_subagent(update.session, session)):
                code = await self._react(update)
                if code is not None:
                    return code

    def _is_subagent(self, row: SessionRow, session: str) -> bool:
        """Return whether a session is a sub-agent of another, at any depth."""
        while row.parent and row.parent != session:
            row = self._context.engine.session(row.parent)
        return row.parent == session

    async def open_questions(self, session: str) -> int | None:
        """Handle the questions and requests that are already pending. Return an exit code, or None to continue."""
        for row, question in self._context.engine.open_questions():
            if row.id == session or self._is_subagent(row, session):
                code = await self._answer(row.id, question)
                if code is not None:
                    return code
        await self._context.engine.await_policy_check(session)
        return await self._decide(session)

    async def _decide(self, session: str) -> int | None:
        """Print or deny the pending permission requests; return None if the run continues or waits for a decision."""
        engine = self._context.engine
        requests = self._pending_requests(session)
        for row, pending in requests:
            if self._context.args.no_questions:
                await engine.deny(pending.request.id, NO_USER)
            elif self._context.args.json:
                await self._show(row.id, pending.request.id)
            else:
                print_request(self._context.out, pending)
        for row, _ in requests:
            await engine.await_hooks(row.id)
        if not self._pending_requests(session):
            return None
        timeout_s = self._decision_timeout_s(session)
        self._deadline = asyncio.get_running_loop().time() + timeout_s
        if timeout_s and not self._context.args.json:
            self._context.out.write(f"Waiting for your decision for up to {format_duration(timeout_s)}.")
        return None if timeout_s else WAITING

    def _decision_timeout_s(self, session: str) -> float:
        """Return how long to wait for a permission decision. An external agent cannot wait without its process."""
        given: float = getattr(self._context.args, "answer_timeout", 0.0)
        is_external = is_external_agent(self._context.engine.session(session).model)
        return given or (AGENT_ANSWER_TIMEOUT_S if is_external else 0.0)

    def _pending_requests(self, session: str) -> list[tuple[SessionRow, PendingPermissionRequest]]:
        requests = self._context.engine.permission_requests()
        return [(row, pending) for row, pending in requests if row.id == session or self._is_subagent(row, session)]

    async def _react(self, update: JournalUpdate) -> int | None:
        match update.entry.event:
            case RunEnded(status=status, reason=reason, error=details):
                if details:
                    self._context.out.print_error(details)
                elif reason and status in {"limit", "failed"} and not self._context.args.json:
                    self._context.out.print_warning(f"The run ended: {reason}.")
                return FAILED if self._ended_idle(update.entry) else BY_STATUS[status]
            case RunPaused(error=details, reason=pause_reason):
                self._print_pause(pause_reason, details)
                return WAITING
            case RunInterrupted() | QuestionAnswerStarted():  # a question that is being answered does not expire
                return WAITING
            case QuestionAsked(question=question):
                return await self._answer(update.entry.session, question)
            case PermissionRequested():
                return await self._decide(update.entry.session)
            case _:
                return None

    def _ended_idle(self, end: EventRecord) -> bool:
        """Return whether the run did nothing for a task that asked for work, and warn about it."""
        idle = ended_idle(self._context.engine.run_opening(end.session, end.run))
        if idle:
            self._context.out.print_warning(f"{ENDED_IDLE}.")
        return idle

    async def _answer(self, session: str, question: Question) -> int | None:
        """Answer a question from the command line; return None when the run continues."""
        engine, args = self._context.engine, self._context.args
        if not self._is_open(question):
            return None  # already answered on the command line
        if self._answers:
            await engine.answer(question.id, parse_answer(question, self._answers.pop(0)))
        elif args.no_questions:
            await engine.answer(question.id, Answer(declined=True, answered_by="no_questions"))
        else:
            return await self._leave_open(session, question)
        return None

    async def _leave_open(self, session: str, question: Question) -> int | None:
        """Print a question. Return WAITING, unless it can expire: then the run is followed until it does."""
        if self._context.args.json:
            await self._show(session, question.id)
        else:
            print_question(self._context, question)
        if question.timeout_s and not await self._is_being_answered(session, question.id):
            return None
        await self._context.engine.await_hooks(session)
        return WAITING if self._is_open(question) else None

    def _is_open(self, question: Question) -> bool:
        return any(open_.id == question.id for _, open_ in self._context.engine.open_questions())

    async def _is_being_answered(self, session: str, name: str) -> bool:
        """Return whether the user has begun to answer a question elsewhere, which stops its timeout."""
        events = [entry.event async for entry in self._context.engine.events(session)]
        return any(isinstance(event, QuestionAnswerStarted) and event.question_id == name for event in events)

    async def _show(self, session: str, name: str) -> None:
        """Print a question's event if it was not printed yet: it is a sub-agent's, or older than this command."""
        if name in self._shown:
            return
        async for entry in self._context.engine.events(session):
            if request_id(entry) == name:
                self._print_entry(entry)

    def _print_entry(self, entry: EventRecord) -> None:
        self._shown.add(request_id(entry))
        self._context.out.write_json(event_json(entry, self._context.engine.read_blob))

    def _print_pause(self, reason: str, details: ErrorDetails | None) -> None:
        if details:
            self._context.out.print_error(details)
        elif not self._context.args.json:
            self._context.out.write(f"Paused: {reason}.")

    def _print(self, update: JournalUpdate) -> None:
        out = self._context.out
        self._warn_unpriced(update.entry.event)
        if self._context.args.json:
            self._print_entry(update.entry)
            return
        if isinstance(update.entry.event, Replied):
            self._print_reply(update.entry.event)
        if isinstance(update.entry.event, RunStarted):
            for instructions in update.entry.event.instruction_files:
                if instructions.error:
                    out.write(f"{instructions.name}: {instructions.error}")
        for step in () if self._context.args.quiet else update.steps:
            if step.number and step.status not in OPEN_STATUSES:
                out.write(step_line(step))
        if self._context.args.verbose and isinstance(update.entry.event, ToolReturned):
            self._print_indented(update.entry.event.output)

    def _print_reply(self, reply: Replied) -> None:
        if self._context.args.verbose and reply.reasoning.head:
            self._print_indented(reply.reasoning)
        if reply.text.head:
            self._context.out.write(self._context.engine.full_text(reply.text))
        if reply.note:
            self._context.out.print_warning(reply.note)

    def _print_indented(self, text: Text) -> None:
        for line in visible(strip_colors(self._context.engine.full_text(text))).split("\n"):
            self._context.out.write(f"       {line}")

    def _warn_unpriced(self, event: SessionEvent) -> None:
        """Warn once that a cost limit has no effect. An external agent reports its cost only when it ends."""
        if isinstance(event, RunStarted):
            self._cost_limit = 0.0 if event.model.startswith(AGENT_PREFIX) else event.max_cost
        elif isinstance(event, Replied) and event.cost is None and self._cost_limit:
            self._context.out.print_warning(UNKNOWN_PRICE.format(self._cost_limit))
            self._cost_limit = 0.0


def request_id(entry: EventRecord) -> str:
    """Return the ID of the question or permission request in an event; empty for any other event."""
    match entry.event:
        case QuestionAsked(question=question):
            return question.id
        case PermissionRequested(request=request):
            return request.id
        case _:
            return ""


async def follow_started(context: Invocation, follower: RunFollower, session: str) -> int:
    """Follow a run, and if it waits for the user, print how to continue it. Return its exit code."""
    code = await follower.follow(session)
    if code == WAITING and not context.args.json:
        context.out.write(f"Then continue with: journeyman resume {session}")
    return code
