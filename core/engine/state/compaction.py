"""Applies a compaction to the messages of a conversation."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from core.domain.events import ContextCompacted
from core.domain.messages import Message
from core.domain.text import Text
from core.timeline.context_item import RESULTS_PREFIX

# Categories of messages.
USER = "user"
HARNESS = "harness"
REPLIES = "replies"
SUMMARY = "summary"
MEMORY = "memory"
SKILLS = "skills"
SESSION = "session"  # the message with the session context, such as the date and the git branch
TO_DO = f"{RESULTS_PREFIX}todo"
TRUNCATED_LENGTH = 400  # characters kept of a truncated tool result


class CompactedMessages(NamedTuple):
    """The messages after a compaction, and for each its index before it, or -1 if it is new or changed."""

    messages: list[Message]
    origins: list[int]


class _Placed(NamedTuple):
    """A message after a compaction with its index before it, or -1 if it is new or changed."""

    message: Message
    origin: int


def apply_compaction(messages: Sequence[Message], seq: int, event: ContextCompacted) -> CompactedMessages:
    """Return the messages after a compaction. `seq` is the sequence number of `event`, which the summary gets."""
    truncated = set(event.truncated_calls)
    kept_seqs = set(event.kept_seqs)
    after: list[_Placed] = []
    summary_index: int | None = None
    for index, message in enumerate(messages):
        if message.seq <= event.until_seq and message.seq not in kept_seqs:
            summary_index = len(after) if summary_index is None else summary_index
            continue
        new = truncate_result(message) if message.call_id in truncated and message.role == "tool" else message
        new = retire_attachments(new, event.retired_attachments)
        after.append(_Placed(new, index if new is message else -1))
    if summary_index is not None:
        summary = _Placed(Message("user", event.summary, seq=seq, category=SUMMARY), -1)
        early = after[:summary_index]
        # Recalled memories that precede the summary are moved behind it.
        memories = [placed for placed in early if placed.message.category == MEMORY]
        others = [placed for placed in early if placed.message.category != MEMORY]
        after = [*others, summary, *memories, *after[summary_index:]]
    return CompactedMessages([placed.message for placed in after], [placed.origin for placed in after])


def truncate_result(message: Message) -> Message:
    """Truncate a tool result to its first characters and tell the model how to read the rest."""
    head = message.text.head[:TRUNCATED_LENGTH]
    note = f'[Truncated. Read the whole result with recall_dropped {{"id": "{message.call_id}"}}.]'
    return replace(message, text=Text(f"{head} …\n{note}"))


def retire_attachments(message: Message, blobs: Collection[str]) -> Message:
    """Return the message with the attachments in `blobs` marked as retired: their contents are no longer sent."""
    if not blobs or not any(attachment.blob in blobs for attachment in message.attachments):
        return message
    attachments = tuple(
        replace(attachment, retired=True) if attachment.blob in blobs else attachment
        for attachment in message.attachments
    )
    return replace(message, attachments=attachments)
