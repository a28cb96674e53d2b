"""The `report_issue` tool: tell the user of an issue that the agent cannot, or should not, fix."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen

from core.domain.events import IssueReported
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext


@dataclass(frozen=True, slots=True)
class ReportIssueArguments:
    severity: Annotated[Literal["low", "medium", "high"], ParameterDescription("How bad it is.")]
    what: Annotated[str, MinLen(1), MaxLen(2_000), ParameterDescription("What is wrong.")]
    cause: Annotated[str, MaxLen(2_000), ParameterDescription("Why, as far as you know.")] = ""
    fix: Annotated[str, MaxLen(2_000), ParameterDescription("How it could be fixed.")] = ""


async def run(parameters: ReportIssueArguments, context: ToolContext) -> ToolResult:
    return ToolResult("Reported to the user.")


def issue_event(call_id: str, parameters: ReportIssueArguments) -> IssueReported:
    return IssueReported(
        call_id=call_id,
        severity=parameters.severity,
        description=parameters.what,
        cause=parameters.cause,
        fix=parameters.fix,
    )


REPORT_ISSUE = Tool(
    name="report_issue",
    description="Report an issue to the user that you cannot or should not fix yourself.",
    parameters=ReportIssueArguments,
    kind="issue",
    access="none",
    describe=lambda parameters: str(parameters.what),
    run=run,
    event=issue_event,
)
