"""The `Model` protocol and the requests, reply deltas and errors that pass through it."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.domain.events import Usage
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Attachment, Text


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool definition as it is sent to the model; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """Reply options set by the user. A field that is None is left out of the request."""

    effort: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None


def text_head(text: Text) -> str:
    """Return the part of a text that is kept in memory; the rest of a long text is in a blob."""
    return text.head


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A file whose whole new text a reply has to give in a code block, with the text that it has now."""

    path: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model.

    Attributes:
        script_position: how many replies and failures the run has had; only scripted models read it.
        purpose: what the request is for, such as a review or a summary; empty for the agent itself.
        output_schema: the JSON schema the reply must match.
        required_calls: the reply has to be a call of one of these tools, written as JSON, if there are any; ignored by
            providers that cannot enforce it.
        asked_file: the reply is asked for the whole new text of this file in a code block, which is taken as a call.
        read_text: returns the full content of a text, loading it from the blob store if it is long.
        read_attachment: returns the bytes of an attachment; empty if they have been deleted.
    """

    messages: Sequence[Message]
    script_position: int = 0
    purpose: str = ""
    tools: Sequence[ToolSpec] = ()
    options: ReplyOptions = ReplyOptions()
    output_schema: Mapping[str, Any] | None = None
    required_calls: Sequence[ToolSpec] = ()
    asked_file: AskedFile | None = None
    read_text: Callable[[Text], str] = text_head
    read_attachment: Callable[[Attachment], bytes] = lambda attachment: b""
    system_prompt: str = ""

    def system_texts(self) -> list[str]:
        """Return the system prompt, then the text of all system messages, in order and without empty ones."""
        messages = [self.read_text(message.text) for message in self.messages if message.role == "system"]
        return [text for text in (self.system_prompt, *messages) if text]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call as requested by the model. `arguments` is JSON text; the engine assigns the call id."""

    tool: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """A piece of a streamed reply.

    Attributes:
        calls: complete tool calls; partial ones are never passed on.
        usage: token counts of the whole reply.
        stop_reason: why the reply ended, as in `core/models/stop_reasons.py`; empty if the model was done.
        provider_state: opaque JSON that the same provider expects back with the next request.
        note: a remark for the user about how the reply was read.
        cost: the cost of the reply in US dollars; None if unknown.
        written: the complete text as the model wrote it, if calls were read from it. `text` is then the complete text
            without the calls, and replaces the pieces that came before.
        activity: what the provider does before the reply begins, such as loading the model. Such a delta contains
            nothing else and is not a part of the reply.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[RequestedCall, ...] = ()
    usage: Usage | None = None
    stop_reason: str = ""
    provider_state: str = ""
    note: str = ""
    cost: float | None = None
    written: str = ""
    activity: str = ""

    def merge(self, later: "ReplyDelta") -> "ReplyDelta":
        """Return the fields of the whole reply (usage, stop reason, …) updated by `later`.

        Text, reasoning and calls are not accumulated.
        """
        if later.usage is None and not (later.stop_reason or later.provider_state or later.note or later.written):
            return self
        return ReplyDelta(
            usage=later.usage or self.usage,
            stop_reason=later.stop_reason or self.stop_reason,
            provider_state=later.provider_state or self.provider_state,
            note=later.note or self.note,
            cost=self.cost if later.cost is None else later.cost,
            written=later.written or self.written,
        )


class Model(Protocol):
    """A language model that streams replies. `window` is the context window in tokens; 0 if unknown."""

    @property
    def window(self) -> int: ...

    def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the reply. Raises `ModelError` if the request fails."""
        ...


class ModelError(Problem):
    """A failed model request.

    Attributes:
        retryable: whether the same request may succeed later.
        retry_after_s: the shortest time to wait before retrying, in seconds, as requested by the provider.
        kind: a machine-readable error kind; `core/models/errors.py` lists them.
    """

    def __init__(
        self,
        message: str,
        cause: str = "",
        fix: str = "",
        *,
        retryable: bool = True,
        retry_after_s: float = 0.0,
        kind: str = "",
    ) -> None:
        super().__init__(message, cause, fix)
        self.kind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
