"""`sessions` and `show`."""

from datetime import datetime

from app.commands import past
from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import session_named, step_line
from app.output import moment, plain_entry
from core.domain.clock import SECOND
from core.domain.sessions import SessionRow


async def sessions(context: Context) -> int:
    if context.typed.search:
        return await _search(context, context.typed.search)
    for row in context.engine.sessions():
        if not _listed(row, context.typed.which):
            continue
        if context.typed.json:
            context.out.json(plain_session(row))
        else:
            when = datetime.fromtimestamp(row.updated / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
            pinned = "* " if row.pinned else ""
            context.out.write(f"{row.id}  {when}  {row.status:11}  {pinned}{_title(row)}")
    return DONE


def _listed(row: SessionRow, which: str) -> bool:
    """As in the window: what is put away is listed when it is asked for."""
    if which == "trash":
        return row.trashed > 0
    return not row.trashed and (which == "all" or (row.archived > 0) == (which == "archived"))


def _title(row: SessionRow) -> str:
    """A sub-agent's work is listed as such."""
    return f"{'  ' * row.depth}↳ {row.called}: {row.title}" if row.parent else row.title


async def show(context: Context) -> int:
    engine, out = context.engine, context.out
    session = session_named(engine, context.typed.session)
    if context.typed.failures or context.typed.report:
        return await past.show(context, session)
    if context.typed.json:
        async for entry in engine.entries(session):
            out.json(plain_entry(entry, engine.blob))
        return DONE
    row = engine.session(session)
    out.write(f"{row.title}\n{row.folder} · {row.model} · {row.status} · {row.rounds} rounds · {row.tokens} tokens")
    for step in engine.steps(row):
        if step.number:
            out.write(step_line(step))
        elif step.kind in {"person", "reply"}:
            out.write(f"       {'You: ' if step.kind == 'person' else ''}{step.object}")
        elif step.kind == "memory":
            out.write(f"       Recalled {step.object}")
    return DONE


def plain_session(row: SessionRow) -> dict[str, object]:
    plain = row._asdict()
    return plain | {"opened": moment(row.opened), "updated": moment(row.updated)}


async def _search(context: Context, text: str) -> int:
    """Sessions whose title or folder holds the text, and every place where its words occur."""
    named = [row for row in context.engine.sessions() if text.casefold() in f"{row.title}\n{row.folder}".casefold()]
    hits = await context.engine.find(text)
    if context.typed.json:
        found = {row.id: row for row in named} | {hit.session: context.engine.session(hit.session) for hit in hits}
        for name, row in found.items():
            places = [{"seq": hit.seq, "kind": hit.kind, "at": moment(hit.at)} for hit in hits if hit.session == name]
            context.out.json({**plain_session(row), "hits": places})
        return DONE
    if waiting := context.engine.desk.unsearched():
        context.out.complain(f"{waiting:,} facts of imports are not indexed yet: search again in a moment.")
    for row in named:
        context.out.write(f"{row.id}  {row.title}")
    for hit in hits:
        context.out.write(f"{hit.session}  {hit.title}  · entry {hit.seq}, {hit.kind.replace('_', ' ')}")
    if not named and not hits:
        context.out.write("These words occur in no session.")
    return DONE
