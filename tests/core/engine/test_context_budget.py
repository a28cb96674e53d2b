"""The context budget: a run completes in a small window, compacted results can be read back, and the counts add up."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import (
    CallStarted,
    ContextCompacted,
    EventRecord,
    Replied,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunStarted,
    ToolReturned,
)
from core.domain.message_files import AttachedFile
from core.domain.question import Answer
from core.domain.text import Text
from core.domain.tiers import AUTO, TierRule, Tiers
from core.engine.history.replay import replay_session
from core.engine.run.recall_dropped import one_line
from core.engine.state.compaction import SUMMARY, USER
from core.engine.state.conversation import TOO_LONG_REASON, Conversation
from core.engine.state.token_counts import message_tokens
from core.models.catalog import ModelCatalog, ModelInfo
from core.settings import schema as settings_schema
from tests.core.engine.harness import EngineHarness, call_reply, crash, open_engine, run_bounded, scripted_replies

TELLING = "The agent read the notes line by line; lines 1 to 40 hold nothing new. It was about to read on."


def reading(turns: int, **more: Any) -> str:
    """Return a script that reads other lines of a file in every turn."""
    replies = [{"text": f"Turn {n}.", **call_reply("read", path="notes.txt", start=n, end=n + 9)} for n in range(turns)]
    replies[0] = {"text": "I begin.", **call_reply("read", path="notes.txt", start=1, end=400)}
    return scripted_replies(*replies, {"text": "All read."}, **more)


def write_notes(folder: Path, lines: int) -> None:
    (folder / "notes.txt").write_text(
        "".join(f"Line {n} of the notes, with some words.\n" for n in range(1, lines + 1))
    )


async def talk_of(scene: EngineHarness, session: str, until: int = 0) -> Conversation:
    talk = Conversation()
    async for entry in scene.engine.events(session):
        if until and entry.seq > until:
            break
        talk.apply(entry)
    return talk


async def check_ledger(scene: EngineHarness, session: str) -> int:
    """Check the token counts of every request against its messages and the window. Return the number of requests."""
    talk, checked = Conversation(), 0
    async for entry in scene.engine.events(session):
        talk.apply(entry)
        if not isinstance(entry.event, RequestSent) or entry.event.purpose:
            continue
        sums: dict[str, int] = {}
        for message in talk.messages:
            sums[message.category] = sums.get(message.category, 0) + message_tokens(message)
        told = {kind: tokens for kind, tokens in entry.event.tokens.items() if kind not in {"system", "tools"}}
        assert {kind: n for kind, n in told.items() if n} == {kind: n for kind, n in sums.items() if n}, entry.seq
        assert sum(entry.event.tokens.values()) <= entry.event.context_window
        checked += 1
    return checked


def test_a_long_run_with_one_task_fits_a_small_window(tmp_path: Path) -> None:
    """L-B2: a run with a single user message still fits into the window."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            script = reading(150, window=9_000, roles={"summary": [{"text": TELLING, "usage": {"input": 900}}]})
            session = await scene.run(script, max_turns=0)
            assert scene.status(session) == "done" and not scene.bugs
            entries = [entry async for entry in scene.engine.events(session)]
            seqs = [entry.seq for entry in entries if isinstance(entry.event, ContextCompacted)]
            cuts = [entry.event for entry in entries if isinstance(entry.event, ContextCompacted)]
            assert len(cuts) > 2 and all(cut.tokens_after < cut.tokens_before for cut in cuts)
            assert all(cut.model == "scripted" for cut in cuts if cut.until_seq)
            assert all(cut.summary.head.count(TELLING) == 1 for cut in cuts if cut.until_seq)
            assert await check_ledger(scene, session) == 151
            talk = await talk_of(scene, session)
            assert [m.text.head for m in talk.messages if m.category == USER] == ["Go."]
            assert [m.category for m in talk.messages].count(SUMMARY) == 1
            before, after = [await scene.engine.analytics.context(session, seq) for seq in (seqs[-1] - 1, seqs[-1])]
            kept = {(item.seq, item.call_id) for item in after if not item.truncated}
            gone = [item for item in before if (item.seq, item.call_id) not in kept]
            assert gone and "Turn" in " ".join(item.description for item in gone)
            left = await scene.engine.analytics.context(session)
            assert {item.seq for item in left}.isdisjoint(item.seq for item in gone if item.category != SUMMARY)

    run_bounded(main())


