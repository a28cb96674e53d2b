"""Report a problem that the agent met and cannot, or should not, mend."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from core.domain.events import ProblemReported
from core.tools.place import Place
from core.tools.tool import Result, Tool


@dataclass(frozen=True, slots=True)
class ReportProblem:
    severity: Literal["low", "medium", "high"]
    what: Annotated[str, Field(min_length=1, max_length=2_000, description="What is wrong.")]
    cause: Annotated[str, Field(max_length=2_000, description="Why, as far as you know.")] = ""
    fix: Annotated[str, Field(max_length=2_000, description="What could be done about it.")] = ""


async def run(parameters: ReportProblem, place: Place) -> Result:
    return Result("Reported to the person.")


def fact(call_id: str, parameters: ReportProblem) -> ProblemReported:
    return ProblemReported(call_id, parameters.severity, parameters.what, parameters.cause, parameters.fix)


REPORT = Tool(
    name="report_problem",
    description="Tell the person of a problem you met: how bad it is, its cause, and what could be done.",
    parameters=ReportProblem,
    kind="problem",
    touches="nothing",
    object=lambda parameters: str(parameters.what),
    run=run,
    fact=fact,
)
