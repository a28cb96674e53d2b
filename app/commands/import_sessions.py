"""The command `import`: imports sessions from transcripts of other agents."""

from datetime import datetime
from pathlib import Path

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE, FAILED, USAGE
from core.domain.problems import ErrorDetails, Problem
from core.exchange.session_importer import SessionImportResult


async def import_sessions(context: Invocation) -> int:
    typed = context.args
    if typed.found:
        return await _found(context)
    if not typed.files:
        do = "Name a file, or list the transcripts on this computer with --found."
        context.out.print_error(ErrorDetails("There is nothing to import.", "", do))
        return USAGE
    code = DONE
    for name in typed.files:
        path = context.path(name)
        try:
            brought = await context.engine.exchange.import_file(path)
        except Problem as problem:
            context.out.print_error(problem.details)
            code = FAILED
        else:
            _tell(context, path, brought)
    await context.engine.exchange.index_backlog()
    return code


def _tell(context: Invocation, path: Path, brought: SessionImportResult) -> None:
    if context.args.json:
        plain = {"file": str(path), "agent": brought.agent, "sessions": brought.sessions, "added": brought.added_events}
        context.out.write_json(plain)
        return
    for name in brought.sessions if brought.added_events else brought.sessions[:1]:
        row = context.engine.session(name)
        what = f"{row.steps:,} steps, {row.tokens:,} tokens" if brought.added_events else "nothing new"
        context.out.write(f"{name}  {brought.agent}  {'  ' * row.depth}{row.title}  ({what})")


async def _found(context: Invocation) -> int:
    found = list(await context.engine.exchange.find_transcripts(Path.home()))
    for each in found:
        when = datetime.fromtimestamp(each.modified_at).astimezone()
        if context.args.json:
            plain = {"agent": each.agent, "file": str(each.path), "size": each.size, "changed": when.isoformat()}
            context.out.write_json(plain)
        else:
            context.out.write(f"{each.agent:14} {when:%Y-%m-%d %H:%M} {each.size:>12,}  {each.path}")
    if not found and not context.args.json:
        context.out.write("No transcripts of other agents on this computer.")
    return DONE
