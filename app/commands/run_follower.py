"""Follows a run until it ends or waits for the user, and answers its questions from the command line."""

import asyncio
from dataclasses import dataclass

from app.commands.invocation import Invocation
from app.commands.permission_requests import print_request
from app.commands.questions import parse_answer, print_question
from app.commands.run_printer import RunPrinter
from app.process.exit_codes import BY_STATUS, FAILED, STOPPED, WAITING
from core.domain.events import EventRecord, RunEnded, RunInterrupted, RunPaused, RunStarted
from core.domain.external_agents import is_external_agent
from core.domain.permissions import PendingPermissionRequest, PermissionDecided, PermissionRequested
from core.domain.question import Answer, Question, QuestionAnswerStarted, QuestionAsked
from core.domain.sessions import SessionRow
from core.engine.state.live_updates import LiveUpdate
from core.models.errors import format_duration
from core.store.journal_update import JournalUpdate
from core.timeline.idle_runs import ENDED_IDLE, ended_idle

NO_USER = "No user is available to approve it."
# How long to wait for a decision that an external agent needs, if --answer-timeout is not given.
AGENT_ANSWER_TIMEOUT_S = 600.0
ASKING = (QuestionAsked, QuestionAnswerStarted, PermissionRequested)


@dataclass(frozen=True, slots=True)
class RunIsIdle:
    """Placed in the queue when the run is idle. If no RunEnded came before it, the end of the run was not stored."""


