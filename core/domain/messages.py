"""What a model is sent: messages made from facts."""

from dataclasses import dataclass
from typing import Literal

from core.domain.events import Call
from core.domain.text import Attachment, Text


@dataclass(frozen=True, slots=True)
class Message:
    """`seq` is the entry it comes from, and `kind` what it is in the ledger of the context."""

    role: Literal["system", "user", "assistant", "tool"]
    text: Text = Text()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    failed: bool = False
    reasoning: Text = Text()
    carry: Text = Text()
    attachments: tuple[Attachment, ...] = ()
    seq: int = 0
    kind: str = ""
