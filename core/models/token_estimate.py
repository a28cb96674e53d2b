"""Token count estimates without a tokenizer: a weighted sum over character classes.

The weights are fitted to o200k_base over 15 kinds of text; per kind the estimate is 0.92 to 1.04 times the real count.
A ratio learned from the counts that each model reports corrects the rest.
"""

import re

from core.domain.text import Attachment, Text
from core.models.attachments import IMAGES, PDF, is_text
from core.models.model import Request

LETTER_RUNS = re.compile(r"[^\W\d_\u0530-\U0010ffff]+")
THREE_DIGITS, PUNCTUATION = re.compile(r"[0-9]{1,3}"), re.compile(r"[!-/:-@\[-`{-~]")
WHITESPACE_RUNS, NON_SPACE = re.compile(r"\s(?:\s+|(?<=\n))"), re.compile(r"\S")
ASCII = [chr(code) for code in range(256)]
ONLY_LETTERS = bytes(ord(char if char.isascii() and char.isalpha() else " ") for char in ASCII)
ONLY_DIGITS = bytes(ord(char if char.isascii() and char.isdigit() else " ") for char in ASCII)
PUNCTUATION_BYTES = bytes(ord(char) for char in ASCII if PUNCTUATION.match(char))
SCRIPTS = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    "kana": re.compile(r"[\u3040-\u30ff]"),
    "hangul": re.compile(r"[\uac00-\ud7a3]"),
}
# Tokens per occurrence: punctuation marks, long whitespace with a line break and without, and characters by script.
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
MESSAGE_TOKENS = 4
IMAGE_TOKENS = 1_000
PDF_PAGE_TOKENS, PDF_PAGE_BYTES = 2_000, 60_000
ATTACHMENT_NOTE_TOKENS = 50  # the text that replaces an attachment that is not sent
TEXT_BYTES_PER_TOKEN = 3.5
MIN_BYTES_PER_TOKEN = 3.2  # lower limit of the bytes per token, except for Chinese
BYTES_PER_TOKEN = 3  # of an attachment, whose tokens are known
MESSAGE_BYTES, CALL_BYTES = 16, 64  # what a message and a call or tool need besides their texts
SAMPLED_LENGTH, SAMPLE_COUNT = 16_384, 32
LEARNING_RATE = 0.3
MIN_RATIO, MAX_RATIO = 0.4, 4.0


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text. A long text is extrapolated from 32 samples spread over its length."""
    if len(text) <= SAMPLED_LENGTH:
        return _estimate(text)
    step = len(text) // SAMPLE_COUNT
    sample = "".join(
        text[start : start + SAMPLED_LENGTH // SAMPLE_COUNT] for start in range(0, step * SAMPLE_COUNT, step)
    )
    return round(_estimate(sample) * len(text) / len(sample))


def _estimate(text: str) -> int:
    """Count each character class in one pass of C code; a Python loop over characters is ten times slower."""
    if not text.isascii():
        return _estimate_any(text)
    encoded = text.encode()
    words, digits = encoded.translate(ONLY_LETTERS).split(), encoded.translate(ONLY_DIGITS).split()
    total = _word_tokens(words) + sum([(len(run) + 2) // 3 for run in digits]) * DIGITS
    marks = len(encoded) - len(encoded.translate(None, PUNCTUATION_BYTES))
    return round(total + _gap_tokens(text) + marks * WEIGHTS["mark"])


def _estimate_any(text: str) -> int:
    words, digits, marks = LETTER_RUNS.findall(text), THREE_DIGITS.findall(text), len(PUNCTUATION.findall(text))
    counts = {name: len(pattern.findall(text)) for name, pattern in SCRIPTS.items()}
    counts["other"] = len(NON_SPACE.findall(text)) - sum(map(len, words)) - sum(map(len, digits)) - marks
    counts["other"] -= sum(counts[name] for name in SCRIPTS)
    total = _word_tokens(words) + _gap_tokens(text) + len(digits) * DIGITS + marks * WEIGHTS["mark"]
    return round(total + sum(WEIGHTS[name] * count for name, count in counts.items()))


def _word_tokens(words: list[str] | list[bytes]) -> float:
    return len(words) * WORD + sum([length - 6 for length in map(len, words) if length > 6]) * BEYOND_SIX


def _gap_tokens(text: str) -> float:
    gaps = WHITESPACE_RUNS.findall(text)
    breaks = sum(["\n" in gap for gap in gaps])
    return breaks * WEIGHTS["break"] + (len(gaps) - breaks) * WEIGHTS["gap"]


def estimate_text_tokens(text: Text) -> int:
    """Estimate the tokens of a text. A text in a blob is extrapolated from its head by the size in bytes."""
    head = estimate_tokens(text.head)
    return (
        head if not text.blob else round(head * max(1.0, text.size / (len(text.head.encode("utf-8", "replace")) or 1)))
    )


def attachment_tokens(attachment: Attachment) -> int:
    """Estimate the tokens of an attachment from its type and size. One that cannot be sent is replaced by a note."""
    if attachment.media_type in IMAGES and not attachment.retired:
        return IMAGE_TOKENS
    if attachment.media_type == PDF and not attachment.retired:
        return PDF_PAGE_TOKENS * max(1, -(-attachment.size // PDF_PAGE_BYTES))
    if is_text(attachment) and not attachment.retired:
        return ATTACHMENT_NOTE_TOKENS + round(attachment.size / TEXT_BYTES_PER_TOKEN)
    return ATTACHMENT_NOTE_TOKENS


def max_request_tokens(request: Request) -> int:
    """Return an upper bound of a request's tokens from its size in bytes, which is a thousand times faster to compute.

    The bound is rarely exceeded.
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
    """Update a model's ratio of real to estimated tokens (initially 1.0) with one more reported count."""
    if estimated < 50 or counted <= 0:
        return ratio
    now = min(MAX_RATIO, max(MIN_RATIO, counted / estimated))
    return ratio + LEARNING_RATE * (now - ratio)
