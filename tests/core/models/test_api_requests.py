"""Request bodies of each API format: only the options that are set, provider state, and supported attachments."""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from core.domain.events import ToolCall
from core.domain.messages import Message
from core.domain.text import Attachment, Text
from core.models.anthropic import anthropic_body
from core.models.api_client import UNKNOWN_LIMITS, ModelLimits
from core.models.api_formats import API_FORMATS
from core.models.chat_request import chat_body
from core.models.dialects import DIALECTS, dialect_of
from core.models.endpoint import ProviderEndpoint
from core.models.model import ReplyOptions, Request, ToolSpec
from core.models.output_schema import is_strict
from core.models.provider_state import pack_state
from core.models.responses import responses_body
from core.models.tool_names import ToolNames
from tests.core.models.replies import (
    KEY,
    NO_OPTIONS,
    READ,
    assistant_message,
    gather,
    make_request,
    run_exchange,
    tool_message,
    user_message,
)
from tests.servers.scripted_server import answer, chunk, failure, scripted_server, stream

FOUR = sorted(API_FORMATS)
OK = answer(b"{}", "application/json")
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
PNG = Attachment("cat.png", "image/png", "b1", 3)
PDF = Attachment("letter.pdf", "application/pdf", "b2", 3)
NOTE = Attachment("note.txt", "text/plain", "b3", 3)
SOUND = Attachment("song.ogg", "audio/ogg", "b4", 3)
ALL_SET = ReplyOptions(effort="high", max_output_tokens=500, temperature=0.5)


def sent(wire: str, request: Request, known: ModelLimits = UNKNOWN_LIMITS) -> Any:
    """Return the request body that the server receives."""
    return run_exchange(wire, OK, request=request, known=known)[1].requests[0].json


def full_conversation(options: ReplyOptions = NO_OPTIONS, output_schema: Mapping[str, Any] | None = None) -> Request:
    """Return a request with every kind of message."""
    one, two = ToolCall("r1c1", "read_file", Text('{"path":"a"}')), ToolCall("r1c2", "read_file", Text('{"path":"b"}'))
    messages = [
        Message("system", Text("Be good.")),
        user_message("read both"),
        assistant_message(one, two, words="I read.", reasoning="Hm."),
        tool_message("r1c1", "first"),
        tool_message("r1c2", "no such file", failed=True),
        user_message("go on"),
    ]
    return make_request(*messages, options=options, output_schema=output_schema)


@pytest.mark.parametrize("wire", FOUR)
def test_only_configured_parameters_are_sent(wire: str) -> None:
    plain = json.dumps(sent(wire, full_conversation()))
    for word in ("temperature", "top_p", "seed", "effort", "think", "format", "max_output", "num_predict"):
        assert word not in plain
    full = json.dumps(sent(wire, full_conversation(options=ALL_SET, output_schema=CLOSED)))
    assert "0.5" in full and "500" in full and '"additionalProperties": false' in full.replace('\\"', '"')


def test_chat_messages() -> None:
    body = sent("chat", full_conversation(options=ALL_SET, output_schema=CLOSED))
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool", "tool", "user"]
    calls = body["messages"][2]["tool_calls"]
    assert calls[0] == {
        "id": "r1c1",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path":"a"}'},
    }
    assert body["messages"][4] == {"role": "tool", "tool_call_id": "r1c2", "content": "no such file"}
    assert body["stream_options"] == {"include_usage": True} and body["reasoning_effort"] == "high"
    assert body["response_format"]["json_schema"]["schema"] == CLOSED
    assert "reasoning_content" not in body["messages"][2]


def test_responses_messages() -> None:
    body = sent("responses", full_conversation(options=ALL_SET, output_schema=CLOSED))
    kinds = [item.get("type", item.get("role")) for item in body["input"]]
    assert kinds == ["user", "message", "function_call", "function_call", *["function_call_output"] * 2, "user"]
    assert body["instructions"] == "Be good." and body["store"] is False
    assert body["input"][2]["call_id"] == body["input"][4]["call_id"] == "r1c1"
    assert body["reasoning"]["effort"] == "high" and body["text"]["format"]["strict"] is True


