"""A run in a window that is too small for it comes to its end; what gave way can be read back; the figures add up."""

from pathlib import Path
from typing import Any

import pytest

from core.domain.events import (
    CallStarted,
    ContextCompacted,
    Entry,
    Replied,
    RequestSent,
    Retried,
    RunEnded,
    RunStarted,
    ToolReturned,
)
from core.domain.problems import Problem
from core.domain.question import Answer
from core.domain.text import Text
from core.domain.tiers import AUTO, Rule, Tiers
from core.engine.compaction import SUMMARY
from core.engine.conversation import TOO_LONG, Conversation
from core.engine.replay import replay
from core.engine.weights import weight
from core.models.catalogue import Catalogue
from core.settings import schema as settings_schema
from tests.core.engine.scenes import Scene, bounded, calling, crash, opened, played

TELLING = "The agent read the notes line by line; lines 1 to 40 hold nothing new. It was about to read on."


def reading(rounds: int, **more: Any) -> str:
    """A script that reads other lines of a file in every round."""
    replies = [{"text": f"Round {n}.", **calling("read", path="notes.txt", start=n, end=n + 9)} for n in range(rounds)]
    replies[0] = {"text": "I begin.", **calling("read", path="notes.txt", start=1, end=400)}
    return played(*replies, {"text": "All read."}, **more)


def write_notes(folder: Path, lines: int) -> None:
    (folder / "notes.txt").write_text(
        "".join(f"Line {n} of the notes, with some words.\n" for n in range(1, lines + 1))
    )


async def talk_of(scene: Scene, session: str, until: int = 0) -> Conversation:
    talk = Conversation()
    async for entry in scene.engine.entries(session):
        if until and entry.seq > until:
            break
        talk.hear(entry)
    return talk


async def check_ledger(scene: Scene, session: str) -> int:
    """Every request holds what its messages weigh, by category, and never more than the window; how many there were."""
    talk, checked = Conversation(), 0
    async for entry in scene.engine.entries(session):
        talk.hear(entry)
        if not isinstance(entry.event, RequestSent) or entry.event.role:
            continue
        sums: dict[str, int] = {}
        for message in talk.messages:
            sums[message.kind] = sums.get(message.kind, 0) + weight(message)
        told = {kind: tokens for kind, tokens in entry.event.tokens.items() if kind not in {"system", "tools"}}
        assert {kind: n for kind, n in told.items() if n} == {kind: n for kind, n in sums.items() if n}, entry.seq
        assert sum(entry.event.tokens.values()) <= entry.event.window
        checked += 1
    return checked


