"""The context budget: keeps requests within the model's context window by compacting older messages in time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from core.domain.events import ContextCompacted, RequestSent, SessionEvent, ToolReturned
from core.domain.messages import Message
from core.domain.text import Text
from core.domain.tiers import NO_TIERS, ModelChoice, TierCondition, choose_model
from core.engine.policy.untrusted import with_untrusted_event
from core.engine.run.run_context import RunContext
from core.engine.run.summary import summarize, to_do_list
from core.engine.state.compaction import apply_compaction
from core.engine.state.compaction_plan import SUMMARY_SHARE, CompactionPlan, compaction_event, plan_compaction
from core.engine.state.conversation import TOO_LONG_REASON
from core.engine.state.excerpt import make_excerpt
from core.engine.state.token_counts import TokenCounts
from core.models.attachments import IMAGES
from core.models.model import ModelError
from core.models.token_estimate import ATTACHMENT_NOTE_TOKENS, attachment_tokens
from core.tools.tool import Tool

WINDOW_SHARE = 0.8  # compact when the context reaches this share of the context window
# A compaction must shrink the context to this share. Otherwise it is not worth invalidating the prompt cache.
WORTHWHILE_SHARE = 0.9
RETRY_GROWTH = 1.05  # after a futile compaction, the context must grow by this factor before the next attempt
MAX_RESULT_TOKENS = 25_000  # maximum tokens of one tool result, however large the context window is
RESULT_SHARE = 0.25  # share of the compaction threshold that one result may take
REPLY_RESULTS_SHARE = 0.5  # share of the compaction threshold that the results of one reply may take together
MIN_RESULT_TOKENS = 160
MIN_SUMMARIZED_TOKENS = 200  # shorter sections of the conversation are not worth a summary
REQUESTED_REASON = "by hand"  # stored as the reason of a compaction that the user requested


def choose_request_model(run: RunContext) -> ModelChoice:
    """Choose the model for the next request by its tier, or the run's model if no tiers are configured."""
    tiers = run.tiers()
    if tiers == NO_TIERS:
        return ModelChoice(run.model_name)
    conditions: list[TierCondition] = []
    if _has_images(run.conversation.queued) or _has_images(_new_results(run.conversation.messages)):
        conditions.append("vision")
    if run.conversation.call_failed:
        conditions.append("after_failure")
    if not run.conversation.turns:
        conditions.append("first_step")
    choice = choose_model(tiers, run.model_name, tuple(conditions))
    if choice.fallbacks and (_has_images(run.conversation.queued) or _has_images(run.conversation.messages)):
        return _prefer_vision(choice, run.accepts_images)
    return choice


def _new_results(messages: Sequence[Message]) -> Iterable[Message]:
    """Return the messages after the last reply: the next request is the first that sends them to a model."""
    return takewhile(lambda message: message.role != "assistant", reversed(messages))


def _has_images(messages: Iterable[Message]) -> bool:
    return any(attachment.media_type in IMAGES for message in messages for attachment in message.attachments)


def _prefer_vision(choice: ModelChoice, accepts_images: Callable[[str], bool | None]) -> ModelChoice:
    """Return the choice with the models that are known not to accept images moved to the end of the fallbacks."""
    models = (choice.model, *choice.fallbacks)
    first, *rest = sorted(models, key=lambda name: accepts_images(name) is False)
    if first == choice.model:
        return choice
    return replace(
        choice, model=first, fallbacks=tuple(rest), reason=f"{choice.reason}; {choice.model} does not accept images"
    )


def request_event(run: RunContext, choice: ModelChoice) -> RequestSent:
    """Return the event for the next request, with its estimated tokens by category."""
    conversation = run.conversation
    counts = run.prefix_tokens() | dict(conversation.token_counts.count_messages(conversation.messages))
    for category, tokens in conversation.token_counts.count_queued(conversation.queued).items():
        counts[category] = counts.get(category, 0) + tokens
    ratio = conversation.token_ratio(choice.model)
    return RequestSent(
        model=choice.model,
        turn=conversation.turns + 1,
        tier=choice.tier,
        reason=choice.reason,
        tokens={category: round(tokens * ratio) for category, tokens in counts.items()},
        context_window=run.model_of(choice.model).window,
    )


def compaction_threshold(run: RunContext, choice: ModelChoice) -> float:
    """Return the number of tokens at which to compact, or 0 if neither the context window nor a limit is known."""
    windows = (run.model_of(choice.model).window, run.conversation.too_long_at)
    limits = (*(WINDOW_SHARE * window for window in windows), float(run.compact_at()))
    return min(filter(None, limits), default=0.0)


def max_result_tokens(run: RunContext) -> int:
    """Return how many estimated tokens of one tool result the model may receive.

    The calls of one reply share REPLY_RESULTS_SHARE of the compaction threshold.
    """
    choice = choose_request_model(run)
    threshold = compaction_threshold(run, choice)
    if not threshold:
        return MAX_RESULT_TOKENS
    replies = (message for message in reversed(run.conversation.messages) if message.role == "assistant")
    calls = max(1, len(next(replies, Message("assistant")).calls))
    share = min(RESULT_SHARE, REPLY_RESULTS_SHARE / calls) * threshold
    return max(MIN_RESULT_TOKENS, min(MAX_RESULT_TOKENS, int(share / run.conversation.token_ratio(choice.model))))


def result_events(
    run: RunContext, tool: Tool, call: str, target: str, events: Sequence[SessionEvent]
) -> list[SessionEvent]:
    """Return the events of a call's result to record.

    Long results get an excerpt for the model. An UntrustedContentRead is added if the tool read untrusted content.
    """
    recorded = run.conversation.permissions.untrusted
    return with_untrusted_event(recorded, tool, call, target, with_excerpts(run, events), trusted=run.trusted)


