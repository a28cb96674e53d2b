"""What failed, what went wrong first, what repeats, what works: each row and defect of the predecessor by its name."""

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given

from core.domain.events import (
    Call,
    CallStarted,
    DecisionMade,
    Entry,
    PersonSpoke,
    ProblemReported,
    Replied,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunPaused,
    RunStarted,
    SessionForked,
    SessionOpened,
    ToolReturned,
    Usage,
    VerdictGiven,
)
from core.domain.problems import Problem, Trouble
from core.domain.text import Text
from core.engine.past import Past
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.queries import (
    first_wrong,
    recent_failures,
    repeated_errors,
    success_by_decision,
    success_by_tool,
)
from core.timeline.report import Thresholds, report, seconds_of
from core.timeline.runs import RunMade, Runs, runs
from tests.core.domain.facts import journals
from tests.core.engine.scenes import bounded, calling, opened, played
from tests.core.store.made import dump, journal_at, write

SECOND = 1_000_000


def journal(*events: RunEvent, session: str = "s", begins: int = 0) -> list[Entry]:
    """Facts a second apart, numbered as the journal does."""
    entries: list[Entry] = []
    run = 0
    for seq, event in enumerate(events, 1):
        run += isinstance(event, RunStarted)
        entries.append(Entry(session, seq, run, (begins + seq) * SECOND, event))
    return entries


def called(name: str, tool: str, what: str, result: str = "ok", failed: bool = False) -> list[RunEvent]:
    return [CallStarted(name, tool, "tool", what), ToolReturned(name, Text(result), failed)]


def one(*events: RunEvent, begins: int = 0) -> RunMade:
    """The only run of a journal."""
    (made,) = runs(
        journal(SessionOpened("s", "/", "t"), PersonSpoke(Text("Do it")), RunStarted("m"), *events, begins=begins)
    )
    return made


FAILED = RunEnded("failed", "No answer.", Trouble("No answer.", "Refused.", "Start the server."))