def test_a_long_run_with_one_task_in_a_small_window(tmp_path: Path) -> None:
    """L-B2: one message of the person, and still there is room."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            script = reading(150, window=9_000, roles={"summary": [{"text": TELLING, "usage": {"input": 900}}]})
            session = await scene.run(script, max_rounds=0)
            assert scene.status(session) == "done" and not scene.bugs
            entries = [entry async for entry in scene.engine.entries(session)]
            seqs = [entry.seq for entry in entries if isinstance(entry.event, ContextCompacted)]
            cuts = [entry.event for entry in entries if isinstance(entry.event, ContextCompacted)]
            assert len(cuts) > 2 and all(cut.after < cut.before for cut in cuts)
            assert all(cut.model == "scripted" and TELLING in cut.summary.head for cut in cuts if cut.until)
            assert await check_ledger(scene, session) == 151
            talk = await talk_of(scene, session)
            assert talk.messages[0].text.head == "Go." and [m.kind for m in talk.messages].count(SUMMARY) == 1
            gone = await scene.engine.past.dropped(session, seqs[-1])
            assert gone and "Round" in " ".join(item.words for item in gone)
            left = await scene.engine.past.context(session)
            assert {item.seq for item in left}.isdisjoint(item.seq for item in gone if item.category != SUMMARY)

    bounded(main())


def test_B7_the_window_counts_and_not_the_output_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            began = RunStarted("scripted", 0, Text(reading(6, window=32_000)), mode="trust", max_output=64)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert {event.window for event in events if isinstance(event, RequestSent)} == {32_000}
            assert not any(isinstance(event, ContextCompacted) for event in events)
            assert scene.status(session) == "done"

    bounded(main())


def test_what_was_dropped_is_read_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [
                {"text": "I begin.", **calling("read", path="notes.txt")},
                *[calling("read", path="notes.txt", start=n, end=n + 40) for n in range(30)],
                calling("recall_dropped", id="r1c1", start=17, end=18),
                calling("recall_dropped", id="talk", end=3),
                calling("recall_dropped", id="r99c1"),
                {"text": "done"},
            ]
            session = await scene.run(played(*replies, window=12_000, roles={"summary": [{"text": TELLING}]}))
            events = await scene.events(session)
            calls = {e.call_id: e.step for e in events if isinstance(e, CallStarted) and e.tool == "recall_dropped"}
            outputs = [e for e in events if isinstance(e, ToolReturned) and e.call_id in calls]
            first, talk, wrong = (event.output.head for event in outputs)
            assert set(calls.values()) == {"recall"} and [e.failed for e in outputs] == [False, False, True]
            assert first.startswith("Line 17 of the notes, with some words.\nLine 18 of the notes, with some words.\n")
            assert "Go on with start 19" in first
            assert talk.startswith("Person: Go.\nAgent: I begin.\nCall r1c1: read") and "r99c1" in wrong

    bounded(main())


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ({"fault": "server_error"}, "The model server failed."),
        ({"fault": "cut", "text": "half a summary that never ends", "after_chars": 5}, "The reply was cut."),
        ({"text": ""}, "The summary was empty."),
        ({"text": "ok"}, "The summary was empty."),
        ({"text": "word " * 50_000}, None),
    ],
)
def test_a_summariser_that_fails_never_stops_the_run(tmp_path: Path, said: dict[str, Any], trouble: str | None) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            session = await scene.run(reading(80, window=9_000, roles={"summary": [said]}), max_rounds=0)
            assert scene.status(session) == "done" and not scene.bugs
            cuts = [e for e in await scene.events(session) if isinstance(e, ContextCompacted) and e.until]
            assert cuts and all((cut.trouble and cut.trouble.what) == trouble for cut in cuts)
            for cut in cuts:
                assert len(cut.summary.head) > 40 and (cut.model == "") == (trouble is not None)
                if trouble:  # the list that Journeyman made says what happened
                    assert "Call r" in cut.summary.head
            await check_ledger(scene, session)

    bounded(main())


def test_too_long_for_the_server_is_made_shorter_and_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [calling("read", path="notes.txt", start=n, end=n + 60) for n in range(12)]
            script = played(*replies, {"fault": "too_long"}, {"text": "done"}, roles={"summary": [{"text": TELLING}]})
            session = await scene.run(script)
            assert scene.status(session) == "done"
            kinds = await scene.kinds(session)
            assert kinds[-5:] == ["ContextCompacted", "Retried", "RequestSent", "Replied", "RunEnded"]
            (cut,) = [e for e in await scene.events(session) if isinstance(e, ContextCompacted)]
            assert cut.why == TOO_LONG and cut.after < cut.before
            assert (await talk_of(scene, session)).ceiling == cut.before

    bounded(main())


def test_too_long_with_nothing_to_give_up_ends_in_words(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"fault": "too_long"}))
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed" and "too long" in last.reason

    bounded(main())


def test_by_hand_at_rest_and_while_it_runs(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            replies = [calling("read", path="notes.txt", start=n, end=n + 40) for n in range(12)]
            roles = {"summary": [{"text": TELLING}]}
            session = await scene.run(played(*replies, {"text": "done"}, roles=roles))
            await scene.engine.compact_context(session)
            assert scene.status(session) == "done"
            assert (await talk_of(scene, session)).compactions == 1
            with pytest.raises(Problem, match="nothing to compact"):  # each time less can give way
                for _ in range(9):
                    await scene.engine.compact_context(session)
            going = await scene.start(
                played(*replies, calling("ask_user", question="Well?"), {"text": "x"}, roles=roles)
            )
            asked = await scene.when(lambda: list(scene.engine.questions()))
            await scene.engine.compact_context(going)
            await scene.engine.answer(asked[0][1].id, Answer("", "Well."))
            await scene.engine.wait(going)
            kinds = await scene.kinds(going)
            assert kinds.count("ContextCompacted") == 1 and scene.status(going) == "done"
            (cut,) = [event for event in await scene.events(going) if isinstance(event, ContextCompacted)]
            assert cut.why == "by hand"

    bounded(main())


def test_a_limit_a_person_set_counts_before_the_window(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            scene.services.runs._bench.compact_at = lambda: 8_000
            session = await scene.run(reading(60, roles={"summary": [{"text": TELLING}]}), max_rounds=0)
            sent = [e for e in await scene.events(session) if isinstance(e, RequestSent) and not e.role]
            assert max(sum(e.tokens.values()) for e in sent) <= 9_000 and sent[-1].window == 128_000

    bounded(main())


def test_a_crash_after_a_compaction_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            write_notes(scene.folder, 400)
            session = await scene.start(reading(60, window=9_000), max_rounds=0)
            await scene.until(ContextCompacted)
            await crash(scene)
        async with opened(tmp_path) as scene:
            await scene.engine.resume(session, "again" if await scene.engine.doubted(session) else "")
            await scene.engine.wait(session)
            assert scene.status(session) == "done"
            await check_ledger(scene, session)
            other = await scene.engine.history.fork(session)
            mine, copy = await talk_of(scene, session), await talk_of(scene, other)
            assert [m.text for m in mine.messages] == [m.text for m in copy.messages]
            replayed = [entry async for entry in scene.engine.entries(session)]
            assert await differing(scene, session, tmp_path) == [], replayed

    bounded(main())


async def differing(scene: Scene, session: str, home: Path) -> list[int]:
    """Entries that a replay would not write so."""

    async def at_once(entry: Entry) -> None:
        return None

    place = home / "replay"
    place.mkdir()
    return (await replay(scene.services.reader, session, place, lambda told: None, at_once)).differing


def test_tiers_choose_and_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Catalogue.model

    async def main() -> None:
        async with opened(tmp_path) as scene:
            monkeypatch.setattr(Catalogue, "model", lambda c, n, s: real(c, "scripted", s))
            tiers = Tiers(("s",), ("m",), ("f",), (Rule("failure", "frontier"), Rule("any", "mid")))
            scene.services.runs._bench.tiers = lambda: tiers
            script = played({"text": "a", **calling("read", path="nowhere")}, {"text": "b"})
            session = await scene.engine.start("Go.", scene.folder, RunStarted(AUTO, 60, Text(script)))
            await scene.engine.wait(session)
            sent = [(e.model, e.tier, e.why) for e in await scene.events(session) if isinstance(e, RequestSent)]
            assert sent == [("m", "mid", "most work"), ("f", "frontier", "the last step failed")]

    bounded(main())


def test_the_next_model_of_a_tier_where_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Catalogue.model

    def model(made: Catalogue, name: str, script: str) -> Any:
        return real(made, "scripted", played({"fault": "too_long"}) if name == "bad" else script)

    async def main() -> None:
        async with opened(tmp_path) as scene:
            monkeypatch.setattr(Catalogue, "model", model)
            scene.services.runs._bench.tiers = lambda: Tiers(mid=("bad", "good"), rules=(Rule("any", "mid"),))
            script = played({"text": "first turn"}, {"text": "b"})
            session = await scene.engine.start("Go.", scene.folder, RunStarted(AUTO, 60, Text(script)))
            await scene.engine.wait(session)
            events = await scene.events(session)
            sent = [(e.model, e.why) for e in events if isinstance(e, RequestSent)]
            assert sent == [("bad", "most work"), ("good", "bad failed")]
            assert sum(isinstance(e, Retried) for e in events) == 1 and sum(isinstance(e, Replied) for e in events) == 1

    bounded(main())


def test_what_a_person_set_reaches_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Catalogue.model

    async def main() -> None:
        async with opened(tmp_path) as scene:
            monkeypatch.setattr(Catalogue, "model", lambda c, n, s: real(c, "scripted", s))
            rules = (Rule("failure", "frontier"), Rule("any", "small"))
            tiers = settings_schema.Tiers(small=("x/s",), frontier=("x/f",), rules=rules)
            scene.engine.settings.change(tiers=tiers, compact_at=9, model=AUTO)
        async with opened(tmp_path) as scene:
            assert scene.engine.settings.now.tiers == tiers and scene.services.runs._bench.compact_at() == 9
            session = await scene.engine.start("Go.", scene.folder, RunStarted(AUTO, 60, Text(played({"text": "b"}))))
            await scene.engine.wait(session)
            sent = [e for e in await scene.events(session) if isinstance(e, RequestSent)]
            assert [(e.model, e.tier) for e in sent] == [("x/s", "small")]

    bounded(main())
