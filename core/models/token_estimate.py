"""Estimates token counts without a tokenizer, as a weighted sum over character classes.

The weights are fitted to o200k_base over 15 kinds of text; for each kind, the estimate is 0.92 to 1.04 times the real
count. The remaining difference is corrected by a ratio that is learned from the counts that each model reports.
"""

import re
from math import ceil

from core.domain.text import Attachment, Text
from core.models.attachments import IMAGES, PDF, is_text
from core.models.model import Request

WORDS = re.compile(r"[^\W\d_\u0530-\U0010ffff]+")  # words of Latin, Greek and Cyrillic letters
DIGIT_GROUPS = re.compile(r"[0-9]{1,3}")
PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
LONG_WHITESPACE = re.compile(r"\s(?:\s+|(?<=\n))")  # two or more, or one after a line break
NON_SPACE = re.compile(r"\S")
# Tables for `bytes.translate` with ASCII texts, which replace all characters outside one class by spaces.
BYTES = [chr(code) for code in range(256)]
ONLY_LETTERS = bytes(ord(char if char.isascii() and char.isalpha() else " ") for char in BYTES)
ONLY_DIGITS = bytes(ord(char if char.isascii() and char.isdigit() else " ") for char in BYTES)
PUNCTUATION_BYTES = bytes(ord(char) for char in BYTES if PUNCTUATION.match(char))
SCRIPTS = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    "kana": re.compile(r"[\u3040-\u30ff]"),
    "hangul": re.compile(r"[\uac00-\ud7a3]"),
}
# Tokens per punctuation mark, per long white space with a line break or without, and per character by script.
WEIGHTS = {
    "mark": 0.506,
    "break": 1.455,
    "gap": 2.486,
    "han": 1.024,
    "kana": 0.702,
    "hangul": 0.734,
    "other": 0.369,
}
# Tokens per word, per letter of a word after the sixth, and per group of up to three digits.
WORD, BEYOND_SIX, DIGITS = 1.006, 0.178, 1.283
MAX_TOKENS_PER_CHAR = 1.5  # upper bound of the estimate, reached by digits alternating with line breaks
MESSAGE_TOKENS = 4
IMAGE_TOKENS = 1_000
PDF_PAGE_TOKENS = 2_000
PDF_PAGE_BYTES = 60_000
ATTACHMENT_NOTE_TOKENS = 50  # of the note that replaces an attachment that is not sent
TEXT_BYTES_PER_TOKEN = 3.5
MIN_BYTES_PER_TOKEN = 3.2  # least bytes per token in any language but Chinese
BYTES_PER_TOKEN = 3  # converts the estimated tokens of an attachment to bytes
MESSAGE_BYTES = 16  # of a message in addition to its text
CALL_BYTES = 64  # of a call or a tool definition in addition to its texts
SAMPLED_LENGTH = 16_384  # characters; only samples of a longer text are counted
SAMPLE_COUNT = 32
LEARNING_RATE = 0.3  # weight of the latest reported count
MIN_RATIO, MAX_RATIO = 0.4, 4.0
MIN_LEARNED_TOKENS = 50  # below this, the ratio is too imprecise to learn from


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens in a text; a long text is extrapolated from samples spread over its length."""
    if len(text) <= SAMPLED_LENGTH:
        return _estimate(text)
    step, length = len(text) // SAMPLE_COUNT, SAMPLED_LENGTH // SAMPLE_COUNT
    sample = "".join(text[start : start + length] for start in range(0, step * SAMPLE_COUNT, step))
    return round(_estimate(sample) * len(text) / len(sample))


def _estimate(text: str) -> int:
    # One pass in C for each character class, because a Python loop over characters is ten times slower.
    return _estimate_ascii(text) if text.isascii() else _estimate_unicode(text)


def _estimate_ascii(text: str) -> int:
    encoded = text.encode()
    words, digits = encoded.translate(ONLY_LETTERS).split(), encoded.translate(ONLY_DIGITS).split()
    total = _word_tokens(words) + sum([(len(run) + 2) // 3 for run in digits]) * DIGITS
    marks = len(encoded) - len(encoded.translate(None, PUNCTUATION_BYTES))
    return round(total + _gap_tokens(text) + marks * WEIGHTS["mark"])


def _estimate_unicode(text: str) -> int:
    words, digits, marks = WORDS.findall(text), DIGIT_GROUPS.findall(text), len(PUNCTUATION.findall(text))
    counts = {name: len(pattern.findall(text)) for name, pattern in SCRIPTS.items()}
    counts["other"] = len(NON_SPACE.findall(text)) - sum(map(len, words)) - sum(map(len, digits)) - marks
    counts["other"] -= sum(counts[name] for name in SCRIPTS)
    total = _word_tokens(words) + _gap_tokens(text) + len(digits) * DIGITS + marks * WEIGHTS["mark"]
    return round(total + sum(WEIGHTS[name] * count for name, count in counts.items()))


def _word_tokens(words: list[str] | list[bytes]) -> float:
    return len(words) * WORD + sum([length - 6 for length in map(len, words) if length > 6]) * BEYOND_SIX


def _gap_tokens(text: str) -> float:
    gaps = LONG_WHITESPACE.findall(text)
    breaks = sum(["\n" in gap for gap in gaps])
    return breaks * WEIGHTS["break"] + (len(gaps) - breaks) * WEIGHTS["gap"]


def estimate_text_tokens(text: Text) -> int:
    """Return an estimate of the tokens in a text; one in a blob is extrapolated from its head by size in bytes."""
    head_tokens = estimate_tokens(text.head)
    if not text.blob:
        return head_tokens
    head_size = len(text.head.encode("utf-8", "replace")) or 1
    return round(head_tokens * max(1.0, text.size / head_size))


def attachment_tokens(attachment: Attachment) -> int:
    """Return an estimate of an attachment's tokens from its type and size, or of the note that replaces it."""
    if attachment.retired:
        return ATTACHMENT_NOTE_TOKENS
    if attachment.media_type in IMAGES:
        return IMAGE_TOKENS
    if attachment.media_type == PDF:
        return PDF_PAGE_TOKENS * max(1, ceil(attachment.size / PDF_PAGE_BYTES))
    if is_text(attachment):
        return ATTACHMENT_NOTE_TOKENS + round(attachment.size / TEXT_BYTES_PER_TOKEN)
    return ATTACHMENT_NOTE_TOKENS


def max_request_tokens(request: Request) -> int:
    """Return an approximate upper bound of a request's tokens.

    It is computed from the size in bytes, a thousand times faster than an estimate, and is rarely exceeded.
    """
    size = len(request.system_prompt.encode("utf-8", "replace"))
    for message in request.messages:
        size += MESSAGE_BYTES + len(request.read_text(message.text).encode("utf-8", "replace"))
        size += sum(CALL_BYTES + len(call.tool) + len(request.read_text(call.arguments)) for call in message.calls)
        for attachment in message.attachments:
            size += BYTES_PER_TOKEN * attachment_tokens(attachment)
    size += sum(CALL_BYTES + len(f"{tool.name} {tool.description} {tool.parameters}") for tool in request.tools)
    return round(size / MIN_BYTES_PER_TOKEN)


def updated_ratio(ratio: float, estimated: int, counted: int) -> float:
    """Return a model's ratio of real to estimated tokens (initially 1.0), updated with one more reported count."""
    if estimated < MIN_LEARNED_TOKENS or counted <= 0:
        return ratio
    observed = min(MAX_RATIO, max(MIN_RATIO, counted / estimated))
    return ratio + LEARNING_RATE * (observed - ratio)
