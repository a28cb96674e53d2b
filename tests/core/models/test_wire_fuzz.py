"""Replies in which any value may be any other: they are read, or refused in words, and nothing else happens."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from core.models.faults import KINDS, refused
from core.models.lists import anthropic_list, chat_list, ollama_model, ollama_names
from core.models.model import Fault
from core.models.sse import Event
from tests.core.models.replies import FOLDS, PLACE, fold_of, parser_of
from tests.core.models.test_wire_contract import ALL

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
        [json.loads(event.data) for event in parser_of(wire).feed(one.data) if event.data.startswith("{")]
        for one in ALL
        if one.wire == wire and len(one.data) < 6_000
    ]
    for wire in FOLDS
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, inner in items for place in places(inner, (*path, name)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at a place."""
    if not path:
        return new
    target = whole = copy.deepcopy(value)
    for name in path[:-1]:
        target = target[name]
    target[path[-1]] = new
    return whole


@pytest.mark.parametrize("wire", sorted(FOLDS))
@settings(max_examples=200)
@given(draw=some.data())
def test_any_value_may_be_any_other(wire: str, draw: some.DataObject) -> None:
    events = draw.draw(some.sampled_from(RECORDED[wire]))
    for _ in range(draw.draw(some.integers(1, 3))):
        place = draw.draw(some.integers(0, len(events) - 1))
        path = draw.draw(some.sampled_from(places(events[place])))
        events = [*events[:place], changed(events[place], path, draw.draw(ODD)), *events[place + 1 :]]
    fold = fold_of(wire)
    try:
        for plain in events:
            if not fold.ended:
                fold.take(Event("", json.dumps(plain)))
        last = fold.whole()
    except Fault as fault:
        assert fault.kind in KINDS
        return
    assert all(isinstance(text, str) for text in [*fold.text, *fold.reasoning, last.stop, last.carry])
    assert all(isinstance(text, str) for call in last.calls for text in (call.tool, call.arguments))
    if last.usage is not None:
        assert 0 <= last.usage.cached <= last.usage.input and 0 <= last.usage.reasoning <= last.usage.output


@given(
    ODD, some.integers(400, 599), some.dictionaries(some.sampled_from(["retry-after", "x-should-retry"]), some.text())
)
def test_any_error_is_told(plain: Any, status: int, headers: dict[str, str]) -> None:
    for body in (plain, {"error": plain}, {"message": plain}, {"detail": [plain]}):
        fault = refused(PLACE, status, headers, json.dumps(body).encode())
        assert fault.kind in KINDS
        assert fault.after_s >= 0


@settings(max_examples=300)
@given(ODD, some.sampled_from(["id", "meta", "pricing", "capabilities", "architecture", "context_length"]))
def test_any_list_is_read(plain: Any, name: str) -> None:
    for rows in (plain, {"data": plain}, {"data": [plain]}, {"data": [{"id": "a", name: plain}]}):
        for listed in (*chat_list(rows), *anthropic_list(rows)):
            assert isinstance(listed.id, str)
            assert listed.id
    assert all(isinstance(one, str) for one in ollama_names({"models": [{"name": plain}, plain]}))
    assert ollama_model("a", {"model_info": plain, "capabilities": plain}).id == "a"