class RunFollower:
    """Follows one run. It subscribes to events when it is created, before the run starts, so that it misses none."""

    def __init__(self, context: Invocation) -> None:
        self._context = context
        self._engine = context.engine
        self._args = context.args
        self._printer = RunPrinter(context)
        self._session = ""  # known only once the run has started
        self._unused_answers: list[str] = list(context.args.answer)
        self._no_questions: bool | None = context.args.no_questions
        self._deadline: float | None = None  # when to give up waiting for permission decisions, in the loop's time
        self._updates: asyncio.Queue[JournalUpdate | RunIsIdle] = asyncio.Queue()
        self._subscriptions = (
            self._engine.subscribe(self._updates.put_nowait),
            self._engine.subscribe_live_updates(self._on_live_update),
        )

    def close(self) -> None:
        for unsubscribe in self._subscriptions:
            unsubscribe()

    def _on_live_update(self, update: LiveUpdate) -> None:
        if update.session == self._session:
            self._printer.print_activity(update)

    async def follow(self, session: str) -> int:
        """Follow the current run of a session, and return its exit code. Cancellation stops the run."""
        self._session = session
        if self._args.quiet and not self._args.json:
            # With --quiet, only a reply that fits the schema may be printed, so each is held back until it is known to.
            self._printer.holds_replies = bool((await self._engine.last_start(session)).output_schema.head)
        self._engine.call_when_idle(session, lambda: self._updates.put_nowait(RunIsIdle()))
        try:
            code = await self._follow_to_exit_code()
        except asyncio.CancelledError:
            if self._engine.is_active(session):
                await self._engine.stop(session)
            code = STOPPED
        self._print_remaining()
        return code

    def _print_remaining(self) -> None:
        while not self._updates.empty():
            update = self._updates.get_nowait()
            if isinstance(update, JournalUpdate) and update.entry.session == self._session:
                self._printer.print_update(update)

    async def _follow_to_exit_code(self) -> int:
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    update = await self._updates.get()
            except TimeoutError:
                return WAITING
            if isinstance(update, RunIsIdle):
                return FAILED
            entry = update.entry
            if isinstance(entry.event, PermissionDecided) and not self._pending_requests(self._session):
                self._deadline = None
            if entry.session == self._session:
                self._printer.print_update(update)
            elif not (isinstance(entry.event, ASKING) and self._is_subagent(update.session, self._session)):
                continue
            match entry.event:
                case RunEnded():
                    return self._exit_code(entry, entry.event)
                case RunPaused():
                    self._printer.print_pause(entry.event)
                    return WAITING
                case RunInterrupted() | QuestionAnswerStarted():  # an opened question no longer expires
                    return WAITING
                case QuestionAsked(question=question) if await self._leaves_open(entry.session, question):
                    return WAITING
                case PermissionRequested() if await self._leaves_undecided(entry.session):
                    return WAITING
                case _:
                    pass

    def _exit_code(self, entry: EventRecord, end: RunEnded) -> int:
        """Print why the run ended, and return the exit code.

        A run that ended without doing anything counts as failed.
        """
        self._printer.print_end(end)
        if ended_idle(self._engine.run_opening(entry.session, entry.run)):
            self._context.out.print_warning(f"{ENDED_IDLE}.")
            return FAILED
        return BY_STATUS[end.status]

    # Questions and permission requests

    async def waits_for_user(self, session: str) -> bool:
        """Answer the open questions and requests of a session as the options say. Return whether any stays open."""
        for row, question in self._engine.open_questions():
            if self._belongs_to(row, session) and await self._leaves_open(row.id, question):
                return True
        await self._engine.await_policy_check(session)
        return await self._leaves_undecided(session)

    async def _leaves_open(self, session: str, question: Question) -> bool:
        """Answer a question with --answer or --no-questions, or print it.

        Return whether the command ends with it open.
        """
        if not self._is_open(question):
            return False
        if self._unused_answers:
            await self._engine.answer(question.id, parse_answer(question, self._unused_answers.pop(0)))
            return False
        if await self._declines_questions(session):
            await self._engine.answer(question.id, Answer(declined=True, answered_by="no_questions"))
            return False
        if self._args.json:
            await self._printer.print_request_event(session, question.id)
        else:
            print_question(self._context, question)
        if question.timeout_s and not await self._is_being_answered(session, question.id):
            return False  # keep following: the run continues when the question's timeout expires
        await self._engine.await_hooks(session)
        return self._is_open(question)

    async def _declines_questions(self, session: str) -> bool:
        """Return the option of this command, or that of the command that started the run if this one has none."""
        if self._no_questions is None:
            starts = [e.event async for e in self._engine.events(session) if isinstance(e.event, RunStarted)]
            self._no_questions = starts[-1].no_questions
        return self._no_questions

    def _is_open(self, question: Question) -> bool:
        return any(open_.id == question.id for _, open_ in self._engine.open_questions())

    async def _is_being_answered(self, session: str, question_id: str) -> bool:
        """Return whether the user has begun to answer a question elsewhere, which stops its timeout."""
        events = [entry.event async for entry in self._engine.events(session)]
        return any(isinstance(event, QuestionAnswerStarted) and event.question_id == question_id for event in events)

    async def _leaves_undecided(self, session: str) -> bool:
        """Print the open permission requests, or deny them with --no-questions. Return whether the command ends now.

        The command ends while requests are open, unless it should wait some time for the user's decision.
        """
        requests = self._pending_requests(session)
        for row, pending in requests:
            if await self._declines_questions(session):
                await self._engine.deny(pending.request.id, NO_USER)
            elif self._args.json:
                await self._printer.print_request_event(row.id, pending.request.id)
            else:
                print_request(self._context.out, pending)
        for row, _ in requests:
            await self._engine.await_hooks(row.id)
        if not self._pending_requests(session):
            return False
        timeout_s = self._decision_timeout_s(session)
        if not timeout_s:
            return True
        self._deadline = asyncio.get_running_loop().time() + timeout_s
        if not self._args.json:
            self._context.out.write(f"Waiting for your decision for up to {format_duration(timeout_s)}.")
        return False

    def _decision_timeout_s(self, session: str) -> float:
        """Return the seconds to wait for a permission decision; 0 ends the command at once.

        An external agent loses its request when the command ends, so for it the default is not 0.
        """
        requested: float = getattr(self._args, "answer_timeout", 0.0)
        is_external = is_external_agent(self._engine.session(session).model)
        return requested or (AGENT_ANSWER_TIMEOUT_S if is_external else 0.0)

    def _pending_requests(self, session: str) -> list[tuple[SessionRow, PendingPermissionRequest]]:
        requests = self._engine.permission_requests()
        return [(row, pending) for row, pending in requests if self._belongs_to(row, session)]

    def _belongs_to(self, row: SessionRow, session: str) -> bool:
        return row.id == session or self._is_subagent(row, session)

    def _is_subagent(self, row: SessionRow, session: str) -> bool:
        """Return whether a session is a sub-agent of another, at any depth."""
        while row.parent and row.parent != session:
            row = self._engine.session(row.parent)
        return row.parent == session


async def follow_started(context: Invocation, follower: RunFollower, session: str) -> int:
    """Follow a run, and if it waits for the user, print how to continue it. Return its exit code."""
    code = await follower.follow(session)
    if code == WAITING and not context.args.json:
        context.out.write(f"Then continue with: journeyman resume {session}")
    return code
