"""What a person said in traces of others: words that repeat, requests that name no operation, what a root says."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.domain.events import PersonSpoke, Replied, RunEnded
from core.domain.exchanged import RecordKept
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
    """A talk whose requests carry all of it, as most programs send it."""
    talk: list[Plain] = []
    found: list[Plain] = []
    for place, text in enumerate(words):
        talk.append(user(text))
        found.append(chat(trace, place, talk, f"answer {place}"))
        talk.append(agent(f"answer {place}"))
    return found


async def spoken(made: Home, session: str) -> list[str]:
    return [event.text.head for event in await made.events(session) if isinstance(event, PersonSpoke)]


def test_words_that_repeat_are_all_told(tmp_path: Path) -> None:
    spans = turns("f6", ["go on", "go on", "go on"])
    again = chat("f6", 9, [user("go on")], "once more asked, nothing new was said")
    (tmp_path / "a.json").write_bytes(export(*spans, again))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.desk.bring(tmp_path / "a.json")).sessions
            assert await spoken(made, session) == ["go on"] * 3

    asyncio.run(main())


def test_a_request_that_does_not_name_its_operation(tmp_path: Path) -> None:
    said = {"gen_ai.usage.input_tokens": {"intValue": 12}, "gen_ai.input.messages": json.dumps([user("hi")])}
    failed = span("a7", 0, said, name="chat m", status={"code": 2, "message": "boom"})
    (tmp_path / "a.json").write_bytes(export(failed))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.desk.bring(tmp_path / "a.json")).sessions
            events = await made.events(session)
            assert await spoken(made, session) == ["hi"]
            assert [event.usage.input for event in events if isinstance(event, Replied)] == [12]
            assert [(e.status, e.reason) for e in events if isinstance(e, RunEnded)] == [("failed", "boom")]

    asyncio.run(main())


def test_our_own_words_title_and_folder_come_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            session = await worked(made)
            mine = made.reader.session(session)
            path = tmp_path / "a.json"
            await made.desk.export(session, "otlp", path, keep_secrets=True)
            async with home(tmp_path / "b.db") as other:
                back = other.reader.session((await other.desk.bring(path)).sessions[0])
                assert mine and back and (back.title, back.folder) == (mine.title, mine.folder)

    asyncio.run(main())


def test_requests_of_ours_carry_only_what_is_new(tmp_path: Path) -> None:
    spans = [chat("a9", place, [user("go on")], "yes") for place in range(3)]
    scope = {"scope": {"name": "journeyman"}, "spans": spans}
    (tmp_path / "a.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [scope]}]}))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.desk.bring(tmp_path / "a.json")).sessions
            assert await spoken(made, session) == ["go on"] * 3

    asyncio.run(main())


def test_what_the_model_was_told_to_be_is_kept_once(tmp_path: Path) -> None:
    system = {"key": "gen_ai.system_instructions", "value": {"stringValue": '[{"content": "Be kind."}]'}}
    spans = turns("a8", ["one", "two"])
    for each in spans:
        each["attributes"].append(system)
    older = chat("a8", 3, [{**user("Be short."), "role": "system"}, user("one")], "yes")
    (tmp_path / "a.json").write_bytes(export(*spans, older))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            brought = await made.desk.bring(tmp_path / "a.json")
            kept = [e for e in await made.events(brought.sessions[0]) if isinstance(e, RecordKept)]
            assert [(e.form, e.raw.head) for e in kept] == [
                ("system", '[{"content": "Be kind."}]'), ("system", "Be short."),
            ]  # fmt: skip

    asyncio.run(main())
