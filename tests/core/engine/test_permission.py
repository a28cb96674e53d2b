"""Permission requests: asked once, decided once, found after a crash, and bound to what was shown."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, CallStarted, EventRecord, RunEnded, ToolReturned, UntrustedContentRead
from core.domain.modes import Mode
from core.domain.permissions import CallAllowed, ModeChanged, PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.domain.rules import new_rule
from core.engine.history.replay import replay_session
from core.engine.state.unresolved_calls import UnresolvedCallsError
from tests.core.engine.harness import EngineHarness, call_reply, crash, open_engine, run_bounded, scripted_replies

WRITE = call_reply("write", path="a.txt", content="written")
DONE = {"text": "Done: {{result}}"}


async def wait_for_request(scene: EngineHarness, count: int = 1) -> PermissionRequest:
    event = (await scene.until(PermissionRequested, count)).event
    assert isinstance(event, PermissionRequested)
    return event.request


async def events_of(scene: EngineHarness, session: str, *kinds: type) -> list[Any]:
    return [event for event in await scene.events(session) if isinstance(event, kinds)]


def wrote(scene: EngineHarness) -> bool:
    return (scene.folder / "a.txt").exists()


def test_nothing_happens_before_approval_and_the_request_is_listed_with_the_questions(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            request = await wait_for_request(scene)
            row, waiting = scene.engine.permission_requests()[0]
            assert (row.id, row.status, row.pending_requests, row.mode) == (session, "waiting", 1, "ask")
            assert waiting.request == request and '"content":"written"' in waiting.arguments and not wrote(scene)
            assert not scene.engine.open_questions()
            assert await scene.engine.allow(request.id) == session
            await scene.engine.wait_idle(session)
            assert wrote(scene) and scene.status(session) == "done" and not scene.engine.permission_requests()
            kinds = await scene.kinds(session)
            assert kinds[4:9] == ["Replied", "PermissionRequested", "PermissionDecided", "CallStarted", "FileChanged"]

    run_bounded(main())


def test_no_request_is_made_about_an_unreadable_diff(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(call_reply("patch", diff="*** Begin Patch"), {"text": "Done."})
            session = await scene.start(script, mode="ask")
            await scene.until(RunEnded)
            (refused,) = await events_of(scene, session, CallRefused, PermissionRequested)
            assert "unified diff" in refused.reason.head

    run_bounded(main())


def test_an_automatic_approval_records_its_cause_in_the_same_event(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await scene.start(scripted_replies(call_reply("read", path="a.txt"), DONE), mode="ask")
            await scene.engine.wait_idle(session)
            allowed, started = await events_of(scene, session, CallAllowed, CallStarted)
            assert allowed == CallAllowed("r1c1", "mode: ask") and isinstance(started, CallStarted)
            at = {type(entry.event): entry.at for entry in scene.log}
            assert at[CallAllowed] == at[CallStarted], "one append in one transaction"

    run_bounded(main())


def test_the_model_reads_the_reason_of_a_denial(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            await scene.engine.deny((await wait_for_request(scene)).id, "Not on a Friday.")
            await scene.engine.wait_idle(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert "Not on a Friday." in refused.reason.head and not wrote(scene)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_an_approval_counts_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            name = (await wait_for_request(scene)).id
            both = await asyncio.gather(
                scene.engine.allow(name), scene.engine.deny(name), return_exceptions=True
            )  # fmt: skip
            assert both[0] == session and isinstance(both[1], Problem)
            await scene.engine.wait_idle(session)
            assert len(await events_of(scene, session, PermissionDecided)) == 1 and wrote(scene)
            assert scene.engine.session(session).pending_requests == 0

    run_bounded(main())


def test_an_approval_for_a_stopped_run_is_too_late(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            name = (await wait_for_request(scene)).id
            await scene.engine.stop(session)
            assert not scene.engine.permission_requests() and scene.status(session) == "stopped"
            with pytest.raises(Problem, match="not open"):
                await scene.engine.allow(name)
            assert not wrote(scene)

    run_bounded(main())


@pytest.mark.parametrize("answered", ["after", "between", "before"])
def test_a_crash_loses_neither_the_request_nor_the_answer(tmp_path: Path, answered: str) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            request = await wait_for_request(scene)
            if answered == "before":
                await scene.services.runs._journal.append(session, PermissionDecided(request.id, True))
                await crash(scene)
            else:
                await crash(scene)
        async with open_engine(tmp_path) as scene:
            if answered != "before" or scene.engine.permission_requests():
                assert [each.request for _, each in scene.engine.permission_requests()] == [request]
            if answered == "between":
                await scene.engine.allow(request.id)
            if scene.status(session) not in ("done", "failed"):
                await scene.engine.resume(session, "retry" if await scene.engine.unresolved_calls(session) else "")
            if answered == "after":
                await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            assert wrote(scene) and scene.status(session) == "done"
            assert len(await events_of(scene, session, PermissionRequested)) == 1
            assert len(await events_of(scene, session, PermissionDecided)) == 1

    run_bounded(main())


def test_closing_the_window_leaves_the_request_pending(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            name = (await wait_for_request(scene)).id
        async with open_engine(tmp_path) as scene:
            assert scene.status(session) == "waiting"
            await scene.engine.allow(name, resume=True)
            await scene.engine.wait_idle(session)
            assert wrote(scene)

    run_bounded(main())


@pytest.mark.parametrize(
    ("mode", "happens"), [("auto", True), ("accept-edits", True), ("plan", False), ("ask-all", None)]
)
def test_a_new_mode_decides_pending_requests(tmp_path: Path, mode: Mode, happens: bool | None) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            name = (await wait_for_request(scene)).id
            await scene.engine.set_mode(session, mode)
            if happens is None:
                await scene.until(ModeChanged)
                assert scene.status(session) == "waiting"
                await scene.engine.deny(name)
            await scene.engine.wait_idle(session)
            (given,) = await events_of(scene, session, PermissionDecided)
            assert wrote(scene) == bool(happens)
            assert given.decided_by == ({True: f"mode: {mode}", False: "Journeyman", None: "user"}[happens])
            assert scene.engine.session(session).mode == mode

    run_bounded(main())


def test_a_mode_applies_to_the_next_run_and_to_forks(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies({"text": "hi"}, WRITE, DONE), mode="ask")
            await scene.engine.wait_idle(session)
            await scene.engine.set_mode(session, "plan")
            await scene.engine.send_message(session, "more")
            await scene.engine.wait_idle(session)
            assert scene.engine.session(session).mode == "plan"
            fork = await scene.engine.history.fork(session)
            assert scene.engine.session(fork).mode == "plan"
            with pytest.raises(Problem):
                await scene.engine.set_mode(session, "wild")  # type: ignore[arg-type]

    run_bounded(main())


def test_a_saved_approval_also_allows_requests_pending_elsewhere(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(call_reply("run", command="git commit"), DONE)
            one, other = await scene.start(script, mode="ask"), await scene.start(script, mode="ask")
            await scene.until(PermissionRequested, 2)
            request = next(each.request for row, each in scene.engine.permission_requests() if row.id == one)
            await scene.engine.allow(request.id, "folder", request.patterns)
            for session in (one, other):
                await scene.engine.wait_idle(session)
            words = {s: (await events_of(scene, s, PermissionDecided))[0] for s in (one, other)}
            (rule,) = scene.engine.rules().rules or ()
            assert words[one].rule_ids == (rule.id,) and words[one].patterns == "git commit *"
            assert words[other].decided_by == "your rule: allow run: git commit *"
            again = await scene.start(script, mode="ask")
            await scene.engine.wait_idle(again)
            (allowed,) = await events_of(scene, again, CallAllowed)
            assert allowed.rule_id == rule.id
            assert await scene.engine.revoke(rule.id) == "allow run: git commit *"
            last = await scene.start(script, mode="ask")
            await scene.until(PermissionRequested, 3)
            await scene.engine.stop(last)

    run_bounded(main())


def test_one_approval_answers_several_similar_requests(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            calls = [{"name": "read", "arguments": {"path": f"{n}.txt"}} for n in range(3)]
            other = [{"name": "read", "arguments": {"path": "sub/x.txt"}}]
            session = await scene.start(scripted_replies({"calls": calls + other}, DONE), mode="ask-all")
            await scene.until(PermissionRequested, 4)
            waiting = [each.request for _, each in scene.engine.permission_requests()]
            await scene.engine.allow(waiting[0].id, include_similar=True)
            assert not scene.engine.permission_requests()
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_writes_are_requested_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            calls = [{"name": "write", "arguments": {"path": f"{n}.txt", "content": ""}} for n in range(2)]
            session = await scene.start(scripted_replies({"calls": calls}, DONE), mode="ask")
            first = await wait_for_request(scene)
            assert len(scene.engine.permission_requests()) == 1
            await scene.engine.allow(first.id)
            await scene.engine.allow((await wait_for_request(scene, 2)).id)
            await scene.engine.wait_idle(session)
            assert {path.name for path in scene.folder.iterdir()} == {"0.txt", "1.txt"}

    run_bounded(main())


def test_an_approval_does_not_cover_a_changed_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(call_reply("run", command="mkdir build"), DONE), mode="ask")
            request = await wait_for_request(scene)
            await scene.services.runs._live[session].context.journal.append(
                session, *(_tainted(), PermissionDecided(request.id, True))
            )
            await scene.engine.wait_idle(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert "Call again" in refused.reason.head

    run_bounded(main())


def _tainted() -> Any:
    from core.domain.events import UntrustedContentRead

    return UntrustedContentRead("r1c1", "web: https://example.org")


def test_a_deny_rule_precedes_an_approval(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(call_reply("run", command="git commit"), DONE), mode="ask")
            request = await wait_for_request(scene)
            rule = new_rule("abc234", "deny", "run", "command", "git commit *", scope="always")
            await scene.services.rules.add([rule])
            await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert refused.rule_id == "abc234"

    run_bounded(main())


def test_what_was_allowed_at_the_start_needs_no_approval_and_nothing_else_does(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(
                WRITE, call_reply("run", command="git commit -s"), call_reply("run", command="git add a"), DONE
            )
            session = await scene.start(script, mode="ask", allow=("write", "run:git commit *"))
            request = await wait_for_request(scene)
            assert request.object == "git add a" and wrote(scene)
            causes = [event.reason for event in await events_of(scene, session, CallAllowed)]
            assert causes == ["allowed when the run began: write", "your rule: allow run: git commit *"]
            await scene.engine.stop(session)
            for wrong in ("nothing", "run:*", "run:git *", "write:**"):
                with pytest.raises(Problem):
                    await scene.start(script, allow=(wrong,))

    run_bounded(main())


def test_a_protected_file_is_written_only_after_approval(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(call_reply("write", path=".vscode/tasks.json", content="{}"), DONE)
            session = await scene.start(script, mode="auto")
            request = await wait_for_request(scene)
            assert "execute or follow" in request.reason and not request.patterns
            await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            (back,) = await events_of(scene, session, ToolReturned)
            assert not back.failed and (scene.folder / ".vscode" / "tasks.json").read_text() == "{}"

    run_bounded(main())


def test_a_replay_asks_for_no_approval(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(
                WRITE, call_reply("run", command="mkdir build"), call_reply("read", path="a.txt"), DONE
            )
            session = await scene.start(script, mode="ask")
            await scene.engine.allow((await wait_for_request(scene)).id)
            await scene.engine.deny((await wait_for_request(scene, 2)).id, "no")
            await scene.engine.wait_idle(session)
            (tmp_path / "again").mkdir()
            heard: list[EventRecord] = []

            async def pace(_: EventRecord) -> None:
                return

            made = await replay_session(
                scene.services.reader, session, tmp_path / "again", lambda told: heard.append(told.entry), pace
            )
            assert [entry.event for entry in heard] == await scene.events(session)
            assert made.differing == [] and made.injected["permission_decided"] == 2
            assert made.regenerated["permission_requested"] == 2 and made.regenerated["call_allowed"] == 1

    run_bounded(main())


def test_waiting_for_the_user_does_not_count_as_run_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            name = (await wait_for_request(scene)).id
            talk = scene.services.runs._live[session].context.conversation
            before = talk.spent["minutes"]
            await asyncio.sleep(0.3)
            await scene.engine.allow(name)
            await scene.engine.wait_idle(session)
            assert talk.spent["minutes"] - before < 0.3 / 60

    run_bounded(main())


def test_a_call_that_may_have_run_is_not_repeated_by_its_old_approval(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(
                scripted_replies(call_reply("run", command="echo x >> effects; sleep 60"), DONE), mode="ask"
            )
            await scene.engine.allow((await wait_for_request(scene)).id)
            await scene.until(CallStarted)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            with pytest.raises(UnresolvedCallsError):
                await scene.engine.resume(session)
            await scene.engine.resume(session, "skip")
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_a_denial_is_a_row_and_ends_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(
                scripted_replies(call_reply("read", path="../x"), call_reply("read", path=".env"), DONE)
            )
            refused = await events_of(scene, session, CallRefused)
            assert ["outside" in refused[0].reason.head, "secrets" in refused[1].reason.head] == [True, True]
            rows = scene.engine.timeline_steps(scene.engine.session(session))
            assert [row.kind for row in rows].count("refused") == 2
            assert (await scene.events(session))[-1] == RunEnded("completed")

    run_bounded(main())


def test_questions_and_permission_requests_are_not_confused(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            both = [*WRITE["calls"], *call_reply("ask_user", question="Which?", options=[{"label": "A"}])["calls"]]
            session = await scene.start(scripted_replies({"calls": both}, DONE), mode="ask")
            name = (await wait_for_request(scene)).id
            with pytest.raises(Problem):
                await scene.engine.answer(name, Answer(option="A"))
            await scene.engine.allow(name)
            await scene.when(scene.engine.open_questions)
            (question,) = [question for _, question in scene.engine.open_questions()]
            with pytest.raises(Problem):
                await scene.engine.allow(question.id)
            await scene.engine.answer(question.id, Answer(option="A"))
            await scene.engine.wait_idle(session)
            assert len(await events_of(scene, session, QuestionAnswered)) == 1

    run_bounded(main())


def test_a_rule_revoked_during_a_run_allows_nothing_more(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            pause = call_reply("ask_user", question="Go on?")
            session = await scene.start(scripted_replies(WRITE, pause, WRITE, DONE), mode="ask")
            await scene.engine.allow((request := await wait_for_request(scene)).id, "folder", request.patterns)
            question = (await scene.until(QuestionAsked)).event
            assert isinstance(question, QuestionAsked)
            (rule,) = scene.engine.rules().rules or ()
            await scene.engine.revoke(rule.id)
            await scene.engine.answer(question.question.id, Answer(text="go"))
            await wait_for_request(scene, 2)
            assert scene.status(session) == "waiting"

    run_bounded(main())


def test_nothing_sends_data_unapproved_after_untrusted_content(tmp_path: Path) -> None:
    """Even a host with a saved rule needs approval again, also in a sub-agent and in the next run."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            fetch = call_reply("fetch", url="https://example.org/")
            session = await scene.start(scripted_replies(fetch, DONE, fetch, DONE), mode="auto", allow=("fetch",))
            run = scene.services.runs._live[session].context
            await run.record(UntrustedContentRead("r0c0", "web: https://evil.example"))
            request = await wait_for_request(scene)
            assert request.untrusted_sources == ("web: https://evil.example",) and not request.patterns
            await scene.engine.deny(request.id)
            await scene.engine.wait_idle(session)
            await scene.engine.send_message(session, "Again.")
            again = await wait_for_request(scene, 2)
            assert again.untrusted_sources == request.untrusted_sources
            await scene.engine.deny(again.id)
            await scene.engine.wait_idle(session)

    run_bounded(main())
