"""`trust`: obey what a folder brings along, as it is now, or take its files for words of strangers."""

import dataclasses

from app.commands.context import Context
from app.commands.exits import DONE
from core.engine.trust import FolderTrust


async def trust(context: Context) -> int:
    typed, out = context.typed, context.out
    folder = context.folder / typed.folder
    await context.engine.trust(folder, not typed.no)
    found = await context.engine.folder_trust(folder)
    if typed.json:
        out.json(dataclasses.asdict(found))
        return DONE
    out.write(f"{found.folder}: {said_of(found)}.")
    for name in found.brought:
        out.write(f"  {name}" + (" (cannot be read, so not obeyed)" if name in found.changed else ""))
    return DONE


def said_of(found: FolderTrust) -> str:
    """What holds for a folder, in a few words."""
    number = f"{len(found.brought)} file{'' if len(found.brought) == 1 else 's'} for agents"
    if found.trusted is None:
        return f"you have not said whether you trust it; {number}, not obeyed"
    if not found.trusted:
        return f"not trusted; {number}, not obeyed"
    if found.changed:
        return f"trusted; {number}, of which {', '.join(found.changed[:5])} changed since and is not obeyed"
    return f"trusted; {number}, obeyed as long as they stay as they are"
