"""Excerpts of long tool results: the beginning, the end, and how to read what was left out."""

from core.models.token_estimate import MAX_TOKENS_PER_CHAR, estimate_tokens

HEAD_SHARE = 0.7  # share of an excerpt that the beginning takes; the rest is the end
NOTE_TOKENS = 60
MIN_EXCERPT_TOKENS = 100
SHRINK_FACTOR = 0.8  # a too long excerpt is shortened by this factor until it fits: tokens per character vary


def make_excerpt(text: str, max_tokens: int, call: str) -> str:
    """Return an excerpt of at most `max_tokens` estimated tokens, or "" if the whole text fits.

    The excerpt ends and resumes at line breaks where there are any nearby.
    """
    if len(text) * MAX_TOKENS_PER_CHAR <= max_tokens or (size := estimate_tokens(text)) <= max_tokens:
        return ""
    max_chars = len(text) * max(MIN_EXCERPT_TOKENS, max_tokens - NOTE_TOKENS) / size
    while True:
        excerpt = _excerpt(text, int(max_chars), call)
        if estimate_tokens(excerpt) <= max(max_tokens, MIN_EXCERPT_TOKENS + NOTE_TOKENS) or max_chars < 1:
            return excerpt
        max_chars *= SHRINK_FACTOR


def _excerpt(text: str, max_chars: int, call: str) -> str:
    """Return the beginning and the end of a text, about `max_chars` characters together, with a note in between."""
    head_chars = int(max_chars * HEAD_SHARE)
    head = text[:head_chars]
    last_break = head.rfind("\n")
    if last_break > len(head) // 2:
        head = head[: last_break + 1]
    tail = text[len(text) - (max_chars - head_chars) :]
    first_break = tail.find("\n")
    if 0 <= first_break < len(tail) // 2:
        tail = tail[first_break + 1 :]
    omitted = len(text) - len(head) - len(tail)
    first = head.count("\n") + 1
    last = text[: len(text) - len(tail)].count("\n") + 1
    return (
        f"{head}\n[… {omitted:,} of {len(text):,} characters left out: lines {first:,} to {last:,} of this result. "
        f'Read them in parts with recall_dropped {{"id": "{call}", "start": {first}}}, '
        f"or read the file with start and end. …]\n{tail}"
    )
