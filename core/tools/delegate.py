"""What `delegate` takes. The engine itself begins the other session: it is a run like any other."""

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen

from core.tools.says import Says

NAME = "delegate"
DESCRIPTION = (
    "Give work to a sub-agent with a fresh memory, in the same folder. It knows only what `task` says and replies "
    "once: tell it all it needs, and what to report."
)
DEEPEST = 3
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Caps:
    """What the sub-agent may use at most; 0 is a fair share of what is left."""

    rounds: Annotated[int, Ge(0), Le(10_000)] = 0
    minutes: Annotated[float, Ge(0), Le(10_000)] = 0.0
    tokens: Annotated[int, Ge(0), Le(10**12)] = 0
    cost: Annotated[float, Ge(0), Le(10**6)] = 0.0


@dataclass(frozen=True, slots=True)
class Delegate:
    task: Annotated[str, MinLen(1), MaxLen(100_000)]
    name: Annotated[str, MaxLen(40), Says("What the person sees it called.")] = ""
    agent: Annotated[str, MaxLen(64), Says("A profile that the person has made; usually empty.")] = ""
    tools: Annotated[tuple[str, ...], MaxLen(50), Says("Only these of your tools; empty is all.")] = ()
    model: Annotated[str, MaxLen(200), Says("Empty is the model you are.")] = ""
    limits: Caps = Caps()
    schema: Annotated[dict[str, Any] | None, Says("A JSON Schema its reply must fit, when you want data.")] = None


def row(parameters: Delegate) -> str:
    """Who does what."""
    return f"{called(parameters)}: {parameters.task}"


def called(parameters: Delegate) -> str:
    """The name a person sees, and a script plays a part under."""
    return " ".join(parameters.name.split()) or parameters.agent or "helper"
