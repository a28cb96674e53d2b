"""Escapes untrusted text for Markdown files, so that a viewer shows the text but loads nothing and sees no HTML."""

import re
from html import escape, unescape
from typing import Final

from core.domain.visible import visible, visible_name

_FENCE: Final = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_INDENTED_FENCE: Final = re.compile(r" {1,3}(?:`{3}|~{3})")
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY: Final = re.compile(r"&(?=(#?\w{1,32};))")
_LINK_TARGET: Final = re.compile(r"\](?=[(:](?!\s*(?:https?://|mailto:|#|[\w./~-]+(?:[)/?#\s]|$))))")
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#|~])")


def safe_markdown(text: str) -> str:
    """Return Markdown in which HTML tags, images and unusual links are shown as literal text.

    Links to web addresses and files keep working. Code stays unchanged where every Markdown reader agrees that it is
    code. Elsewhere, a tag in code is written as `&lt;`.
    """
    lines = visible(text).strip().split("\n")
    if _has_unclear_fence(lines):
        return "\n".join(map(_escape, lines))
    output: list[str] = []
    fence = ""
    # Whether each code span of the paragraph so far ends on its own line, so that all readers see the same code.
    clear = True
    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            fence = "" if _closes(line, fence) else fence
            output.append(line)
        elif opening:
            fence, clear = opening[1] or opening[2], True
            output.append(line)
        else:
            spans = _code_spans(line)
            clear = not line.strip() or (clear and spans is not None)
            output.append(_escape_outside(line, spans) if spans and clear else _escape(line))
    return "\n".join([*output, fence] if fence else output)


def plain_line(text: str) -> str:
    """Return the text in one line with all Markdown and HTML escaped, also characters that would end a table cell."""
    return _ENTITY.sub("&amp;", _SPECIAL.sub(r"\\\1", " ".join(visible_name(text).split())))


def code_span(text: str) -> str:
    """Return the text in one line as code."""
    line = " ".join(visible_name(text).split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def code_block(text: str) -> str:
    """Return a code block whose fence is longer than any in the text, so that the text cannot end it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def html_text(text: str) -> str:
    """Return the text in one line, escaped for HTML."""
    return escape(" ".join(visible_name(text).split()))


def _has_unclear_fence(lines: list[str]) -> bool:
    """Return whether readers may disagree about where a code block begins or ends, because of lists and quotes."""
    fence = ""
    for line in lines:
        if fence:
            if _INDENTED_FENCE.match(line):
                return True
            fence = "" if _closes(line, fence) else fence
        elif opening := _FENCE.match(line):
            fence = opening[1] or opening[2]
        elif "```" in line or "~~~" in line:
            return True
    return False


def _closes(line: str, fence: str) -> bool:
    marks = line.rstrip(" \t")
    return len(marks) >= len(fence) and set(marks) == {fence[0]}


def _code_spans(line: str) -> list[tuple[int, int]] | None:
    """Return the start and end of each code span in a line; None if readers may disagree about them."""
    if "`" not in line:
        return []
    if "\\`" in line or "|" in line:  # an escaped backtick starts no code span, and the end of a table cell ends one
        return None
    runs = [match.span() for match in re.finditer("`+", line)]
    spans = []
    while runs:
        start, end = runs.pop(0)
        closing = next((index for index, run in enumerate(runs) if run[1] - run[0] == end - start), None)
        if closing is None:
            return None
        spans.append((start, runs[closing][1]))
        del runs[: closing + 1]
    return spans


def _escape_outside(line: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (_escape(line[at:start]), line[start:end])
        at = end
    return "".join((*parts, _escape(line[at:])))


def _escape(text: str) -> str:
    text = _ENTITY.sub(lambda match: "&" if _is_visible_entity(match[1]) else "&amp;", text)
    return _TAG.sub("&lt;", _LINK_TARGET.sub(r"]\\", text).replace("![", "!\\["))


def _is_visible_entity(name: str) -> bool:
    """Return whether an entity such as `&nbsp;` stands for a visible character other than a tab or line break."""
    char = unescape(f"&{name}")
    return visible(char) == char and char not in "\t\n"
