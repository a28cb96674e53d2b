"""The parameters of the `delegate` tool. The engine executes its calls, which start sessions of sub-agents."""

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen

from core.tools.parameter_description import MAX_NUMBER, ParameterDescription

NAME = "delegate"
DESCRIPTION = (
    "Give a task to a sub-agent with a fresh context, in the same folder. It sees only `task` and replies once: "
    "include all it needs and what to report. In the background it returns an id at once: go on with other work, and "
    "its result comes as a message. Follow it with check_agent."
)
MAX_DEPTH = 3
MAX_PARALLEL = 4


@dataclass(frozen=True, slots=True)
class SubagentLimits:
    turns: Annotated[int, Ge(0), Le(10_000), ParameterDescription("Model replies.")] = 0
    minutes: Annotated[float, Ge(0), Le(10_000), ParameterDescription("Running time.")] = 0.0
    tokens: Annotated[int, Ge(0), Le(MAX_NUMBER), ParameterDescription("In and out.")] = 0
    cost: Annotated[float, Ge(0), Le(10**6), ParameterDescription("US dollars.")] = 0.0


@dataclass(frozen=True, slots=True)
class DelegateArguments:
    task: Annotated[str, MinLen(1), MaxLen(100_000), ParameterDescription("The complete task.")]
    name: Annotated[str, MaxLen(40), ParameterDescription("Its name, shown to the user.")] = ""
    agent: Annotated[str, MaxLen(64), ParameterDescription("An agent profile of the user; usually empty.")] = ""
    tools: Annotated[tuple[str, ...], MaxLen(50), ParameterDescription("The tools it gets; empty: all of yours.")] = ()
    model: Annotated[str, MaxLen(200), ParameterDescription("Empty: your model.")] = ""
    limits: Annotated[SubagentLimits, ParameterDescription("The most it may use; 0: a fair share of what is left.")] = (
        SubagentLimits()
    )
    background: Annotated[bool, ParameterDescription("Do not wait for it.")] = False
    schema: Annotated[dict[str, Any] | None, ParameterDescription("JSON Schema that the reply must match.")] = None


def timeline_text(parameters: DelegateArguments) -> str:
    """Return the line that the timeline shows for the call."""
    return f"{subagent_name(parameters)}: {parameters.task}"


def subagent_name(parameters: DelegateArguments) -> str:
    """Return the name of the sub-agent: it is shown to the user, and selects the replies of a scripted model."""
    return " ".join(parameters.name.split()) or parameters.agent or "helper"
