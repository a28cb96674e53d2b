"""The messages sent to a model, which are built from events."""

from dataclasses import dataclass
from typing import Literal

from core.domain.events import ExpectedReply, ToolCall
from core.domain.text import Attachment, Text


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the conversation with the model.

    `seq` is the number of the event that the message was built from. `category` groups its tokens in the *Context* tab,
    such as `tools`. `expected_reply` is what the reply to a harness message has to contain.
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
    expected_reply: ExpectedReply | None = None


def result_position(call: str, messages: list[Message]) -> int:
    """Return the index at which to insert the result of a call: after its reply, in the order of the reply's calls."""
    index = len(messages)
    while index and not any(each.id == call for each in messages[index - 1].calls):
        index -= 1
    if not index:  # the reply with the call has been compacted away
        return len(messages)
    call_ids = [each.id for each in messages[index - 1].calls]
    earlier = call_ids[: call_ids.index(call)]
    while index < len(messages) and messages[index].call_id in earlier:
        index += 1
    return index
