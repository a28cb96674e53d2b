"""Resources (`@server:address`) and prompts (`/server:name`) of tool servers in what a person says."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.problems import Problem
from core.domain.provenance import Source, marked, taint_name
from core.servers.servers import Servers

NAMED = re.compile(r"(?<!\S)@([a-z0-9-]+):(\S*[^\s.,;:!?)\]\"'])")  # the mark that ends a sentence is none of it
BEGUN = re.compile(r"/([a-z0-9-]+):(\S+)(?:\s+(.*))?\s*", re.DOTALL)
LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Filled:
    """What is sent, and the strangers whose words are in it."""

    text: str
    taint: tuple[str, ...] = ()


async def filled(text: str, servers: Servers | None, boundary: str) -> Filled:
    """The text with what it names of tool servers: a prompt in its place, resources below it, marked as data."""
    there = {server.name for server in servers.all() if server.on} if servers else set()
    if servers is None or not there:
        return Filled(text)
    taint: list[str] = []
    begun = BEGUN.fullmatch(text.strip())
    if begun and begun[1] in there:
        text = await servers.prompt(begun[1], begun[2], _words(begun[3] or ""))
        taint.append(taint_name(Source("mcp", begun[1])))
    else:
        for server, name in dict.fromkeys(found.groups() for found in NAMED.finditer(text)):
            if server not in there:
                continue
            words = await servers.resource(server, name)
            cut = words if len(words) <= LONGEST else f"{words[:LONGEST]}\n[cut: it is longer]"
            text += f"\n\n{marked(cut, Source('mcp', f'{server} {name}'), boundary)}"
            taint.append(taint_name(Source("mcp", server)))
    if not text.strip():
        raise Problem("The prompt is empty.", f"{begun[1] if begun else ''} answered with no words.", "")
    return Filled(text, tuple(dict.fromkeys(taint)))


def _words(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quotation mark
        return text.split()
