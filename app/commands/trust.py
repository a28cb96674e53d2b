"""The commands `trust`, `untrust` and `instructions` for project instructions, and `unreviewed` for untrusted files."""

import asyncio
import dataclasses
from posixpath import normpath

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import plural
from core.domain.notices import instruction_file_text
from core.domain.problems import Problem
from core.engine.policy.trust import FolderTrust
from core.workspace.paths import check_workspace


async def trust(context: Invocation) -> int:
    args, out = context.args, context.out
    folder = context.folder / args.folder
    if args.command == "trust":
        check_workspace(folder)
    await context.engine.trust(folder, args.command == "trust")
    status = await context.engine.folder_trust(folder)
    if args.json:
        out.write_json(dataclasses.asdict(status))
        return DONE
    out.write(f"{status.folder}: {describe_trust(status)}.")
    for name in status.instructions:
        out.write(f"  {name}" + (" (not followed, since it cannot be read)" if name in status.changed else ""))
    return DONE


async def instructions(context: Invocation) -> int:
    """List the instructions that a run in the folder would use, with their estimated tokens, or print its prompt."""
    args, out = context.args, context.out
    folder = check_workspace(context.folder / args.folder)
    if args.prompt:
        start = await context.engine.preview_start(folder, args.agent, args.model)
        prompt = {"system_prompt": start.system_prompt.head, "session_context": start.session_context.head}
        if args.json:
            out.write_json({**prompt, "tools": start.tools})
        else:
            out.write("\n\n".join((*prompt.values(), f"Tools: {', '.join(start.tools)}")))
        return DONE
    files = await asyncio.to_thread(context.engine.instructions, folder)
    for file in files:
        if args.json:
            out.write_json(dataclasses.asdict(file))
        else:
            out.write(instruction_file_text(file))
    if not args.json:
        used = [file for file in files if not file.error]
        tokens = sum(file.tokens for file in used)
        out.write(
            f"{plural(len(used), 'file')} used, about {tokens:,} tokens." if used else "No instructions are used."
        )
    return DONE


async def unreviewed(context: Invocation) -> int:
    """List the files that runs wrote after reading untrusted content, or mark them as reviewed."""
    args, out = context.args, context.out
    folder = context.folder / args.folder
    files = await context.engine.untrusted_files(folder)
    if args.action == "mark":
        reviewed = None if args.all else {normpath(name): "" for name in args.files}
        unknown = set(reviewed or ()) - {file.name.rstrip("/") for file in files}
        if unknown:
            raise Problem(f"{min(unknown)} is not in the list.", "", "List the files with `journeyman unreviewed`.")
        out.write(f"Marked {plural(await context.engine.mark_reviewed(folder, reviewed), 'file')} as reviewed.")
        return DONE
    for file in files:
        if args.json:
            out.write_json(dataclasses.asdict(file))
        else:
            out.write(f"{file.name}  written by session {file.session} after reading {', '.join(file.sources)}")
    if not files and not args.json:
        out.write("none")
    return DONE


def describe_trust(status: FolderTrust) -> str:
    """Describe whether a folder is trusted, and list its project instruction files."""
    count = f"{plural(len(status.instructions), 'file')} of project instructions"
    if status.trusted is None:
        return f"not trusted yet; {count}, not followed"
    if not status.trusted:
        return f"not trusted; {count}, not followed"
    if status.changed:
        return f"trusted; {count}; not followed, since changed: {', '.join(status.changed[:5])}"
    return f"trusted; {count}, followed until a file changes"
