"""Observed deviations of real servers from the documented APIs, each of which must be parsed."""

import asyncio
import json
from typing import Any

import pytest

from core.domain.events import Usage
from core.models.api_client import UNKNOWN_LIMITS
from core.models.api_formats import API_FORMATS
from core.models.endpoint import ProviderEndpoint
from core.models.model import ModelError, RequestedCall
from tests.core.models.replies import (
    GOLDEN,
    SHORT_TIMEOUTS,
    assistant_message,
    make_request,
    parse_reply,
    run_exchange,
    tool_message,
    user_message,
)
from tests.servers.scripted_server import answer, chunk, failure, scripted_server, stream


def recorded(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def test_1_llamacpp_starts_with_empty_content() -> None:
    assert b'"content":null' in recorded("llamacpp/scripted-chat-tool.sse")
    assert parse_reply("chat", [recorded("llamacpp/scripted-chat-tool.sse")]).text == "I will read it."


def test_2_llamacpp_blocks_overlap() -> None:
    """A call starts before the text block has ended and without input, and reasoning has no signature."""
    got = parse_reply("anthropic", [recorded("llamacpp/scripted-anthropic-tool.sse")])
    assert (got.text, got.calls) == ("I will read it.", [RequestedCall("read_file", '{"path":"a.txt"}')])
    pieces = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "a"}},
        {"type": "message_stop"},
    ]
    got = parse_reply("anthropic", [b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces)])
    assert (got.text, got.reasoning, got.carry) == ("b", "a", "")


def test_3_llamacpp_sends_no_item_numbers() -> None:
    data = recorded("llamacpp/scripted-responses-tool.sse")
    assert b"output_index" not in data and b"arguments.done" not in data
    assert parse_reply("responses", [data]).calls == [RequestedCall("read_file", '{"path":"a.txt"}')]


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_4_llamacpp_error_codes_are_numbers(wire: str) -> None:
    """The same body in every API format; its code for invalid JSON is 500 although the status is 400."""
    body = recorded("llamacpp/overflow.txt").partition(b"\r\n\r\n")[2] or recorded("llamacpp/overflow.txt")[-197:]
    got, _ = run_exchange(wire, failure("400 Bad Request", body))
    assert got.kind == "too_long" and "12011 tokens" in str(got.fault)
    got, _ = run_exchange(wire, failure("400 Bad Request", {"error": {"code": 500, "message": "parse error"}}))
    assert got.kind == "rejected"


def test_5_transformers_sends_no_done_and_rejects_unknown_fields() -> None:
    data = recorded("transformers/chat.sse")
    assert b"[DONE]" not in data
    got, _ = run_exchange("chat", answer(data))
    assert (got.stop, got.usage) == ("length", Usage(53, 6))
    refused = failure("422 Unprocessable Entity", {"detail": "Unexpected fields in the request: {'stream_options'}"})
    got, server = run_exchange("chat", refused, answer(data))
    assert got.kind == "" and len(server.requests) == 2


def test_5_a_failing_model_list_is_a_separate_error() -> None:
    async def run() -> str:
        async with scripted_server(failure("500 Internal Server Error", b"")) as server:
            try:
                await API_FORMATS["chat"](
                    ProviderEndpoint(server.url, timeouts=SHORT_TIMEOUTS), "", UNKNOWN_LIMITS
                ).list_models()
            except ModelError as fault:
                return fault.kind
            return ""

    assert asyncio.run(run()) == "server"


def test_6_litellm_sends_usage_in_a_chunk_with_a_choice() -> None:
    usage = {"completion_tokens": 4, "prompt_tokens": 9, "total_tokens": 13, "cost": 0.1}
    last = {"choices": [{"index": 0, "delta": {}}], "usage": usage}
    got, _ = run_exchange("chat", answer(stream(chunk(content="a"), {"choices": [{"finish_reason": "stop"}]}, last)))
    assert (got.text, got.usage) == ("a", Usage(9, 4))


def test_7_litellm_sends_an_error_in_mid_stream() -> None:
    got, _ = run_exchange("chat", answer(recorded("litellm/chat-cut.sse")))
    assert got.text == "This one is cut afte" and got.kind == "server"
    assert got.fault is not None and got.fault.retryable and "not completed" in got.fault.details.cause


