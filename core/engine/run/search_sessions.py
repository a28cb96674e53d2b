"""The `search_sessions` tool: finds messages, calls and results of earlier sessions in the folder."""

from datetime import datetime
from typing import NamedTuple

from core.domain.clock import SECOND
from core.domain.events import (
    CallRefused,
    CallStarted,
    EventRecord,
    SessionEvent,
    ToolCall,
    ToolReturned,
    UntrustedContentRead,
)
from core.domain.problems import Problem
from core.domain.provenance import ContentSource, mark_as_data, source_label
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.run.context_budget import with_excerpts
from core.engine.run.recall_dropped import one_line
from core.engine.run.run_context import RunContext
from core.store.codec import decode_event, load_texts
from core.store.search import searchable_texts
from core.timeline.run_report import report_details, report_run
from core.timeline.run_summary import RunSummaryBuilder
from core.tools.read import READ
from core.tools.search_sessions import SEARCH_SESSIONS, SearchSessionsArguments

MAX_HITS = 20
AROUND = 12  # number of events shown before and after a requested event
LINE_CHARS = 800


class _Excerpt(NamedTuple):
    """A text for the model, and the IDs of the sessions that it comes from."""

    text: str
    sessions: set[str]


async def search_sessions(run: RunContext, call: ToolCall, arguments: SearchSessionsArguments) -> None:
    """Execute a `search_sessions` call and record its result, which is marked as data for the model.

    If a session in the result had read untrusted content, the run counts as having read it too.
    """
    started = CallStarted(call.id, SEARCH_SESSIONS, "search", f"earlier sessions: {arguments.query}")
    if run.is_replay:  # A replay may run without the other sessions: use the recorded result.
        recorded = await run.execute(READ, call.id, arguments, run.tool_context, run.read_digests)
        await run.record(started, *recorded.events)
        return
    try:
        found = _search(run, arguments)
    except Problem as problem:
        await run.record(CallRefused(call.id, SEARCH_SESSIONS, Text(str(problem))))
        return
    output = found.text
    if found.sessions:
        output = mark_as_data(found.text, ContentSource("memory", "earlier sessions"), run.boundary())
    events: list[SessionEvent] = [started]
    if any(run.reader.untrusted_sources(name) for name in found.sessions):
        label = source_label(ContentSource("import", "earlier sessions"))
        events.append(UntrustedContentRead(call.id, label))
    await run.record(*events, *with_excerpts(run, [ToolReturned(call.id, Text(output))]))


def _search(run: RunContext, arguments: SearchSessionsArguments) -> _Excerpt:
    """Return what the call requests. Raise Problem if the session or the event does not exist."""
    names = {row.id for row in _earlier_sessions(run)}
    if not arguments.session:
        return _hits(run, arguments.query, names)
    if arguments.session not in names:
        raise Problem(f"There is no earlier session {arguments.session!r} in this folder.", "", "Search for it.")
    if not arguments.event:
        return _hits(run, arguments.query, {arguments.session})
    return _Excerpt(_around(run, arguments.session, arguments.event), {arguments.session})


def _earlier_sessions(run: RunContext) -> list[SessionRow]:
    """Return the other sessions of this folder, without those in the trash and imported ones."""
    folder = str(run.tool_context.folder)
    return [
        row
        for row in run.reader.sessions()
        if row.folder == folder and row.id != run.session and not row.trashed and not row.imported_from
    ]


def _hits(run: RunContext, query: str, names: set[str]) -> _Excerpt:
    """Return a line for each event of these sessions that contains the words of the query."""
    hits = run.reader.search(query, MAX_HITS, names)
    if not hits:
        return _Excerpt("No earlier session in this folder contains these words.", set())
    lines = []
    for hit in hits:
        day = datetime.fromtimestamp(hit.at / SECOND).astimezone()
        lines.append(f"session {hit.session}, event {hit.seq}, {day:%Y-%m-%d}, {one_line(hit.title, 80)}: {hit.text}")
    return _Excerpt("\n".join(lines), {hit.session for hit in hits})


def _around(run: RunContext, session: str, seq: int) -> str:
    """Return the report of the run that contains event `seq`, and a line for each event around it."""
    lines = [*_report_lines(run, session, seq), ""]
    report_length = len(lines)
    for number, _, _, kind, payload in run.reader.raw_events(session, max(0, seq - AROUND - 1), seq + AROUND):
        event = load_texts(decode_event(kind, payload), run.reader.find_blob)
        text = " ".join(part for part in searchable_texts(event) if part)
        if text:
            lines.append(f"{number} {kind.replace('_', ' ')}: {one_line(text, LINE_CHARS)}")
    if len(lines) == report_length:
        raise Problem(f"There is no event {seq} in that session.", "", "Search for its number.")
    return "\n".join(lines)


def _report_lines(run: RunContext, session: str, seq: int) -> list[str]:
    """Return the lines of the report on the run that contains event `seq`."""
    builder = RunSummaryBuilder(run.full_text)
    run_number = 0
    for event_seq, event_run, at, kind, payload in run.reader.raw_events(session):
        run_number = event_run if event_seq <= seq else run_number
        builder.apply(EventRecord(session, event_seq, event_run, at, decode_event(kind, payload)))
    if run_number not in builder.summaries:
        return []
    report = report_run(builder.summaries[run_number])
    lines = [f"Run {run_number}: {report.run.task}", report.narrative, *report_details(report)]
    return [one_line(line, LINE_CHARS) for line in lines]
