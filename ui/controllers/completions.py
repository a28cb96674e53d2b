"""Lists what the user can mention in a message: files of the folder and custom commands."""

import asyncio
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

MAX_FILES: Final = 20_000


async def list_completions(folder: str, engine: "Engine") -> tuple[list[str], dict[str, str]]:
    """List the files and custom commands of a folder.

    Called on the engine's thread, which is not blocked: worker threads read the disk.
    """
    from core.tools.folder_walk import FolderWalk

    def walk() -> list[str]:
        return ["/".join(path) for path in islice(FolderWalk(Path(folder)).files(), MAX_FILES)]

    commands = await asyncio.to_thread(engine.slash_commands, Path(folder))
    return await asyncio.to_thread(walk), {name: command.description for name, command in commands.items()}
