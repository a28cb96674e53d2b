"""Report a problem that the agent met and cannot, or should not, mend."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen

from core.domain.events import ProblemReported
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool


@dataclass(frozen=True, slots=True)
class ReportProblem:
    severity: Literal["low", "medium", "high"]
    what: Annotated[str, MinLen(1), MaxLen(2_000), Says("What is wrong.")]
    cause: Annotated[str, MaxLen(2_000), Says("Why, as far as you know.")] = ""
    fix: Annotated[str, MaxLen(2_000), Says("What could be done about it.")] = ""


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
