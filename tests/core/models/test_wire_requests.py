"""What each wire sends: only what was set, what servers want back, and attachments as far as they can be sent."""

import asyncio
import base64
import json
from typing import Any

import pytest

from core.domain.events import Call
from core.domain.messages import Message
from core.domain.text import Attachment, Text
from core.models.anthropic import anthropic_body
from core.models.carry import packed
from core.models.chat_request import chat_body
from core.models.dialects import DIALECTS, dialect_of
from core.models.model import Request, ToolSpec, Wanted
from core.models.names import ToolNames
from core.models.responses import responses_body
from core.models.schemas import is_closed
from core.models.server import Server
from core.models.wire import UNKNOWN, Known
from core.models.wires import WIRES
from tests.core.models.replies import KEY, READ, asking, called, exchange, gather, returned, said
from tests.servers.scripted import answer, chunk, failure, scripted, stream

FOUR = sorted(WIRES)
OK = answer(b"{}", "application/json")
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
PNG = Attachment("cat.png", "image/png", "b1", 3)
PDF = Attachment("letter.pdf", "application/pdf", "b2", 3)
NOTE = Attachment("note.txt", "text/plain", "b3", 3)
SOUND = Attachment("song.ogg", "audio/ogg", "b4", 3)
ALL_SET = Wanted(effort="high", max_output=500, temperature=0.5)


def sent(wire: str, request: Request, known: Known = UNKNOWN) -> Any:
    """The body that a server gets."""
    return exchange(wire, OK, request=request, known=known)[1].requests[0].json


def turn(**more: Any) -> Request:
    """A conversation with every kind of message."""
    one, two = Call("r1c1", "read_file", Text('{"path":"a"}')), Call("r1c2", "read_file", Text('{"path":"b"}'))
    messages = [
        Message("system", Text("Be good.")),
        said("read both"),
        called(one, two, words="I read.", reasoning="Hm."),
        returned("r1c1", "first"),
        returned("r1c2", "no such file", failed=True),
        said("go on"),
    ]
    return asking(*messages, **more)


@pytest.mark.parametrize("wire", FOUR)
def test_only_what_was_set_is_sent(wire: str) -> None:
    plain = json.dumps(sent(wire, turn()))
    for word in ("temperature", "top_p", "seed", "effort", "think", "format", "max_output", "num_predict"):
        assert word not in plain
    full = json.dumps(sent(wire, turn(wanted=ALL_SET, schema=CLOSED)))
    assert "0.5" in full and "500" in full and '"additionalProperties": false' in full.replace('\\"', '"')


def test_chat_turns() -> None:
    body = sent("chat", turn(wanted=ALL_SET, schema=CLOSED))
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


def test_responses_turns() -> None:
    body = sent("responses", turn(wanted=ALL_SET, schema=CLOSED))
    kinds = [item.get("type", item.get("role")) for item in body["input"]]
    assert kinds == ["user", "message", "function_call", "function_call", *["function_call_output"] * 2, "user"]
    assert body["instructions"] == "Be good." and body["store"] is False
    assert body["input"][2]["call_id"] == body["input"][4]["call_id"] == "r1c1"
    assert body["reasoning"]["effort"] == "high" and body["text"]["format"]["strict"] is True


def test_anthropic_turns() -> None:
    body = sent("anthropic", turn(wanted=ALL_SET))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    last = body["messages"][2]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert last[1]["is_error"] is True and "is_error" not in last[0]
    marked = [body["system"][-1], body["tools"][-1], last[-1], body["messages"][0]["content"][-1]]
    assert all(block["cache_control"] == {"type": "ephemeral"} for block in marked)
    assert json.dumps(body).count("cache_control") == 4  # the most that is allowed
    assert body["messages"][1]["content"][1]["input"] == {"path": "a"}


def test_anthropic_headers_and_limits() -> None:
    _, server = exchange("anthropic", OK, request=asking())
    head = server.requests[0].headers
    assert head["x-api-key"] == KEY and head["anthropic-version"] == "2023-06-01" and "authorization" not in head
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].json["max_tokens"] == 32_000
    assert sent("anthropic", asking(), Known(output=64_000))["max_tokens"] == 64_000
    assert sent("anthropic", asking(wanted=Wanted(effort="none")))["thinking"] == {"type": "disabled"}
    budget = sent("anthropic", asking(wanted=Wanted(effort="high")))["thinking"]
    assert budget == {"type": "enabled", "budget_tokens": 20_000}


