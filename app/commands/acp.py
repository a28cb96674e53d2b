"""The command `acp`: lets an editor use the engine over standard input and output."""

import asyncio

from app.acp.editor_connection import EditorConnection
from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import ascii_json
from core.domain.events import RunStarted
from core.domain.problems import Problem
from core.domain.text import Text
from core.models.catalog import SCRIPTED


async def acp(context: Invocation) -> int:
    args, settings = context.args, context.engine.settings.current
    script = context.read_text(args.script) if args.script else ""
    model = SCRIPTED if script else args.model or context.engine.default_model(args.agent)
    if not model:
        fix = "Choose one with `journeyman models use PROVIDER/MODEL`, or with --model."
        raise Problem("No model is set up.", "Neither --model nor the settings name one.", fix)
    run_started = RunStarted(
        model=model,
        max_turns=settings.max_turns,
        script=Text(script),
        max_minutes=settings.max_minutes,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        profile=args.agent,
        mode=args.mode,
    )
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    if context.out.read_input is None:
        raise Problem(
            "There is no editor to talk to.", "Standard input is closed.", "Let an editor start this command."
        )
    context.out.read_input(lines.put_nowait)

    async def write(line: bytes) -> None:
        context.out.write(ascii_json(line.decode().rstrip("\n")))

    await EditorConnection(context.engine, run_started, write).serve(lines)
    return DONE
