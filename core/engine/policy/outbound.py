"""Checks calls to MCP servers and the web: untrusted content that the run has read may have dictated their values."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from core.domain.command_tables import words_of
from core.domain.provenance import ContentSource, source_label
from core.domain.text import normalized
from core.domain.untrusted_file import source_texts
from core.engine.policy.proposed_call import ProposedCall
from core.tools.mcp_tools import mcp_server_of

# Verbs at the beginning of a tool name which indicate that the tool only reads.
READING_WORDS = words_of("get list search read find describe show view count check lookup fetch status")
# A reading verb followed by one of these words is a different verb, as in `check_out`.
PARTICLES = words_of("in off on out up")
CONJUNCTIONS = words_of("and or then")
CHANGING_WORDS = words_of("""
    add append apply approve archive assign cancel change clear close comment commit copy create delete deploy disable
    dispatch edit email enable execute fork forward import insert invite mark merge move patch pay post publish purge
    push put remove rename reply replace reserve reset restore resume revoke run save schedule send set share start stop
    submit subscribe transfer trigger update upload upsert write
""")
# The lookbehind makes a host name match only from its beginning: otherwise a line of dashes would take minutes.
ADDRESS = re.compile(r"://|\w@\w|(?<![\w.-])(?:[\w-][\w.-]*)?[\w-]\.[a-z]{2,}(?![\w.])", re.IGNORECASE)
MEMBER = re.compile(r"[A-Za-z][A-Za-z_-]{0,23}")  # an ordinary JSON member name, such as `due_date`
SHOWN_CHARS = 60  # a longer value is truncated in the permission request
DISTINCT_CHARS = 5  # a shorter value, such as the number 13, may occur in a message by coincidence


def other_sources(tool: str, untrusted_sources: Sequence[str]) -> list[str]:
    """Return the untrusted sources in words for the user, without the MCP server whose `tool` is called.

    Sending content back to the server that it came from discloses nothing.
    """
    own = _own_source(tool)
    return source_texts(source for source in untrusted_sources if source != own)


def dictated_value(call: ProposedCall, untrusted_sources: Sequence[str], user_words: Sequence[str]) -> str:
    """Return a value in a call to an MCP server that content from the same server may have dictated, or "".

    An honest server passes on what others wrote, such as an email. So once the run has read content of the server, the
    user must have written every value of a call that changes something, and every address in a call that reads. If such
    a change has only short values, or none, the user must also have named the action. Whether a tool reads is decided
    by its name: a dishonest server needs no call to do harm.
    """
    if not mcp_server_of(call.tool) or _own_source(call.tool) not in untrusted_sources:
        return ""
    written = normalized("\n".join(user_words))
    reads = only_reads_by_name(call.tool)
    values = list(_values(json.loads(call.arguments).get("arguments", {})))
    for value in values:
        if (not reads or ADDRESS.search(value)) and not _occurs_in(written, normalized(value)):
            return value if len(value) <= SHOWN_CHARS else f"{value[: SHOWN_CHARS - 1]}…"
    if reads or any(len(normalized(value)) >= DISTINCT_CHARS for value in values) or _names_action(written, call.tool):
        return ""
    return call.tool.partition("__")[2]


def _own_source(tool: str) -> str:
    server = mcp_server_of(tool)
    return source_label(ContentSource("mcp", server)) if server else ""


def only_reads_by_name(tool: str) -> bool:
    """Return whether the name of an MCP tool indicates that it only reads, as in `search_and_list_issues`.

    The first word (after the server's name, if the tool name begins with it) and each word after a conjunction must
    be in READING_WORDS, and no word may be in CHANGING_WORDS.
    """
    words = _words_in_name(tool)
    server = _words_of(mcp_server_of(tool))
    if words[: len(server)] == server:
        words = words[len(server) :]
    if not words or CHANGING_WORDS & set(words):
        return False
    for index, word in enumerate(words):
        is_verb = index == 0 or words[index - 1] in CONJUNCTIONS
        following = words[index + 1] if index + 1 < len(words) else ""
        if is_verb and (word not in READING_WORDS or following in PARTICLES):
            return False
    return True


def _words_in_name(tool: str) -> list[str]:
    return _words_of(tool.partition("__")[2])


def _words_of(name: str) -> list[str]:
    return [word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _names_action(text: str, tool: str) -> bool:
    """Return whether a text contains all verbs in a tool name, also inflected: `deleting` for `delete_file`."""
    words = set(_words_in_name(tool))
    verbs = words & CHANGING_WORDS or words
    return all(re.search(rf"(?<!\w){verb.removesuffix('e')}(e?s?|e?d|ing)(?!\w)", text) for verb in verbs)


def _values(node: Any, depth: int = 0) -> Iterator[str]:
    """Yield all values in the JSON arguments of a call, except booleans, null and "".

    Also yield member names that may carry data: unusual ones (see MEMBER), and the names in a nested object without
    values, as in `{"to": {"mallory": true}}`.
    """
    match node:
        case dict():
            values = [value for member in node.values() for value in _values(member, depth + 1)]
            yield from (name for name in node if not MEMBER.fullmatch(name) or (depth and not values))
            yield from values
        case list():
            for value in node:
                yield from _values(value, depth + 1)
        case bool() | None | "":
            return
        case _:
            yield f"{node:g}" if isinstance(node, float) else str(node)


def _occurs_in(text: str, value: str) -> bool:
    """Return whether a value occurs in a text as a whole word; an address must not be part of a longer address."""
    pattern = rf"(?<!\w){re.escape(value)}(?!\w)"
    if ADDRESS.search(value):
        pattern = rf"(?<!\w[.+@-]){pattern}(?![.@-]\w)"
    return re.search(pattern, text) is not None
