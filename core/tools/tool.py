"""The definition of a tool: its parameters, its line in the timeline, and the function that executes a call."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.domain.events import SessionEvent
from core.domain.permissions import Access
from core.tools.tool_context import ToolContext
from core.workspace.file_change import FileChange

NOTHING_CHANGED = "Nothing was changed."  # ends the result of a successful call that had nothing to change
READ_ONLY_ACCESS: frozenset[Access] = frozenset({"none", "read"})


@dataclass(frozen=True, slots=True)
class MediaContent:
    """An image or a document for models that accept it."""

    name: str
    media_type: str
    body: bytes


class KnownFile(NamedTuple):
    """A file whose contents the model knows, and the digest of these contents."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call.

    Attributes:
        output: the text for the model.
        changes: the changed files.
        known_files: the files whose contents the model now knows.
        media: images and documents for the model.
        unrestorable: display names of further changed files, whose contents were not recorded.
        changed_history: the git folders in which references, such as branches and tags, were changed.
    """

    output: str
    failed: bool = False
    exit_code: int | None = None
    changes: tuple[FileChange, ...] = ()
    known_files: tuple[KnownFile, ...] = ()
    media: tuple[MediaContent, ...] = ()
    unrestorable: tuple[str, ...] = ()
    changed_history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        parameters: a dataclass, from which the JSON Schema is made.
        kind: the kind of step as which the timeline shows a call.
        access: what a call affects, which decides whether it needs approval. The policy reads the file, command or
            address from the parameter `path`, `command` or `url`.
        describe: returns what a call acts on, for the timeline.
        run: runs a call.
        with_known_files: adds to the parameters the digests of the files that the session has read.
        event: returns an event that is recorded before the result of the call.
        paths: returns the files that a call names, if they are not in a parameter called `path`.
        has_lasting_effect: whether a call has an effect that outlasts the run, although it changes no file.
    """

    name: str
    description: str
    parameters: type[Any]
    kind: str
    access: Access
    describe: Callable[[Any], str]
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    with_known_files: Callable[[Any, Mapping[str, str]], Any] | None = None
    event: Callable[[str, Any], SessionEvent] | None = None
    paths: Callable[[Any], tuple[str, ...]] | None = None
    has_lasting_effect: bool = False
