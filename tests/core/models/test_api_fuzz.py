"""Fuzz tests: replies with arbitrary values replaced are parsed or raise `ModelError`, and nothing else."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from core.models.errors import ERROR_KINDS, error_from_response
from core.models.model import ModelError
from core.models.model_lists import parse_anthropic_models, parse_ollama_model, parse_ollama_names, parse_openai_models
from core.models.stream_parsers import StreamEvent
from tests.core.models.replies import ERROR_CONTEXT, REPLY_PARSERS, make_body_parser, make_reply_parser
from tests.core.models.test_api_contract import ALL

ODD = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.sampled_from(["", "x", "stop", "\ud800", "[DONE]"]),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(["type", "text", "id"]), inner),
    max_leaves=4,
)
RECORDED = {
    wire: [
        [json.loads(event.data) for event in make_body_parser(wire).feed(one.data) if event.data.startswith("{")]
        for one in ALL
        if one.wire == wire and len(one.data) < 6_000
    ]
    for wire in REPLY_PARSERS
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all nested values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, inner in items for place in places(inner, (*path, name)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of the value with one nested value replaced."""
    if not path:
        return new
    target = whole = copy.deepcopy(value)
    for name in path[:-1]:
        target = target[name]
    target[path[-1]] = new
    return whole


@pytest.mark.parametrize("wire", sorted(REPLY_PARSERS))
@settings(max_examples=200)
@given(draw=some.data())
def test_any_value_may_replace_any_other(wire: str, draw: some.DataObject) -> None:
    events = draw.draw(some.sampled_from(RECORDED[wire]))
    for _ in range(draw.draw(some.integers(1, 3))):
        place = draw.draw(some.integers(0, len(events) - 1))
        path = draw.draw(some.sampled_from(places(events[place])))
        events = [*events[:place], changed(events[place], path, draw.draw(ODD)), *events[place + 1 :]]
    fold = make_reply_parser(wire)
    try:
        for plain in events:
            if not fold.ended:
                fold.feed(StreamEvent("", json.dumps(plain)))
        last = fold.finish()
    except ModelError as fault:
        assert fault.kind in ERROR_KINDS
        return
    assert all(isinstance(text, str) for text in [*fold.text, *fold.reasoning, last.stop_reason, last.provider_state])
    assert all(isinstance(text, str) for call in last.calls for text in (call.tool, call.arguments))
    if last.usage is not None:
        assert 0 <= last.usage.cache_read <= last.usage.input and 0 <= last.usage.reasoning <= last.usage.output


@given(
    ODD, some.integers(400, 599), some.dictionaries(some.sampled_from(["retry-after", "x-should-retry"]), some.text())
)
def test_any_error_is_reported(plain: Any, status: int, headers: dict[str, str]) -> None:
    for body in (plain, {"error": plain}, {"message": plain}, {"detail": [plain]}):
        fault = error_from_response(ERROR_CONTEXT, status, headers, json.dumps(body).encode())
        assert fault.kind in ERROR_KINDS
        assert fault.retry_after_s >= 0


@settings(max_examples=300)
@given(ODD, some.sampled_from(["id", "meta", "pricing", "capabilities", "architecture", "context_length"]))
def test_any_model_list_is_read(plain: Any, name: str) -> None:
    for rows in (plain, {"data": plain}, {"data": [plain]}, {"data": [{"id": "a", name: plain}]}):
        for listed in (*parse_openai_models(rows), *parse_anthropic_models(rows)):
            assert isinstance(listed.id, str)
            assert listed.id
    assert all(isinstance(one, str) for one in parse_ollama_names({"models": [{"name": plain}, plain]}))
    assert parse_ollama_model("a", {"model_info": plain, "capabilities": plain}).id == "a"
