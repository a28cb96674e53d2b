"""What the parts of a line are: front matter, Markdown and code, one line at a time from the state before it."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ui.skills.code import NAMES, Span, ends, parts

LONGEST: Final = 2_000  # characters of one line that are looked at
FENCE_LIMIT: Final = 40  # of a fence, so that states stay few


class State(NamedTuple):
    """Where a line begins: `open` is the fence or the quotes that are not closed yet."""

    where: str
    open: str = ""
    language: str = ""
    within: str = ""  # quotes left open inside a fence


MARKDOWN: Final = frozenset({"md", "markdown", "mdx"})
BODY: Final = State("body")
FENCE: Final = re.compile(r"^ {0,3}(?:[-*+>] +|\d+[.)] +)*(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\s`{]*)")
ENTRY: Final = re.compile(r"^(?P<lead>\s*(?:- +)?)(?P<key>[\w][\w. /-]*?)(?P<colon>\s*:)(?=\s|$)")
COMMENT: Final = re.compile(r"(?:^|\s)(#.*)$")
LEAD: Final = re.compile(r"^(?P<quote>(?:\s*>)+)?\s*(?P<item>[-*+]|\d+[.)])(?=\s)(?P<box>\s+\[[ xX]\](?=\s))?")
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


def beginning(name: str) -> State:
    """The state at the first line of a file of this name."""
    base = name.rsplit("/", 1)[-1].casefold()
    kind = base.rsplit(".", 1)[-1]
    if base == "skill.md":
        return State("start")
    return BODY if kind in MARKDOWN else State("code", language=NAMES.get(kind, "plain"))


def after(line: str, state: State) -> State:
    """The state at the next line."""
    line = line[:LONGEST]
    match state.where:
        case "start":
            return State("front") if line.rstrip() == "---" else _after_body(line)
        case "front":
            return BODY if line.rstrip() in {"---", "..."} else state
        case "fence":
            found = FENCE.match(line)
            closes = found and found["fence"].startswith(state.open) and not line[found.end("fence") :].strip()
            return BODY if closes else state._replace(within=ends(line, state.language, state.within))
        case "code":
            return state._replace(open=ends(line, state.language, state.open))
        case _:
            return _after_body(line)


def spans(line: str, state: State) -> list[Span]:
    """The parts of a line that begins in this state."""
    line = line[:LONGEST]
    match state.where:
        case "front" | "start" if line.rstrip() in {"---", "..."}:
            return [Span(0, len(line), "quiet")]
        case "front":
            return list(_entry(line))
        case "fence":
            if after(line, state) == BODY:
                return [Span(0, len(line), "quiet")]
            return list(parts(line, state.language, state.within))
        case "code":
            return list(parts(line, state.language, state.open))
        case _:
            return list(_markdown(line))


def _after_body(line: str) -> State:
    found = FENCE.match(line)
    if not found or ("`" in found["fence"] and "`" in line[found.end("fence") :]):
        return BODY
    return State("fence", found["fence"][:FENCE_LIMIT], NAMES.get(found["info"].casefold(), "plain"))


def _entry(line: str) -> Iterator[Span]:
    """A line of front matter."""
    end = len(line)
    if remark := COMMENT.search(line):
        end = remark.start(1)
        yield Span(end, len(line) - end, "quiet")
    if found := ENTRY.match(line):
        yield Span(found.start("key"), len(found["key"]), "key")
        yield Span(found.start("colon"), len(found["colon"]), "quiet")
        if found.end() < end:
            yield Span(found.end(), end - found.end(), "value")
    elif end:
        yield Span(0, end, "value")


def _markdown(line: str) -> Iterator[Span]:
    if FENCE.match(line) and _after_body(line) != BODY:
        yield Span(0, len(line), "quiet")
        return
    if HEADING.match(line):
        yield Span(0, len(line), "heading")
        return
    begins = 0
    if found := LEAD.match(line):
        begins = found.end()
        yield Span(0, begins, "mark")
    elif found := QUOTE.match(line):
        begins = found.end()
        yield Span(0, begins, "quiet")
    for part in INLINE.finditer(line, begins):
        if part["skip"]:
            continue
        if part["link"]:
            yield Span(part.start("link"), len(part["link"]), "link")
            yield Span(part.start("address"), len(part["address"]), "quiet")
            continue
        kind = part.lastgroup or ""
        named = next((name for name in ("code", "comment", "strong", "em", "bare") if part[name]), kind)
        yield Span(part.start(), part.end() - part.start(), {"comment": "quiet", "bare": "link"}.get(named, named))