def with_excerpts(run: RunContext, events: Sequence[SessionEvent]) -> list[SessionEvent]:
    """Return the events, with an excerpt added to each tool result that is too long for the context window.

    A replay returns them unchanged, because the recorded results already have their excerpts.
    """
    if run.is_replay:
        return list(events)
    return [_with_excerpt(run, event) if isinstance(event, ToolReturned) else event for event in events]


def _with_excerpt(run: RunContext, result: ToolReturned) -> ToolReturned:
    excerpt = make_excerpt(run.full_text(result.output), max_result_tokens(run), result.call_id)
    return replace(result, excerpt=Text(excerpt))


async def compact_if_needed(run: RunContext, choice: ModelChoice) -> None:
    """Compact if the context is nearly full, or if the user requested it."""
    if not run.compaction_enabled:
        return
    if run.compaction_requested:
        run.compaction_requested = False
        await compact(run, choice, REQUESTED_REASON, 0.0)
    threshold = compaction_threshold(run, choice)
    if threshold and (total := _request_tokens(run, choice)) >= max(threshold, run.futile_at * RETRY_GROWTH):
        why = f"{total:,} of {threshold:,.0f} tokens"
        if not await compact(run, choice, why, threshold):
            run.futile_at = total


def _request_tokens(run: RunContext, choice: ModelChoice) -> int:
    """Return the estimated tokens of the next request."""
    conversation = run.conversation
    parts = (
        run.request_prefix().tokens,
        conversation.token_counts.count_messages(conversation.messages),
        conversation.token_counts.count_queued(conversation.queued),
    )
    return round(sum(sum(part.values()) for part in parts) * conversation.token_ratio(choice.model))


async def compact_idle_session(run: RunContext) -> bool:
    """Compact a session without an active run, on the user's request.

    Return False if the context holds only the task and the most recent exchanges, which are not compacted.
    """
    return await compact(run, choose_request_model(run), REQUESTED_REASON, 0.0)


async def compact_after_rejection(run: RunContext, choice: ModelChoice, fault: ModelError) -> bool:
    """Compact after the provider rejected a request as too long. Return whether to send it again."""
    if fault.kind != "too_long" or not run.compaction_enabled:
        return False
    threshold = WINDOW_SHARE * WINDOW_SHARE * _request_tokens(run, choice)
    return await compact(run, choice, TOO_LONG_REASON, threshold)


def next_choice(choice: ModelChoice) -> ModelChoice:
    """Return the next model of the tier, to try after the chosen one failed."""
    return ModelChoice(choice.fallbacks[0], choice.tier, f"{choice.model} failed", choice.fallbacks[1:])


async def compact(run: RunContext, choice: ModelChoice, why: str, threshold: float) -> bool:
    """Compact messages until the context is well below `threshold` tokens; 0 compacts as much as possible.

    Return False, without recording anything, if that would not shrink the context enough.
    """
    conversation = run.conversation
    ratio = conversation.token_ratio(choice.model)
    before = _request_tokens(run, choice)
    queued_tokens = sum(conversation.token_counts.count_queued(conversation.queued).values())
    fixed = sum(run.prefix_tokens().values()) + queued_tokens
    budget = (threshold or before) / WINDOW_SHARE / ratio
    messages = tuple(conversation.messages)
    token_counts = tuple(conversation.token_counts.counts)
    plan = plan_compaction(
        messages, token_counts, budget, fixed, conversation.task, conversation.truncated_calls, conversation.queued
    )
    if plan == CompactionPlan():
        return False
    summarized_tokens = sum(token_counts[index] for index in plan.summarized)
    if plan.summarized and summarized_tokens < MIN_SUMMARIZED_TOKENS:
        return False
    event = compaction_event(messages, plan, why, before)
    max_summary_tokens = min(max(100, round(budget * SUMMARY_SHARE)), summarized_tokens // 2)
    fixed -= _retired_tokens(conversation.queued, plan)
    if threshold and why != TOO_LONG_REASON:
        expected = _tokens_after(event, messages, token_counts) + fixed + max_summary_tokens
        if expected > WORTHWHILE_SHARE * before / ratio:
            return False
    await run.run_hooks("before_compaction", reason=why, tokens=before)
    if plan.summarized:
        summary = await summarize(run, [messages[index] for index in plan.summarized], max_summary_tokens)
        event = replace(
            event,
            summary=Text(summary.text + to_do_list(messages, plan.summarized, run.full_text)),
            model=summary.model,
            usage=summary.usage,
            error=summary.error,
            cost=summary.cost,
        )
    after = round((_tokens_after(event, messages, token_counts) + fixed) * ratio)
    await run.record(replace(event, tokens_after=after))
    await run.run_hooks("after_compaction", reason=why, tokens_before=before, tokens_after=after)
    run.futile_at = 0
    return True


def _retired_tokens(queued: Sequence[Message], plan: CompactionPlan) -> int:
    """Return how many tokens the queued messages lose with the attachments that the plan removes from them."""
    return sum(
        attachment_tokens(attachment) - ATTACHMENT_NOTE_TOKENS
        for message in queued
        for attachment in message.attachments
        if attachment.blob in plan.retired and not attachment.retired
    )


def _tokens_after(event: ContextCompacted, messages: Sequence[Message], token_counts: Sequence[int]) -> int:
    """Return the estimated tokens of the messages after the compaction; `token_counts` are those before it."""
    counts = TokenCounts(list(token_counts))
    after = apply_compaction(messages, 0, event)
    counts.update_after_compaction(after.messages, after.origins)
    return sum(counts.counts)
