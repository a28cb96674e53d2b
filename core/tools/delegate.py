"""What `delegate` takes. The engine itself begins the other session: it is a run like any other."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

NAME = "delegate"
DESCRIPTION = (
    "Give a piece of work to a sub-agent with a fresh memory. It sees only `task`, works in the same folder and "
    "replies once: say everything it needs to know, and what it should report."
)
DEEPEST = 3
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Caps:
    """What the sub-agent may use at most; 0 is a fair share of what is left."""

    rounds: Annotated[int, Field(ge=0, le=10_000)] = 0
    minutes: Annotated[float, Field(ge=0, le=10_000)] = 0.0
    tokens: Annotated[int, Field(ge=0, le=10**12)] = 0
    cost: Annotated[float, Field(ge=0, le=10**6)] = 0.0


@dataclass(frozen=True, slots=True)
class Delegate:
    task: Annotated[str, Field(min_length=1, max_length=100_000)]
    name: Annotated[str, Field(max_length=40, description="What the person sees it called.")] = ""
    agent: Annotated[str, Field(max_length=64, description="A profile the person has made; usually empty.")] = ""
    tools: Annotated[tuple[str, ...], Field(max_length=50, description="Only these of your tools; empty is all.")] = ()
    model: Annotated[str, Field(max_length=200, description="Empty is the model you are.")] = ""
    limits: Caps = Caps()
    schema: Annotated[
        dict[str, Any] | None, Field(description="A JSON Schema that its reply must fit, when you want data.")
    ] = None


def row(parameters: Delegate) -> str:
    """Who does what."""
    return f"{called(parameters)}: {parameters.task}"


def called(parameters: Delegate) -> str:
    """The name a person sees, and a script plays a part under."""
    return " ".join(parameters.name.split()) or parameters.agent or "helper"