def test_L4_the_to_do_list_survives_every_compaction(tmp_path: Path) -> None:
    """It is written once; a list that is long, too, stays whole."""
    items = [
        {"text": f"Look at part {number} of the notes, line by line.", "status": "pending"} for number in range(40)
    ]

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            work = json.loads(reading(150, window=12_000, roles={"summary": [{"text": TELLING}]}))
            work["replies"].insert(0, call_reply("todo", items=items))
            session = await scene.run(json.dumps(work), max_turns=0)
            events = await scene.events(session)
            assert scene.status(session) == "done" and not scene.bugs
            cuts = [event for event in events if isinstance(event, ContextCompacted) and event.until_seq]
            assert len(cuts) > 2
            (written,) = [event.output.head for event in events if isinstance(event, ToolReturned)][:1]
            seen = [scene.engine.full_text(message.text) for message in (await talk_of(scene, session)).messages]
            assert sum(written in text for text in seen) == 1

    run_bounded(main())


def test_B7_the_context_window_counts_and_not_the_output_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            began = RunStarted("scripted", 0, Text(reading(6, window=32_000)), mode="auto", max_output_tokens=64)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert {event.context_window for event in events if isinstance(event, RequestSent)} == {32_000}
            assert not any(isinstance(event, ContextCompacted) for event in events)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_secrets_are_removed_from_removed_output_that_is_read_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [
                call_reply("run", command="echo \"password: 'correct horse'\""),
                *[call_reply("read", path="notes.txt", start=n, end=n + 40) for n in range(30)],
                call_reply("recall_dropped", id="r1c1"),
                call_reply("recall_dropped", id="conversation"),
                {"text": "done"},
            ]
            session = await scene.run(scripted_replies(*replies, window=12_000, roles={"summary": [{"text": TELLING}]}))
            events = await scene.events(session)
            again = {e.call_id for e in events if isinstance(e, CallStarted) and e.tool == "recall_dropped"}
            outputs = [e.output.head for e in events if isinstance(e, ToolReturned) and e.call_id in again]
            assert outputs[0] == "password: '[password removed]'"
            assert "Result of r1c1: password: '[password removed]'" in outputs[1]

    run_bounded(main())


def test_removed_results_can_be_read_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [
                {"text": "I begin.", **call_reply("read", path="notes.txt")},
                *[call_reply("read", path="notes.txt", start=n, end=n + 40) for n in range(30)],
                call_reply("recall_dropped", id="r1c1", start=17, end=18),
                call_reply("recall_dropped", id="r1c1", start=390, end=391),  # beyond the start that the event has
                call_reply("recall_dropped", id="conversation", end=3),
                call_reply("recall_dropped", id="r99c1"),
                {"text": "done"},
            ]
            session = await scene.run(scripted_replies(*replies, window=12_000, roles={"summary": [{"text": TELLING}]}))
            events = await scene.events(session)
            calls = {
                e.call_id: e.step_kind for e in events if isinstance(e, CallStarted) and e.tool == "recall_dropped"
            }
            outputs = [e for e in events if isinstance(e, ToolReturned) and e.call_id in calls]
            first, last, talk, wrong = (event.output.head for event in outputs)
            assert set(calls.values()) == {"read_back"} and [e.failed for e in outputs] == [False, False, False, True]
            assert last.startswith("Line 390 of the notes, with some words.\nLine 391 of the notes,")
            assert first.startswith("Line 17 of the notes, with some words.\nLine 18 of the notes, with some words.\n")
            assert "Continue with start 19" in first
            assert talk.startswith("User: Go.\nAgent: I begin.\nCall r1c1: read") and "r99c1" in wrong

    run_bounded(main())


def test_a_part_of_the_conversation_says_where_it_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.engine.run.recall_dropped.MAX_LINES", 2)

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            calls = [{"start": 1}, {"start": 2, "end": 2}, {"start": 5, "end": 3}, {"start": 99}]
            replies = [
                {"text": "Looking.", **call_reply("recall_dropped", id="conversation", **part)} for part in calls
            ]
            began = RunStarted("scripted", script=Text(scripted_replies(*replies, {"text": "done"})))
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            first, second, reversed_part, too_far = [e.output.head for e in events if isinstance(e, ToolReturned)]
            assert first == "User: Go.\nAgent: Looking.\n[Lines 1 to 2. Continue with start 3.]"
            assert second == "Agent: Looking.\n[Lines 2 to 2. Continue with start 3.]"
            assert reversed_part.startswith("The end is before the start.")
            assert too_far.startswith("The conversation has only 12 lines.")

    run_bounded(main())


