"""Applies a compaction to the messages of a conversation."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from core.domain.events import ContextCompacted
from core.domain.messages import Message
from core.domain.text import Text
from core.timeline.context_item import RESULTS_PREFIX

USER, HARNESS, REPLIES, SUMMARY, MEMORY, SKILLS = "user", "harness", "replies", "summary", "memory", "skills"
SESSION = "session"  # category of the message with the session context, such as the date and the git branch
TO_DO = f"{RESULTS_PREFIX}todo"
TRUNCATED_LENGTH = 400  # characters kept of a truncated tool result


def apply_compaction(messages: Sequence[Message], seq: int, event: ContextCompacted) -> tuple[list[Message], list[int]]:
    """Return the messages after a compaction, and for each its index in `messages`, or -1 if it is new or changed.

    `seq` is the sequence number of `event`, which the summary gets.
    """
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
    """Move recalled memories that precede the summary (at index `summary`) behind it, in both lists."""
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
    """Return the message with the attachments in `blobs` marked as retired: their contents are no longer sent."""
    if not blobs or not any(attachment.blob in blobs for attachment in message.attachments):
        return message
    attachments = tuple(
        replace(attachment, retired=True) if attachment.blob in blobs else attachment
        for attachment in message.attachments
    )
    return replace(message, attachments=attachments)
