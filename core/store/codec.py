"""Facts to JSON and back: the door between frozen values and the file."""

import dataclasses
import json
from collections.abc import Callable
from functools import cache, reduce
from math import isnan
from sys import float_info
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_origin

from core.domain.events import KINDS, RunEvent, kind_of
from core.domain.text import Text
from core.store.blobs import blob_hash

if TYPE_CHECKING:
    from pydantic import TypeAdapter

WHOLE = 4096  # characters that stay in the entry; a longer text leaves its head there and goes to a blob
HEAD = 2048

FORMERLY = {"call_started": {"kind": "step"}}  # names of fields before they had the ones of today
NAMES: dict[type, str] = {event: kind_of(event) for event in KINDS.values()}


class Packed(NamedTuple):
    """An event as it is stored: in `event` long texts are heads, their wholes are in `blobs`."""

    whole: RunEvent
    event: RunEvent
    kind: str
    payload: str
    blobs: dict[str, bytes]


@cache
def adapter(kind: str) -> "TypeAdapter[RunEvent]":
    """What reads and writes facts of a kind. Made when the first one comes: a window opens without any."""
    from pydantic import TypeAdapter

    return TypeAdapter(KINDS[kind])


def pack(event: RunEvent) -> Packed:
    """Make an event ready to be written. What JSON cannot hold is replaced: half a character, a number without end."""
    try:
        packed = _pack(event)
    except ValueError:  # of Python, or of pydantic
        return _pack(_mended(event))
    # A number without end is written as null, which no fact says of itself.
    if ":null" in packed.payload and (mended := _mended(event)) != event:
        return _pack(mended)
    return packed


def decode(kind: str, payload: str | bytes) -> RunEvent:
    """The fact a line of the journal states."""
    try:
        return adapter(kind).validate_json(payload)
    except ValueError as error:
        plain = json.loads(payload)
        if kind in FORMERLY:
            return adapter(kind).validate_python({FORMERLY[kind].get(name, name): plain[name] for name in plain})
        if not _healed(plain, error):
            raise
        return adapter(kind).validate_python(plain)


def whole(event: RunEvent, read: Callable[[str], bytes | None]) -> RunEvent:
    """The same event with the texts that are kept apart read back; a head stays where they are gone."""
    return cast(RunEvent, _fill(event, read))


def _pack(event: RunEvent) -> Packed:
    blobs: dict[str, bytes] = {}
    light: RunEvent = _lighten(event, blobs)
    kind = NAMES[type(event)]
    payload = adapter(kind).serializer.to_json(light, exclude_defaults=True).decode()
    return Packed(event, light, kind, payload, blobs)


def _lighten(value: Any, blobs: dict[str, bytes]) -> Any:
    """The same value with every long text kept apart."""
    changes: dict[str, Any] = {}
    for name, nested in _fields(value.__class__):
        old = getattr(value, name)
        new = _keep(old, blobs) if nested is Text else tuple([_lighten(item, blobs) for item in old])
        if new is not old and new != old:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


def _fill(value: Any, read: Callable[[str], bytes | None]) -> Any:
    changes: dict[str, Any] = {}
    for name, nested in _fields(value.__class__):
        new = old = getattr(value, name)
        if nested is tuple:
            new = tuple([_fill(item, read) for item in old])
        elif old.blob and (body := read(old.blob)) is not None:
            new = Text(body.decode("utf-8", "replace"), old.size, old.blob)
        if new is not old and new != old:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


def _keep(text: Text, blobs: dict[str, bytes]) -> Text:
    if text.blob or len(text.head) <= WHOLE:
        return text
    body = text.head.encode()
    name = blob_hash(body)
    blobs[name] = body
    return Text(text.head[:HEAD], len(body), name)


def _healed(plain: Any, error: ValueError) -> bool:
    """Older programs wrote a number without end as null: it is told as 0. Was there one?"""
    found: list[Any] = [each["loc"] for each in getattr(error, "errors", list)() if each["type"] == "float_type"]
    for *path, name in found:
        at = reduce(lambda inner, step: inner[step], path, plain)
        if at[name] is not None:
            return False
        at[name] = 0.0
    return bool(found)


def _mended(value: Any) -> Any:
    """The same value with every lone surrogate replaced, and numbers without end by the largest there is."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return 0.0 if isnan(value) else max(-float_info.max, min(float_info.max, value))
    if isinstance(value, tuple):
        return tuple(map(_mended, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value)(*(_mended(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return value


@cache
def _fields(owner: type) -> tuple[tuple[str, Any], ...]:
    """The fields of a class that are texts, or tuples of values that may have some."""
    return tuple(
        (field.name, field.type if field.type is Text else tuple)
        for field in dataclasses.fields(owner)
        if field.type is Text or (get_origin(field.type) is tuple and dataclasses.is_dataclass(get_args(field.type)[0]))
    )