def test_V_B1_recent_failures_are_newest_first() -> None:
    made = [one(FAILED, begins=100 * n) for n in (2, 0, 3, 1)]
    found = recent_failures(made, 3)
    assert [each.at // SECOND // 100 for each in found] == [3, 2, 1]
    assert (found[0].why, found[0].do, found[0].task) == ("No answer.", "Start the server.", "Do it")


def test_V_B1_also_across_sessions_and_only_what_is_needed_is_read(tmp_path: Path) -> None:
    async def fill(journal: Journal) -> list[str]:
        names = []
        for n in range(6):
            names.append(await journal.open("/", f"Session {n}"))
            await journal.append(names[-1], PersonSpoke(Text(f"Task {n}")), RunStarted("m"), FAILED)
        return names

    names = write(tmp_path / "journeyman.db", fill)
    read: list[str] = []

    class Counting(Reader):
        def raw(self, session: str, after: int = 0, until: int = 0):  # type: ignore[no-untyped-def]
            read.append(session)
            return super().raw(session, after, until)

    reader = Counting(tmp_path / "journeyman.db")
    try:
        found = asyncio.run(Past(Journal(None, reader), reader).failures(2))
    finally:
        reader.close()
    assert [each.session for each in found] == [names[5], names[4]]
    assert len(read) <= 3


def test_V_B2_a_result_recorded_twice_counts_once() -> None:
    events = called("r1c1", "run", "make")
    made = one(*events, events[-1], CallStarted("r1c1", "run", "tool", "make"), events[-1])
    (share,) = success_by_tool([made])
    assert (share.n, share.good) == (1, 1)


def test_V_B3_what_has_no_outcome_is_unknown_and_not_failed() -> None:
    made = one(CallStarted("r1c1", "run", "tool", "make"), RunInterrupted("power", ("r1c1",)))
    (share,) = success_by_tool([made])
    assert (share.n, share.good, share.bad, share.unknown) == (1, 0, 0, 1)
    assert first_wrong(made) is None and not made.failed and recent_failures([made]) == []
    by_decision = {share.name: share for share in success_by_decision([made])}
    assert by_decision["run"].unknown == 1 and by_decision["run"].bad == 0


def test_V_B4_a_result_that_is_no_text_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(
                played(calling("run", command=r"printf '\xff\x00\xed\xa0\x80'"), {"text": "\ud800"})
            )
            assert scene.status(session) == "done"
            (made,) = await scene.engine.past.runs(session)
            assert made.status == "done" and [call.status for call in made.calls.values()] == ["done"]

    bounded(main())


def test_V_B5_a_fact_costs_the_same_however_many_sessions_there_are(tmp_path: Path) -> None:
    """Statements are counted, not seconds: a list that is written anew with each run would show."""
    with journal_at(tmp_path / "journeyman.db") as (made, _, database):
        counted: list[int] = []

        async def work() -> None:
            for n in range(40):
                statements: list[str] = []
                await database.do(lambda db: db.set_trace_callback(statements.append))  # noqa: B023 - used at once
                name = await made.open("/", f"Session {n}")
                await made.append(name, PersonSpoke(Text("x")), RunStarted("m"), FAILED)
                await database.do(lambda db: db.set_trace_callback(None))
                counted.append(sum(not re.match(r"\s*--", s) for s in statements))

        asyncio.run(work())
    assert max(counted[5:]) == min(counted[5:])


def test_V_B6_a_fork_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "journeyman.db"
    with journal_at(path) as (made, _, _):

        async def work() -> None:
            facts: list[tuple[int, RunEvent]] = [(1, SessionOpened("half2222", "/", "t")), (2, PersonSpoke(Text("x")))]
            with pytest.raises(TypeError):
                await made.copy("half2222", [*facts, (3, None)])  # type: ignore[list-item]

        asyncio.run(work())
    assert dump(path)["session"] == [] and dump(path)["entry"] == []


def test_V_B7_a_name_is_never_a_path(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            for name in ("../../etc/passwd", "/etc/passwd", "", "%", "x' OR '1'='1"):
                with pytest.raises(Problem, match="There is no session"):
                    scene.engine.session(name)

    bounded(main())


def test_V_B8_every_status_can_be_reached() -> None:
    ends: list[RunEvent] = [
        RunEnded("completed"), RunEnded("stopped"), RunEnded("limit"), RunEnded("failed"), RunInterrupted("power"),
        RunPaused("by you"), RequestSent("m", 1),
    ]  # fmt: skip
    told = [one(end).status for end in ends]
    assert told == ["done", "stopped", "limit", "failed", "interrupted", "paused", "running"]


def test_V1_a_run_that_goes_on_has_a_duration_and_times_with_a_zone() -> None:
    made = one(RequestSent("m", 1), Replied(Text("Half way"), usage=Usage(5, 2)))
    assert seconds_of(made) == 2 and made.status == "running" and made.tokens == 7 and made.model == "m"


def test_V7_a_verdict_without_a_run_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.services.runs._journal.open("/", "Empty")
            with pytest.raises(Problem, match="There is no run 0"):
                await scene.engine.history.judge(session, "up")

    bounded(main())


def test_V8_each_call_is_timed_and_a_fault_of_a_tool_is_its_result() -> None:
    made = one(*called("r1c1", "run", "make", "KeyError: 'x'", failed=True))
    (call,) = made.calls.values()
    assert (call.ended - call.began, call.status, call.output) == (SECOND, "failed", "KeyError: 'x'")


def test_V10_a_run_is_told_in_a_sentence() -> None:
    made = one(
        RequestSent("m", 1), Replied(), *called("r1c1", "run", "make", "no rule", failed=True),
        CallStarted("r1c2", "read", "read", "a.txt"), RunEnded("limit", "2 rounds"),
    )  # fmt: skip
    assert report(made).narrative == (
        "1 round, 2 calls, 1 failed, 1 without a result. It ended limit: 2 rounds. Verdict: unknown."
    )


def test_V11_the_first_wrong_decision_is_the_first_that_was_not_made_good() -> None:
    made = one(
        *called("r1c1", "read", "a.txt", "no such file", failed=True),
        *called("r1c2", "run", "make", "no rule", failed=True),
        *called("r2c1", "read", "a.txt"),
        *called("r2c2", "run", "make all", "no rule either", failed=True),
        FAILED,
    )
    wrong = first_wrong(made)
    assert wrong and (wrong.tool, wrong.object, wrong.output) == ("run", "make", "no rule")
    (found,) = recent_failures([made])
    assert found.wrong == wrong


def test_V11_a_wrong_call_names_the_decision_it_followed_from() -> None:
    made = one(
        DecisionMade("r1c1", "Which parser", choice="by hand"),
        *called("r2c1", "run", "make", "no rule", failed=True),
        ProblemReported("r3c1", "high", "No parser fits"),
        VerdictGiven(1, "down"),
    )
    wrong = first_wrong(made)
    assert wrong and wrong.decision == "Which parser: by hand"
    shares = {share.name: share for share in success_by_decision([made])}
    assert shares["Which parser: by hand"].bad == 1
    assert "it reported a problem: high: No parser fits" in report(made).flags


def test_V11_errors_that_differ_in_numbers_and_names_are_the_same() -> None:
    texts = ["line 12: '/tmp/a.py' is bad", "line 99: '/home/b.py' is bad", "something else"]
    made = [one(*called("r1c1", "run", "x", text, failed=True), begins=n) for n, text in enumerate(texts)]
    (error,) = repeated_errors(made)
    assert (error.count, error.tool, error.example) == (2, "run", texts[0])


def test_V11_success_is_never_a_bare_percentage() -> None:
    good = one(*called("r1c1", "run", "x"), VerdictGiven(1, "up"))
    bad = one(*called("r1c1", "run", "x", failed=True), VerdictGiven(1, "down"))
    open_end = one(*called("r1c1", "run", "x"), RunEnded("completed"))
    shares = {share.name: share for share in success_by_decision([good, bad, open_end])}
    assert shares["run"].words == "1 of 2 (1 unknown)"
    (many,) = success_by_tool([good] * 3 + [bad])
    assert many.words == "3 of 4"
    (many,) = success_by_tool([good] * 4 + [bad])
    assert many.words == "4 of 5 (80 %)"


def test_V12_a_run_over_a_threshold_is_flagged() -> None:
    told = Trouble("Too many.")
    events: list[RunEvent] = [Retried(told, n) for n in range(4)]
    events += [Replied(usage=Usage(100_000, 1)), *(e for n in range(20) for e in called(f"r1c{n}", "run", "x")), FAILED]
    flags = report(one(*events)).flags
    assert len(flags) == 4 and flags[0] == "it went wrong (failed)"
    assert any("requests were made again" in flag for flag in flags) and any("tokens" in flag for flag in flags)
    assert report(one(RunEnded("completed"))).flags == ()
    assert report(one(*events), Thresholds(9, 9, 999, 10**9, 999)).flags == ("it went wrong (failed)",)


def test_completed_is_not_success_and_the_persons_word_comes_first() -> None:
    assert one(RunEnded("completed")).judgement == "unknown"
    assert one(RunEnded("completed"), VerdictGiven(1, "down", by="check")).judgement == "bad"
    both = (VerdictGiven(1, "up"), VerdictGiven(1, "down", by="check"))
    assert one(FAILED, *both).judgement == "good" and not one(FAILED, *both).failed
    assert one(FAILED, *both, VerdictGiven(1, "")).judgement == "bad"
    assert one(FAILED, VerdictGiven(7, "up")).judgement == "unknown"


def test_what_a_fork_copied_is_counted_where_it_happened() -> None:
    made = one(*called("r1c1", "run", "x", failed=True), FAILED, SessionForked("o", 9))
    assert recent_failures([made]) == [] and success_by_tool([made]) == [] and repeated_errors([made], 1) == []


def test_a_verdict_is_a_fact_that_the_list_carries(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "Done"}))
            history = scene.engine.history
            assert scene.engine.session(session).verdict == ""
            await history.judge(session, "down", note="Missed the second file", tags=("#wrong", "wrong", " "))
            await history.judge(session, "up", by="check")
            row = scene.engine.session(session)
            assert (row.verdict, row.checked, row.status) == ("down", "up", "done")
            (made,) = await scene.engine.past.runs(session)
            assert (made.judgement, made.note.head, made.tags) == ("bad", "Missed the second file", ("wrong",))
            assert [hit.session for hit in await scene.engine.find("second file")] == [session]
            await scene.engine.say(session, "Again")
            await scene.engine.wait(session)
            assert scene.engine.session(session).verdict == ""
            await history.judge(session, "up", run=1)
            assert scene.engine.session(session).verdict == ""
            assert [run.judgement for run in await scene.engine.past.runs(session)] == ["good", "unknown"]

    bounded(main())


