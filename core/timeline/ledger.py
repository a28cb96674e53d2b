"""What fills the window of a model, item by item.

Categories are system, tools, skills, memory, summary, person, notes, replies, and `results:TOOL` for what a tool gave.
"""

from dataclasses import dataclass

RESULTS = "results:"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing the model is sent. `call`: the id by which a result is read back; `folded`: only its head is sent."""

    seq: int
    category: str
    words: str
    tokens: int
    call: str = ""
    folded: bool = False
