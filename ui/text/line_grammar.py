"""Parses front matter, Markdown and code line by line, for syntax highlighting."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ui.text.code_tokens import LANGUAGE_OF_NAME, SyntaxSpan, code_spans, open_quotes_after

MAX_LINE: Final = 2_000  # characters; the rest of a longer line is not highlighted
FENCE_LIMIT: Final = 40  # characters of a code fence that are stored; this limits the number of different states


class LineState(NamedTuple):
    """The state of the parser at the start of a line. `open_delimiter` is a code fence or quote that is still open."""

    region: str
    open_delimiter: str = ""
    language: str = ""
    inner_quotes: str = ""  # the delimiter of a string that is still open in the code within a fence


MARKDOWN: Final = frozenset({"md", "markdown", "mdx"})
BODY: Final = LineState("body")
FENCE: Final = re.compile(r"^ {0,3}(?:[-*+>] +|\d+[.)] +)*(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\s`{]*)")
ENTRY: Final = re.compile(r"^(?P<lead>\s*(?:- +)?)(?P<key>[\w][\w. /-]*?)(?P<colon>\s*:)(?=\s|$)")
COMMENT: Final = re.compile(r"(?:^|\s)(#.*)$")
LINE_PREFIX: Final = re.compile(r"^(?P<quote>(?:\s*>)+)?\s*(?P<item>[-*+]|\d+[.)])(?=\s)(?P<box>\s+\[[ xX]\](?=\s))?")
HEADING: Final = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
QUOTE: Final = re.compile(r"^(?:\s*>)+")
INLINE: Final = re.compile(
    r"(?P<skip>\\.)"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<comment><!--.*?(?:-->|$))"
    r"|(?P<strong>\*\*(?=\S)[^*]+?(?<=\S)\*\*|__(?=\S)[^_]+?(?<=\S)__)"
    r"|(?P<em>\*(?=[^\s*])[^*]+?(?<=[^\s*])\*|(?<!\w)_(?=[^\s_])[^_]+?(?<=[^\s_])_(?!\w))"
    r"|(?P<link>!?\[[^\]\[]*\])(?P<address>\([^()\s]*(?:\s[^()]*)?\)|\[[^\]\[]*\])"
    r"|(?P<bare>https?://[^\s<>)\]]+)"
)


def initial_state(name: str) -> LineState:
    """Return the state at the first line of a file; the name determines whether it is Markdown or code."""
    base = name.rsplit("/", 1)[-1].casefold()
    kind = base.rsplit(".", 1)[-1]
    if base == "skill.md":
        return LineState("start")
    return BODY if kind in MARKDOWN else LineState("code", language=LANGUAGE_OF_NAME.get(kind, "plain"))


def next_state(line: str, state: LineState) -> LineState:
    """Return the state at the line that follows `line`, which begins in `state`."""
    line = line[:MAX_LINE]
    match state.region:
        case "start":
            return LineState("front") if line.rstrip() == "---" else _after_body(line)
        case "front":
            return BODY if line.rstrip() in {"---", "..."} else state
        case "fence":
            if _closes_fence(line, state.open_delimiter):
                return BODY
            return state._replace(inner_quotes=open_quotes_after(line, state.language, state.inner_quotes))
        case "code":
            delimiter = open_quotes_after(line, state.language, state.open_delimiter)
            return state if delimiter == state.open_delimiter else state._replace(open_delimiter=delimiter)
        case _:
            return _after_body(line)


def line_spans(line: str, state: LineState) -> list[SyntaxSpan]:
    """Return the parts of a line to highlight; the line begins in `state`."""
    line = line[:MAX_LINE]
    match state.region:
        case "front" | "start" if line.rstrip() in {"---", "..."}:
            return [SyntaxSpan(0, len(line), "quiet")]
        case "front":
            return list(_entry(line))
        case "fence":
            if next_state(line, state) == BODY:
                return [SyntaxSpan(0, len(line), "quiet")]
            return list(code_spans(line, state.language, state.inner_quotes))
        case "code":
            return list(code_spans(line, state.language, state.open_delimiter))
        case _:
            return list(_markdown(line))


def _closes_fence(line: str, fence: str) -> bool:
    match = FENCE.match(line)
    return match is not None and match["fence"].startswith(fence) and not line[match.end("fence") :].strip()


def _after_body(line: str) -> LineState:
    match = FENCE.match(line)
    if not match or ("`" in match["fence"] and "`" in line[match.end("fence") :]):
        return BODY
    return LineState("fence", match["fence"][:FENCE_LIMIT], LANGUAGE_OF_NAME.get(match["info"].casefold(), "plain"))


def _entry(line: str) -> Iterator[SyntaxSpan]:
    """Yield the parts to highlight in a line of front matter."""
    end = len(line)
    if comment := COMMENT.search(line):
        end = comment.start(1)
        yield SyntaxSpan(end, len(line) - end, "quiet")
    if match := ENTRY.match(line):
        yield SyntaxSpan(match.start("key"), len(match["key"]), "key")
        yield SyntaxSpan(match.start("colon"), len(match["colon"]), "quiet")
        if match.end() < end:
            yield SyntaxSpan(match.end(), end - match.end(), "value")
    elif end:
        yield SyntaxSpan(0, end, "value")


def _markdown(line: str) -> Iterator[SyntaxSpan]:
    if FENCE.match(line) and _after_body(line) != BODY:
        yield SyntaxSpan(0, len(line), "quiet")
        return
    if HEADING.match(line):
        yield SyntaxSpan(0, len(line), "heading")
        return
    begins = 0
    if match := LINE_PREFIX.match(line):
        begins = match.end()
        yield SyntaxSpan(0, begins, "mark")
    elif match := QUOTE.match(line):
        begins = match.end()
        yield SyntaxSpan(0, begins, "quiet")
    for part in INLINE.finditer(line, begins):
        if part["skip"]:
            continue
        if part["link"]:
            yield SyntaxSpan(part.start("link"), len(part["link"]), "link")
            yield SyntaxSpan(part.start("address"), len(part["address"]), "quiet")
            continue
        group = next(name for name in ("code", "comment", "strong", "em", "bare") if part[name])
        kind = {"comment": "quiet", "bare": "link"}.get(group, group)
        yield SyntaxSpan(part.start(), part.end() - part.start(), kind)
