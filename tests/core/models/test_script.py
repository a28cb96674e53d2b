"""Tests of scripts for the scripted model: validation and playback."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.events import ToolCall, Usage
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Text
from core.models.catalog import ModelCatalog
from core.models.model import ModelError, ReplyDelta, Request
from core.models.script import parse_script
from core.models.scripted_model import ScriptedModel
from core.settings.api_keys import ApiKeys
from core.settings.schema import Settings

WRONG: list[tuple[Any, str]] = [
    ([], "the script"),
    ({"replay": []}, "replay"),
    ({"then": "stop"}, "then"),
    ({"then": []}, "At then"),
    ({"window": 0}, "window"),
    ({"window": True}, "At window"),
    ({"roles": []}, "roles"),
    ({"roles": {"review": [3]}}, r"roles\.review\[0\]"),
    ({"answers": []}, "answers"),
    ({"answers": {"Yes": {"letter": 3}}}, r"answers\.Yes\.letter"),
    ({"replies": {}}, "replies"),
    ({"replies": [{}, 3]}, r"replies\[1\]"),
    ({"replies": [{"texts": ""}]}, r"replies\[0\].*texts"),
    ({"replies": [{"text": 3}]}, r"replies\[0\]\.text"),
    ({"replies": [{"reasoning": None}]}, r"replies\[0\]\.reasoning"),
    ({"replies": [{"calls": {}}]}, r"replies\[0\]\.calls"),
    ({"replies": [{"calls": ["read"]}]}, r"replies\[0\]\.calls\[0\]"),
    ({"replies": [{"calls": [{"name": 3}]}]}, r"calls\[0\]\.name"),
    ({"replies": [{"calls": [{"name": "read", "args": {}}]}]}, r"calls\[0\].*args"),
    ({"replies": [{"usage": 3}]}, r"replies\[0\]\.usage"),
    ({"replies": [{"usage": {"input": -1}}]}, r"usage\.input"),
    ({"replies": [{"usage": {"total": 1}}]}, r"usage.*total"),
    ({"replies": [{"chunks": "3"}]}, r"replies\[0\]\.chunks"),
    ({"replies": [{"delay_s": True}]}, r"replies\[0\]\.delay_s"),
    ({"replies": [{"delay_s": float("nan")}]}, r"\.delay_s"),
    ({"replies": [{"input": float("inf")}]}, r"replies\[0\].*input"),
    ({"replies": [{"seconds": float("inf")}]}, r"\.seconds"),
    ({"replies": [{"fault": "fire"}]}, r"replies\[0\]\.fault"),
    ({"replies": [{"fault": {}}]}, r"\.fault"),
    ({"replies": [{"fault": "cut", "after_chars": "x"}]}, r"replies\[0\]\.after_chars"),
    ({"replies": [{"fault": "rate_limited", "retry_after_s": []}]}, r"replies\[0\]\.retry_after_s"),
]


@pytest.mark.parametrize(("plain", "place"), WRONG, ids=[place for _, place in WRONG])
def test_an_error_is_reported_with_its_location(plain: Any, place: str) -> None:
    with pytest.raises(Problem, match=place):
        parse_script(json.dumps(plain))


NO_JSON = [" ", "{", "[" * 100_000, '{"window": ' + "9" * 5000 + "}", "\0", '{"replies": [1e999]}']


@pytest.mark.parametrize("text", NO_JSON, ids=range(len(NO_JSON)))
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="not valid"):
        parse_script(text)


def test_a_missing_script_names_the_way_to_set_one() -> None:
    with pytest.raises(Problem, match=r"no script for the scripted model.*--script FILE"):
        parse_script("")


NAMES = st.sampled_from(["replies", "text", "calls", "name", "usage", "then", "fault", "roles", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
    max_leaves=12,
)


@given(JSON)
def test_any_value_is_a_script_or_refused(plain: Any) -> None:
    try:
        parse_script(json.dumps(plain))
    except Problem:
        return


def play(line: dict[str, Any], messages: tuple[Message, ...] = ()) -> list[ReplyDelta]:
    """The deltas of one reply."""

    async def main() -> list[ReplyDelta]:
        model = ScriptedModel(parse_script(json.dumps({"replies": [line]})))
        return [delta async for delta in model.stream(Request(messages))]

    return asyncio.run(main())


def said(deltas: list[ReplyDelta]) -> str:
    return "".join(delta.text for delta in deltas)


@given(st.text(max_size=30).filter(lambda text: "{{" not in text), st.integers(0, 40))
def test_a_reply_is_streamed_or_sent_whole(text: str, chunks: int) -> None:
    deltas = play({"text": text, "chunks": chunks, "usage": {"input": 3, "output": 4}})
    assert said(deltas) == text
    assert len([delta for delta in deltas if delta.text]) <= max(1, chunks)
    assert deltas[-1].usage == Usage(3, 4)


TALK = (
    Message("user", Text("go")),
    Message("assistant", Text(), (ToolCall("c1", "read"), ToolCall("c2", "ask_user"))),
    Message("tool", Text("contents"), call_id="c1"),
    Message("tool", Text("the answer"), call_id="c2"),
)


def test_placeholders_of_answers_and_results_are_filled_in() -> None:
    line = {
        "text": "{{answer}}, {{result}}",
        "reasoning": "{{result}}",
        "calls": [{"name": "write", "arguments": {"path": "a", "content": ["{{answer}}", {"deep": "{{result}}"}]}}],
    }
    deltas = play(line, TALK)
    assert said(deltas) == "the answer, contents" and deltas[0].reasoning == "contents"
    assert json.loads(deltas[-1].calls[0].arguments)["content"] == ["the answer", {"deep": "contents"}]
    assert said(play(line)) == ", "
    sloppy = play({"calls": [{"name": "read", "arguments": '{"path": "{{answer}}'}]}, TALK)
    assert sloppy[-1].calls[0].arguments == '{"path": "the answer'


def test_requests_after_the_last_reply() -> None:
    replies = [{"text": "a"}, {"text": "b"}]
    wanted = {"end": "", "repeat_last": "b", "loop": "b"}
    for then, text in wanted.items():
        assert parse_script(json.dumps({"replies": replies, "then": then})).reply_at("", 3).text == text
    assert parse_script('{"then": "loop"}').reply_at("", 0).text == ""
    roles = parse_script('{"roles": {"review": [{"text": "r"}]}}')
    assert [roles.reply_at("review", n).text for n in (0, 5)] == ["r", "r"]
    assert roles.reply_at("summary", 0).text == "ok"


@pytest.mark.parametrize(
    ("line", "text", "after_s"),
    [
        ({"fault": "rate_limited", "retry_after_s": 7}, "", 7.0),
        ({"fault": "server_error"}, "", 0.0),
        ({"fault": "cut", "text": "abcdef", "after_chars": 4, "chunks": 2}, "abcd", 0.0),
        ({"fault": "silence", "seconds": 0.01}, "", 0.0),
    ],
)
def test_scripted_errors_are_raised(line: dict[str, Any], text: str, after_s: float) -> None:
    async def main() -> None:
        heard = ""
        with pytest.raises(ModelError) as raised:
            async for delta in ScriptedModel(parse_script(json.dumps({"replies": [line]}))).stream(Request(())):
                heard += delta.text
        assert (heard, raised.value.retry_after_s, raised.value.retryable) == (text, after_s, True)

    asyncio.run(main())


def test_a_delay_is_spread_over_the_chunks() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        model = ScriptedModel(parse_script('{"replies": [{"text": "abcd", "chunks": 4, "delay_s": 0.2}]}'))
        began = loop.time()
        times = [loop.time() - began async for delta in model.stream(Request(())) if delta.text]
        assert len(times) == 4 and all(time > 0.045 * place for place, time in enumerate(times, 1))

    asyncio.run(main())


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(Problem, match="no model 'other'"):
        ModelCatalog(Settings, ApiKeys({}), {}).model("other", "{}")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("Yes", "Go: c"), ("Yes\nbut slowly", "Go: c"), ("No", "Stop"), ("Maybe", "You wrote Maybe"), ("", "You wrote ")],
)
def test_the_texts_of_a_reply_follow_the_last_answer(answer: str, expected: str) -> None:
    answers = {"Yes": {"end": "Go: {{result}}"}, "No": {"end": "Stop"}, "": {"end": "You wrote {{answer}}"}}
    script = parse_script(json.dumps({"replies": [{"text": "{{end}}"}], "answers": answers}))
    calls = Message("assistant", Text(), (ToolCall("c1", "read"), ToolCall("c2", "ask_user")))
    results = Message("tool", Text("c"), call_id="c1"), Message("tool", Text(answer), call_id="c2")

    async def main() -> str:
        return said([delta async for delta in ScriptedModel(script).stream(Request((calls, *results)))])

    assert asyncio.run(main()) == expected
