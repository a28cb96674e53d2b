"""Encodes events as JSON with long texts moved to blobs, and decodes them."""

import dataclasses
import json
from collections.abc import Callable
from functools import cache, reduce
from math import isnan
from sys import float_info
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_origin

from core.domain.events import EVENT_CLASSES, EVENT_KINDS, SessionEvent
from core.domain.text import Text, to_utf8
from core.store.blobs import blob_hash

if TYPE_CHECKING:
    from pydantic import TypeAdapter

INLINE_LIMIT = 4096  # in characters; of a longer text, the event has only the head, and a blob has it all
HEAD_LENGTH = 2048  # characters of a long text that stay in the event


class EncodedEvent(NamedTuple):
    """An event in the form in which it is stored.

    In `stored_event`, long texts are truncated to their heads. `blobs` has the full texts by hash.
    """

    full_event: SessionEvent
    stored_event: SessionEvent
    kind: str
    payload: str
    blobs: dict[str, bytes]


@cache
def type_adapter(kind: str) -> "TypeAdapter[SessionEvent]":
    """Return the pydantic adapter for events of a kind.

    It is created on first use, because importing pydantic is slow.
    """
    from pydantic import TypeAdapter

    return TypeAdapter(EVENT_CLASSES[kind])


def encode_event(event: SessionEvent) -> EncodedEvent:
    """Encode an event. What JSON cannot represent is replaced: surrogates, infinities and NaN."""
    try:
        encoded = _encode(event)
    except ValueError:  # raised by Python or pydantic for a surrogate
        return _encode(_sanitized(event))
    # pydantic writes infinity and NaN as null. No valid event has a null in their place.
    if ":null" in encoded.payload and (sanitized := _sanitized(event)) != event:
        return _encode(sanitized)
    return encoded


def decode_event(kind: str, payload: str | bytes) -> SessionEvent:
    """Decode a stored event. Forms that earlier versions wrote are converted."""
    try:
        return type_adapter(kind).validate_json(payload)
    except ValueError as error:
        fields = json.loads(payload)
        if not _replace_nulls(fields, error):
            raise
        return type_adapter(kind).validate_python(fields)


def load_texts(event: SessionEvent, read: Callable[[str], bytes | None]) -> SessionEvent:
    """Return the event with its long texts loaded from blobs by `read`.

    If a blob is missing, the text stays truncated.
    """
    return cast(SessionEvent, _load_texts(event, read))


def _encode(event: SessionEvent) -> EncodedEvent:
    blobs: dict[str, bytes] = {}
    stored_event: SessionEvent = _truncate_texts(event, blobs)
    kind = EVENT_KINDS[type(event)]
    payload = type_adapter(kind).serializer.to_json(stored_event, exclude_defaults=True).decode()
    return EncodedEvent(full_event=event, stored_event=stored_event, kind=kind, payload=payload, blobs=blobs)


def _truncate_texts(value: Any, blobs: dict[str, bytes]) -> Any:
    """Return the value with every long text truncated. Add the full texts to `blobs` by their hash."""
    changes: dict[str, Any] = {}
    for name, field_type in _text_fields(value.__class__):
        old = getattr(value, name)
        new = _truncate(old, blobs) if field_type is Text else tuple([_truncate_texts(item, blobs) for item in old])
        if new is not old and new != old:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


def _load_texts(value: Any, read: Callable[[str], bytes | None]) -> Any:
    changes: dict[str, Any] = {}
    for name, field_type in _text_fields(value.__class__):
        new = old = getattr(value, name)
        if field_type is tuple:
            new = tuple([_load_texts(item, read) for item in old])
        elif old.blob and (body := read(old.blob)) is not None:
            new = Text(body.decode("utf-8", "replace"), old.size, old.blob)
        if new is not old and new != old:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


def _truncate(text: Text, blobs: dict[str, bytes]) -> Text:
    if text.blob or len(text.head) <= INLINE_LIMIT:
        return text
    body = text.head.encode()
    name = blob_hash(body)
    blobs[name] = body
    return Text(text.head[:HEAD_LENGTH], len(body), name)


def _replace_nulls(fields: Any, error: ValueError) -> bool:
    """Replace null by 0 where validation required a number: earlier versions wrote infinity and NaN as null.

    Return whether there were such nulls, and no other value in the place of a number.
    """
    locations: list[Any] = [item["loc"] for item in getattr(error, "errors", list)() if item["type"] == "float_type"]
    for *path, name in locations:
        container = reduce(lambda value, key: value[key], path, fields)
        if container[name] is not None:
            return False
        container[name] = 0.0
    return bool(locations)


def _sanitized(value: Any) -> Any:
    """Return the value as JSON can represent it: surrogates joined or escaped, infinities clamped, and NaN as 0."""
    if isinstance(value, str):
        return to_utf8(value).decode()
    if isinstance(value, float):
        if isnan(value):
            return 0.0
        return max(-float_info.max, min(float_info.max, value))
    if isinstance(value, tuple):
        return tuple(map(_sanitized, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value)(*(_sanitized(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return value


@cache
def _text_fields(owner: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a dataclass that may contain texts: their names, and Text or tuple as their type."""
    return tuple(
        (field.name, field.type if field.type is Text else tuple)
        for field in dataclasses.fields(owner)
        if field.type is Text or (get_origin(field.type) is tuple and dataclasses.is_dataclass(get_args(field.type)[0]))
    )
