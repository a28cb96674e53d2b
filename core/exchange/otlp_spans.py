"""OTLP spans, parsed from JSON or protobuf into one class."""

import struct
from dataclasses import dataclass, field
from typing import Any

from core.domain.protobuf import fields

MAX_DEPTH = 32  # levels of nested attribute values that are decoded
TIME_LIMIT = 1 << 64  # an OTLP time is an unsigned 64-bit number of nanoseconds since 1970


@dataclass(frozen=True, slots=True)
class OtlpSpan:
    """A span of a trace.

    Times are in microseconds since 1970, 0 if unknown. `parent` is empty for the root span. `scope` names the
    instrumentation library.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any] = field(default_factory=dict)
    failed: bool = False
    status_message: str = ""
    scope: str = ""


def from_json(request: Any) -> list[OtlpSpan]:
    """Return the spans of an export request in JSON. Malformed parts are skipped."""
    spans: list[OtlpSpan] = []
    for resource in _list(request, "resourceSpans"):
        for scope in _list(resource, "scopeSpans"):
            instrumentation = scope.get("scope")
            name = str(instrumentation.get("name") or "") if isinstance(instrumentation, dict) else ""
            spans += [span for plain in _list(scope, "spans") if (span := _span_from_json(plain, name))]
    return spans


def from_protobuf(body: bytes) -> list[OtlpSpan]:
    """Return the spans of an export request in protobuf. Raises ValueError if it is malformed."""
    resources = (value for number, value in fields(body) if number == 1)
    scopes = [list(fields(value)) for resource in resources for number, value in fields(resource) if number == 2]
    spans: list[OtlpSpan] = []
    for scope in scopes:
        name = next((_text(dict(fields(value)).get(1)) for number, value in scope if number == 1), "")
        spans += [_span_from_fields(value, name) for number, value in scope if number == 2]
    return [span for span in spans if span.trace and span.id]


def _span_from_fields(body: bytes, scope: str) -> OtlpSpan:
    plain: dict[int, Any] = {}
    attributes: dict[str, Any] = {}
    for number, value in fields(body):
        if number == 9:
            attributes.update([_pair(value, 0)])
        else:
            plain[number] = value
    status = dict(fields(plain.get(15, b"")))
    return OtlpSpan(
        trace=_hex(plain.get(1)),
        id=_hex(plain.get(2)),
        parent=_hex(plain.get(4)),
        name=_text(plain.get(5)),
        start=_time(plain.get(7)),
        end=_time(plain.get(8)),
        attributes=attributes,
        failed=status.get(3) == 2,
        status_message=_text(status.get(2)),
        scope=scope,
    )


def _pair(body: bytes, depth: int) -> tuple[str, Any]:
    values = dict(fields(body))
    return _text(values.get(1, b"")), _any(values.get(2, b""), depth)


def _any(body: bytes, depth: int) -> Any:
    """Decode an AnyValue message, the value of an attribute."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    for number, value in fields(body):
        match number:
            case 1:
                return _text(value)
            case 2:
                return bool(value)
            case 3 if isinstance(value, int):
                return value - (1 << 64) if value >> 63 else value
            case 4 if isinstance(value, int):
                return struct.unpack("<d", value.to_bytes(8, "little"))[0]
            case 5:
                return [_any(item, depth + 1) for each, item in fields(value) if each == 1]
            case 6:
                return dict(_pair(item, depth + 1) for each, item in fields(value) if each == 1)
            case _:
                pass
    return None


def _span_from_json(plain: Any, scope: str) -> OtlpSpan | None:
    if not isinstance(plain, dict) or not plain.get("traceId") or not plain.get("spanId"):
        return None
    status = plain.get("status")
    if not isinstance(status, dict):
        status = {}
    attributes = {
        str(attribute.get("key")): _plain(attribute.get("value"), 0) for attribute in _list(plain, "attributes")
    }
    return OtlpSpan(
        trace=str(plain["traceId"]).lower(),
        id=str(plain["spanId"]).lower(),
        parent=str(plain.get("parentSpanId") or "").lower(),
        name=str(plain.get("name") or ""),
        start=_time(plain.get("startTimeUnixNano")),
        end=_time(plain.get("endTimeUnixNano")),
        attributes=attributes,
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        status_message=str(status.get("message") or ""),
        scope=scope,
    )


def _plain(value: Any, depth: int) -> Any:
    """Decode an attribute value in JSON, for example `{"intValue": "7"}` to 7. Some programs write 7 instead of "7"."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    for name, inner in value.items():
        match name:
            case "intValue":
                return _integer(inner)
            case "arrayValue":
                return [_plain(item, depth + 1) for item in _list(inner, "values")]
            case "kvlistValue":
                return {str(pair.get("key")): _plain(pair.get("value"), depth + 1) for pair in _list(inner, "values")}
            case "stringValue" | "boolValue" | "doubleValue":
                return inner
            case _:
                pass
    return None


def _list(plain: Any, name: str) -> list[Any]:
    items = plain.get(name) if isinstance(plain, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _integer(value: Any) -> int:
    """Return an integer, or 0 if the value is not one."""
    try:
        return int(value) if isinstance(value, int | float | str) else 0
    except (ValueError, OverflowError):
        return 0


def _time(value: Any) -> int:
    """Convert nanoseconds to microseconds; 0 if the value is not a valid time."""
    nanoseconds = _integer(value)
    return nanoseconds // 1000 if 0 < nanoseconds < TIME_LIMIT else 0


def _hex(body: Any) -> str:
    return body.hex() if isinstance(body, bytes) else ""


def _text(body: Any) -> str:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else ""
