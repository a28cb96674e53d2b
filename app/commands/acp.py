"""`acp`: let an editor drive the engine over the standard streams."""

import asyncio

from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import read_file
from app.editor import Editor
from core.domain.events import RunStarted
from core.domain.problems import Problem
from core.domain.text import Text
from core.models.catalogue import SCRIPTED


async def acp(context: Context) -> int:
    typed, settings = context.typed, context.engine.settings.now
    script = read_file(context, typed.script) if typed.script else ""
    model = SCRIPTED if script else typed.model or settings.model
    if not model:
        do = "Name one: journeyman acp --model PROVIDER/MODEL, or set it in the settings."
        raise Problem("No model is set up.", "Neither --model nor the settings name one.", do)
    began = RunStarted(
        model,
        settings.max_rounds,
        Text(script),
        settings.max_minutes,
        settings.max_tokens,
        settings.max_cost,
        agent=typed.agent,
        mode=typed.mode,
    )
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    if context.out.listen is None:
        raise Problem("There is nobody to listen to.", "The standard input is closed.", "An editor starts this.")
    context.out.listen(lines.put_nowait)

    async def write(line: bytes) -> None:
        context.out.write(line.decode().rstrip("\n"))

    await Editor(context.engine, began, write).serve(lines)
    return DONE
