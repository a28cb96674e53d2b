"""Where real servers differ from what vendors write down: each was seen, and each is read."""

import asyncio
import json
from typing import Any

import pytest

from core.domain.events import Usage
from core.models.model import Asked, Fault
from core.models.server import Server
from core.models.wire import UNKNOWN
from core.models.wires import WIRES
from tests.core.models.replies import GOLDEN, QUICK, asking, called, exchange, folded, returned, said
from tests.servers.scripted import answer, chunk, failure, scripted, stream


def recorded(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def test_1_llamacpp_begins_with_no_content() -> None:
    assert b'"content":null' in recorded("llamacpp/scripted-chat-tool.sse")
    assert folded("chat", [recorded("llamacpp/scripted-chat-tool.sse")]).text == "I will read it."


def test_2_llamacpp_blocks_overlap() -> None:
    """A call begins before the words have ended, without any input, and thoughts have no signature."""
    got = folded("anthropic", [recorded("llamacpp/scripted-anthropic-tool.sse")])
    assert (got.text, got.calls) == ("I will read it.", [Asked("read_file", '{"path":"a.txt"}')])
    pieces = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "a"}},
        {"type": "message_stop"},
    ]
    got = folded("anthropic", [b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces)])
    assert (got.text, got.reasoning, got.carry) == ("b", "a", "")


def test_3_llamacpp_numbers_no_items() -> None:
    data = recorded("llamacpp/scripted-responses-tool.sse")
    assert b"output_index" not in data and b"arguments.done" not in data
    assert folded("responses", [data]).calls == [Asked("read_file", '{"path":"a.txt"}')]


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_4_llamacpp_codes_are_numbers(wire: str) -> None:
    """The same body on every wire; its code for bad JSON is 500 though the status says 400."""
    body = recorded("llamacpp/overflow.txt").partition(b"\r\n\r\n")[2] or recorded("llamacpp/overflow.txt")[-197:]
    got, _ = exchange(wire, failure("400 Bad Request", body))
    assert got.kind == "too_long" and "12011 tokens" in str(got.fault)
    got, _ = exchange(wire, failure("400 Bad Request", {"error": {"code": 500, "message": "parse error"}}))
    assert got.kind == "rejected"


def test_5_transformers_says_no_done_and_refuses_what_it_does_not_know() -> None:
    data = recorded("transformers/chat.sse")
    assert b"[DONE]" not in data
    got, _ = exchange("chat", answer(data))
    assert (got.stop, got.usage) == ("length", Usage(53, 6))
    refused = failure("422 Unprocessable Entity", {"detail": "Unexpected fields in the request: {'stream_options'}"})
    got, server = exchange("chat", refused, answer(data))
    assert got.kind == "" and len(server.requests) == 2


def test_5_a_list_that_fails_is_a_fault_of_its_own() -> None:
    async def run() -> str:
        async with scripted(failure("500 Internal Server Error", b"")) as server:
            try:
                await WIRES["chat"](Server(server.url, patience=QUICK), "", UNKNOWN).list_models()
            except Fault as fault:
                return fault.kind
            return ""

    assert asyncio.run(run()) == "server"


def test_6_litellm_counts_in_a_chunk_with_a_choice() -> None:
    usage = {"completion_tokens": 4, "prompt_tokens": 9, "total_tokens": 13, "cost": 0.1}
    last = {"choices": [{"index": 0, "delta": {}}], "usage": usage}
    got, _ = exchange("chat", answer(stream(chunk(content="a"), {"choices": [{"finish_reason": "stop"}]}, last)))
    assert (got.text, got.usage) == ("a", Usage(9, 4))


def test_7_litellm_tells_an_error_in_the_middle() -> None:
    got, _ = exchange("chat", answer(recorded("litellm/chat-cut.sse")))
    assert got.text == "This one is cut afte" and got.kind == "server"
    assert got.fault is not None and got.fault.again and "not completed" in got.fault.trouble.why