def test_ollama_turns() -> None:
    body = sent("ollama", turn(wanted=ALL_SET, schema=CLOSED))
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
    assert sent("ollama", asking(said("word " * 15_000)))["options"]["num_ctx"] == 32_768
    assert sent("ollama", asking(), Known(window=16_000))["options"]["num_ctx"] == 16_000


@pytest.mark.parametrize("wire", FOUR)
def test_attachments(wire: str) -> None:
    """Images and documents as each wire takes them; all else is said in words."""
    contents = {"b1": b"png", "b2": b"pdf", "b3": "grün".encode(), "b4": b"ogg"}
    message = said("look", PNG, PDF, NOTE, SOUND, Attachment("gone.png", "image/png", "b5"))
    body = sent(wire, asking(message, contents=lambda one: contents.get(one.blob, b"")))
    words = json.dumps(body, ensure_ascii=False)
    assert base64.b64encode(b"png").decode() in words and "grün" in words and "look" in words
    assert "[song.ogg (audio/ogg, 3 bytes) cannot be sent to this model.]" in words
    assert "[gone.png was attached here; its contents are no longer at hand.]" in words
    pdf = base64.b64encode(b"pdf").decode() in words
    assert pdf == (wire in ("anthropic", "responses"))
    assert pdf or "[letter.pdf (application/pdf, 3 bytes) cannot be sent to this model.]" in words
    blind = sent(
        wire, asking(message, contents=lambda one: contents.get(one.blob, b"")), Known(images=False, pdf=False)
    )
    assert "[cat.png (image/png, 3 bytes) cannot be sent to this model.]" in json.dumps(blind)


@pytest.mark.parametrize("wire", FOUR)
def test_an_image_that_a_tool_returned_is_seen(wire: str) -> None:
    call = Call("r1c1", "read_file")
    result = Message("tool", Text("an image"), call_id="r1c1", attachments=(PNG,))
    body = sent(wire, asking(said("look"), called(call), result, contents=lambda one: b"png"))
    assert base64.b64encode(b"png").decode() in json.dumps(body)
    if wire == "chat":
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "user"]


def test_chat_thoughts_go_back_under_the_name_they_came_by() -> None:
    pieces = [chunk(reasoning="Let me "), chunk(reasoning="see."), chunk(content="Yes."), chunk("stop")]
    got, server = exchange("chat", answer(stream(*pieces)))
    assert got.reasoning == "Let me see."
    back = called(words="Yes.", reasoning=got.reasoning, carry=got.carry)
    mark = json.loads(got.carry)["from"]
    assert str(server.port) in mark and KEY not in got.carry
    other = sent("chat", asking(said("?"), back, said("more")))["messages"][1]
    assert other == {"role": "assistant", "content": "Yes."}  # another server gets nothing of it


def test_sealed_thoughts_and_signatures_go_back() -> None:
    """To the same server only, each in its place."""
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
        async with scripted(answer(first), OK) as server:
            model = WIRES["chat"](Server(server.url), "m", Known())
            got = await gather(model, asking())
            back = called(Call("r1c1", "read_file"), reasoning=got.reasoning, carry=got.carry)
            await gather(model, asking(said("?"), back, returned("r1c1", "ok")))
            return server.requests[1].json["messages"][1]

    message = asyncio.run(run())
    assert message["reasoning"] == "ab"
    assert message["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "ab"}, sealed]
    assert message["tool_calls"][0]["id"] == "r1c1"
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "S"}}


def carried_body(wire: str, data: Any, reply: Message) -> Any:
    """The body that follows a reply whose server gave this back."""
    names = ToolNames(["read_file"])
    kept = Message("assistant", reply.text, reply.calls, reasoning=reply.reasoning, carry=Text(packed("here", data)))
    request = asking(said("?"), kept, returned("r1c1", "ok"))
    if wire == "anthropic":
        return anthropic_body(request, "claude-x", Known(), names, "here")
    return responses_body(request, "gpt-x", Known(), names, "here")