def test_7_litellm_sends_an_error_at_once() -> None:
    event = b'data: {"type":"error","error":{"type":"x","code":"429","message":"Rate limited"}}\n\n'
    got, _ = run_exchange("responses", answer(event))
    assert got.kind == "rate_limited"


def test_8_litellm_sends_several_complete_calls_at_once() -> None:
    got = parse_reply("chat", [recorded("litellm/chat-over-ollama-tools.sse")])
    assert [call.arguments for call in got.calls] == ['{"path": "a.txt"}', '{"path": "b.txt"}']


def test_9_aimock_closes_the_connection_silently() -> None:
    got, _ = run_exchange("chat", [*answer(recorded("aimock/openai-chat-plain.sse")[:700], sized=False), "reset"])
    assert got.kind == "cut" and got.fault is not None and got.fault.retryable


def test_10_litellm_answers_400_to_a_wrong_key() -> None:
    body = {"error": {"message": "No connected db.", "type": "no_db_connection", "param": None, "code": "400"}}
    assert run_exchange("chat", failure("400 Bad Request", body))[0].kind == "key"


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        (
            "chat",
            {
                "choices": [
                    {
                        "message": {
                            "content": "Hi",
                            "reasoning": "Hm",
                            "tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": '{"a":1}'}}],
                        },
                        "finish_reason": "tool_calls",
                    }
                ],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2},
            },
        ),
        (
            "responses",
            {
                "object": "response",
                "status": "completed",
                "output": [
                    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm"}]},
                    {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]},
                    {"type": "function_call", "id": "f", "name": "read_file", "arguments": '{"a":1}'},
                ],
                "usage": {"input_tokens": 3, "output_tokens": 2},
            },
        ),
        (
            "anthropic",
            {
                "type": "message",
                "content": [
                    {"type": "thinking", "thinking": "Hm"},
                    {"type": "text", "text": "Hi"},
                    {"type": "tool_use", "id": "x", "name": "read_file", "input": {"a": 1}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 3, "output_tokens": 2},
            },
        ),
        (
            "ollama",
            {
                "message": {
                    "content": "Hi",
                    "thinking": "Hm",
                    "tool_calls": [{"function": {"name": "read_file", "arguments": {"a": 1}}}],
                },
                "done": True,
                "prompt_eval_count": 3,
                "eval_count": 2,
            },
        ),
    ],
)
def test_a_reply_sent_as_one_value(wire: str, plain: dict[str, Any]) -> None:
    """The server sends one JSON value although a stream was requested."""
    got, _ = run_exchange(wire, answer(json.dumps(plain).encode(), "application/json"))
    assert (got.kind, got.text, got.reasoning, got.usage) == ("", "Hi", "Hm", Usage(3, 2))
    assert [(call.tool, json.loads(call.arguments)) for call in got.calls] == [("read_file", {"a": 1})]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 6}, Usage(10, 4, 6)),
        (
            {"prompt_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 3}, "completion_tokens": 4},
            Usage(10, 4, 0, 0, 3),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "total_tokens": 20,
                "completion_tokens_details": {"reasoning_tokens": 6},
            },
            Usage(10, 10, 0, 0, 6),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 9, "cache_write_tokens": 4},
            },
            Usage(10, 4, 5, 4),
        ),
    ],
)
def test_usage_as_chat_servers_write_it(usage: dict[str, Any], expected: Usage) -> None:
    got, _ = run_exchange("chat", answer(stream(chunk(content="x"), {**chunk("stop"), "usage": usage})))
    assert (got.usage, got.note) == (expected, "")
    moonshot = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    assert run_exchange("chat", answer(stream(moonshot)))[0].usage == expected


