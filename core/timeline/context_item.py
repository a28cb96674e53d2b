"""The items that fill a model's context window.

Their categories are system, tools, skills, memory, summary, user, harness, replies, and `results:TOOL` for the results
of a tool.
"""

from dataclasses import dataclass

RESULTS_PREFIX = "results:"


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One item of the context, such as a message or a tool result.

    With `truncated`, only the beginning of the item is sent, and `call_id` is the ID by which the model can read the
    whole result.
    """

    seq: int
    category: str
    description: str
    tokens: int
    call_id: str = ""
    truncated: bool = False
