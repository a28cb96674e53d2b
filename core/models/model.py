"""The `Model` protocol, with its requests, reply deltas and errors."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.domain.events import Usage
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Attachment, Text


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool definition to send to a model; `parameters` is the JSON schema of the tool's arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """Options for the reply that the user set. A field that is None is left out of the request."""

    effort: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None


def text_head(text: Text) -> str:
    """Return the text, or only the beginning of a long text, whose rest is in a blob."""
    return text.head


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A file whose whole new text a reply must give in a code block. `text` is the present text of the file."""

    path: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model.

    Attributes:
        script_position: the number of replies and failures in the run so far, for scripted models.
        purpose: the purpose of the request, such as a review or a summary; "" for a turn of the agent.
        output_schema: a JSON schema that the reply must match.
        required_calls: if not empty, the reply must be a call of one of these tools, written as JSON. Providers that
            cannot enforce that ignore it.
        asked_file: if set, the reply must give the new text of this file in a code block, which becomes a call.
        missing_file: a file that the task asks for and that does not exist yet, or "". A program in the reply that
            writes it is run.
        read_text: returns the full content of a text, loading a long one from the blob store.
        read_attachment: returns the bytes of an attachment; b"" if they have been deleted.
    """

    messages: Sequence[Message]
    script_position: int = 0
    purpose: str = ""
    tools: Sequence[ToolSpec] = ()
    options: ReplyOptions = ReplyOptions()
    output_schema: Mapping[str, Any] | None = None
    required_calls: Sequence[ToolSpec] = ()
    asked_file: AskedFile | None = None
    missing_file: str = ""
    read_text: Callable[[Text], str] = text_head
    read_attachment: Callable[[Attachment], bytes] = lambda attachment: b""
    system_prompt: str = ""

    def system_texts(self) -> list[str]:
        """Return the system prompt and then the texts of all system messages, without empty ones."""
        messages = [self.read_text(message.text) for message in self.messages if message.role == "system"]
        return [text for text in (self.system_prompt, *messages) if text]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call as the model requests it. `arguments` is JSON text. The engine assigns an id later."""

    tool: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """A piece of a streamed reply.

    Attributes:
        calls: complete tool calls; partial ones are never passed on.
        usage: the token counts of the whole reply.
        stop_reason: why the reply ended, see `core/models/stop_reasons.py`; "" if the model was done.
        provider_state: opaque JSON that the same provider expects back with the next request.
        note: a note for the user on how the reply was interpreted.
        cost: the cost of the reply in US dollars; None if unknown.
        written: the complete text as the model wrote it, if calls were found in it. Then `text` is the complete text
            without these calls, and replaces the earlier pieces.
        activity: what the provider is doing before the reply begins, such as loading the model. A delta with an
            activity
            contains nothing else.
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
        """Return a delta with the fields of the whole reply (usage, stop reason, …) updated from a later delta.

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
        """Stream the reply; raise `ModelError` if the request fails."""
        ...


class ModelError(Problem):
    """A failed request to a model.

    Attributes:
        retryable: whether the same request may succeed later.
        retry_after_s: how many seconds to wait before a retry, as requested by the provider; 0.0 if unspecified.
        kind: a key of `ERROR_KINDS` in `core/models/errors.py`, or "". It is also the error's code.
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
        super().__init__(message, cause, fix, kind)
        self.kind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
