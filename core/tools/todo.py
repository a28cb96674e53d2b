"""The `todo` tool: the task list of the agent, with at most one item in progress."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext

CHECKBOXES = {"completed": "x", "in_progress": ">", "pending": " "}


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: Annotated[str, MinLen(1), MaxLen(300), ParameterDescription("The task.")]
    status: Annotated[Literal["pending", "in_progress", "completed"], ParameterDescription("Its state.")] = "pending"


@dataclass(frozen=True, slots=True)
class TodoArguments:
    items: Annotated[
        tuple[TodoItem, ...], MaxLen(50), ParameterDescription("The whole list; it replaces the previous one.")
    ]


async def run(parameters: TodoArguments, context: ToolContext) -> ToolResult:
    current = [item.text for item in parameters.items if item.status == "in_progress"]
    if len(current) > 1:
        raise Problem(
            "Only one item can be in progress.", f"These are: {'; '.join(current)}.", "Set the others to pending."
        )
    return ToolResult(
        "\n".join(f"[{CHECKBOXES[item.status]}] {item.text}" for item in parameters.items) or "The list is empty."
    )


def timeline_text(parameters: TodoArguments) -> str:
    """Return the progress and the current item, as the timeline shows them."""
    completed = sum(item.status == "completed" for item in parameters.items)
    active = next((item.text for item in parameters.items if item.status == "in_progress"), "")
    return f"{completed} of {len(parameters.items)} done" + (f": {active}" if active else "")


TODO = Tool(
    name="todo",
    description="Keep a task list. Send the whole list; at most one item is in_progress.",
    parameters=TodoArguments,
    kind="todo",
    access="none",
    describe=timeline_text,
    run=run,
)