@pytest.mark.parametrize("text", ["a" + " " * 30 + "b", "a" * 9 + " b", "a " * 20])
def test_a_shortened_line_says_so(text: str) -> None:
    line = one_line(text, 10)
    assert len(line) <= 10 and (line.endswith("…") or line == " ".join(text.split()))


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ({"fault": "server_error"}, "The provider returned a server error."),
        ({"fault": "cut", "text": "half a summary that never ends", "after_chars": 5}, "The reply was interrupted."),
        ({"text": ""}, "The summary was empty."),
        ({"text": "ok"}, "The summary was empty."),
        ({"text": "word " * 50_000}, None),
    ],
)
def test_a_failing_summarizer_never_stops_the_run(tmp_path: Path, said: dict[str, Any], trouble: str | None) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            session = await scene.run(reading(80, window=9_000, roles={"summary": [said]}), max_turns=0)
            assert scene.status(session) == "done" and not scene.bugs
            cuts = [e for e in await scene.events(session) if isinstance(e, ContextCompacted) and e.until_seq]
            assert cuts and all((cut.error and cut.error.message) == trouble for cut in cuts)
            for cut in cuts:
                assert len(cut.summary.head) > 40 and (cut.model == "") == (trouble is not None)
                if trouble:  # the generated outline says what happened
                    assert "Call r" in cut.summary.head
            await check_ledger(scene, session)

    run_bounded(main())


def test_a_request_too_long_for_the_provider_is_compacted_and_retried(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [call_reply("read", path="notes.txt", start=n, end=n + 60) for n in range(12)]
            script = scripted_replies(
                *replies, {"fault": "too_long"}, {"text": "done"}, roles={"summary": [{"text": TELLING}]}
            )
            session = await scene.run(script)
            assert scene.status(session) == "done"
            kinds = await scene.kinds(session)
            assert kinds[-5:] == ["ContextCompacted", "RequestRetried", "RequestSent", "Replied", "RunEnded"]
            (cut,) = [e for e in await scene.events(session) if isinstance(e, ContextCompacted)]
            assert cut.reason == TOO_LONG_REASON and cut.tokens_after < cut.tokens_before
            assert (await talk_of(scene, session)).too_long_at == cut.tokens_before

    run_bounded(main())


def test_a_request_that_cannot_be_compacted_ends_with_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"fault": "too_long"}))
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed" and "too long" in last.reason

    run_bounded(main())


