"""The `decide` tool: record a decision with the options considered, the choice and the reason."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.domain.decision_option import DecisionOption
from core.domain.events import DecisionMade
from core.domain.problems import Problem
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext

Prose = Annotated[str, MinLen(1), MaxLen(2_000)]
ProseList = Annotated[tuple[Prose, ...], MaxLen(10)]


@dataclass(frozen=True, slots=True)
class WeighedOption:
    label: Annotated[str, MinLen(1), MaxLen(200), ParameterDescription("Short name.")]
    pros: Annotated[ProseList, ParameterDescription("For it.")] = ()
    cons: Annotated[ProseList, ParameterDescription("Against it.")] = ()
    confidence: Annotated[int, Ge(-1), Le(100), ParameterDescription("0 to 100; -1 if unknown.")] = -1


@dataclass(frozen=True, slots=True)
class DecideArguments:
    intent: Annotated[str, MinLen(1), MaxLen(2_000), ParameterDescription("What is to be decided.")]
    options: Annotated[tuple[WeighedOption, ...], MinLen(1), MaxLen(8), ParameterDescription("The options considered.")]
    choice: Annotated[str, ParameterDescription("The label of the chosen option.")]
    reason: Annotated[Prose, ParameterDescription("Why.")]
    constraints: Annotated[ProseList, ParameterDescription("What limited the choice.")] = ()


async def run(parameters: DecideArguments, context: ToolContext) -> ToolResult:
    labels = [option.label for option in parameters.options]
    if parameters.choice not in labels:
        raise Problem(
            f"{parameters.choice!r} is not one of the options.", f"The options are: {', '.join(labels)}.", "Choose one."
        )
    if len(set(labels)) < len(labels):
        raise Problem("Two options have the same label.", "", "Use different labels.")
    return ToolResult(f"Recorded: {parameters.choice}.")


def decision_event(call_id: str, parameters: DecideArguments) -> DecisionMade:
    return DecisionMade(
        call_id=call_id,
        intent=parameters.intent,
        options=tuple(
            DecisionOption(label=option.label, pros=option.pros, cons=option.cons, confidence=option.confidence)
            for option in parameters.options
        ),
        choice=parameters.choice,
        reason=parameters.reason,
        constraints=parameters.constraints,
    )


DECIDE = Tool(
    name="decide",
    description="Record an important decision: the options considered, the choice and the reason.",
    parameters=DecideArguments,
    kind="decision",
    access="none",
    describe=lambda parameters: f"{parameters.intent}: {parameters.choice}",
    run=run,
    event=decision_event,
)
