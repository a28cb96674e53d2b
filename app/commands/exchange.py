"""`export` and `import`: sessions that leave, and those that others wrote."""

from collections import Counter
from datetime import datetime
from pathlib import Path

from app.commands.context import Context
from app.commands.exits import DONE, FAILED, USAGE
from app.commands.follow import session_named
from core.domain.problems import Problem
from core.exchange.imports import Brought


async def export(context: Context) -> int:
    typed, desk = context.typed, context.engine.desk
    session = session_named(context.engine, typed.session)
    if typed.preview:
        found = await desk.preview(session)
        for sample in found.samples:
            context.out.write(f"{sample.session} entry {sample.seq}: {sample.around}")
        context.out.complain(_removed(found.removed))
        return DONE
    if not typed.file:
        lines = _Lines(context)
        removed = await desk.pieces(session, typed.form, lines.tell, keep_secrets=typed.keep_secrets)
        lines.end()
        if removed:
            context.out.complain(_removed(removed))
        return DONE
    path = _path(context, typed.file)
    done = await desk.export(session, typed.form, path, keep_secrets=typed.keep_secrets)
    context.out.complain(f"{done.path}: {done.size:,} bytes. {_removed(done.removed)}")
    return DONE


class _Lines:
    """What comes in pieces is printed a line at a time."""

    def __init__(self, context: Context) -> None:
        self._out = context.out
        self._rest = ""

    def tell(self, piece: str) -> None:
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._out.write(line)

    def end(self) -> None:
        if self._rest:
            self._out.write(self._rest)


def _removed(removed: Counter[str]) -> str:
    if not removed:
        return "No secrets were found."
    kinds = ", ".join(f"{kind} {count}" for kind, count in removed.most_common())
    return f"Secrets removed: {removed.total():,} ({kinds})."


async def bring(context: Context) -> int:
    typed = context.typed
    if typed.found:
        return await _found(context)
    if not typed.files:
        context.out.complain("journeyman import: name a file, or --found to list what other agents left here")
        return USAGE
    code = DONE
    for name in typed.files:
        path = _path(context, name)
        try:
            brought = await context.engine.desk.bring(path)
        except Problem as problem:
            context.out.trouble(problem.trouble)
            code = FAILED
        else:
            _tell(context, path, brought)
    await context.engine.desk.make_findable()
    return code


def _tell(context: Context, path: Path, brought: Brought) -> None:
    if context.typed.json:
        plain = {"file": str(path), "agent": brought.agent, "sessions": brought.sessions, "added": brought.added}
        context.out.json(plain)
        return
    for name in brought.sessions if brought.added else brought.sessions[:1]:
        row = context.engine.session(name)
        what = f"{row.steps:,} steps, {row.tokens:,} tokens" if brought.added else "nothing new"
        context.out.write(f"{name}  {brought.agent}  {'  ' * row.depth}{row.title}  ({what})")


def _path(context: Context, name: str) -> Path:
    """As it was typed, read where it was typed."""
    return context.folder / Path(name).expanduser()


async def _found(context: Context) -> int:
    for each in await context.engine.desk.lying(Path.home()):
        when = datetime.fromtimestamp(each.changed).astimezone()
        if context.typed.json:
            plain = {"agent": each.agent, "file": str(each.path), "size": each.size, "changed": when.isoformat()}
            context.out.json(plain)
        else:
            context.out.write(f"{each.agent:14} {when:%Y-%m-%d %H:%M} {each.size:>12,}  {each.path}")
    return DONE