def test_manual_compaction_while_idle_and_while_running(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [call_reply("read", path="notes.txt", start=n, end=n + 40) for n in range(12)]
            roles = {"summary": [{"text": TELLING}]}
            session = await scene.run(scripted_replies(*replies, {"text": "done"}, roles=roles))
            assert await scene.engine.compact_context(session)
            assert scene.status(session) == "done"
            assert (await talk_of(scene, session)).compactions == 1
            again = [await scene.engine.compact_context(session) for _ in range(9)]
            assert not again[-1], "each time less can be compacted"
            going = await scene.start(
                scripted_replies(*replies, call_reply("ask_user", question="Well?"), {"text": "x"}, roles=roles)
            )
            asked = await scene.when(lambda: list(scene.engine.open_questions()))
            await scene.engine.compact_context(going)
            await scene.engine.answer(asked[0][1].id, Answer("", "Well."))
            await scene.engine.wait_idle(going)
            kinds = await scene.kinds(going)
            assert kinds.count("ContextCompacted") == 1 and scene.status(going) == "done"
            (cut,) = [event for event in await scene.events(going) if isinstance(event, ContextCompacted)]
            assert cut.reason == "by hand"

    run_bounded(main())


def test_a_limit_set_by_the_user_precedes_the_window(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            scene.services.runs._factory.compact_at = lambda: 8_000
            session = await scene.run(reading(60, roles={"summary": [{"text": TELLING}]}), max_turns=0)
            sent = [e for e in await scene.events(session) if isinstance(e, RequestSent) and not e.purpose]
            assert max(sum(e.tokens.values()) for e in sent) <= 9_000 and sent[-1].context_window == 128_000

    run_bounded(main())


def test_a_crash_after_a_compaction_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write_notes(scene.folder, 400)
            session = await scene.start(reading(60, window=9_000), max_turns=0)
            await scene.until(ContextCompacted)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            await scene.engine.resume(session, "retry" if await scene.engine.unresolved_calls(session) else "")
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            await check_ledger(scene, session)
            other = await scene.engine.history.fork(session)
            mine, copy = await talk_of(scene, session), await talk_of(scene, other)
            assert [m.text for m in mine.messages] == [m.text for m in copy.messages]
            replayed = [entry async for entry in scene.engine.events(session)]
            assert await differing(scene, session, tmp_path) == [], replayed

    run_bounded(main())


async def differing(scene: EngineHarness, session: str, home: Path) -> list[int]:
    """Return the events that a replay would record differently."""

    async def at_once(entry: EventRecord) -> None:
        return None

    place = home / "replay"
    place.mkdir()
    return (await replay_session(scene.services.reader, session, place, lambda told: None, at_once)).differing


def test_tiers_choose_and_record_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ModelCatalog.model

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            monkeypatch.setattr(ModelCatalog, "model", lambda c, n, s: real(c, "scripted", s))
            tiers = Tiers(("s",), ("m",), ("f",), (TierRule("after_failure", "frontier"), TierRule("any", "mid")))
            scene.services.runs._factory.tiers = lambda: tiers
            script = scripted_replies({"text": "a", **call_reply("read", path="nowhere")}, {"text": "b"})
            session = await scene.engine.start("Go.", scene.folder, RunStarted(AUTO, 60, Text(script)))
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert [type(e) for e in events if isinstance(e, RequestSent | Replied)] == [RequestSent, Replied] * 2
            requests = [e for e in events if isinstance(e, RequestSent)]
            assert all(e.tokens["system"] and e.tokens["user"] for e in requests) and requests[1].tokens["results:read"]
            sent = [(e.model, e.tier, e.reason) for e in requests]
            assert sent == [("m", "mid", "the default"), ("f", "frontier", "the last step failed")]

    run_bounded(main())


def test_the_next_model_of_a_tier_replaces_a_failing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ModelCatalog.model

    def model(made: ModelCatalog, name: str, script: str) -> Any:
        return real(made, "scripted", scripted_replies({"fault": "too_long"}) if name == "bad" else script)

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            monkeypatch.setattr(ModelCatalog, "model", model)
            scene.services.runs._factory.tiers = lambda: Tiers(mid=("bad", "good"), rules=(TierRule("any", "mid"),))
            script = scripted_replies({"text": "first turn"}, {"text": "b"})
            session = await scene.engine.start("Go.", scene.folder, RunStarted(AUTO, 60, Text(script)))
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            sent = [(e.model, e.reason) for e in events if isinstance(e, RequestSent)]
            assert sent == [("bad", "the default"), ("good", "bad failed")]
            assert (
                sum(isinstance(e, RequestRetried) for e in events) == 1
                and sum(isinstance(e, Replied) for e in events) == 1
            )

    run_bounded(main())


def test_settings_of_the_user_reach_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ModelCatalog.model

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            monkeypatch.setattr(ModelCatalog, "model", lambda c, n, s: real(c, "scripted", s))
            rules = (TierRule("after_failure", "frontier"), TierRule("any", "small"))
            tiers = settings_schema.Tiers(small=("x/s",), frontier=("x/f",), rules=rules)
            scene.engine.settings.change(tiers=tiers, compact_at_tokens=9, model=AUTO)
        async with open_engine(tmp_path) as scene:
            assert scene.engine.settings.current.tiers == tiers and scene.services.runs._factory.compact_at() == 9
            session = await scene.engine.start(
                "Go.", scene.folder, RunStarted(AUTO, 60, Text(scripted_replies({"text": "b"})))
            )
            await scene.engine.wait_idle(session)
            sent = [e for e in await scene.events(session) if isinstance(e, RequestSent)]
            assert [(e.model, e.tier) for e in sent] == [("x/s", "small")]

    run_bounded(main())


def test_an_image_that_a_tool_returned_chooses_the_tier_for_images_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ModelCatalog.model

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
            (scene.folder / "a.txt").write_text("a")
            monkeypatch.setattr(ModelCatalog, "model", lambda c, n, s: real(c, "scripted", s))
            tiers = Tiers(("s",), ("m",), ("f",), (TierRule("vision", "frontier"), TierRule("any", "mid")))
            scene.services.runs._factory.tiers = lambda: tiers
            reads = [call_reply("read", path=path) for path in ("a.png", "a.txt")]
            script = scripted_replies(*reads, {"text": "ok"})
            session = await scene.engine.start("Go.", scene.folder, RunStarted(AUTO, 60, Text(script)))
            await scene.engine.wait_idle(session)
            sent = [(e.model, e.reason) for e in await scene.events(session) if isinstance(e, RequestSent)]
            assert sent == [("m", "the default"), ("f", "there are images to look at"), ("m", "the default")]

    run_bounded(main())


def test_images_go_to_the_model_of_the_tier_that_accepts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ModelCatalog.model

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            monkeypatch.setattr(ModelCatalog, "model", lambda c, n, s: real(c, "scripted", s))
            monkeypatch.setattr(ModelCatalog, "known_info", lambda c, n: ModelInfo(images=n == "sees"))
            tiers = Tiers(mid=("blind", "sees"), rules=(TierRule("any", "mid"),))
            scene.services.runs._factory.tiers = lambda: tiers
            script = scripted_replies({"text": "a"})
            image = [AttachedFile("a.png", "image/png", b"\x89PNG\r\n\x1a\n" + b"\0" * 100)]
            for files in ([], image):
                session = await scene.engine.start(
                    "Look.", scene.folder, RunStarted(AUTO, 60, Text(script)), files=files
                )
                await scene.engine.wait_idle(session)
            sent = [(e.event.model, e.event.reason) for e in scene.log if isinstance(e.event, RequestSent)]
            assert sent == [("blind", "the default"), ("sees", "the default; blind does not accept images")]

    run_bounded(main())
