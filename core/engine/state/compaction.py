"""Selects the messages to truncate or summarize when the context is full. Nothing here calls a model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.domain.events import ContextCompacted
from core.domain.messages import Message
from core.domain.text import Text

USER, HARNESS, REPLIES, SUMMARY, MEMORY, SKILLS = "user", "harness", "replies", "summary", "memory", "skills"
SESSION = "session"  # the session context
NEVER_COMPACTED = frozenset({MEMORY, SKILLS, SESSION})
TRUNCATED_LENGTH = 400  # characters kept of a truncated tool result
TRUNCATE_MIN_TOKENS = 200  # tokens; shorter results are not truncated
KEPT_EXCHANGES = 4  # most recent exchanges that are kept verbatim
RECENT_SHARE = 0.25  # share of the budget that the KEPT_EXCHANGES may take
USER_MESSAGES_SHARE = 0.1  # share of the budget for older user messages that are kept verbatim
USER_MESSAGE_MAX_TOKENS = 300  # tokens; a longer user message is not kept verbatim
OVERSIZED_SHARE = 0.25  # share of the budget above which a result is truncated even in the most recent exchanges
TRUNCATION_TARGET_SHARE = 0.6  # no summary is needed if truncation shrinks the context to this share of the budget


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What to compact.

    Attributes:
        truncated: IDs of the calls whose results are truncated.
        summarized: indexes of the messages that are replaced by a summary.
    """

    truncated: tuple[str, ...] = ()
    summarized: tuple[int, ...] = ()


def apply_compaction(messages: Sequence[Message], seq: int, event: ContextCompacted) -> tuple[list[Message], list[int]]:
    """Return the messages after a compaction, and the index that each had before, or -1 if new or changed."""
    truncated, kept_seqs = set(event.truncated_calls), set(event.kept_seqs)
    after: list[Message] = []
    origins: list[int] = []
    summary = -1
    for index, message in enumerate(messages):
        if message.seq <= event.until_seq and message.seq not in kept_seqs:
            summary = len(after) if summary < 0 else summary
            continue
        changes = message.call_id in truncated and message.role == "tool"
        after.append(truncate_result(message) if changes else message)
        origins.append(-1 if changes else index)
    if summary >= 0:
        after.insert(summary, Message("user", event.summary, seq=seq, category=SUMMARY))
        origins.insert(summary, -1)
        _after_summary(after, origins, summary)
    return after, origins


def _after_summary(messages: list[Message], origins: list[int], summary: int) -> None:
    """Move recalled memories from before the summary to directly after it."""
    early = [index for index in range(summary) if messages[index].category == MEMORY]
    for moved, index in enumerate(early):
        messages.insert(summary, messages.pop(index - moved))
        origins.insert(summary, origins.pop(index - moved))


def truncate_result(message: Message) -> Message:
    """Truncate a tool result to its first characters and tell the model how to read the rest."""
    size = message.text.size or len(message.text.head.encode("utf-8", "replace"))
    head = message.text.head[:TRUNCATED_LENGTH]
    note = f'[Truncated: {size:,} bytes in total. Read them with recall_dropped {{"id": "{message.call_id}"}}.]'
    return replace(message, text=Text(f"{head} …\n{note}"))


def message_groups(messages: Sequence[Message]) -> list[range]:
    """Group the indexes of messages that must stay together: a reply and the results of its calls."""
    groups: list[range] = []
    for index, message in enumerate(messages):
        if message.role == "tool" and groups:
            groups[-1] = range(groups[-1].start, index + 1)
        else:
            groups.append(range(index, index + 1))
    return groups