def test_anthropic_messages() -> None:
    body = sent("anthropic", full_conversation(options=ALL_SET))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    last = body["messages"][2]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert last[1]["is_error"] is True and "is_error" not in last[0]
    marked = [body["system"][-1], body["tools"][-1], last[-1], body["messages"][0]["content"][-1]]
    assert all(block["cache_control"] == {"type": "ephemeral"} for block in marked)
    assert json.dumps(body).count("cache_control") == 4  # the maximum that the API allows
    assert body["messages"][1]["content"][1]["input"] == {"path": "a"}


def test_anthropic_headers_and_limits() -> None:
    _, server = run_exchange("anthropic", OK, request=make_request())
    head = server.requests[0].headers
    assert head["x-api-key"] == KEY and head["anthropic-version"] == "2023-06-01" and "authorization" not in head
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].json["max_tokens"] == 32_000
    assert sent("anthropic", make_request(), ModelLimits(max_output=64_000))["max_tokens"] == 64_000
    assert sent("anthropic", make_request(options=ReplyOptions(effort="none")))["thinking"] == {"type": "disabled"}
    budget = sent("anthropic", make_request(options=ReplyOptions(effort="high")))["thinking"]
    assert budget == {"type": "enabled", "budget_tokens": 20_000}


def test_ollama_messages() -> None:
    body = sent("ollama", full_conversation(options=ALL_SET, output_schema=CLOSED))
    assert body["messages"][3] == {
        "role": "tool",
        "content": "first",
        "tool_name": "read_file",
        "tool_call_id": "r1c1",
    }
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == {"path": "a"}
    assert body["truncate"] is False and body["options"]["num_ctx"] == 8_192 and body["think"] == "high"
    assert body["format"] == CLOSED


def test_the_window_of_ollama_grows_with_the_request() -> None:
    assert sent("ollama", make_request(user_message("word " * 15_000)))["options"]["num_ctx"] == 32_768
    assert sent("ollama", make_request(), ModelLimits(window=16_000))["options"]["num_ctx"] == 16_000


@pytest.mark.parametrize("wire", FOUR)
def test_attachments(wire: str) -> None:
    """Images and documents are sent as each API format supports; other attachments are replaced by a text."""
    contents = {"b1": b"png", "b2": b"pdf", "b3": "grün".encode(), "b4": b"ogg"}
    message = user_message("look", PNG, PDF, NOTE, SOUND, Attachment("gone.png", "image/png", "b5"))
    body = sent(wire, make_request(message, read_attachment=lambda one: contents.get(one.blob, b"")))
    words = json.dumps(body, ensure_ascii=False)
    assert base64.b64encode(b"png").decode() in words and "grün" in words and "look" in words
    assert "[song.ogg (audio/ogg, 3 bytes) cannot be sent to this model.]" in words
    assert "[gone.png was attached here; its contents are no longer available.]" in words
    pdf = base64.b64encode(b"pdf").decode() in words
    assert pdf == (wire in ("anthropic", "responses"))
    assert pdf or "[letter.pdf (application/pdf, 3 bytes) cannot be sent to this model.]" in words
    blind = sent(
        wire,
        make_request(message, read_attachment=lambda one: contents.get(one.blob, b"")),
        ModelLimits(images=False, pdf=False),
    )
    assert "[cat.png (image/png, 3 bytes) cannot be sent to this model.]" in json.dumps(blind)


@pytest.mark.parametrize("wire", FOUR)
def test_an_image_returned_by_a_tool_is_sent(wire: str) -> None:
    call = ToolCall("r1c1", "read_file")
    result = Message("tool", Text("an image"), call_id="r1c1", attachments=(PNG,))
    body = sent(
        wire, make_request(user_message("look"), assistant_message(call), result, read_attachment=lambda one: b"png")
    )
    assert base64.b64encode(b"png").decode() in json.dumps(body)
    if wire == "chat":
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "user"]


