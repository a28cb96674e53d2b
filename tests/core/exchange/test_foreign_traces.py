"""Messages in traces of other programs: repeated texts, requests without an operation, attributes of root spans."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.domain.events import Replied, RunEnded, UserMessage
from core.domain.import_events import UnrecognizedRecordsKept
from tests.core.exchange.home import Home, home
from tests.core.exchange.test_exporters import worked

BEGAN = 1_795_213_530_064_000_000
Plain = dict[str, Any]


def user(text: str) -> Plain:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def agent(text: str) -> Plain:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def span(trace: str, place: int, said: Plain, **more: Any) -> Plain:
    return {
        "traceId": trace, "spanId": f"{place + 1:016x}", "parentSpanId": "f" * 16, "name": "a span",
        "startTimeUnixNano": str(BEGAN + place * 10**9), "endTimeUnixNano": str(BEGAN + place * 10**9 + 5 * 10**8),
        "attributes": [{"key": name, "value": value if isinstance(value, dict) else {"stringValue": value}}
                       for name, value in said.items()], **more,
    }  # fmt: skip


def chat(trace: str, place: int, heard: Sequence[Plain], answer: str, **more: Any) -> Plain:
    said = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(heard), "gen_ai.output.messages": json.dumps([agent(answer)]),
    }  # fmt: skip
    return span(trace, place, said, **more)


def export(*spans: Plain) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def turns(trace: str, words: Sequence[str]) -> list[Plain]:
    """Return the spans of a conversation in which each request repeats all earlier messages, as in most programs."""
    talk: list[Plain] = []
    found: list[Plain] = []
    for place, text in enumerate(words):
        talk.append(user(text))
        found.append(chat(trace, place, talk, f"answer {place}"))
        talk.append(agent(f"answer {place}"))
    return found


async def spoken(made: Home, session: str) -> list[str]:
    return [event.text.head for event in await made.events(session) if isinstance(event, UserMessage)]


def test_repeated_messages_are_all_recorded(tmp_path: Path) -> None:
    spans = turns("f6", ["go on", "go on", "go on"])
    again = chat("f6", 9, [user("go on")], "once more asked, nothing new was said")
    (tmp_path / "a.json").write_bytes(export(*spans, again))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.exchange.import_file(tmp_path / "a.json")).sessions
            assert await spoken(made, session) == ["go on"] * 3

    asyncio.run(main())


def test_a_request_that_does_not_name_its_operation(tmp_path: Path) -> None:
    said = {"gen_ai.usage.input_tokens": {"intValue": 12}, "gen_ai.input.messages": json.dumps([user("hi")])}
    failed = span("a7", 0, said, name="chat m", status={"code": 2, "message": "boom"})
    (tmp_path / "a.json").write_bytes(export(failed))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.exchange.import_file(tmp_path / "a.json")).sessions
            events = await made.events(session)
            assert await spoken(made, session) == ["hi"]
            assert [event.usage.input for event in events if isinstance(event, Replied)] == [12]
            assert [(e.status, e.reason) for e in events if isinstance(e, RunEnded)] == [("failed", "boom")]

    asyncio.run(main())


def test_our_own_messages_title_and_folder_are_restored(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            session = await worked(made)
            mine = made.reader.session(session)
            path = tmp_path / "a.json"
            await made.exchange.export(session, "otlp", path, keep_secrets=True)
            async with home(tmp_path / "b.db") as other:
                back = other.reader.session((await other.exchange.import_file(path)).sessions[0])
                assert mine and back and (back.title, back.folder) == (mine.title, mine.folder)

    asyncio.run(main())


def test_our_requests_contain_only_new_messages(tmp_path: Path) -> None:
    spans = [chat("a9", place, [user("go on")], "yes") for place in range(3)]
    scope = {"scope": {"name": "journeyman"}, "spans": spans}
    (tmp_path / "a.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [scope]}]}))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.exchange.import_file(tmp_path / "a.json")).sessions
            assert await spoken(made, session) == ["go on"] * 3

    asyncio.run(main())


def test_the_system_prompt_is_stored_once(tmp_path: Path) -> None:
    system = {"key": "gen_ai.system_instructions", "value": {"stringValue": '[{"content": "Be kind."}]'}}
    spans = turns("a8", ["one", "two"])
    for each in spans:
        each["attributes"].append(system)
    older = chat("a8", 3, [{**user("Be short."), "role": "system"}, user("one")], "yes")
    (tmp_path / "a.json").write_bytes(export(*spans, older))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(tmp_path / "a.json")
            kept = [e for e in await made.events(brought.sessions[0]) if isinstance(e, UnrecognizedRecordsKept)]
            assert [(e.record_type, e.raw.head) for e in kept] == [
                ("system", '[{"content": "Be kind."}]'), ("system", "Be short."),
            ]  # fmt: skip

    asyncio.run(main())
