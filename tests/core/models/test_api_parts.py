"""The parts shared by API formats: lines, events, key masking, error classification, model lists, token counts."""

import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from core.models.api_client import MAX_INT_DIGITS, ListedModel, decode_json
from core.models.errors import (
    ERROR_KINDS,
    TOO_LONG,
    ErrorBody,
    ErrorContext,
    classify_error,
    error_from_response,
    format_duration,
    is_too_long,
    parse_error_body,
    retry_after,
)
from core.models.line_splitter import MAX_LINE_BYTES, LineSplitter
from core.models.mask import KeyMask, MaskedStream
from core.models.model import ModelError
from core.models.model_lists import (
    MAX_MODELS,
    parse_anthropic_models,
    parse_ollama_model,
    parse_ollama_names,
    parse_openai_models,
)
from core.models.stream_parsers import JsonBodyParser, NdjsonParser, SseParser
from core.models.token_estimate import MAX_TOKENS_PER_CHAR, estimate_tokens, updated_ratio
from tests.core.models.replies import ERROR_CONTEXT, KEY

BYTES = some.lists(
    some.sampled_from([b"data: ", b"data:", b"event: e", b":c", b"\r", b"\n", b"\r\n", b"\xc3\xbc", b"x", b" "])
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Split the data at these positions."""
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(BYTES.map(b"".join), some.lists(some.integers(0, 999)))
def test_any_chunking_gives_the_same_events(data: bytes, places: list[int]) -> None:
    whole, parts = SseParser(), SseParser()
    assert whole.feed(data) == [event for piece in cut(data, places) for event in parts.feed(piece)]


@given(some.lists(some.sampled_from([b"a", b"bc", b"\r", b"\n"])).map(b"".join), some.lists(some.integers(0, 99)))
def test_lines_are_split_like_python(data: bytes, places: list[int]) -> None:
    lines = LineSplitter()
    found = [line for piece in cut(data, places) for line in lines.feed(piece)]
    rest = [lines.finish()] if lines.finish() else []
    assert found + rest == data.splitlines()


def test_server_sent_events_follow_the_standard() -> None:
    text = ":c\n\ndata: a\ndata:b\ndata:  c\nid: 1\nretry: 5\nevent: e\n\nevent: f\n\ndata\n\ndata: cut"
    assert [tuple(event) for event in SseParser().feed(text.encode())] == [("e", "a\nb\n c"), ("", "")]


@pytest.mark.parametrize(
    ("parser", "body"),
    [(SseParser, "data: {}\n\n"), (NdjsonParser, "{}\n"), (NdjsonParser, "{}"), (JsonBodyParser, "{}")],
)
def test_a_byte_order_mark_is_not_part_of_the_first_value(parser: type[SseParser], body: str) -> None:
    marked, events = parser(), []
    for byte in body.encode("utf-8-sig"):
        events += marked.feed(bytes([byte]))
    assert [event.data for event in [*events, *marked.finish()]] == ["{}"]


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_that_python_refuses_becomes_a_string(sign: str) -> None:
    kept, long = f"{sign}{'9' * MAX_INT_DIGITS}", f"{sign}{'9' * 5_000}"
    assert decode_json(f"[{kept}, {long}]", ERROR_CONTEXT) == [int(kept), long]


def test_a_line_has_a_size_limit() -> None:
    lines = LineSplitter()
    assert lines.feed(b"x" * MAX_LINE_BYTES) == []
    with pytest.raises(ModelError):
        lines.feed(b"x")
    with pytest.raises(ModelError):
        LineSplitter().feed(b"a\n" + b"x" * (MAX_LINE_BYTES + 1) + b"\nb\n")


@given(some.lists(some.sampled_from(["a", KEY, KEY[:3], KEY[3:], "\ud83e", "\udd89", "s", "sk"])), some.integers(1, 9))
def test_a_key_is_masked_in_every_encoding(words: list[str], size: int) -> None:
    text = "".join(words)
    flow = MaskedStream(KeyMask(KEY))
    shown = "".join(flow.feed(text[place : place + size]) for place in range(0, len(text), size)) + flow.finish()
    assert KEY not in shown
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert shown == paired.replace(KEY, "[key]")


@pytest.mark.parametrize("word", ["ollama", "lm-studio", "EMPTY", "sk-no-key-required", ""])
def test_placeholders_for_no_key_are_not_masked(word: str) -> None:
    assert KeyMask(word).hide(f"run {word} now") == f"run {word} now"


LONG = "sk-ant-api03-Qw7Zx9Lm2Vb5Nc8Kd1Hg4Jf6"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"No such key: {LONG[8:]}.", "No such key: [key]."),
        (f"No such key: {LONG[:-9]}…", "No such key: [key]…"),
        (f"{LONG[:16]}***{LONG[-12:]} and {LONG}", "[key]***[key] and [key]"),
        (f"No key ends in {LONG[-11:]}, as yours does.", f"No key ends in {LONG[-11:]}, as yours does."),
        ("Keys of api.anthropic.com begin with sk-ant-api", "Keys of api.anthropic.com begin with sk-ant-api"),
        ("", ""),
    ],
)
def test_a_long_part_of_a_key_is_masked_in_an_error(said: str, shown: str) -> None:
    assert ErrorContext("o", "m", KeyMask(LONG)).sanitize(said) == shown
    assert ErrorContext("o", "m", KeyMask("")).sanitize(said) == said


OVERFLOWS = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "request_too_large",
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "Please reduce the length of the messages or completion",
    "This endpoint's maximum context length is 128000 tokens. However, you requested about 200000",
    "prompt token count of 200000 exceeds the limit of 128000",
    "request (12011 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "tokens to keep from the initial prompt is greater than the context length",
    "invalid params, context window exceeds limit",
    "Your request exceeded model token limit: 131072",
    "Prompt contains 9 tokens, too large for model with 8 maximum context length",
    "model_context_window_exceeded",
    "prompt too long; exceeded max context length by 5 tokens",
    "context_length_exceeded",
    "exceed_context_size_error",
    "too many tokens",
    "token limit exceeded",
    "Requests exceed context limit",
    "The prompt is longer than the model's context length",
    "Input tokens exceed the configured limit of 272000",
    "current length is 9000 while limit is 8000",
    "maximum input length is 8000 tokens",
    "the input length exceeds the context length",
    "400 status code (no body)",
    "litellm.ContextWindowExceededError: litellm.BadRequestError: this is a mock",
]


def test_every_overflow_message_is_recognized() -> None:
    """Each pattern has a message: 27 known ones, and one observed with LiteLLM."""
    patterns = TOO_LONG.pattern.split("|")
    assert len(OVERFLOWS) == 28 and len(patterns) >= 28
    for message in OVERFLOWS:
        assert is_too_long(ErrorBody(message, "")), message
        assert classify_error(ErrorBody(message, ""), 400) == "too_long"


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached: too many tokens per minute",
        "Too many requests, token limit exceeded",
        "Throttling error: Too many tokens, please wait",
        "string_above_max_length: exceeds the limit of 512",
        "Invalid 'user': exceeds the limit of 64",
    ],
)
def test_messages_that_resemble_an_overflow(message: str) -> None:
    assert not is_too_long(ErrorBody(message, ""))


@pytest.mark.parametrize(
    ("status", "body", "kind", "again"),
    [
        (400, {"error": {"message": "x", "type": "invalid_request_error"}}, "rejected", False),
        (400, b"", "too_long", False),
        (401, {"error": {"message": "x"}}, "key", False),
        (402, {"error": "pay"}, "credit", False),
        (403, {"error": {"type": "permission_error", "message": "no"}}, "forbidden", False),
        (404, {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}, "model", False),
        (404, {"error": "model 'x' not found"}, "model", False),
        (404, {"detail": "Not Found"}, "not_a_server", False),
        (404, {"error": {"message": "The model is gone", "code": 404}}, "rejected", False),
        (404, {"error": {"message": "The model is gone"}}, "rejected", False),
        (404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}, "not_a_server", False),
        (404, {"error": {"message": "Invalid URL (POST /chat)", "code": None}}, "not_a_server", False),
        (404, {"error": {"code": "404", "message": "Resource not found"}}, "not_a_server", False),
        (404, {"error": {"code": 404}}, "not_a_server", False),
        (404, {"status": 404, "error": "Not Found"}, "not_a_server", False),
        (404, b"404 page not found", "not_a_server", False),
        (408, b"", "server", True),
        (409, {"error": {"message": "conflict"}}, "server", True),
        (413, {"type": "error", "error": {"type": "request_too_large", "message": "x"}}, "too_long", False),
        (422, {"detail": [{"loc": ["body", "x"], "msg": "extra fields not permitted"}]}, "rejected", False),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "slow"}}, "rate_limited", True),
        (429, {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}, "credit", False),
        (429, {"error": {"message": "x", "details": {"error_code": "enforced_spend_limit_reached"}}}, "credit", False),
        (400, {"error": {"message": "Your credit balance is too low to access the API"}}, "credit", False),
        (400, {"error": {"code": "content_policy_violation", "message": "x"}}, "filtered", False),
        (500, {"message": "oops"}, "server", True),
        (502, b"<html>Bad gateway</html>", "server", True),
        (503, {"error": {"message": "Loading model", "code": 503}}, "loading", True),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded", True),
        (500, {"error": {"message": "Overloaded", "type": "overloaded_error"}}, "overloaded", True),
        (500, b'data: {"error": {"message": "Overloaded"}}\n\ndata: [DONE]\n\n', "overloaded", True),
        (418, b"\xff\xfe", "rejected", False),
    ],
)
def test_errors_of_every_shape(status: int, body: Any, kind: str, again: bool) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fault = error_from_response(ERROR_CONTEXT, status, {}, data)
    assert (fault.kind, fault.retryable) == (kind, again)
    assert str(status) in fault.details.cause and "{" not in fault.details.message


def test_a_server_may_control_retries() -> None:
    assert not error_from_response(ERROR_CONTEXT, 500, {"x-should-retry": "false"}, b"").retryable
    assert error_from_response(ERROR_CONTEXT, 400, {"x-should-retry": "true"}, b'{"error":"x"}').retryable
    money = b'{"error":{"code":"insufficient_quota"}}'
    assert not error_from_response(ERROR_CONTEXT, 429, {"x-should-retry": "true", "retry-after": "1"}, money).retryable
    assert not error_from_response(ERROR_CONTEXT, 401, {"x-should-retry": "true"}, b"").retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:30 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2020 10:00:30 GMT"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "1e999"}, 0.0),
        ({}, 0.0),
    ],
)
def test_every_form_of_retry_after(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers) == seconds


def test_only_one_module_imports_the_http_library() -> None:
    """The HTTP library for models can then be replaced in one place; downloads, sent traces and MCP are apart.

    The MCP library takes and returns objects of the HTTP library.
    """
    core = Path(__file__).parents[3] / "core"
    assert {
        path.relative_to(core).as_posix()
        for path in core.rglob("*.py")
        if re.search(r"^\s*(import|from) (httpx|httpcore)", path.read_text(), re.M)
        and not path.is_relative_to(core / "mcp")
    } == {"models/http.py", "models/local/download.py", "models/local/model_address.py", "exchange/trace_sender.py"}


def test_a_date_is_relative_to_now() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < retry_after({"retry-after": later}) <= 90
    assert [format_duration(seconds) for seconds in (0.5, 90, 600, 86_400)] == ["0.5 s", "90 s", "10 min", "24 h"]


def test_server_text_is_sanitized() -> None:
    """Text from a server is shown without API keys and terminal escapes, and truncated."""
    nasty = f"\x1b[31mred\x1b[0m {KEY}\r\n\u202e" + "x" * 5_000
    why = error_from_response(ERROR_CONTEXT, 400, {}, json.dumps({"error": {"message": nasty}}).encode()).details.cause
    assert why.isprintable() and KEY not in why and len(why) < 700
    assert "{" not in "".join(kind.message.format(origin="o", model="m") for kind in ERROR_KINDS.values())


@pytest.mark.parametrize(
    "plain", [None, 5, [], {}, {"error": None}, {"error": []}, {"error": {"message": {"a": 1}}}, "x"]
)
def test_any_value_can_be_an_error(plain: Any) -> None:
    assert isinstance(parse_error_body(plain).message, str)


def test_model_lists_of_many_servers() -> None:
    rows = [
        {"id": "openai"},
        {"id": "vllm", "max_model_len": 4096},
        {"id": "llamacpp", "meta": {"n_ctx": 8192, "n_ctx_train": 32768}},
        {"id": "litellm", "max_input_tokens": 1000, "max_output_tokens": 100},
        {
            "id": "openrouter",
            "name": "Open Router",
            "context_length": 200_000,
            "top_provider": {"max_completion_tokens": 64_000},
            "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "-1"},
            "supported_parameters": ["tools"],
            "architecture": {"input_modalities": ["text", "image"]},
        },
        {"id": "groq", "context_window": 131_072, "max_completion_tokens": 8_192},
        {"id": "mistral", "max_context_length": 32_768, "capabilities": {"function_calling": True, "vision": False}},
        {"id": "odd", "context_length": True, "pricing": "free", "meta": []},
        {"id": 5},
        "none",
    ]
    assert parse_openai_models({"data": rows}) == [
        ListedModel("openai"),
        ListedModel("vllm", window=4096),
        ListedModel("llamacpp", window=8192),
        ListedModel("litellm", window=1000, max_output=100),
        ListedModel(
            "openrouter",
            "Open Router",
            200_000,
            64_000,
            3.0,
            15.0,
            None,
            tools=True,
            vision=True,
            pdf=False,
            reasoning=False,
        ),
        ListedModel("groq", window=131_072, max_output=8_192),
        ListedModel("mistral", window=32_768, tools=True, vision=False),
        ListedModel("odd"),
    ]
    assert parse_openai_models({"data": None}) == parse_openai_models([]) == parse_openai_models("x") == []


def test_a_malicious_list_is_truncated_and_its_names_can_be_shown() -> None:
    names = ["a\x1b]0;x\x07", "b" * 100_000, "c\nprovider: openai", "", "fine"]
    rows = [{"id": name, "model": name, "context_length": 10**30} for name in names]
    assert parse_openai_models({"data": rows}) == [ListedModel("fine")]
    assert (
        [one.id for one in parse_anthropic_models({"data": rows})] == parse_ollama_names({"models": rows}) == ["fine"]
    )
    assert len(parse_openai_models([{"id": str(number)} for number in range(100_000)])) == MAX_MODELS


def test_model_lists_of_anthropic_and_ollama() -> None:
    row = {"id": "claude", "display_name": "Claude", "max_input_tokens": 200_000, "max_tokens": 64_000}
    assert parse_anthropic_models({"data": [{**row, "capabilities": {"image_input": {"supported": True}}}]}) == [
        ListedModel("claude", "Claude", 200_000, 64_000, vision=True)
    ]
    shown = {"capabilities": ["completion", "tools"], "model_info": {"llama.context_length": 8192, "llama.x": 1}}
    assert parse_ollama_model("a", shown) == ListedModel(
        "a", window=8192, tools=True, vision=False, pdf=False, reasoning=False
    )
    assert (
        parse_ollama_model("a", None)
        == parse_ollama_model("a", {})
        == parse_ollama_model("a", {"model_info": []})
        == ListedModel("a")
    )


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 9, 12),
        ("日本語のトークンを数える。", 7, 13),
        ("def add(a: int, b: int) -> int:\n    return a + b\n", 17, 26),
        ('{"name": "value", "count": 12345}', 10, 16),
        ("한국어 문장입니다.", 5, 12),
        ("Искусственный интеллект отвечает быстро.", 5, 10),
        ("1234567890", 4, 6),
        ("🦉" * 10, 3, 30),
    ],
)
def test_estimates_are_close(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


def test_estimates_of_this_repository_are_close_to_four_characters_per_token() -> None:
    """Python and English text has about one token for four characters."""
    for path in (Path(__file__), Path(__file__).parents[3] / "README.md"):
        words = path.read_text(encoding="utf-8")
        assert 0.18 < estimate_tokens(words) / len(words) < 0.40


@given(some.one_of(some.text(), some.text("1a! \n\t漢가")))
@example("1\n" * 50)
@example("  1" * 50)
def test_no_text_is_estimated_above_the_limit_per_character(text: str) -> None:
    assert estimate_tokens(text) <= len(text) * MAX_TOKENS_PER_CHAR


def test_a_long_text_is_estimated_by_samples() -> None:
    part = "".join(
        path.read_text("utf-8") for path in sorted((Path(__file__).parents[3] / "core" / "models").glob("*.py"))
    )
    pieces = [part[at : at + 16_000] for at in range(0, len(part), 16_000)]
    assert estimate_tokens(part) == pytest.approx(sum(map(estimate_tokens, pieces)), rel=0.1)


def test_estimates_learn_from_real_counts() -> None:
    ratio = 1.0
    for _ in range(20):
        ratio = updated_ratio(ratio, 1_000, 1_500)
    assert 1.49 < ratio < 1.5
    assert updated_ratio(1.0, 10, 500) == updated_ratio(1.0, 1_000, 0) == 1.0
    assert updated_ratio(1.0, 1_000, 10**9) < 2
