"""The contract that every API format fulfills, tested with recorded replies of real servers."""

from pathlib import Path
from typing import NamedTuple

import pytest

from core.domain.events import Usage
from core.models.model import RequestedCall
from tests.core.models.replies import GOLDEN, Gathered, make_body_parser, make_reply_parser, parse_reply, run_exchange
from tests.servers.scripted_server import ServerAction, answer, failure

PREFIXES = {"openai-chat": "chat", "openai-responses": "responses", "anthropic": "anthropic", "ollama": "ollama"}
TWO = (RequestedCall("read_file", '{"path":"a.txt"}'), RequestedCall("read_file", '{"path":"b.txt"}'))
TWO_DUMPED = (RequestedCall("read_file", '{"path": "a.txt"}'), RequestedCall("read_file", '{"path": "b.txt"}'))
ONE = (RequestedCall("read_file", '{"path":"a.txt"}'),)


class Expected(NamedTuple):
    """The content of a recorded reply."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[RequestedCall, ...] = ()
    stop: str = ""
    usage: Usage | None = None


SCENES = {
    "plain": None,
    "tools": Expected("I will read two files.", "", TWO),
    "think": Expected("The answer is 4.", "Let me think about it. Two and two."),
    "length": Expected("truncated by max tokens", "", (), "length"),
    "interleave": Expected("text after tool", "", (RequestedCall("noop", "{}"),)),
}
OTHERS = {
    "litellm/anthropic-over-openai-tools.sse": ("anthropic", Expected("I will read two files.", "", TWO)),
    "litellm/chat-over-ollama-tools.sse": ("chat", Expected("I will read two files.", "", TWO_DUMPED)),
    "litellm/chat-think.sse": ("chat", SCENES["think"]),
    "litellm/responses-over-openai-tools.sse": ("responses", Expected("I will read two files.", "", TWO)),
    "llamacpp/chat-plain.sse": ("chat", None),
    "llamacpp/chat-tool-1.sse": ("chat", None),
    "llamacpp/chat-tool-2.sse": ("chat", None),
    "llamacpp/responses-plain.sse": (
        "responses",
        Expected("", "倡议Cells赌场赌场eco Families", (), "", Usage(12, 6)),
    ),
    "llamacpp/scripted-chat-tool.sse": ("chat", Expected("I will read it.", "", ONE, "", Usage(159, 28))),
    "llamacpp/scripted-anthropic-tool.sse": (
        "anthropic",
        Expected("I will read it.", "", ONE, "", Usage(159, 28, 158)),
    ),
    "llamacpp/scripted-responses-tool.sse": (
        "responses",
        Expected("I will read it.", "", ONE, "", Usage(159, 28, 158)),
    ),
    "transformers/chat.sse": ("chat", Expected("\n\n\n\n\n\n", "", (), "length", Usage(53, 6))),
}


class Recording(NamedTuple):
    name: str
    wire: str
    expected: Expected | None

    @property
    def data(self) -> bytes:
        return (GOLDEN / self.name).read_bytes()


def recordings() -> list[Recording]:
    """Return all recorded replies, with their expected content if known."""
    found = []
    for prefix, wire in PREFIXES.items():
        for scene, expected in SCENES.items():
            end = "ndjson" if wire == "ollama" else "sse"
            if wire == "ollama" and scene == "tools":
                expected = Expected("I will read two files.", "", TWO_DUMPED)
            if wire == "ollama" and scene == "length":
                expected = Expected("truncated by max tokens")  # aimock reports `stop` in this API format
            found.append(Recording(f"aimock/{prefix}-{scene}.{end}", wire, expected))
    return found + [Recording(name, wire, expected) for name, (wire, expected) in OTHERS.items()]


ALL = recordings()
SMALL = [one for one in ALL if len(one.data) < 6_000]
NAMES = [one.name for one in ALL]


def check(got: Gathered, expected: Expected | None) -> None:
    assert got.fault is None
    if expected is None:
        assert got.text or got.reasoning or got.calls
        return
    found = Expected(got.text, got.reasoning, tuple(got.calls), got.stop, got.usage if expected.usage else None)
    assert found == expected


def kind_of(wire: str) -> str:
    return "application/x-ndjson" if wire == "ollama" else "text/event-stream"


def test_every_recording_is_used() -> None:
    """No recording in the folder is unused."""
    errors = {"overflow", "ratelimit", "cut"}
    files = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*.*json")}
    files |= {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*.sse")}
    assert {name for name in files if Path(name).stem.split("-")[-1] not in errors} == set(NAMES)


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_a_recorded_reply_is_read_over_http(one: Recording) -> None:
    got, server = run_exchange(one.wire, answer(one.data, kind_of(one.wire)))
    check(got, one.expected)
    assert server.requests[0].json["stream"] is True
    assert "temperature" not in server.requests[0].body.decode()


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_a_reply_is_the_same_byte_by_byte(one: Recording) -> None:
    """The result does not depend on how the network splits the data."""
    data = one.data
    whole = parse_reply(one.wire, [data])
    check(whole, one.expected)
    assert parse_reply(one.wire, [data[place : place + 1] for place in range(len(data))]) == whole


@pytest.mark.parametrize("one", SMALL, ids=[one.name for one in SMALL])
def test_events_are_the_same_split_at_every_byte(one: Recording) -> None:
    """Two chunks, split at every position, also with other line endings."""
    sent = one.data
    for data in {sent, sent.replace(b"\n", b"\r\n"), sent.replace(b"\n", b"\r")}:
        parser = make_body_parser(one.wire)
        whole = parser.feed(data) + parser.finish()
        for place in range(0, len(data), 1 if data is sent else 7):
            parser = make_body_parser(one.wire)
            assert parser.feed(data[:place]) + parser.feed(data[place:]) + parser.finish() == whole


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_a_truncated_reply_is_never_complete(one: Recording) -> None:
    """A reply is incomplete at every event before its end."""
    parser, fold = make_body_parser(one.wire), make_reply_parser(one.wire)
    events = parser.feed(one.data) + parser.finish()
    told = []
    for event in events:
        fold.feed(event)
        told.append(fold.complete)
    assert fold.complete and not any(told[: told.index(True)])
    assert told.index(True) >= len(events) - 4


@pytest.mark.parametrize("wire", FOUR := sorted(PREFIXES.values()))
@pytest.mark.parametrize("end", ["closed", "reset"])
def test_an_interruption_keeps_the_text_received(wire: str, end: str) -> None:
    """The text is passed on first, then the error is raised."""
    one = next(one for one in ALL if one.wire == wire and "think" in one.name)
    half = one.data[: one.data.index(b"The answer") + len(b"The answer is 4.") + 40].rpartition(b"\n")[0] + b"\n\n"
    half = half if wire == "ollama" or b"The answer" in half else one.data.partition(b"4.")[0] + b'4."'
    acts: list[ServerAction] = answer(half, kind_of(wire), sized=False)
    got, _ = run_exchange(wire, [*acts, "reset"] if end == "reset" else acts)
    assert got.kind == "cut" and got.fault is not None and got.fault.retryable
    assert got.reasoning == "Let me think about it. Two and two." and got.calls == [] and got.usage is None


@pytest.mark.parametrize("wire", FOUR)
@pytest.mark.parametrize(("scene", "kind"), [("overflow", "too_long"), ("ratelimit", "rate_limited")])
def test_a_recorded_error_is_understood(wire: str, scene: str, kind: str) -> None:
    """A prompt that is too long is not retried; a rate limit is, after the delay the server asks for."""
    prefix = next(prefix for prefix, name in PREFIXES.items() if name == wire)
    body = next((GOLDEN / "aimock").glob(f"{prefix}-{scene}.*[nj]s*")).read_bytes() if wire == "ollama" else b""
    body = body or (GOLDEN / "aimock" / f"{prefix}-{scene}.sse").read_bytes()
    status = "429 Too Many Requests" if kind == "rate_limited" else "400 Bad Request"
    got, _ = run_exchange(wire, failure(status, body, ["Retry-After: 1"] if kind == "rate_limited" else []))
    assert got.kind == kind and got.fault is not None
    assert (got.fault.retryable, got.fault.retry_after_s) == ((True, 1.0) if kind == "rate_limited" else (False, 0.0))


@pytest.mark.parametrize("wire", FOUR)
def test_an_empty_stream_is_an_interruption(wire: str) -> None:
    assert run_exchange(wire, answer(b"", kind_of(wire)))[0].kind == "cut"
