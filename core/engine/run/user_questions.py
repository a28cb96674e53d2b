"""Questions that the agent or a running tool call asks the user."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from core.domain.events import CallRefused, DecisionMade, RunStarted, ToolCall
from core.domain.ids import question_id
from core.domain.problems import Problem
from core.domain.question import (
    Answer,
    Question,
    QuestionAnswered,
    QuestionAsked,
    is_same_question,
    withdrawn_answer,
)
from core.domain.refusals import QUESTION_LIMIT
from core.domain.text import Text
from core.engine.run.question_slots import question_limit
from core.engine.run.run_context import RunContext
from core.tools.ask_user import AskUserArguments, to_question
from core.tools.catalogue import ASK, read_arguments

MINUTE_S = 60


async def ask_user(run: RunContext, call: ToolCall, parameters: AskUserArguments) -> None:
    """Execute an `ask_user` call and record its result.

    If the user has already answered the same question in this run, that answer is reused. Once the run and its
    sub-agents have asked as many questions as the autonomy level allows, the call is refused and the model has to
    decide without the user.
    """
    name = question_id(run.session, call.id)
    question = _with_time_limit(to_question(parameters, name), run.conversation.start)
    if name not in run.conversation.questions:
        if answer := _earlier_answer(run, question):
            reused = replace(answer, answered_by="earlier_answer")
            await run.record(QuestionAsked(question, call.id), QuestionAnswered(name, call.id, reused))
            return
        async with run.admit_question(run, name, call.id) as is_admitted:
            if not is_admitted:
                await _decide_instead(run, question, call, question_limit(run))
                return
            await run.announce(QuestionAsked(question, call.id), question.id, question.text)
    await run.ask(question, call.id)


@dataclass(slots=True)
class CallQuestions:
    """Asks the user on behalf of a tool call that is executing, for example when an MCP server requests input.

    The answers are not the result of the call, and the questions do not count toward the agent's own limit.
    """

    run: RunContext
    call: str
    waiting: set[str] = field(default_factory=set)

    async def __call__(self, question: Question) -> Answer:
        """Ask and return the answer.

        The question ID contains the call ID, so a call that is repeated after a crash finds the answer it received.
        """
        prepared = _with_time_limit(
            replace(question, id=question_id(self.run.session, f"{self.call}-{question.id}")),
            self.run.conversation.start,
        )
        self.waiting.add(prepared.id)
        answer = await self.run.ask(prepared)
        self.waiting.discard(prepared.id)
        return answer

    async def withdraw(self) -> None:
        """Withdraw the questions that are still open when the call ends, unless they are being answered right now."""
        for name in self.waiting - self.run.claimed:
            await self.run.record(QuestionAnswered(name, "", withdrawn_answer("the call that asked has ended")))


def repeats_question(run: RunContext, call: ToolCall, earlier: Sequence[ToolCall]) -> bool:
    """Return whether a call asks the same question as one of the `earlier` calls of its reply."""
    if call.tool != ASK:
        return False
    question = _asked_by(run, call)
    others = (_asked_by(run, other) for other in earlier if other.tool == ASK)
    return question is not None and any(other and is_same_question(question, other) for other in others)


def _asked_by(run: RunContext, call: ToolCall) -> Question | None:
    """Return the question of an `ask_user` call, or None if its arguments are invalid."""
    try:
        return to_question(read_arguments(call.tool, run.full_text(call.arguments), run.tools), call.id)
    except Problem:
        return None


def _earlier_answer(run: RunContext, question: Question) -> Answer | None:
    for earlier in run.conversation.agent_questions.values():
        answer = run.conversation.questions.get(earlier.id)
        if answer and answer.answered_by == "user" and not answer.expired and is_same_question(earlier, question):
            return answer
    return None


async def _decide_instead(run: RunContext, question: Question, call: ToolCall, limit: int) -> None:
    limit_text = "one question" if limit == 1 else f"{limit} questions"
    message = QUESTION_LIMIT.text_for_model(limit_text)
    reason = f"the run is limited to {limit_text}"
    decision = DecisionMade(call.id, question.text, choice="left to the agent", reason=reason)
    await run.record(decision, CallRefused(call.id, call.tool, Text(message)))


def _with_time_limit(question: Question, start: RunStarted | None) -> Question:
    """Return the question with the time limit of the run.

    When the time runs out, the run continues with the default answer, or pauses if there is no default answer.
    """
    if start is None or start.on_unanswered == "wait" or not start.answer_timeout_minutes:
        return question
    policy = start.on_unanswered if start.on_unanswered != "default" or question.default_answer else "pause"
    return replace(question, timeout_s=start.answer_timeout_minutes * MINUTE_S, on_unanswered=policy)
