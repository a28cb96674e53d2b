"""Values that several events carry: tool calls, token usage and instruction files."""

from dataclasses import dataclass
from typing import Literal

from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by the model.

    `id` is unique in the session; `arguments` is JSON text exactly as the model wrote it.
    """

    id: str
    tool: str
    arguments: Text = Text()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one model reply, as reported by the provider; 0 also stands for "not reported".

    `cache_read` (prompt tokens served from the provider's cache) and `cache_write` (prompt tokens stored in it) are
    included in `input`; `reasoning` is included in `output`.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """An instruction file such as AGENTS.md, as it was when the run started.

    `size` is its length and `included` the length of the part in the prompt, both in characters; `tokens` is an
    estimate for that part. If the file could not be used, `error` says why.
    """

    name: str
    size: int = 0
    included: int = 0
    error: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """What the reply to a harness message has to contain. Providers that can enforce it do so.

    Attributes:
        kind: `call`: a call of one of `tools`; `file`: the whole new text of the file `path`, in a code block;
            `schema`: JSON that matches the output schema of the run.
        tools: the names of tools; () for all tools.
        path: for a `call` of `write`, the file that it has to create, if there is only one such file.
    """

    kind: Literal["call", "file", "schema"]
    tools: tuple[str, ...] = ()
    path: str = ""