def test_chat_reasoning_is_returned_under_its_original_name() -> None:
    pieces = [chunk(reasoning="Let me "), chunk(reasoning="see."), chunk(content="Yes."), chunk("stop")]
    got, server = run_exchange("chat", answer(stream(*pieces)))
    assert got.reasoning == "Let me see."
    back = assistant_message(words="Yes.", reasoning=got.reasoning, carry=got.carry)
    mark = json.loads(got.carry)["from"]
    assert str(server.port) in mark and KEY not in got.carry
    other = sent("chat", make_request(user_message("?"), back, user_message("more")))["messages"][1]
    assert other == {"role": "assistant", "content": "Yes."}  # another provider receives no provider state


def test_encrypted_reasoning_and_signatures_are_returned() -> None:
    """Encrypted reasoning and signatures are sent only to the provider that produced them, in their original place."""
    details = [{"type": "reasoning.text", "index": 0, "text": t} for t in ("a", "b")]
    sealed = {"type": "reasoning.encrypted", "index": 1, "id": "x1", "data": "ZZ"}
    call = {"index": 0, "id": "x1", "function": {"name": "read_file", "arguments": "{}"}}
    first = stream(
        chunk(reasoning="a", reasoning_details=details[:1]),
        chunk(reasoning="b", reasoning_details=details[1:]),
        chunk(reasoning_details=[sealed]),
        chunk("tool_calls", tool_calls=[{**call, "extra_content": {"google": {"thought_signature": "S"}}}]),
    )

    async def run() -> Any:
        async with scripted_server(answer(first), OK) as server:
            model = API_FORMATS["chat"](ProviderEndpoint(server.url), "m", ModelLimits())
            got = await gather(model, make_request())
            back = assistant_message(ToolCall("r1c1", "read_file"), reasoning=got.reasoning, carry=got.carry)
            await gather(model, make_request(user_message("?"), back, tool_message("r1c1", "ok")))
            return server.requests[1].json["messages"][1]

    message = asyncio.run(run())
    assert message["reasoning"] == "ab"
    assert message["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "ab"}, sealed]
    assert message["tool_calls"][0]["id"] == "r1c1"
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "S"}}


def carried_body(wire: str, data: Any, reply: Message) -> Any:
    """Return the request body after a reply with this provider state."""
    names = ToolNames(["read_file"])
    kept = Message(
        "assistant", reply.text, reply.calls, reasoning=reply.reasoning, provider_state=Text(pack_state("here", data))
    )
    request = make_request(user_message("?"), kept, tool_message("r1c1", "ok"))
    if wire == "anthropic":
        return anthropic_body(request, "claude-x", ModelLimits(), names, "here")
    return responses_body(request, "gpt-x", ModelLimits(), names, "here")


def test_anthropic_reasoning_is_returned_unchanged() -> None:
    data = [{"type": "thinking", "thinking": "Hm", "signature": "SIG"}, {"type": "tool_use"}]
    content = carried_body("anthropic", data, assistant_message(ToolCall("r1c1", "read_file")))["messages"][1][
        "content"
    ]
    assert content[0] == data[0]
    assert content[1] == {"type": "tool_use", "id": "r1c1", "name": "read_file", "input": {}}


def test_responses_items_are_returned_with_our_call_ids() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZZ"}
    theirs = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "read_file", "arguments": "{}"}
    items = carried_body("responses", [sealed, theirs], assistant_message(ToolCall("r1c1", "read_file")))["input"]
    assert items[1] == sealed and items[2] == {**theirs, "call_id": "r1c1"}
    assert items[3]["call_id"] == "r1c1"


