"""The messages sent to a model, which are built from events."""

from dataclasses import dataclass
from typing import Literal

from core.domain.events import ToolCall
from core.domain.text import Attachment, Text


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the conversation.

    `seq` is the sequence number of the event that the message was built from. `category` groups its tokens in the
    *Context* tab, such as `tools`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: Text = Text()
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    failed: bool = False
    reasoning: Text = Text()
    provider_state: Text = Text()
    attachments: tuple[Attachment, ...] = ()
    seq: int = 0
    category: str = ""
