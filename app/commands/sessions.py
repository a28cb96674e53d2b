"""The commands `sessions`, which lists and searches sessions, and `show`, which prints one."""

from collections.abc import Sequence
from datetime import date

from app.commands.failures import show_runs as show_runs
from app.commands.invocation import Invocation
from app.commands.session_lines import is_listed, list_lines
from app.commands.timeline_lines import timeline_lines
from app.process.exit_codes import DONE
from app.process.output import event_json, iso_time
from core.domain.search_query import SessionQuery, matches_filters, parse_query
from core.domain.sessions import SessionRow
from core.store.backup import local_date
from core.store.search import SearchHit


async def sessions(context: Invocation) -> int:
    if context.args.search:
        return await _search(context, context.args.search)
    rows, which = context.engine.sessions(), context.args.which
    if context.args.json:
        for row in rows:
            if is_listed(row, which):
                context.out.write_json(session_json(row))
    else:
        for line in list_lines(rows, which):
            context.out.write(line)
    return DONE


async def show(context: Invocation) -> int:
    engine, out = context.engine, context.out
    session = context.session_id()
    if context.args.failures or context.args.report:
        return await show_runs(context, session)
    if context.args.json:
        async for entry in engine.events(session):
            out.write_json(event_json(entry, engine.read_blob))
        return DONE
    row = engine.session(session)
    for line in timeline_lines(row, engine.timeline_steps(row)):
        out.write(line)
    return DONE


def session_json(row: SessionRow) -> dict[str, object]:
    """Return a session as a JSON object. A cost of 0 with tokens means that the price is unknown, so it is null."""
    price_is_unknown = not row.cost and row.tokens
    plain = row._asdict() | {"cost": None if price_is_unknown else row.cost}
    return plain | {"created_at": iso_time(row.created_at), "updated_at": iso_time(row.updated_at)}


async def _search(context: Invocation, text: str) -> int:
    """Print the sessions whose title or folder contains the words, then every event that contains them.

    Filters in the text, such as a folder or a date, limit both to the sessions that fit.
    """
    query, today = parse_query(text), local_date()
    title_matches = [row for row in context.engine.sessions() if _has_words(query, row, today)]
    hits = await context.engine.search(text)
    if context.args.json:
        _print_hits_as_json(context, title_matches, hits)
        return DONE
    if backlog := context.engine.exchange.search_backlog():
        context.out.print_warning(f"{backlog:,} imported events are not indexed yet. Search again in a moment.")
    for row in title_matches:
        context.out.write(f"{row.id}  {row.title}")
    for hit in hits:
        context.out.write(f"{hit.session}  {hit.title}  · event {hit.seq}, {hit.kind.replace('_', ' ')}")
    if not title_matches and not hits:
        context.out.write("No session matches." if query.filters else "No session contains these words.")
    return DONE


def _print_hits_as_json(context: Invocation, title_matches: Sequence[SessionRow], hits: Sequence[SearchHit]) -> None:
    """Print each session that matches, with its events that match."""
    rows = {row.id: row for row in title_matches}
    rows |= {hit.session: context.engine.session(hit.session) for hit in hits}
    for session, row in rows.items():
        in_session = [hit for hit in hits if hit.session == session]
        hits_json = [{"seq": hit.seq, "kind": hit.kind, "at": iso_time(hit.at)} for hit in in_session]
        context.out.write_json({**session_json(row), "hits": hits_json})


def _has_words(query: SessionQuery, row: SessionRow, today: date) -> bool:
    """Return whether a session fits the filters and has the words in its title or folder.

    Return false if the query filters by kind of step: it then looks for steps, not for titles.
    """
    text = f"{row.title}\n{row.folder}".casefold()
    return not query.step_kinds and query.words.casefold() in text and matches_filters(query, row, today)
