"""Selects the messages to truncate or summarize when the context is full. Nothing here calls a model.

Long results and attachments before the most recent exchanges go first. If that does not free enough, the older messages
are summarized. If even the most recent exchanges are too large, their results and attachments go too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.domain.events import ContextCompacted
from core.domain.messages import Message
from core.engine.state.compaction import MEMORY, SESSION, SKILLS, SUMMARY, TO_DO, USER, retire_attachments
from core.models.token_estimate import ATTACHMENT_NOTE_TOKENS, attachment_tokens

KEPT_EXCHANGES = 4  # most recent exchanges that are kept verbatim
RECENT_SHARE = 0.25  # share of the budget that the KEPT_EXCHANGES may take
USER_MESSAGES_SHARE = 0.1  # share of the budget for older user messages that are kept verbatim
USER_MESSAGE_MAX_TOKENS = 300  # an older user message that is longer is not kept verbatim
OVERSIZED_SHARE = 0.25  # share of the budget above which a result is truncated even in the most recent exchanges
TRUNCATION_TARGET_SHARE = 0.6  # no summary is needed if truncation shrinks the context to this share of the budget
SUMMARY_SHARE = 0.1  # share of the budget that a summary may take
FULL_SHARE = 0.7  # above this share of the budget, even the most recent results and attachments are removed
TRUNCATED_TOKENS = 140  # estimated tokens of a result after its truncation
TRUNCATE_MIN_TOKENS = 200  # results up to this size are not truncated, because little would be saved
NEVER_COMPACTED = frozenset({MEMORY, SKILLS, SESSION})


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


def plan_compaction(
    messages: Sequence[Message],
    tokens: Sequence[int],
    budget: float,
    fixed: int,
    task: Collection[int],
    truncated: Collection[str],
    queued: Sequence[Message] = (),
) -> CompactionPlan:
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
    # First, truncate large results and remove attachments, except in the most recent exchanges.
    cut = _large(messages, text_tokens, first_of_tail, budget * OVERSIZED_SHARE, truncated)
    size: float = fixed + sum(tokens) - _savings(text_tokens, cut)
    target = budget * TRUNCATION_TARGET_SHARE
    retired = _retire(messages, size - target, until=first_of_tail, queued=queued)
    if (cut or retired.blobs) and size - retired.saved_tokens <= target:
        return CompactionPlan(_call_ids(messages, cut), (), tuple(retired.blobs))

    # If that does not free enough, also summarize what comes before the most recent exchanges.
    summarized = _summarized(messages, tokens, groups[:tail], task, budget * USER_MESSAGES_SHARE)
    dropped = frozenset(summarized)
    kept = [index for index in range(len(messages)) if index not in dropped]
    cut = [index for index in cut if index not in dropped]
    kept_messages = [retire_attachments(messages[index], retired.blobs) for index in kept]
    attachments = [attachment for message in kept_messages for attachment in message.attachments]
    size = fixed + sum(text_tokens[index] for index in kept) + sum(map(attachment_tokens, attachments))
    size += (budget * SUMMARY_SHARE if summarized else 0) - _savings(text_tokens, cut)

    # If the context is still too large, also truncate the most recent results and remove their attachments.
    more = _retire(kept_messages, size - budget * FULL_SHARE, until=len(kept), queued=queued)
    size -= more.saved_tokens
    results = _large(messages, text_tokens, 0, 0, {*truncated, *_call_ids(messages, cut)})
    for index in (result for result in results if result not in dropped):
        if size <= budget * FULL_SHARE:
            break
        cut.append(index)
        size -= _savings(text_tokens, [index])
    return CompactionPlan(_call_ids(messages, sorted(cut)), tuple(summarized), (*retired.blobs, *more.blobs))


def compaction_event(messages: Sequence[Message], plan: CompactionPlan, why: str, before: int) -> ContextCompacted:
    """Return the event that records a plan. The caller replaces its empty summary and its `tokens_after`.

    `before` is the size of the context in tokens before the compaction.
    """
    if not plan.summarized:
        return ContextCompacted(
            reason=why,
            tokens_before=before,
            tokens_after=before,
            truncated_calls=plan.truncated,
            retired_attachments=plan.retired,
        )
    summarized = set(plan.summarized)
    until = max(messages[index].seq for index in summarized)
    kept_seqs = {
        message.seq for index, message in enumerate(messages) if index not in summarized and message.seq <= until
    }
    first = min(messages[index].seq for index in summarized)
    return ContextCompacted(
        reason=why,
        tokens_before=before,
        tokens_after=before,
        truncated_calls=plan.truncated,
        first_seq=first,
        until_seq=until,
        kept_seqs=tuple(sorted(kept_seqs)),
        compacted_messages=len(plan.summarized),
        retired_attachments=plan.retired,
    )


def message_groups(messages: Sequence[Message]) -> list[range]:
    """Group the indexes of messages that must stay together: a reply and the results of its calls."""
    groups: list[range] = []
    for index, message in enumerate(messages):
        if message.role == "tool" and groups:
            groups[-1] = range(groups[-1].start, index + 1)
        else:
            groups.append(range(index, index + 1))
    return groups


def _tail(messages: Sequence[Message], tokens: Sequence[int], groups: Sequence[range], max_tokens: float) -> int:
    """Return the index of the first of the most recent groups that are kept verbatim.

    They contain at least one exchange, and up to KEPT_EXCHANGES as far as they fit into `max_tokens`.
    """
    start = len(groups)
    exchanges = 0
    size = 0
    for group in reversed(groups):
        size += sum(tokens[index] for index in group)
        if exchanges and (exchanges == KEPT_EXCHANGES or size > max_tokens):
            break
        if messages[group.start].role == "assistant":
            exchanges += 1
        start -= 1
    return start


def _large(
    messages: Sequence[Message], tokens: Sequence[int], tail: int, max_recent_tokens: float, truncated: Collection[str]
) -> list[int]:
    """Return the indexes of the results to truncate: large ones before `tail`, and longer ones than this after it.

    The results of calls in `truncated` and the agent's current to-do list are not included.
    """
    to_do = max((index for index, message in enumerate(messages) if message.category == TO_DO), default=-1)
    large: list[int] = []
    for index, message in enumerate(messages):
        min_tokens = TRUNCATE_MIN_TOKENS if index < tail else max(TRUNCATE_MIN_TOKENS, max_recent_tokens)
        is_kept = index == to_do or message.category in NEVER_COMPACTED
        if message.role == "tool" and tokens[index] > min_tokens and message.call_id not in truncated and not is_kept:
            large.append(index)
    return large


def _savings(text_tokens: Sequence[int], cut: Iterable[int]) -> int:
    """Return how many tokens are saved by truncating the results with the indexes `cut`."""
    return sum(text_tokens[index] - TRUNCATED_TOKENS for index in cut)


def _call_ids(messages: Sequence[Message], indexes: Iterable[int]) -> tuple[str, ...]:
    return tuple(messages[index].call_id for index in indexes)


class _RetiredAttachments(NamedTuple):
    """The blobs of the attachments to remove, and how many tokens that saves."""

    blobs: list[str]
    saved_tokens: int


def _retire(
    messages: Sequence[Message], excess: float, *, until: int, queued: Sequence[Message]
) -> _RetiredAttachments:
    """Choose attachments to remove, oldest first, until `excess` tokens are saved.

    Attachments whose last occurrence is in `messages[until:]` are not removed; those of `queued` are the newest, and
    removed only if `until` covers all messages.
    """
    savings: dict[str, int] = {}
    last_index: dict[str, int] = {}
    for index, message in enumerate((*messages, *queued)):
        for attachment in message.attachments:
            if attachment.retired:
                continue
            blob = attachment.blob
            savings[blob] = savings.get(blob, 0) + attachment_tokens(attachment) - ATTACHMENT_NOTE_TOKENS
            last_index.pop(blob, None)  # Insert it again at the end, so that blobs are ordered by last occurrence.
            last_index[blob] = index
    retired: list[str] = []
    saved_tokens = 0
    for blob, index in last_index.items():
        if saved_tokens >= excess or (index >= until and until < len(messages)):
            break
        if savings[blob] > 0:
            retired.append(blob)
            saved_tokens += savings[blob]
    return _RetiredAttachments(retired, saved_tokens)


def _summarized(
    messages: Sequence[Message], tokens: Sequence[int], groups: Sequence[range], task: Collection[int], budget: float
) -> list[int]:
    """Return the indexes of the older messages to summarize; [] if all of them are in an earlier summary already."""
    kept_starts = _kept_groups(messages, tokens, groups, task, budget)
    summarized = [index for group in groups if group.start not in kept_starts for index in group]
    is_new = any(messages[index].category != SUMMARY for index in summarized)
    return summarized if is_new else []


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
