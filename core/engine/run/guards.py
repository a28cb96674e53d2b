"""The guards that keep a run from continuing forever: its limits, and the reaction to repeated calls."""

import asyncio

from core.domain.clock import SECOND, elapsed, now
from core.domain.events import HarnessMessage, LimitRaised, LimitThresholdReached, RunEnded
from core.domain.ids import question_id
from core.domain.question import Question, QuestionOption
from core.domain.text import Text
from core.engine.run.run_context import RunContext
from core.engine.state.conversation import MAX_GAP
from core.engine.state.limits import LimitUsage, limits_near
from core.engine.state.repeats import RepeatCounter
from core.tools.tool import NOTHING_CHANGED

MIN_TIMEOUT_S = 0.1
TIMEOUT_SLACK_S = 0.01
# Options of a question; the answer contains the chosen label.
CONTINUE = "Continue"
END_RUN = "End the run"


async def check_limits(run: RunContext) -> RunEnded | None:
    """Record a warning when a limit of the run is nearly used up. At a limit, ask the user whether to raise it.

    Return the RunEnded event if the limit is not raised, otherwise None.
    """
    for usage in limits_near(run.conversation.spent, run.conversation.allowed):
        if usage.share >= 1:
            return await _at_limit(run, usage)
        if usage.limit not in run.conversation.warned:
            await run.record(_threshold_event(usage, percent=80))
    return None


async def complete_run(run: RunContext) -> RunEnded:
    """Record which limits the last turn exceeded, and return the RunEnded event of the completed run."""
    for usage in limits_near(run.conversation.spent, run.conversation.allowed):
        if usage.used > usage.allowed:
            await run.record(_threshold_event(usage, percent=100))
    return RunEnded("completed")


def _threshold_event(usage: LimitUsage, *, percent: int) -> LimitThresholdReached:
    return LimitThresholdReached(usage.limit, used=usage.used, allowed=usage.allowed, percent=percent)


def remaining_s(run: RunContext) -> float | None:
    """Return the seconds until the time limit of the run, or None without a time limit. Replays have none."""
    conversation = run.conversation
    allowed = conversation.allowed.get("minutes", 0.0)
    if not allowed or not run.has_time_limits:
        return None
    since = elapsed(conversation.last_at, now(), MAX_GAP) / SECOND
    return (allowed - conversation.spent.get("minutes", 0.0)) * 60 - since


def time_is_up(run: RunContext) -> bool:
    remaining = remaining_s(run)
    return remaining is not None and remaining <= 0


def within_time_limit(run: RunContext, seconds: float) -> float:
    """Return `seconds`, capped at the time that the run has left."""
    remaining = remaining_s(run)
    return seconds if remaining is None else max(0.0, min(seconds, remaining))


def run_timeout(run: RunContext) -> asyncio.Timeout:
    """Return a timeout that expires slightly after the run's time limit, when `time_is_up` certainly returns True."""
    remaining = remaining_s(run)
    return asyncio.timeout(None if remaining is None else max(MIN_TIMEOUT_S, remaining + TIMEOUT_SLACK_S))


async def check_repetition(run: RunContext) -> RunEnded | None:
    """Warn the model when it repeats its calls. If it still does, ask the user whether to continue.

    Return the RunEnded event if the user ends the run, otherwise None.
    """
    repeats = run.conversation.repeats
    if repeats.stuck:
        return await _ask_about_repetition(run)
    if repeats.should_warn and not run.conversation.done:
        why = _repetition_text(run)
        text = f"[{why}. Repeating this will not help. Try another way, or explain what is blocking you.]"
        await run.record(HarnessMessage(Text(text), why))
    return None


async def _ask_about_repetition(run: RunContext) -> RunEnded | None:
    """Ask the user whether to continue. Return the RunEnded event if not; otherwise pass the answer to the model."""
    question = Question(
        question_id(run.session, f"stuck{run.conversation.total_turns}"),
        "The agent is repeating itself. Continue?",
        f"{_repetition_text(run)}.",
        (QuestionOption(CONTINUE, "Let the agent keep trying.", recommended=False), QuestionOption(END_RUN)),
    )
    answer = await run.ask(question)
    if answer.option == END_RUN or answer.declined:
        ended_by = "the option --no-questions" if answer.answered_by == "no_questions" else "you"
        reason = f"ended by {ended_by}: the agent was repeating itself"
        return RunEnded("stopped", reason, summary=Text(run.last_reply_text()))
    instruction = Text(f"[The user says: {answer.text or 'Try another way.'}]")
    await run.record(HarnessMessage(instruction, "your answer: the agent was repeating itself"))
    run.conversation.repeats = RepeatCounter()
    return None


def _repetition_text(run: RunContext) -> str:
    repeated = run.conversation.repeats.repeated
    if len(repeated.calls) > 1:
        tools = ", ".join(call.tool for call in repeated.calls)
        return f"The same calls ({tools}) gave the same results {repeated.count} times in a row"
    messages = run.conversation.messages
    if messages and messages[-1].text.head.endswith(NOTHING_CHANGED):
        outcome = "changed nothing"
    else:
        outcome = "failed" if repeated.failing else "gave the same result"
    return f"{repeated.calls[0].tool} {outcome} {repeated.count} times in a row"


async def _at_limit(run: RunContext, usage: LimitUsage) -> RunEnded | None:
    limit_text = f"{usage.allowed:g} {usage.limit}"
    if run.attended:
        name = question_id(run.session, f"{usage.limit}{run.conversation.run}-{usage.allowed:g}")
        text = f"The run has reached its limit of {limit_text}. Continue?"
        continue_option = QuestionOption(CONTINUE, f"Raise the limit to {usage.allowed * 2:g} {usage.limit}.")
        answer = await run.ask(
            Question(name, text, options=(continue_option, QuestionOption(END_RUN)), free_text=False)
        )
        if answer.option == CONTINUE:
            await run.record(LimitRaised(usage.limit, usage.allowed * 2))
            return None
    else:
        await run.record(_threshold_event(usage, percent=100))
    return RunEnded("limit", f"{limit_text}, the limit of this run", summary=Text(run.last_reply_text()))
