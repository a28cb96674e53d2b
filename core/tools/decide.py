"""State a decision: the options weighed, the one chosen, and why."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.domain.decision import Choice
from core.domain.events import DecisionMade
from core.domain.problems import Problem
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool

Words = Annotated[str, MinLen(1), MaxLen(2_000)]
Few = Annotated[tuple[Words, ...], MaxLen(10)]


@dataclass(frozen=True, slots=True)
class Weighed:
    label: Annotated[str, MinLen(1), MaxLen(200)]
    pros: Few = ()
    cons: Few = ()
    confidence: Annotated[int, Ge(-1), Le(100), Says("0 to 100; leave out when you cannot say.")] = -1


@dataclass(frozen=True, slots=True)
class Decide:
    intent: Annotated[str, MinLen(1), MaxLen(2_000), Says("What is wanted.")]
    options: Annotated[tuple[Weighed, ...], MinLen(1), MaxLen(8)]
    choice: Annotated[str, Says("The label of the option that is taken.")]
    reason: Words
    constraints: Few = ()


async def run(parameters: Decide, place: Place) -> Result:
    labels = [option.label for option in parameters.options]
    if parameters.choice not in labels:
        raise Problem(
            f"{parameters.choice!r} is none of the options.", f"They are: {', '.join(labels)}.", "Choose one."
        )
    if len(set(labels)) < len(labels):
        raise Problem("Two options have the same label.", "", "Name them apart.")
    return Result(f"Recorded: {parameters.choice}.")


def fact(call_id: str, parameters: Decide) -> DecisionMade:
    options = tuple(Choice(o.label, o.pros, o.cons, o.confidence) for o in parameters.options)
    return DecisionMade(
        call_id, parameters.intent, options, parameters.choice, parameters.reason, parameters.constraints
    )


DECIDE = Tool(
    name="decide",
    description="Record a decision that matters: the options you weighed, the one you take, and why.",
    parameters=Decide,
    kind="decision",
    touches="nothing",
    object=lambda parameters: f"{parameters.intent}: {parameters.choice}",
    run=run,
    fact=fact,
)
