"""The commands `trust` and `untrust`: whether the project instructions of a folder are followed, and `unreviewed`."""

import dataclasses
from posixpath import normpath

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import plural
from core.domain.problems import Problem
from core.engine.policy.trust import FolderTrust


async def trust(context: Invocation) -> int:
    typed, out = context.args, context.out
    folder = context.folder / typed.folder
    await context.engine.trust(folder, typed.command == "trust")
    found = await context.engine.folder_trust(folder)
    if typed.json:
        out.write_json(dataclasses.asdict(found))
        return DONE
    out.write(f"{found.folder}: {describe_trust(found)}.")
    for name in found.instructions:
        out.write(f"  {name}" + (" (not followed, since it cannot be read)" if name in found.changed else ""))
    return DONE


async def unreviewed(context: Invocation) -> int:
    """List the files that runs wrote after reading untrusted content, or mark them as reviewed."""
    typed, out = context.args, context.out
    folder = context.folder / typed.folder
    found = await context.engine.untrusted_files(folder)
    if typed.action == "mark":
        wanted = None if typed.all else {normpath(name): "" for name in typed.files}
        unknown = set(wanted or ()) - {file.name.rstrip("/") for file in found}
        if unknown:
            raise Problem(f"{min(unknown)} is not in the list.", "", "List the files with `journeyman unreviewed`.")
        out.write(f"Marked {plural(await context.engine.mark_reviewed(folder, wanted), 'file')} as reviewed.")
        return DONE
    for file in found:
        if typed.json:
            out.write_json(dataclasses.asdict(file))
        else:
            out.write(f"{file.name}  written by session {file.session} after reading {', '.join(file.sources)}")
    if not found and not typed.json:
        out.write("none")
    return DONE


def describe_trust(found: FolderTrust) -> str:
    """Describe whether a folder is trusted, and list its project instruction files."""
    number = f"{plural(len(found.instructions), 'file')} of project instructions"
    if found.trusted is None:
        return f"not trusted yet; {number}, not followed"
    if not found.trusted:
        return f"not trusted; {number}, not followed"
    if found.changed:
        return f"trusted; {number}; not followed, since changed: {', '.join(found.changed[:5])}"
    return f"trusted; {number}, followed until a file changes"
