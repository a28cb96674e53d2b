"""Returns the context of a memory: the messages around the one that it was learned from, and the date.

The search compares the context too. This finds a memory by the question that it answers, by names and by dates.
"""

from collections.abc import Sequence
from datetime import datetime

from core.domain.clock import SECOND
from core.memory.approval import sensitive_topic
from core.memory.content_checks import redact, refusal_reason
from core.memory.tokenizer import content_words
from core.store.run_reader import SessionMessage

NEIGHBORS = 2  # number of messages that are kept before the source of the memory, and after it
MESSAGE_CHARS = 600  # number of characters that are kept of each message


def describe_day(at: int) -> str:
    """Return the local date of a time, which is given in microseconds, such as `8 May 2026`."""
    day = datetime.fromtimestamp(at / SECOND).astimezone()
    return f"{day.day} {day:%B %Y}"


def surroundings(messages: Sequence[SessionMessage], sentence: str) -> str:
    """Return the context of a sentence that was learned from these messages: a line for each message, then the date.

    Secrets are removed. Messages about a sensitive topic are left out, because the sentence does not need them.
    """
    if not messages:
        return ""
    index = _source_index(messages, sentence)
    source = messages[index]
    adds_nothing = set(content_words(source.text)) <= set(content_words(sentence))
    nearby = messages[max(0, index - NEIGHBORS) : index + NEIGHBORS + 1]
    lines = [_line(message) for message in nearby if message is not source or not adds_nothing]
    kept = [line for line in lines if not _is_withheld(line)]
    day = describe_day(source.at)
    context = "\n".join([*kept, day])
    return day if _is_withheld(f"{sentence} {context}") else context


def _source_index(messages: Sequence[SessionMessage], sentence: str) -> int:
    """Return the index of the message that the sentence was probably learned from: it has the most words in common.

    Among several such messages, the one with the fewest words is chosen, then the newest. Without common words, it is
    the newest message.
    """
    words = set(content_words(sentence))

    def rank(index: int) -> tuple[int, int, int]:
        message_words = set(content_words(messages[index].text))
        common = len(words & message_words)
        return common, -len(message_words) if common else 0, index

    return max(range(len(messages)), key=rank)


def _is_withheld(text: str) -> bool:
    """Return whether a text must not be part of a context, because it is sensitive or contains a secret."""
    return bool(sensitive_topic(text) or refusal_reason(text))


def _line(message: SessionMessage) -> str:
    text = " ".join(redact(message.text).split())
    if len(text) > MESSAGE_CHARS:
        text = text[: MESSAGE_CHARS - 1] + "…"
    return f"{message.speaker}: {text}"
