"""What keeps a run from going on for ever: its limits, and the same call again and again."""

import asyncio

from core.domain.clock import SECOND, now
from core.domain.events import LimitMet, LimitRaised, Nudged, RunEnded
from core.domain.ids import question_id
from core.domain.question import Option, Question
from core.domain.text import Text
from core.engine.limits import Reached, reached
from core.engine.work import Work

LEAST_S, LATE_S = 0.1, 0.01
GO_ON, END = "Go on", "End the run"


async def check_limits(run: Work) -> RunEnded | None:
    """Notice what is near; at a limit ask, or end where nobody is there to be asked."""
    for met in reached(run.talk.spent, run.talk.allowed):
        if met.share >= 1:
            return await _at_limit(run, met)
        if met.limit not in run.talk.noticed:
            await run.record(LimitMet(met.limit, met.used, met.allowed, 80))
    return None


async def completed(run: Work) -> RunEnded:
    """The end of a run that is done. A limit that it went over in its last round is told."""
    for met in reached(run.talk.spent, run.talk.allowed):
        if met.used > met.allowed:
            await run.record(LimitMet(met.limit, met.used, met.allowed, 100))
    return RunEnded("completed")


def left_s(run: Work) -> float | None:
    """Until the time of the run is over; None where it has no end, as in a replay."""
    talk = run.talk
    allowed = talk.allowed.get("minutes", 0.0)
    if not allowed or not run.expires:
        return None
    since = max(0.0, (now() - talk.at) / SECOND)
    return (allowed - talk.spent.get("minutes", 0.0)) * 60 - since


def is_over(run: Work) -> bool:
    """Has the run had its time?"""
    left = left_s(run)
    return left is not None and left <= 0


def in_time(run: Work, seconds: float) -> float:
    """So long, or until the time of the run is over."""
    left = left_s(run)
    return seconds if left is None else max(0.0, min(seconds, left))


def cut_at_limit(run: Work) -> asyncio.Timeout:
    """Cuts what is waited for when the time of the run is over; a moment later, so that it surely is."""
    left = left_s(run)
    return asyncio.timeout(None if left is None else max(LEAST_S, left + LATE_S))


async def check_repeats(run: Work) -> RunEnded | None:
    """Nudge the model once; when that did not help, let the person decide."""
    repeats = run.talk.repeats
    how = "failed" if repeats.failing else "gave the same result"
    why = f"{repeats.tool} {how} {repeats.count} times in a row"
    if repeats.stuck:
        name = question_id(run.session, f"stuck{run.talk.total_rounds}")
        more = Option(GO_ON, "The agent may try on.", recommended=False)
        question = Question(name, "The agent repeats itself. Go on?", f"{why}.", (more, Option(END)), free_text=True)
        answer = await run.ask(question)
        if answer.option == END or answer.declined:
            return RunEnded("stopped", "ended by you: it repeated itself", summary=Text(run.said()))
        words = answer.text or "Try another way."
        await run.record(Nudged(Text(f"[The person says: {words}]"), "answered: it repeats itself"))
        repeats.count = 0
    elif repeats.nudge and not run.talk.done:
        text = f"[{why}. Calling it again will change nothing. Try another way, or say what is in the way.]"
        await run.record(Nudged(Text(text), why))
    return None


async def _at_limit(run: Work, met: Reached) -> RunEnded | None:
    what = f"{met.allowed:g} {met.limit}"
    if run.attended:
        name = question_id(run.session, f"{met.limit}{run.talk.run}-{met.allowed:g}")
        text = f"The run reached its limit of {what}. Go on?"
        more = Option(GO_ON, f"Up to {met.allowed * 2:g} {met.limit}.")
        answer = await run.ask(Question(name, text, options=(more, Option(END)), free_text=False))
        if answer.option == GO_ON:
            await run.record(LimitRaised(met.limit, met.allowed * 2))
            return None
    else:
        await run.record(LimitMet(met.limit, met.used, met.allowed, 100))
    return RunEnded("limit", f"{what}, the limit of this run", summary=Text(run.said()))