def test_7_litellm_tells_an_error_at_once() -> None:
    event = b'data: {"type":"error","error":{"type":"x","code":"429","message":"Rate limited"}}\n\n'
    got, _ = exchange("responses", answer(event))
    assert got.kind == "rate_limited"


def test_8_litellm_sends_several_whole_calls_at_once() -> None:
    got = folded("chat", [recorded("litellm/chat-over-ollama-tools.sse")])
    assert [call.arguments for call in got.calls] == ['{"path": "a.txt"}', '{"path": "b.txt"}']


def test_9_aimock_cuts_without_a_word() -> None:
    got, _ = exchange("chat", [*answer(recorded("aimock/openai-chat-plain.sse")[:700], sized=False), "reset"])
    assert got.kind == "cut" and got.fault is not None and got.fault.again


def test_10_litellm_answers_400_to_a_wrong_key() -> None:
    body = {"error": {"message": "No connected db.", "type": "no_db_connection", "param": None, "code": "400"}}
    assert exchange("chat", failure("400 Bad Request", body))[0].kind == "key"


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
def test_a_reply_that_comes_as_one_value(wire: str, plain: dict[str, Any]) -> None:
    """JSON where a stream was asked for."""
    got, _ = exchange(wire, answer(json.dumps(plain).encode(), "application/json"))
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
def test_counts_as_chat_servers_write_them(usage: dict[str, Any], expected: Usage) -> None:
    got, _ = exchange("chat", answer(stream(chunk(content="x"), {**chunk("stop"), "usage": usage})))
    assert (got.usage, got.note) == (expected, "")
    moonshot = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    assert exchange("chat", answer(stream(moonshot)))[0].usage == expected


def test_counts_of_anthropic_hold_what_was_cached() -> None:
    start = {"usage": {"input_tokens": 1, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 9}}
    events = [
        {"type": "message_start", "message": start},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    got, _ = exchange("anthropic", answer(stream(*events, end="")))
    assert got.usage == Usage(60, 7, 50, 9)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thoughts_under_any_name_but_once(field: str) -> None:
    both = chunk(**{field: "Hm", "reasoning": "Hm"})
    got, _ = exchange("chat", answer(stream(both, chunk("stop", content="x"))))
    assert got.reasoning == "Hm" and json.loads(got.carry)["data"]["field"] in (field, "reasoning")


def test_calls_without_index_or_with_one_for_all() -> None:
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
    got = folded("chat", [several])
    assert [(one.tool, one.arguments) for one in got.calls] == [
        ("f", "1"),
        ("g", "23"),
        ("h", "4"),
        ("i", '{"x": 5}'),
        ("j", "6"),
    ]


def test_content_as_a_list_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]
    got = folded("chat", [stream(chunk(content=parts), chunk("stop"))])
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
def test_ends_of_every_kind(wire: str, events: list[dict[str, Any]], stop: str, kind: str) -> None:
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()
    body = answer(lines, "application/x-ndjson") if wire == "ollama" else answer(stream(*events, end=""))
    got, _ = exchange(wire, body)
    assert (got.stop, got.kind) == (stop, kind)


def test_a_history_that_begins_with_the_model() -> None:
    """Anthropic wants the person first, and no empty words."""
    request = asking(called(words="I began."), said(""), called(words=""), said("ok"), returned("r9c9", "late"))
    body = exchange("anthropic", answer(b"{}", "application/json"), request=request)[1].requests[0].json
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert all(block.get("text", "x").strip() for turn in body["messages"] for block in turn["content"])


@pytest.mark.parametrize(("finish", "said"), [("length", "the most that one may have"), ("content_filter", "withheld")])
def test_a_reply_that_was_not_let_go_on_says_so(finish: str, said: str) -> None:
    got, _ = exchange("chat", answer(stream(chunk(content="Once upon"), chunk(finish))))
    assert got.kind == "" and got.text == "Once upon" and said in got.note
