"""The parameters of the `check_agent` tool, which waits for, messages or stops a sub-agent in the background."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.tools.parameter_description import ParameterDescription

CHECK_AGENT = "check_agent"
CHECK_AGENT_DESCRIPTION = (
    "Get the state or the result of a sub-agent in the background; wait for it, send it a message, or stop it."
)


@dataclass(frozen=True, slots=True)
class CheckAgentArguments:
    id: Annotated[str, MinLen(1), MaxLen(100), ParameterDescription("The id that delegate returned.")]
    message: Annotated[str, MaxLen(100_000), ParameterDescription("What to tell it first.")] = ""
    wait_s: Annotated[float, Ge(0), Le(600), ParameterDescription("Seconds to wait for it to end.")] = 0.0
    stop: Annotated[bool, ParameterDescription("Stop it.")] = False