def test_anthropic_thoughts_go_back_unchanged() -> None:
    data = [{"type": "thinking", "thinking": "Hm", "signature": "SIG"}, {"type": "tool_use"}]
    content = carried_body("anthropic", data, called(Call("r1c1", "read_file")))["messages"][1]["content"]
    assert content[0] == data[0]
    assert content[1] == {"type": "tool_use", "id": "r1c1", "name": "read_file", "input": {}}


def test_responses_items_go_back_with_our_names_of_calls() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZZ"}
    theirs = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "read_file", "arguments": "{}"}
    items = carried_body("responses", [sealed, theirs], called(Call("r1c1", "read_file")))["input"]
    assert items[1] == sealed and items[2] == {**theirs, "call_id": "r1c1"}
    assert items[3]["call_id"] == "r1c1"


@pytest.mark.parametrize("host", ["api.deepseek.com", "openrouter.ai", "api.mistral.ai", "api.openai.com", "x.local"])
def test_dialects(host: str) -> None:
    dialect = dialect_of(host)
    request = turn(wanted=ALL_SET, schema=CLOSED)
    body = chat_body(request, "anthropic/claude-x", Known(), dialect, ToolNames(["read_file"]), "here")
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


def test_dialects_are_told_apart() -> None:
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)
    assert dialect_of("evil-api.openai.com.example").name == "plain"
    assert dialect_of("my.openai.azure.com").name == "openai"


@pytest.mark.parametrize("field", ["stream_options", "reasoning_effort", "max_tokens"])
def test_a_field_that_a_server_does_not_take_is_left_out(field: str) -> None:
    """At once, without a failed request to show for it; a person is told where it was their wish."""
    good = answer(stream(chunk(content="ok"), chunk("stop")))
    for body in (
        {"detail": f"Unexpected fields: {{'{field}'}}"},
        {"error": {"message": f"'{field}' is not supported"}},
    ):
        got, server = exchange("chat", failure("422 Unprocessable", body), good, request=asking(wanted=ALL_SET))
        assert got.text == "ok" and len(server.requests) == 2
        assert field in server.requests[0].json and field not in server.requests[1].json
        assert bool(got.note) == (field == "reasoning_effort")
        if field == "max_tokens":
            assert server.requests[1].json["max_completion_tokens"] == 500


def test_what_a_person_set_is_not_left_out() -> None:
    refused = failure("400 Bad Request", {"error": {"message": "temperature is not supported"}})
    got, server = exchange("chat", refused, request=asking(wanted=ALL_SET))
    assert got.kind == "rejected" and len(server.requests) == 1 and "temperature" in str(got.fault)


def test_names_of_tools_fit_the_wire_and_come_back() -> None:
    odd = [ToolSpec(name, "", {}) for name in ("a.b", "a/b", "a_b", "x" * 80, "x" * 81, "häuser", "")]
    names = ToolNames(tool.name for tool in odd)
    out = [names.out(tool.name) for tool in odd]
    assert len(set(out)) == len(odd) and all(len(name) <= 64 and name.isascii() and name for name in out)
    assert [names.back(name) for name in out] == [tool.name for tool in odd]
    call = chunk("tool_calls", tool_calls=[{"index": 0, "id": "x", "function": {"name": "a_b_2", "arguments": ""}}])
    got, server = exchange("chat", answer(stream(call)), request=asking(tools=odd))
    assert server.requests[0].json["tools"][1]["function"]["name"] == "a_b_2"
    assert [(one.tool, one.arguments) for one in got.calls] == [("a/b", "{}")]


def test_closed_schemas() -> None:
    assert is_closed(CLOSED) and not is_closed(READ.schema)
    assert not is_closed({**CLOSED, "required": []}) and not is_closed({"type": "array", "items": {"type": "object"}})


@pytest.mark.parametrize("wire", FOUR)
@pytest.mark.parametrize("arguments", ['{"path": "a.txt", "content": "oo', '["a.txt"]', "7", ""])
def test_arguments_that_are_no_object_go_back_as_one(wire: str, arguments: str) -> None:
    """Servers that read the arguments of the past refuse others, and every later request of the session with them."""
    history = (said("write"), called(Call("r1c1", "write", Text(arguments))), returned("r1c1", "wrong", failed=True))
    words = json.dumps(sent(wire, asking(*history)))
    given = {"arguments": arguments} if arguments else {}
    assert json.dumps(given) in words or json.dumps(json.dumps(given)) in words
