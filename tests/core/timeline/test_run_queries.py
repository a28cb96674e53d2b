"""Queries about past runs. Each requirement and defect of the predecessors has a test with its number."""

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given

from core.domain.events import (
    CallRefused,
    CallStarted,
    DecisionMade,
    EventRecord,
    IssueReported,
    Replied,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunRated,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SessionForked,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.problems import ErrorDetails, Problem
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.text import Text
from core.engine.history.session_analytics import SessionAnalytics
from core.engine.prompting.profiles import load_profile
from core.store import database as database_module
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.run_queries import (
    recent_failures,
    repeated_errors,
    root_cause,
    success_by_decision,
    success_by_tool,
)
from core.timeline.run_report import Thresholds, duration_s, report_run
from core.timeline.run_summary import RunSummary, RunSummaryBuilder
from tests.core.domain.event_strategies import journals
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.store.made import dump, journal_at, write
from tests.sessions import create_session

SECOND = 1_000_000


def journal(*events: SessionEvent, session: str = "s", begins: int = 0) -> list[EventRecord]:
    """Return events one second apart, numbered like in the journal."""
    entries: list[EventRecord] = []
    run = 0
    for seq, event in enumerate(events, 1):
        run += isinstance(event, RunStarted)
        entries.append(EventRecord(session, seq, run, (begins + seq) * SECOND, event))
    return entries


def called(name: str, tool: str, what: str, result: str = "ok", failed: bool = False) -> list[SessionEvent]:
    return [CallStarted(name, tool, "tool", what), ToolReturned(name, Text(result), failed)]


def summarize_runs(entries: Iterable[EventRecord]) -> list[RunSummary]:
    builder = RunSummaryBuilder()
    for entry in entries:
        builder.apply(entry)
    return list(builder.summaries.values())


def one(*events: SessionEvent, begins: int = 0) -> RunSummary:
    """Return the only run of a journal."""
    (made,) = summarize_runs(
        journal(SessionCreated("s", "/", "t"), UserMessage(Text("Do it")), RunStarted("m"), *events, begins=begins)
    )
    return made


FAILED = RunEnded("failed", "No answer.", ErrorDetails("No answer.", "Refused.", "Start the server."))


def test_V_B1_recent_failures_are_newest_first() -> None:
    made = [one(FAILED, begins=100 * n) for n in (2, 0, 3, 1)]
    found = recent_failures(made, 3)
    assert [each.at // SECOND // 100 for each in found] == [3, 2, 1]
    assert (found[0].reason, found[0].fix, found[0].task) == ("No answer.", "Start the server.", "Do it")


def test_V_B1_also_across_sessions_and_only_what_is_needed_is_read(tmp_path: Path) -> None:
    async def fill(journal: Journal) -> list[str]:
        names = []
        for n in range(6):
            names.append(await create_session(journal, "/", f"Session {n}"))
            await journal.append(names[-1], UserMessage(Text(f"Task {n}")), RunStarted("m"), FAILED)
        return names

    names = write(tmp_path / "journeyman.db", fill)
    read: list[str] = []

    class Counting(Reader):
        def raw_events(self, session: str, after: int = 0, until: int = 0):  # type: ignore[no-untyped-def]
            read.append(session)
            return super().raw_events(session, after, until)

    reader = Counting(tmp_path / "journeyman.db")
    try:
        found = asyncio.run(SessionAnalytics(Journal(None, reader), reader).failures(2))
    finally:
        reader.close()
    assert [each.session for each in found] == [names[5], names[4]]
    assert len(read) <= 3


def test_V_B2_a_result_recorded_twice_counts_once() -> None:
    events = called("r1c1", "run", "make")
    made = one(*events, events[-1], CallStarted("r1c1", "run", "tool", "make"), events[-1])
    (share,) = success_by_tool([made])
    assert (share.case_count, share.good) == (1, 1)


def test_V_B3_a_run_without_an_outcome_is_unknown_and_not_failed() -> None:
    made = one(CallStarted("r1c1", "run", "tool", "make"), RunInterrupted("power", ("r1c1",)))
    (share,) = success_by_tool([made])
    assert (share.case_count, share.good, share.bad, share.unknown) == (1, 0, 0, 1)
    assert root_cause(made) is None and not made.failed and recent_failures([made]) == []
    by_decision = {share.name: share for share in success_by_decision([made])}
    assert by_decision["run"].unknown == 1 and by_decision["run"].bad == 0


def test_V_B4_a_result_that_is_not_text_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(
                scripted_replies(call_reply("run", command=r"printf '\xff\x00\xed\xa0\x80'"), {"text": "\ud800"})
            )
            assert scene.status(session) == "done"
            (made,) = await scene.engine.analytics.runs(session)
            assert made.status == "done" and [call.status for call in made.calls.values()] == ["done"]
            events = await scene.events(session)
            (output,) = [event.output.head for event in events if isinstance(event, ToolReturned)]
            assert "\ufffd\x00\ufffd" in output
            assert [event.text.head for event in events if isinstance(event, Replied)][-1] == "\\ud800"

    run_bounded(main())


def test_V_B5_an_event_costs_the_same_however_many_sessions_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts SQL statements and changed rows, not seconds: rewriting a list of sessions with each run would show."""
    monkeypatch.setattr(database_module, "DEFER_S", 3600.0)  # the derived rows are written once for each session
    with journal_at(tmp_path / "journeyman.db") as (made, _, database):
        counted: list[tuple[int, int]] = []

        async def work() -> None:
            for n in range(40):
                statements: list[str] = []
                before = await database.run(lambda db: db.total_changes)
                await database.run(lambda db: db.set_trace_callback(statements.append))  # noqa: B023 - used at once
                name = await create_session(made, "/", f"Session {n}")
                await made.append(name, UserMessage(Text("x")), RunStarted("m"), FAILED)
                await asyncio.to_thread(database.catch_up)
                await database.run(lambda db: db.set_trace_callback(None))
                changed = await database.run(lambda db: db.total_changes) - before
                counted.append((sum(not re.match(r"\s*--", s) for s in statements), changed))

        asyncio.run(work())
    statements_of_each, rows_of_each = zip(*counted[5:], strict=True)
    assert len(set(statements_of_each)) == 1
    assert rows_of_each.count(rows_of_each[0]) >= 32  # the index of the search merges its parts every 16 sessions


def test_V_B7_a_name_is_never_a_path(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (tmp_path / "secret.toml").write_text("")
            for name in ("../secret", "../../etc/passwd", "/etc/passwd", "", "%", "x' OR '1'='1"):
                with pytest.raises(Problem, match="There is no session"):
                    scene.engine.session(name)
                if name:
                    with pytest.raises(Problem, match="There is no agent"):
                        load_profile(tmp_path, name)

    run_bounded(main())


def test_V7_a_rating_without_a_run_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await create_session(scene.services.runs._journal, "/", "Empty")
            with pytest.raises(Problem, match="There is no run 0"):
                await scene.engine.history.rate(session, "up")

    run_bounded(main())


def test_V10_a_run_is_summarized_in_a_sentence() -> None:
    made = one(
        RequestSent("m", 1), Replied(), *called("r1c1", "run", "make", "no rule", failed=True),
        CallStarted("r1c2", "read", "read", "a.txt"), RunEnded("limit", "2 turns"),
    )  # fmt: skip
    assert report_run(made).narrative == (
        "1 turn, 2 calls, 1 failed, 1 without a result. It reached a limit: 2 turns. Rating: unknown."
    )


def test_a_reason_that_is_a_sentence_gets_no_second_period() -> None:
    for reason in ("The provider is rate limiting requests.", "Which key?", "It said: one, two…"):
        made = one(RunEnded("failed", reason))
        assert report_run(made).narrative.endswith(f". It failed: {reason} Rating: unknown.")


def test_V10_a_run_that_waits_for_the_user_says_so_until_it_is_answered() -> None:
    question = QuestionAsked(Question("q1", "Which?"), "r1c1")
    request = PermissionRequested(PermissionRequest("p1", "r1c2", "run", "make", "/w", "verified", ""))
    answered = QuestionAnswered("q1", "r1c1", Answer(text="This."))
    assert "It is waiting for you." in report_run(one(question)).narrative
    assert report_run(one(question)).run.status == "waiting"
    assert "It is running." in report_run(one(question, answered)).narrative
    assert "It is waiting for you." in report_run(one(question, request, answered)).narrative
    decided = PermissionDecided("p1", allowed=True)
    assert "It is running." in report_run(one(question, request, answered, decided)).narrative
    assert "It was stopped." in report_run(one(question, RunEnded("stopped", ""))).narrative


def test_V11_the_first_wrong_decision_is_the_first_not_corrected() -> None:
    made = one(
        *called("r1c1", "read", "a.txt", "no such file", failed=True),
        *called("r1c2", "run", "make", "no rule", failed=True),
        *called("r2c1", "read", "a.txt"),
        *called("r2c2", "run", "make all", "no rule either", failed=True),
        FAILED,
    )
    wrong = root_cause(made)
    assert wrong and (wrong.tool, wrong.object, wrong.output) == ("run", "make", "no rule")
    (found,) = recent_failures([made])
    assert found.root_cause == wrong


def test_V11_a_call_with_invalid_arguments_is_corrected_by_a_valid_one() -> None:
    made = one(
        CallRefused("r1c1", "read", Text("path: required")),
        *called("r2c1", "read", "a.txt"),
        *called("r3c1", "decide", "Which parser: C", "'C' is not one of the options.", failed=True),
        *called("r4c1", "decide", "Which parser: A"),
        FAILED,
    )
    assert root_cause(made) is None


def test_V11_a_denied_command_is_not_corrected_by_another_one() -> None:
    request = PermissionRequest("p1", "r1c1", "run", "rm -r build", "/w", "verified", "")
    made = one(
        DecisionMade("r0c1", "How to build", choice="anew"),
        PermissionRequested(request),
        CallRefused("r1c1", "run", Text("The user denied it.")),
        *called("r2c1", "run", "ls"),
        FAILED,
    )
    wrong = root_cause(made)
    assert wrong and (wrong.object, wrong.decision) == ("rm -r build", "How to build: anew")


def test_V11_a_wrong_call_names_the_decision_it_followed_from() -> None:
    made = one(
        DecisionMade("r1c1", "Which parser", choice="by hand"),
        *called("r2c1", "run", "make", "no rule", failed=True),
        IssueReported("r3c1", "high", "No parser fits"),
        RunRated(1, "down"),
    )
    wrong = root_cause(made)
    assert wrong and wrong.decision == "Which parser: by hand"
    shares = {share.name: share for share in success_by_decision([made])}
    assert shares["Which parser: by hand"].bad == 1
    assert "it reported an issue: high: No parser fits" in report_run(made).flags


def test_V11_errors_that_differ_in_numbers_and_names_are_the_same() -> None:
    alike = (
        ["line 12: '/tmp/a.py' is bad", "line 99: '/home/b.py' is bad", "something else"],
        ["There is no file a-1.txt. The folder has: b.md, c.tar.gz.", "There is no file x/y.rs. The folder has: z.md."],
        ["src/a.c:3:1: error: unknown type", "lib/deep/b.c:41:7: error: unknown type", "src/a.c:3:1: error: no type"],
        ["commit 1a2b3c4d5e6f7a8b is gone", "commit fedcba9876543210 is gone", "commit is gone"],
        ["“Größe.txt” is 3.5 MB", "“b” is 12 MB", "“b” is 12 kB", "b.txt cannot be read", "It is not allowed"],
    )
    for texts in alike:
        made = [one(*called("r1c1", "run", "x", text, failed=True), begins=n) for n, text in enumerate(texts)]
        (error,) = repeated_errors(made)
        assert (error.count, error.tool, error.example) == (2, "run", texts[0])


def test_V11_success_is_never_a_bare_percentage() -> None:
    good = one(*called("r1c1", "run", "x"), RunRated(1, "up"))
    bad = one(*called("r1c1", "run", "x", failed=True), RunRated(1, "down"))
    open_end = one(*called("r1c1", "run", "x"), RunEnded("completed"))
    shares = {share.name: share for share in success_by_decision([good, bad, open_end])}
    assert shares["run"].text == "1 of 2 (1 unknown)"
    (many,) = success_by_tool([good] * 3 + [bad])
    assert many.text == "3 of 4"
    (many,) = success_by_tool([good] * 4 + [bad])
    assert many.text == "4 of 5 (80%)"


def test_V12_a_run_over_a_threshold_is_flagged() -> None:
    told = ErrorDetails("Too many.")
    events: list[SessionEvent] = [RequestRetried(told, n) for n in range(4)]
    events += [Replied(usage=Usage(100_000, 1)), *(e for n in range(20) for e in called(f"r1c{n}", "run", "x")), FAILED]
    flags = report_run(one(*events)).flags
    assert len(flags) == 4 and flags[0] == "it ended with status failed"
    assert any("requests were retried" in flag for flag in flags) and any("tokens" in flag for flag in flags)
    asked = [QuestionAsked(Question(f"q{n}", "Which?"), f"r9c{n}") for n in range(3)]
    slow_and_asking = report_run(one(*events, *asked)).flags
    assert any("asked you 3 questions (more than 2)" in flag for flag in slow_and_asking)
    assert any(
        "it took" in flag and "more than 1 s" in flag for flag in report_run(one(*events), Thresholds(seconds=1)).flags
    )
    assert report_run(one(RunEnded("completed"))).flags == ()
    assert report_run(one(*events), Thresholds(9, 9, 999, 10**9, 999)).flags == ("it ended with status failed",)


def test_completed_is_not_success_and_the_rating_of_the_user_precedes() -> None:
    assert one(RunEnded("completed")).effective_rating == "unknown"
    assert one(RunEnded("completed"), RunRated(1, "down", by="check")).effective_rating == "bad"
    both = (RunRated(1, "up"), RunRated(1, "down", by="check"))
    assert one(FAILED, *both).effective_rating == "good" and not one(FAILED, *both).failed
    assert one(FAILED, *both, RunRated(1, "")).effective_rating == "bad"
    assert one(FAILED, RunRated(7, "up")).effective_rating == "unknown"


def test_events_copied_by_a_fork_are_counted_in_the_original() -> None:
    made = one(*called("r1c1", "run", "x", failed=True), FAILED, SessionForked("o", 9))
    assert recent_failures([made]) == [] and success_by_tool([made]) == [] and repeated_errors([made], 1) == []


def test_a_rating_is_an_event_shown_in_the_list(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "Done"}))
            history = scene.engine.history
            assert scene.engine.session(session).rating == ""
            await history.rate(session, "down", note="Missed the second file", tags=("#wrong", "wrong", " "))
            await history.rate(session, "up", rated_by="check")
            row = scene.engine.session(session)
            assert (row.rating, row.check_rating, row.status) == ("down", "up", "done")
            (made,) = await scene.engine.analytics.runs(session)
            assert (made.effective_rating, made.note.head, made.tags) == ("bad", "Missed the second file", ("wrong",))
            assert [hit.session for hit in await scene.engine.search("second file")] == [session]
            await scene.engine.send_message(session, "Again")
            await scene.engine.wait_idle(session)
            assert scene.engine.session(session).rating == ""
            await history.rate(session, "up", run=1)
            assert scene.engine.session(session).rating == ""
            assert [run.effective_rating for run in await scene.engine.analytics.runs(session)] == ["good", "unknown"]

    run_bounded(main())


@given(journals())
def test_any_event_log_has_its_runs(entries: list[EventRecord]) -> None:
    found = summarize_runs(entries)
    assert len(found) == sum(isinstance(entry.event, RunStarted) for entry in entries)
    for share in (*success_by_tool(found), *success_by_decision(found)):
        assert share.good + share.bad + share.unknown == share.case_count and "of" in share.text
    for made in found:
        assert duration_s(made) >= 0 and report_run(made).narrative


def test_a_call_of_another_reply_is_not_confused() -> None:
    made = one(Replied(calls=(ToolCall("r1c1", "read"),)), *called("r1c1", "read", "a"), *called("r2c1", "read", "a"))
    assert list(made.calls) == ["r1c1", "r2c1"]


def test_A27_forks_share_the_contents_of_their_original(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "long " * 300_000}))
            before = dump(tmp_path / "journeyman.db")["blob"]
            forks = [await scene.engine.history.fork(session) for _ in range(3)]
            assert dump(tmp_path / "journeyman.db")["blob"] == before
            for fork in forks:
                (text,) = [event.text for event in await scene.events(fork) if isinstance(event, Replied)]
                assert scene.engine.full_text(text) == "long " * 300_000

    run_bounded(main())


def test_A29_and_A31_a_handoff_page_has_task_files_errors_and_the_last_step(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(
                call_reply("write", path="a.txt", content="one\ntwo\n"),
                call_reply("read", path="no"),
                {"text": "All set."},
            )
            page = await scene.engine.analytics.report(await scene.run(script))
            assert page.run.files == {"a.txt": (2, 0)} and page.run.task == "Go." and page.run.answer == "All set."
            assert (
                page.last_call
                and page.last_call.object == "no"
                and page.root_cause == page.last_call
                and page.failures == (page.last_call,)
            )

    run_bounded(main())


def test_X6_a_run_has_its_task_its_output_and_a_closing_sentence() -> None:
    made = one(Replied(Text("The answer")), RunEnded("completed"))
    assert (made.task, made.answer) == ("Do it", "The answer") and report_run(made).narrative.endswith(
        "Rating: unknown."
    )
