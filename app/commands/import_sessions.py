"""The command `import`: imports sessions from transcripts of other agents."""

from datetime import datetime
from pathlib import Path

from app.commands.invocation import Invocation, UsageProblem
from app.process.exit_codes import DONE, FAILED
from core.domain.problems import Problem
from core.exchange.import_result import SessionImportResult


async def import_sessions(context: Invocation) -> int:
    args = context.args
    if args.found:
        return await _list_transcripts(context)
    if not args.files:
        fix = "Name a file, or list the transcripts on this computer with --found."
        raise UsageProblem("There is nothing to import.", "", fix)
    code = DONE
    for name in args.files:
        path = context.path(name)
        try:
            result = await context.engine.exchange.import_file(path)
        except Problem as problem:
            context.out.print_error(problem.details)
            code = FAILED
        else:
            _print_import(context, path, result)
    await context.engine.exchange.index_backlog()
    return code


def _print_import(context: Invocation, path: Path, result: SessionImportResult) -> None:
    if context.args.json:
        plain = {"file": str(path), "agent": result.agent, "sessions": result.sessions, "added": result.added_events}
        context.out.write_json(plain)
        return
    for name in result.sessions if result.added_events else result.sessions[:1]:
        row = context.engine.session(name)
        figures = f"{row.steps:,} steps, {row.tokens:,} tokens" if result.added_events else "nothing new"
        context.out.write(f"{name}  {result.agent}  {'  ' * row.depth}{row.title}  ({figures})")


async def _list_transcripts(context: Invocation) -> int:
    transcripts = list(await context.engine.exchange.find_transcripts(Path.home()))
    for transcript in transcripts:
        when = datetime.fromtimestamp(transcript.modified_at).astimezone()
        if context.args.json:
            plain = {
                "agent": transcript.agent,
                "file": str(transcript.path),
                "size": transcript.size,
                "changed": when.isoformat(),
            }
            context.out.write_json(plain)
        else:
            context.out.write(f"{transcript.agent:14} {when:%Y-%m-%d %H:%M} {transcript.size:>12,}  {transcript.path}")
    if not transcripts and not context.args.json:
        context.out.write("No transcripts of other agents on this computer.")
    return DONE