@given(journals())
def test_any_journal_has_its_runs(entries: list[Entry]) -> None:
    found = runs(entries)
    assert len(found) == sum(isinstance(entry.event, RunStarted) for entry in entries)
    for share in (*success_by_tool(found), *success_by_decision(found)):
        assert share.good + share.bad + share.unknown == share.n and "of" in share.words
    for made in found:
        assert seconds_of(made) >= 0 and report(made).narrative


def test_a_call_of_another_reply_is_not_mixed_up() -> None:
    made = one(Replied(calls=(Call("r1c1", "read"),)), *called("r1c1", "read", "a"), *called("r2c1", "read", "a"))
    assert list(made.calls) == ["r1c1", "r2c1"]


def test_A27_going_back_needs_no_snapshots_and_has_no_size_limit(tmp_path: Path) -> None:
    """A fork of a session with a long text keeps that text once."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "long " * 300_000}))
            before = len(dump(tmp_path / "journeyman.db")["blob"])
            for _ in range(3):
                await scene.engine.history.fork(session)
            assert len(dump(tmp_path / "journeyman.db")["blob"]) == before

    bounded(main())


def test_A28_facts_fold_the_same_in_any_slices() -> None:
    entries = journal(
        SessionOpened("s", "/", "t"), PersonSpoke(Text("Do it")), RunStarted("m"), *called("r1c1", "run", "x"), FAILED
    )
    for cut in range(len(entries)):
        folded = Runs()
        for part in (entries[:cut], entries[cut:]):
            for entry in part:
                folded.hear(entry)
        assert list(folded.made.values()) == runs(entries)


def test_A29_and_A31_a_page_hands_on_task_files_errors_and_the_last_act(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(
                calling("write", path="a.txt", content="one\ntwo\n"), calling("read", path="no"), {"text": "All set."}
            )
            page = await scene.engine.past.report(await scene.run(script))
            assert page.run.files == {"a.txt": (2, 0)} and page.run.task == "Go." and page.run.answer == "All set."
            assert page.last and page.last.object == "no" and page.wrong == page.last and page.failures == (page.last,)

    bounded(main())


def test_A30_a_question_to_one_session_is_answered_from_it_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            one, other = [await scene.run(played(calling("read", path=name), {"text": "."})) for name in ("a", "b")]
            assert [c.object for run in await scene.engine.past.runs(one) for c in run.calls.values()] == ["a"]
            assert [c.object for run in await scene.engine.past.runs(other) for c in run.calls.values()] == ["b"]

    bounded(main())


def test_X6_a_run_has_its_task_its_output_and_a_closing_sentence() -> None:
    made = one(Replied(Text("The answer")), RunEnded("completed"))
    assert (made.task, made.answer) == ("Do it", "The answer") and report(made).narrative.endswith("Verdict: unknown.")
