"""Look after a command that runs in the background."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.tools.commands import Background
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool


@dataclass(frozen=True, slots=True)
class Check:
    id: Annotated[str, MinLen(1), MaxLen(100), Says("What run gave when it began the command.")]
    wait_s: Annotated[float, Ge(0), Le(600), Says("Wait so long for its end before looking.")] = 0.0
    stop: Annotated[bool, Says("End it.")] = False


async def run(parameters: Check, place: Place) -> Result:
    one = place.commands.named(parameters.id)
    if parameters.stop:
        one.running.kill("stopped as asked")
    if one.told and (parameters.stop or parameters.wait_s):
        await asyncio.wait({one.told}, timeout=None if parameters.stop else parameters.wait_s)
    return Result(one.news() + _state(one, parameters.id))


def _state(one: Background, name: str) -> str:
    done = one.running.finished
    if done is None:
        return f"\n[{name} is still running]"
    return f"\n[{name} has ended: {done.ended or f'exit code {done.exit_code}'}]"


CHECK = Tool(
    name="check",
    description="See what a command in the background has printed since the last look, and whether it has ended.",
    parameters=Check,
    kind="check",
    touches="nothing",
    object=lambda parameters: str(parameters.id),
    run=run,
)