@pytest.mark.parametrize("host", ["api.deepseek.com", "openrouter.ai", "api.mistral.ai", "api.openai.com", "x.local"])
def test_dialects(host: str) -> None:
    dialect = dialect_of(host)
    request = full_conversation(options=ALL_SET, output_schema=CLOSED)
    body = chat_body(request, "anthropic/claude-x", ModelLimits(), dialect, ToolNames(["read_file"]), "here")
    thoughts = body["messages"][2].get("reasoning_content")
    assert (thoughts == "Hm.") == (host == "api.deepseek.com")
    assert ("max_completion_tokens" in body) == (host == "api.openai.com")
    assert ("cache_control" in json.dumps(body)) == (host == "openrouter.ai")
    assert ("stream_options" in body) == (host != "api.mistral.ai")
    assert body["messages"][0]["role"] == ("developer" if host == "api.openai.com" else "system")
    ids = {call["id"] for call in body["messages"][2]["tool_calls"]}
    assert ids == {message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"}
    assert all(len(id) == 9 for id in ids) == (host == "api.mistral.ai")
    strict = body["response_format"].get("json_schema", {}).get("strict")
    assert strict is (True if host == "api.openai.com" else None)


def test_dialects_are_detected() -> None:
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)
    assert dialect_of("evil-api.openai.com.example").name == "plain"
    assert dialect_of("my.openai.azure.com").name == "openai"


@pytest.mark.parametrize("field", ["stream_options", "reasoning_effort", "max_tokens"])
def test_a_field_rejected_by_a_server_is_omitted(field: str) -> None:
    """The request is repeated at once without an error; if the user had set the field, there is a note."""
    good = answer(stream(chunk(content="ok"), chunk("stop")))
    for body in (
        {"detail": f"Unexpected fields: {{'{field}'}}"},
        {"error": {"message": f"'{field}' is not supported"}},
    ):
        got, server = run_exchange(
            "chat", failure("422 Unprocessable", body), good, request=make_request(options=ALL_SET)
        )
        assert got.text == "ok" and len(server.requests) == 2
        assert field in server.requests[0].json and field not in server.requests[1].json
        assert bool(got.note) == (field == "reasoning_effort")
        if field == "max_tokens":
            assert server.requests[1].json["max_completion_tokens"] == 500


def test_a_field_set_by_the_user_is_not_omitted() -> None:
    refused = failure("400 Bad Request", {"error": {"message": "temperature is not supported"}})
    got, server = run_exchange("chat", refused, request=make_request(options=ALL_SET))
    assert got.kind == "rejected" and len(server.requests) == 1 and "temperature" in str(got.fault)


def test_tool_names_fit_the_api_format_and_are_restored() -> None:
    odd = [ToolSpec(name, "", {}) for name in ("a.b", "a/b", "a_b", "x" * 80, "x" * 81, "häuser", "")]
    names = ToolNames(tool.name for tool in odd)
    out = [names.to_provider(tool.name) for tool in odd]
    assert len(set(out)) == len(odd) and all(len(name) <= 64 and name.isascii() and name for name in out)
    assert [names.from_provider(name) for name in out] == [tool.name for tool in odd]
    call = chunk("tool_calls", tool_calls=[{"index": 0, "id": "x", "function": {"name": "a_b_2", "arguments": ""}}])
    got, server = run_exchange("chat", answer(stream(call)), request=make_request(tools=odd))
    assert server.requests[0].json["tools"][1]["function"]["name"] == "a_b_2"
    assert [(one.tool, one.arguments) for one in got.calls] == [("a/b", "{}")]


def test_closed_schemas() -> None:
    assert is_strict(CLOSED) and not is_strict(READ.parameters)
    assert not is_strict({**CLOSED, "required": []}) and not is_strict({"type": "array", "items": {"type": "object"}})


@pytest.mark.parametrize("wire", FOUR)
@pytest.mark.parametrize("arguments", ['{"path": "a.txt", "content": "oo', '["a.txt"]', "7", ""])
def test_arguments_that_are_not_an_object_are_returned_as_one(wire: str, arguments: str) -> None:
    """Servers that decode earlier arguments reject malformed ones, and with them every later request of the session."""
    history = (
        user_message("write"),
        assistant_message(ToolCall("r1c1", "write", Text(arguments))),
        tool_message("r1c1", "wrong", failed=True),
    )
    words = json.dumps(sent(wire, make_request(*history)))
    given = {"arguments": arguments} if arguments else {}
    assert json.dumps(given) in words or json.dumps(json.dumps(given)) in words
