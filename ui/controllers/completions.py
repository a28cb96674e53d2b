"""Lists what the user can mention in a message: files of the folder and custom commands."""

import asyncio
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

MAX_FILES: Final = 20_000


class Completions(NamedTuple):
    """What can be completed in a message: names after `@`, and commands with their descriptions after `/`."""

    mentions: list[str]
    commands: dict[str, str]


async def list_completions(folder: str, engine: "Engine") -> Completions:
    """List the files and custom commands of a folder.

    Called on the engine's thread, which is not blocked: worker threads read the disk.
    """
    from core.tools.folder_walk import FolderWalk

    def walk() -> list[str]:
        return ["/".join(path) for path in islice(FolderWalk(Path(folder)).files(), MAX_FILES)]

    commands = await asyncio.to_thread(engine.slash_commands, Path(folder))
    descriptions = {name: command.description for name, command in commands.items()}
    return Completions(mentions=await asyncio.to_thread(walk), commands=descriptions)
