"""The text around a memory: the messages next to the one it was learned from, and the date.

Search also matches this text, so that a memory is found by the question that it answers, by names and by dates.
"""

from collections.abc import Sequence
from datetime import datetime

from core.domain.clock import SECOND
from core.memory.approval import sensitive_topic
from core.memory.content_checks import redact, refusal_reason
from core.memory.tokenizer import content_words
from core.store.run_reader import SessionMessage

NEIGHBORS = 2  # number of messages before and after the source that are kept
MESSAGE_CHARS = 600  # characters kept of each message


def describe_day(at: int) -> str:
    """Return the local date of a time in microseconds, such as `8 May 2026`."""
    day = datetime.fromtimestamp(at / SECOND).astimezone()
    return f"{day.day} {day:%B %Y}"


def surroundings(messages: Sequence[SessionMessage], sentence: str) -> str:
    """Return what surrounds a sentence that was learned from these messages, one line for each message, then the date.

    Secrets are removed, and messages about a sensitive topic are left out, because the sentence does not need them.
    """
    if not messages:
        return ""
    source = _source(messages, sentence)
    own_words = set(content_words(sentence))
    nearby = messages[max(0, source - NEIGHBORS) : source + NEIGHBORS + 1]
    lines = [
        _line(message) for message in nearby
        if message is not messages[source] or not own_words.issuperset(content_words(message.text))
    ]  # fmt: skip
    kept = [line for line in lines if not _is_withheld(line)]
    day = describe_day(messages[source].at)
    context = "\n".join([*kept, day])
    return day if _is_withheld(f"{sentence} {context}") else context


def _source(messages: Sequence[SessionMessage], sentence: str) -> int:
    """Return the index of the message that shares the most words with the sentence, the shortest and newest such one.

    Without common words, it is the newest.
    """
    words = set(content_words(sentence))

    def key(index: int) -> tuple[int, int, int]:
        message_words = set(content_words(messages[index].text))
        shared = len(words & message_words)
        return shared, -len(message_words) if shared else 0, index

    return max(range(len(messages)), key=key)


def _is_withheld(text: str) -> bool:
    return bool(sensitive_topic(text) or refusal_reason(text))


def _line(message: SessionMessage) -> str:
    text = " ".join(redact(message.text).split())
    return f"{message.speaker}: {text if len(text) <= MESSAGE_CHARS else text[: MESSAGE_CHARS - 1] + '…'}"