def test_anthropic_usage_includes_cached_tokens() -> None:
    start = {"usage": {"input_tokens": 1, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 9}}
    events = [
        {"type": "message_start", "message": start},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    got, _ = run_exchange("anthropic", answer(stream(*events, end="")))
    assert got.usage == Usage(60, 7, 50, 9)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_under_any_name_is_read_once(field: str) -> None:
    both = chunk(**{field: "Hm", "reasoning": "Hm"})
    got, _ = run_exchange("chat", answer(stream(both, chunk("stop", content="x"))))
    assert got.reasoning == "Hm" and json.loads(got.carry)["data"]["field"] in (field, "reasoning")


def test_calls_without_an_index_or_with_one_for_all() -> None:
    def call(**more: Any) -> dict[str, Any]:
        return chunk(tool_calls=[more])

    several = stream(
        call(id="a", function={"name": "f", "arguments": "1"}),
        call(id="b", function={"name": "g", "arguments": "2"}),
        call(function={"arguments": "3"}),
        call(index=0, id="c", function={"name": "h", "arguments": "4"}),
        call(index=0, id="d", function={"name": "i", "arguments": {"x": 5}}),
        chunk(function_call={"name": "j", "arguments": "6"}),
        chunk("tool_calls"),
    )
    got = parse_reply("chat", [several])
    assert [(one.tool, one.arguments) for one in got.calls] == [
        ("f", "1"),
        ("g", "23"),
        ("h", "4"),
        ("i", '{"x": 5}'),
        ("j", "6"),
    ]


def test_content_as_a_list_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]
    got = parse_reply("chat", [stream(chunk(content=parts), chunk("stop"))])
    assert (got.text, got.reasoning) == ("Hi", "Hm")


@pytest.mark.parametrize(
    ("wire", "events", "stop", "kind"),
    [
        ("chat", [chunk("content_filter")], "", "filtered"),
        ("chat", [chunk(content="a"), chunk("content_filter")], "filtered", ""),
        ("chat", [chunk(refusal="I cannot."), chunk("stop")], "refused", ""),
        ("chat", [chunk("length")], "", "too_long"),
        ("chat", [chunk(content="a"), chunk("network_error")], "", "cut"),
        ("chat", [chunk(content="a"), chunk("mood")], "mood", ""),
        ("anthropic", [{"type": "message_delta", "delta": {"stop_reason": "refusal"}}], "", "filtered"),
        ("anthropic", [{"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}], "pause", ""),
        (
            "anthropic",
            [{"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}}],
            "",
            "too_long",
        ),
        (
            "anthropic",
            [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
            "",
            "overloaded",
        ),
        (
            "responses",
            [{"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow"}}}],
            "",
            "rate_limited",
        ),
        (
            "responses",
            [
                {
                    "type": "response.incomplete",
                    "response": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
                }
            ],
            "",
            "filtered",
        ),
        ("responses", [{"type": "error", "code": "server_error", "message": "oops"}], "", "server"),
        ("ollama", [{"error": "the input length exceeds the context length"}], "", "too_long"),
        ("ollama", [{"error": 'model "x" not found, try pulling it first'}], "", "model"),
        ("ollama", [{"message": {"content": "a"}, "done": True, "done_reason": "length"}], "length", ""),
    ],
)
def test_every_kind_of_finish(wire: str, events: list[dict[str, Any]], stop: str, kind: str) -> None:
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()
    body = answer(lines, "application/x-ndjson") if wire == "ollama" else answer(stream(*events, end=""))
    got, _ = run_exchange(wire, body)
    assert (got.stop, got.kind) == (stop, kind)


def test_a_history_that_starts_with_the_model() -> None:
    """Anthropic requires a user message first and rejects empty text."""
    request = make_request(
        assistant_message(words="I began."),
        user_message(""),
        assistant_message(words=""),
        user_message("ok"),
        tool_message("r9c9", "late"),
    )
    body = run_exchange("anthropic", answer(b"{}", "application/json"), request=request)[1].requests[0].json
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert all(block.get("text", "x").strip() for turn in body["messages"] for block in turn["content"])


@pytest.mark.parametrize(("finish", "said"), [("length", "the output limit"), ("content_filter", "blocked")])
def test_a_reply_stopped_by_the_provider_says_so(finish: str, said: str) -> None:
    got, _ = run_exchange("chat", answer(stream(chunk(content="Once upon"), chunk(finish))))
    assert got.kind == "" and got.text == "Once upon" and said in got.note
