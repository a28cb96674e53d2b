"""Selects the messages to truncate or summarize when the context is full. Nothing here calls a model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.domain.events import ContextCompacted
from core.domain.messages import Message
from core.domain.text import Attachment, Text
from core.models.token_estimate import ATTACHMENT_NOTE_TOKENS, attachment_tokens

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
SUMMARY_SHARE = 0.1  # share of the budget that a summary may take
FULL_SHARE = 0.7  # share of the budget above which even the most recent results and attachments are removed
TRUNCATED_TOKENS = 140  # tokens of a truncated result


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What to compact.

    Attributes:
        truncated: IDs of the calls whose results are truncated.
        summarized: indexes of the messages that are replaced by a summary.
        retired: the blobs of the attachments that are removed.
    """

    truncated: tuple[str, ...] = ()
    summarized: tuple[int, ...] = ()
    retired: tuple[str, ...] = ()


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
        new = truncate_result(message) if message.call_id in truncated and message.role == "tool" else message
        new = retire_attachments(new, event.retired_attachments)
        after.append(new)
        origins.append(index if new is message else -1)
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
    head = message.text.head[:TRUNCATED_LENGTH]
    note = f'[Truncated. Read the whole result with recall_dropped {{"id": "{message.call_id}"}}.]'
    return replace(message, text=Text(f"{head} …\n{note}"))


def retire_attachments(message: Message, blobs: Collection[str]) -> Message:
    """Return the message with these attachments marked as retired."""
    if not blobs or not any(attachment.blob in blobs for attachment in message.attachments):
        return message
    attachments = tuple(
        replace(attachment, retired=True) if attachment.blob in blobs else attachment
        for attachment in message.attachments
    )
    return replace(message, attachments=attachments)


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
    truncated: Collection[str], queued: Sequence[Message] = (),
) -> CompactionPlan:  # fmt: skip
    """Choose what to compact so that the context is well below its budget.

    Args:
        messages: the conversation.
        tokens: the size of each message in tokens.
        budget: the budget in tokens.
        fixed: tokens of the request that cannot be compacted, such as the system prompt and the tools.
        task: sequence numbers of the messages that state the task of the run; they are always kept.
        truncated: ids of the calls whose results are truncated already.
        queued: messages that the next request adds. Their tokens are part of `fixed`.
    """
    groups = message_groups(messages)
    tail = _tail(messages, tokens, groups, budget * RECENT_SHARE)
    first_of_tail = groups[tail].start if tail < len(groups) else len(messages)
    text_tokens = [
        count - sum(map(attachment_tokens, message.attachments))
        for message, count in zip(messages, tokens, strict=True)
    ]
    long_results = _large(messages, text_tokens, first_of_tail, budget * OVERSIZED_SHARE, truncated)
    size: float = fixed + sum(tokens) - sum(text_tokens[index] - TRUNCATED_TOKENS for index in long_results)
    target = budget * TRUNCATION_TARGET_SHARE
    retired, size = _retire(messages, size, target, until=first_of_tail, queued=queued)
    if (long_results or retired) and size <= target:
        return CompactionPlan(tuple(messages[index].call_id for index in long_results), (), tuple(retired))
    kept_starts = _kept_groups(messages, tokens, groups[:tail], task, budget * USER_MESSAGES_SHARE)
    dropped = [index for group in groups[:tail] if group.start not in kept_starts for index in group]
    if all(messages[index].category == SUMMARY for index in dropped):
        dropped = []
    dropped_indexes = set(dropped)
    kept = [index for index in range(len(messages)) if index not in dropped_indexes]
    cut = [index for index in long_results if index not in dropped_indexes]
    kept_messages = [retire_attachments(messages[index], retired) for index in kept]
    size = fixed + sum(text_tokens[index] for index in kept) + (budget * SUMMARY_SHARE if dropped else 0)
    size += sum(attachment_tokens(attachment) for message in kept_messages for attachment in message.attachments)
    size -= sum(text_tokens[index] - TRUNCATED_TOKENS for index in cut)
    more, size = _retire(kept_messages, size, budget * FULL_SHARE, until=len(kept), queued=queued)
    candidates = _large(messages, text_tokens, 0, 0, {*truncated, *(messages[index].call_id for index in cut)})
    for index in candidates if size > budget * FULL_SHARE else ():
        if index in dropped_indexes:
            continue
        cut.append(index)
        size -= text_tokens[index] - TRUNCATED_TOKENS
        if size <= budget * FULL_SHARE:
            break
    return CompactionPlan(tuple(messages[index].call_id for index in sorted(cut)), tuple(dropped), (*retired, *more))


def _retire(
    messages: Sequence[Message], size: float, target: float, *, until: int, queued: Sequence[Message]
) -> tuple[list[str], float]:
    """Choose attachments to retire, oldest first, until `size` is at most `target`. Return their blobs and the size.

    Attachments whose last occurrence is in `messages[until:]` are not retired; those of `queued` are the newest, and
    retired only if `until` covers all messages.
    """
    savings: dict[str, int] = {}
    newest: dict[str, int] = {}
    positions: list[tuple[int, Attachment]] = [
        (index, attachment)
        for index, message in enumerate((*messages, *queued))
        for attachment in message.attachments
        if not attachment.retired
    ]
    for index, attachment in positions:
        savings[attachment.blob] = (
            savings.get(attachment.blob, 0) + attachment_tokens(attachment) - ATTACHMENT_NOTE_TOKENS
        )
        newest.pop(attachment.blob, None)  # An insertion orders the blobs by their last occurrence.
        newest[attachment.blob] = index
    retired: list[str] = []
    for blob, index in newest.items():
        if size <= target or (index >= until and until < len(messages)):
            break
        if savings[blob] > 0:
            retired.append(blob)
            size -= savings[blob]
    return retired, size


def compaction_event(messages: Sequence[Message], plan: CompactionPlan, why: str, before: int) -> ContextCompacted:
    """Return the event for a plan. The caller then adds the summary and the token count after the compaction."""
    if not plan.summarized:
        return ContextCompacted(why, before, before, plan.truncated, retired_attachments=plan.retired)
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
        retired_attachments=plan.retired,
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
