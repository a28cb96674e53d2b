"""What a tool is: parameters, a row a person can read, and an act."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.domain.events import RunEvent
from core.tools.place import Place

Touches = Literal["nothing", "reads", "writes", "runs", "network"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after; None where there was, or is, no file."""

    path: str
    before: bytes | None
    after: bytes | None
    modes: tuple[int, int] = field(default=(0, 0), compare=False)  # permission bits; 0 where they are not known


@dataclass(frozen=True, slots=True)
class Shown:
    """An image or a document for a model that can see it."""

    name: str
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What the model is told, what was changed, and the files it has now seen: path → digest of the contents.

    `unkept` are files that were changed as well, as they are shown: their contents are not known.
    """

    output: str
    failed: bool = False
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()
    seen: tuple[tuple[str, str], ...] = ()
    shown: tuple[Shown, ...] = ()
    unkept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """`object` names what a call acts on, in a row; `run` acts. `parameters` is a dataclass: the schema follows.

    `knowing` adds to the parameters what the session has seen, before the act. `fact` is what a call states by itself,
    recorded before its result. `paths` are the files it names, where they are not in a parameter called `path`.
    `lasts`: what it does outlasts the run, though it touches nothing.
    """

    name: str
    description: str
    parameters: type[Any]
    kind: str
    touches: Touches
    object: Callable[[Any], str]
    run: Callable[[Any, Place], Awaitable[Result]]
    knowing: Callable[[Any, Mapping[str, str]], Any] | None = None
    fact: Callable[[str, Any], RunEvent] | None = None
    paths: Callable[[Any], tuple[str, ...]] | None = None
    lasts: bool = False