def plan_compaction(
    messages: Sequence[Message], tokens: Sequence[int], budget: float, fixed: int, task: Collection[int],
    truncated: Collection[str],
) -> CompactionPlan:  # fmt: skip
    """Choose what to compact so that the context is well below its budget.

    Args:
        messages: the conversation.
        tokens: the size of each message in tokens.
        budget: the budget in tokens.
        fixed: tokens of the request that cannot be compacted, such as the system prompt and the tools.
        task: sequence numbers of the messages that state the task of the run; they are always kept.
        truncated: ids of the calls whose results are truncated already.
    """
    groups = message_groups(messages)
    tail = _tail(messages, tokens, groups, budget * RECENT_SHARE)
    first_of_tail = groups[tail].start if tail < len(groups) else len(messages)
    long_results = _large(messages, tokens, first_of_tail, budget * OVERSIZED_SHARE, truncated)
    saved = sum(tokens[index] - TRUNCATED_LENGTH // 4 - 40 for index in long_results)
    if long_results and fixed + sum(tokens) - saved <= budget * TRUNCATION_TARGET_SHARE:
        return CompactionPlan(tuple(messages[index].call_id for index in long_results))
    kept_starts = _kept_groups(messages, tokens, groups[:tail], task, budget * USER_MESSAGES_SHARE)
    dropped = [index for group in groups[:tail] if group.start not in kept_starts for index in group]
    if all(messages[index].category == SUMMARY for index in dropped):
        dropped = []
    dropped_indexes = set(dropped)
    return CompactionPlan(
        tuple(messages[index].call_id for index in long_results if index not in dropped_indexes), tuple(dropped)
    )


def compaction_event(messages: Sequence[Message], plan: CompactionPlan, why: str, before: int) -> ContextCompacted:
    """Return the event for a plan. The caller then adds the summary and the token count after the compaction."""
    if not plan.summarized:
        return ContextCompacted(why, before, before, plan.truncated)
    summarized = set(plan.summarized)
    until = max(messages[index].seq for index in summarized)
    kept_seqs = {
        message.seq for index, message in enumerate(messages) if index not in summarized and message.seq <= until
    }
    first = min(messages[index].seq for index in summarized)
    return ContextCompacted(
        why,
        before,
        before,
        plan.truncated,
        first,
        until,
        tuple(sorted(kept_seqs)),
        compacted_messages=len(plan.summarized),
    )


def _tail(messages: Sequence[Message], tokens: Sequence[int], groups: Sequence[range], max_tokens: float) -> int:
    """Return the index of the first recent group to keep verbatim. At least one exchange is kept, more if they fit."""
    exchanges, size, start = 0, 0, len(groups)
    for index in range(len(groups) - 1, -1, -1):
        size += sum(tokens[each] for each in groups[index])
        if exchanges and (exchanges == KEPT_EXCHANGES or size > max_tokens):
            break
        exchanges += messages[groups[index].start].role == "assistant"
        start = index
    return start


def _large(
    messages: Sequence[Message], tokens: Sequence[int], tail: int, giant: float, truncated: Collection[str]
) -> list[int]:
    """Return the indexes of the results to truncate: all large older results, and recent results that are oversized."""
    return [
        index
        for index, message in enumerate(messages)
        if message.role == "tool"
        and message.call_id not in truncated
        and message.category not in NEVER_COMPACTED
        and tokens[index] > (TRUNCATE_MIN_TOKENS if index < tail else max(TRUNCATE_MIN_TOKENS, giant))
    ]


def _kept_groups(
    messages: Sequence[Message], tokens: Sequence[int], groups: Sequence[range], task: Collection[int], budget: float
) -> set[int]:
    """Return the start indexes of the older groups to keep verbatim.

    These are the first task, the current task, recalled memories, loaded skills, and as many of the newest user
    messages as fit into `budget` tokens.
    """
    kept_starts: set[int] = set()
    user_starts = [group.start for group in groups if messages[group.start].category == USER]
    for group in groups:
        if any(messages[index].category in NEVER_COMPACTED for index in group):
            kept_starts.add(group.start)
    kept_starts.update(start for start in user_starts if messages[start].seq in task or start == user_starts[0])
    for start in reversed(user_starts):
        if start not in kept_starts and tokens[start] <= USER_MESSAGE_MAX_TOKENS:
            budget -= tokens[start]
            if budget < 0:
                break
            kept_starts.add(start)
    return kept_starts
