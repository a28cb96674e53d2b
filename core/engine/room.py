"""Keep the context below what the model takes: look before every request, and give up what is old in time."""

from dataclasses import replace

from core.domain.events import ContextCompacted, RequestSent
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Text
from core.domain.tiers import ONE_FOR_ALL, Choice, Moment, choose
from core.engine.compaction import compacted, fact, plan
from core.engine.conversation import TOO_LONG
from core.engine.summary import summarise
from core.engine.weights import Weights
from core.engine.work import Work
from core.models.attach import IMAGES
from core.models.model import Fault

SHARE = 0.8  # of the window
GAIN = 0.9  # less is not worth the break it makes in what a server has cached
SUMMARY_SHARE = 0.1
LEAST = 200  # tokens that are worth a summary
BY_HAND = "by hand"


def choice_of(run: Work) -> Choice:
    """Which model works now. Where one does everything, nothing is looked at."""
    tiers = run.tiers()
    if tiers == ONE_FOR_ALL:
        return Choice(run.model_name)
    moments: list[Moment] = []
    if any(one.media_type in IMAGES for message in run.talk.waiting for one in message.attachments):
        moments.append("vision")
    if run.talk.stumbled:
        moments.append("failure")
    if not run.talk.rounds:
        moments.append("first")
    return choose(tiers, run.model_name, tuple(moments))


def sent(run: Work, choice: Choice) -> RequestSent:
    """The request as a fact: what it will hold, by category."""
    talk = run.talk
    parts = run.fixed() | {**talk.weights.count(talk.messages)}
    for kind, tokens in talk.weights.coming(talk.waiting).items():
        parts[kind] = parts.get(kind, 0) + tokens
    if (ratio := talk.ratio(choice.model)) != 1.0:
        parts = {kind: round(tokens * ratio) for kind, tokens in parts.items()}
    window = run.model_of(choice.model).window
    return RequestSent(choice.model, talk.rounds + 1, choice.tier, choice.why, parts, window)


def full_from(run: Work, choice: Choice) -> float:
    """Tokens from which on the context is too full; 0 where nobody knows."""
    known = [most for most in (run.model_of(choice.model).window, run.talk.ceiling) if most]
    limits = [SHARE * most for most in known] + ([float(run.compact_at())] if run.compact_at() else [])
    return min(limits, default=0.0)


async def look_for_room(run: Work, choice: Choice) -> None:
    """Compact where it is time, or where a person asked for it."""
    if not run.compacts:
        return
    if run.wants_room:
        run.wants_room = False
        await make_room(run, choice, BY_HAND, 0.0)
    most = full_from(run, choice)
    if most and (total := _filled(run, choice)) >= max(most, run.futile * 1.05):
        why = f"{total:,} of {most:,.0f} tokens"
        if not await make_room(run, choice, why, most):
            run.futile = total


def _filled(run: Work, choice: Choice) -> int:
    """Tokens of the next request."""
    talk = run.talk
    parts = (run.briefed().weights, talk.weights.count(talk.messages), talk.weights.coming(talk.waiting))
    return round(sum(sum(part.values()) for part in parts) * talk.ratio(choice.model))


async def compact_at_rest(run: Work) -> None:
    """Because a person asked for it, while nothing of the session goes on."""
    if not await make_room(run, choice_of(run), BY_HAND, 0.0):
        raise Problem("There is nothing to compact yet.", "Only the task and the last exchanges are there.", "")


async def shrink(run: Work, choice: Choice, fault: Fault) -> bool:
    """After a request that was too long for its server: whether another may be made, with less."""
    if fault.kind != "too_long" or not run.compacts:
        return False
    before = _filled(run, choice)
    return await make_room(run, choice, TOO_LONG, SHARE * SHARE * before)


def next_of(choice: Choice) -> Choice:
    """The model after one that failed."""
    return Choice(choice.others[0], choice.tier, f"{choice.model} failed", choice.others[1:])


async def make_room(run: Work, choice: Choice, why: str, most: float) -> bool:
    """Fold and summarise so that the context comes well below `most`; whether that was worth it.

    With `most` 0 whatever can give way does.
    """
    talk = run.talk
    ratio = talk.ratio(choice.model)
    before = _filled(run, choice)
    fixed = sum(run.fixed().values()) + sum(talk.weights.coming(talk.waiting).values())
    room = (most or before) / SHARE / ratio
    messages, weights = tuple(talk.messages), tuple(talk.weights.each)
    made = plan(messages, weights, room, fixed, talk.task, talk.dropped)
    done = fact(messages, made, why, before)
    if not made.folded and not made.dropped:
        return False
    gone = sum(weights[place] for place in made.dropped)
    if made.dropped and gone < LEAST:
        return False
    budget = min(max(100, round(room * SUMMARY_SHARE)), gone // 2)
    if most and why != TOO_LONG and _after(done, messages, weights, fixed, budget) > GAIN * before / ratio:
        return False
    if made.dropped:
        summary = await summarise(run, [messages[place] for place in made.dropped], budget)
        done = replace(
            done, summary=Text(summary.text), model=summary.model, usage=summary.usage, trouble=summary.trouble,
            cost=summary.cost,
        )  # fmt: skip
    await run.record(replace(done, after=round(_after(done, messages, weights, fixed) * ratio)))
    run.futile = 0
    return True


def _after(
    done: ContextCompacted, messages: tuple[Message, ...], weights: tuple[int, ...], fixed: int, more: int = 0
) -> int:
    """Tokens of the next request once this is done."""
    scales = Weights(list(weights))
    scales.follow(*compacted(messages, 0, done))
    return fixed + more + sum(scales.each)
