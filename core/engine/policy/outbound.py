"""Calls that leave the computer after the run has read untrusted content, which may have dictated them."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from core.domain.command_tables import words_of
from core.domain.provenance import ContentSource, source_label
from core.domain.text import normalized
from core.engine.policy.proposed_call import ProposedCall
from core.tools.mcp_tools import mcp_server_of

# Words in the name of a tool that say whether it only reads.
READING_WORDS = words_of("get list search read find describe show view count check lookup query fetch status")
CHANGING_WORDS = words_of("""
    add append apply approve archive assign cancel change clear close comment commit copy create delete deploy disable
    dispatch edit email enable execute fork forward import insert invite mark merge move patch pay post publish purge
    push put remove rename reply replace reserve reset restore resume revoke run save schedule send set share start stop
    submit subscribe transfer trigger update upload upsert write
""")
# A host name is tried only from its beginning, or a line of dashes would take minutes.
ADDRESS = re.compile(r"://|\w@\w|(?<![\w.-])(?:[\w-][\w.-]*)?[\w-]\.[a-z]{2,}(?![\w.])", re.IGNORECASE)
MEMBER = re.compile(r"[A-Za-z][A-Za-z_-]{0,23}")  # a name that says what a value is, such as `due_date`
SHOWN_CHARS = 60  # characters of a value that a request quotes
DISTINCT_CHARS = 5  # a shorter value, such as the number 13, occurs in a message by coincidence


def other_sources(tool: str, untrusted_sources: Sequence[str]) -> list[str]:
    """Return the untrusted sources other than the MCP server that a call goes to.

    Content that came from a server can be sent back to that server without disclosing anything.
    """
    own = _own_source(tool)
    return [source for source in untrusted_sources if source != own]


def dictated_value(call: ProposedCall, untrusted_sources: Sequence[str], user_words: Sequence[str]) -> str:
    """Return a value in a call to an MCP server that the content of this server may have dictated, or "".

    An honest server passes on what others wrote, such as an email. So once the run has read content of the server, the
    user must have written every value of a call that changes something, and every address in a call that reads. If such
    a change has only short values, or none, the user must also have named the action. Whether a tool reads is decided
    by its name: a dishonest server needs no call to do harm.
    """
    if not mcp_server_of(call.tool) or _own_source(call.tool) not in untrusted_sources:
        return ""
    written = normalized("\n".join(map(_without_quotes, user_words)))
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
    """Return whether the name of an MCP tool says that it reads, and contains no word for a change."""
    words = _words_in_name(tool)
    return bool(words & READING_WORDS) and not words & CHANGING_WORDS


def _words_in_name(tool: str) -> set[str]:
    name = tool.partition("__")[2]
    return {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def _names_action(text: str, tool: str) -> bool:
    """Return whether a text contains the verbs in the name of a tool, such as `delete` or `deleting`."""
    words = _words_in_name(tool)
    verbs = words & CHANGING_WORDS or words
    return all(re.search(rf"(?<!\w){verb.removesuffix('e')}(e?s?|e?d|ing)(?!\w)", text) for verb in verbs)


def _values(node: Any, depth: int = 0) -> Iterator[str]:
    """Yield the values in the arguments of a call, and the names of members that can be values themselves.

    Within an argument, the names of an object without values can be its values, as in `{"to": {"mallory": true}}`.
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


def _without_quotes(text: str) -> str:
    """Return a message without fenced code and the lines above it, where comments on changes quote what an agent wrote.

    Such a quote names the path of the file, which the agent has chosen, and its lines.
    """
    own: list[str] = []
    fence = ""
    for line in text.split("\n"):
        marker = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif marker:
            fence = marker[1]
            del own[-1:]
        else:
            own.append(line)
    return "\n".join(own)


def _occurs_in(text: str, value: str) -> bool:
    """Return whether a value occurs in a text, and not only as a part of another word."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
