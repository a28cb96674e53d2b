"""The agent's own list of what there is to do, with at most one thing in progress."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool

SIGNS = {"done": "x", "doing": ">", "open": " "}


@dataclass(frozen=True, slots=True)
class Item:
    text: Annotated[str, MinLen(1), MaxLen(300)]
    status: Literal["open", "doing", "done"] = "open"


@dataclass(frozen=True, slots=True)
class Todo:
    items: Annotated[tuple[Item, ...], MaxLen(50), Says("The whole list: it replaces the one before.")]


async def run(parameters: Todo, place: Place) -> Result:
    doing = [item.text for item in parameters.items if item.status == "doing"]
    if len(doing) > 1:
        raise Problem(
            "Only one thing can be in progress.", f"These are: {'; '.join(doing)}.", "Set the others to open."
        )
    return Result("\n".join(f"[{SIGNS[item.status]}] {item.text}" for item in parameters.items) or "The list is empty.")


def row(parameters: Todo) -> str:
    """How far it is, and what is being done."""
    done = sum(item.status == "done" for item in parameters.items)
    now = next((item.text for item in parameters.items if item.status == "doing"), "")
    return f"{done} of {len(parameters.items)} done" + (f": {now}" if now else "")


TODO = Tool(
    name="todo",
    description="Keep a list of what there is to do. Send the whole list; at most one item is doing.",
    parameters=Todo,
    kind="todo",
    touches="nothing",
    object=row,
    run=run,
)
