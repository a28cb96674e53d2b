"""The `search_sessions` tool: finds messages, calls and results of earlier sessions in the folder."""

from datetime import datetime

from core.domain.clock import SECOND
from core.domain.events import CallRefused, CallStarted, SessionEvent, ToolCall, ToolReturned, UntrustedContentRead
from core.domain.problems import Problem
from core.domain.provenance import ContentSource, mark_as_data, source_label
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.run.context_budget import with_excerpts
from core.engine.run.recall_dropped import one_line
from core.engine.run.run_context import RunContext
from core.store.codec import decode_event, load_texts
from core.store.search import searchable_texts
from core.tools.read import READ
from core.tools.search_sessions import SEARCH_SESSIONS, SearchSessionsArguments

MAX_HITS = 20
AROUND = 12  # events before and after a match
LINE_CHARS = 800


async def search_sessions(run: RunContext, call: ToolCall, arguments: SearchSessionsArguments) -> None:
    """Answer a `search_sessions` call.

    What the sessions contain is data for the model. If one of them had read untrusted content, the run has, too.
    """
    started = CallStarted(call.id, SEARCH_SESSIONS, "search", f"earlier sessions: {arguments.query}")
    if run.is_replay:  # a replay has no other sessions
        events, _ = await run.execute(READ, call.id, arguments, run.tool_context, run.read_digests)
        await run.record(started, *events)
        return
    try:
        rows = _earlier_sessions(run)
        names = {row.id for row in rows}
        if arguments.session and arguments.session not in names:
            raise Problem(f"There is no earlier session {arguments.session!r} in this folder.", "", "Search for it.")
        if arguments.session and arguments.event:
            text, found = _around(run, arguments.session, arguments.event), {arguments.session}
        else:
            text, found = _hits(run, arguments.query, {arguments.session} if arguments.session else names)
    except Problem as problem:
        await run.record(CallRefused(call.id, SEARCH_SESSIONS, Text(str(problem))))
        return
    output = mark_as_data(text, ContentSource("memory", "earlier sessions"), run.boundary()) if found else text
    before: list[SessionEvent] = [started]
    label = source_label(ContentSource("import", "earlier sessions"))
    if any(run.reader.untrusted_sources(name) for name in found):
        before.append(UntrustedContentRead(call.id, label))
    await run.record(*before, *with_excerpts(run, [ToolReturned(call.id, Text(output))]))


def _earlier_sessions(run: RunContext) -> list[SessionRow]:
    """Return the sessions of the folder that are not this one, in the trash or imported."""
    folder = str(run.tool_context.folder)
    return [
        row
        for row in run.reader.sessions()
        if row.folder == folder and row.id != run.session and not row.trashed and not row.imported_from
    ]


def _hits(run: RunContext, query: str, names: set[str]) -> tuple[str, set[str]]:
    hits = run.reader.search(query, MAX_HITS, names)
    if not hits:
        return "No earlier session in this folder contains these words.", set()
    lines = [
        f"session {hit.session}, event {hit.seq}, {datetime.fromtimestamp(hit.at / SECOND).astimezone():%Y-%m-%d}, "
        f"{one_line(hit.title, 80)}: {hit.text}"
        for hit in hits
    ]
    return "\n".join(lines), {hit.session for hit in hits}


def _around(run: RunContext, session: str, seq: int) -> str:
    """Return the texts of the events around one event, with its number."""
    lines: list[str] = []
    for number, _, _, kind, payload in run.reader.raw_events(session, max(0, seq - AROUND - 1), seq + AROUND):
        event = load_texts(decode_event(kind, payload), run.reader.find_blob)
        text = " ".join(part for part in searchable_texts(event) if part)
        if text:
            lines.append(f"{number} {kind.replace('_', ' ')}: {one_line(text, LINE_CHARS)}")
    if not lines:
        raise Problem(f"There is no event {seq} in that session.", "", "Search for its number.")
    return "\n".join(lines)
