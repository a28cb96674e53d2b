"""What a tool is: parameters, a row a person can read, and an act."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Touches = Literal["nothing", "reads", "writes", "runs"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after; None where there was, or is, no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Result:
    """What the model is told, and what was changed."""

    output: str
    failed: bool = False
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """`object` names what a call acts on, in a row; `run` acts. `parameters` is a dataclass: the schema follows."""

    name: str
    description: str
    parameters: type[Any]
    kind: str
    touches: Touches
    object: Callable[[Any], str]
    run: Callable[[Any, Path], Awaitable[Result]]


async def to_its_end(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """In a thread. A thread cannot be cut, so a stop waits for it, and comes when its effect can be told."""
    job = asyncio.get_running_loop().run_in_executor(None, lambda: work(*given, **named))
    stopped = False
    while not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            stopped = True
    task = asyncio.current_task()
    if stopped and task:
        task.cancel()
    return job.result()
