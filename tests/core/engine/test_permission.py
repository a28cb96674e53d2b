"""Calls wait for a person in the journal: asked once, decided once, found after a crash, bound to what was shown."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.domain.consent import CallAllowed, ConsentAsked, ConsentGiven, ConsentRequest, ModeSet
from core.domain.events import CallRefused, CallStarted, Entry, RunEnded, Tainted, ToolReturned
from core.domain.modes import Mode
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.domain.rules import made_rule
from core.engine.doubt import Doubt
from core.engine.replay import replay
from tests.core.engine.scenes import Scene, bounded, calling, crash, opened, played

WRITE = calling("write", path="a.txt", content="written")
DONE = {"text": "Done: {{result}}"}


async def asked(scene: Scene, count: int = 1) -> ConsentRequest:
    event = (await scene.until(ConsentAsked, count)).event
    assert isinstance(event, ConsentAsked)
    return event.request


async def events_of(scene: Scene, session: str, *kinds: type) -> list[Any]:
    return [event for event in await scene.events(session) if isinstance(event, kinds)]


def wrote(scene: Scene) -> bool:
    return (scene.folder / "a.txt").exists()


def test_nothing_happens_before_the_word_and_it_is_found_where_questions_are(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            request = await asked(scene)
            row, waiting = scene.engine.consents()[0]
            assert (row.id, row.status, row.waiting, row.mode) == (session, "waiting", 1, "edits")
            assert waiting.request == request and '"content":"written"' in waiting.arguments and not wrote(scene)
            assert not scene.engine.questions()
            assert await scene.engine.allow(request.id) == session
            await scene.engine.wait(session)
            assert wrote(scene) and scene.status(session) == "done" and not scene.engine.consents()
            kinds = await scene.kinds(session)
            assert kinds[4:9] == ["Replied", "ConsentAsked", "ConsentGiven", "CallStarted", "FileChanged"]

    bounded(main())


def test_nobody_is_asked_about_a_difference_that_cannot_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(calling("patch", diff="*** Begin Patch"), {"text": "Done."})
            session = await scene.start(script, mode="edits")
            await scene.until(RunEnded)
            (refused,) = await events_of(scene, session, CallRefused, ConsentAsked)
            assert "unified difference" in refused.reason.head

    bounded(main())


def test_what_is_allowed_unasked_names_its_cause_in_the_same_breath(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await scene.start(played(calling("read", path="a.txt"), DONE), mode="edits")
            await scene.engine.wait(session)
            allowed, started = await events_of(scene, session, CallAllowed, CallStarted)
            assert allowed == CallAllowed("r1c1", "mode: edits") and isinstance(started, CallStarted)
            at = {type(entry.event): entry.at for entry in scene.facts}
            assert at[CallAllowed] == at[CallStarted], "one append, one commit"

    bounded(main())


def test_a_no_with_its_reason_is_read_by_the_model(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            await scene.engine.deny((await asked(scene)).id, "Not on a Friday.")
            await scene.engine.wait(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert "Not on a Friday." in refused.reason.head and not wrote(scene)
            assert scene.status(session) == "done"

    bounded(main())


def test_a_word_counts_once(tmp_path: Path) -> None:  # K5
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            name = (await asked(scene)).id
            both = await asyncio.gather(
                scene.engine.allow(name), scene.engine.deny(name), return_exceptions=True
            )  # fmt: skip
            assert both[0] == session and isinstance(both[1], Problem)
            await scene.engine.wait(session)
            assert len(await events_of(scene, session, ConsentGiven)) == 1 and wrote(scene)
            assert scene.engine.session(session).waiting == 0

    bounded(main())


def test_a_word_for_a_run_that_was_stopped_comes_too_late(tmp_path: Path) -> None:  # K6
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            name = (await asked(scene)).id
            await scene.engine.stop(session)
            assert not scene.engine.consents() and scene.status(session) == "stopped"
            with pytest.raises(Problem, match="not open"):
                await scene.engine.allow(name)
            assert not wrote(scene)

    bounded(main())


@pytest.mark.parametrize("answered", ["after", "between", "before"])
def test_a_crash_does_not_lose_the_request_nor_the_word(tmp_path: Path, answered: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            request = await asked(scene)
            if answered == "before":
                await scene.services.runs._journal.append(session, ConsentGiven(request.id, True))
                await crash(scene)
            else:
                await crash(scene)
        async with opened(tmp_path) as scene:
            if answered != "before" or scene.engine.consents():
                assert [each.request for _, each in scene.engine.consents()] == [request]
            if answered == "between":
                await scene.engine.allow(request.id)
            if scene.status(session) not in ("done", "failed"):
                await scene.engine.resume(session, "again" if await scene.engine.doubted(session) else "")
            if answered == "after":
                await scene.engine.allow(request.id)
            await scene.engine.wait(session)
            assert wrote(scene) and scene.status(session) == "done"
            assert len(await events_of(scene, session, ConsentAsked)) == 1
            assert len(await events_of(scene, session, ConsentGiven)) == 1

    bounded(main())


def test_a_window_that_closes_leaves_the_request_waiting(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            name = (await asked(scene)).id
        async with opened(tmp_path) as scene:
            assert scene.status(session) == "waiting"
            await scene.engine.allow(name, go_on=True)
            await scene.engine.wait(session)
            assert wrote(scene)

    bounded(main())


@pytest.mark.parametrize(("mode", "happens"), [("trust", True), ("accept", True), ("plan", False), ("ask", None)])
def test_another_mode_decides_what_waits(tmp_path: Path, mode: Mode, happens: bool | None) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            name = (await asked(scene)).id
            await scene.engine.set_mode(session, mode)
            if happens is None:
                await scene.until(ModeSet)
                assert scene.status(session) == "waiting"
                await scene.engine.deny(name)
            await scene.engine.wait(session)
            (given,) = await events_of(scene, session, ConsentGiven)
            assert wrote(scene) == bool(happens)
            assert given.by == ({True: f"mode: {mode}", False: "Journeyman", None: "person"}[happens])
            assert scene.engine.session(session).mode == mode

    bounded(main())


def test_a_mode_holds_for_the_next_run_and_in_a_fork(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played({"text": "hi"}, WRITE, DONE), mode="edits")
            await scene.engine.wait(session)
            await scene.engine.set_mode(session, "plan")
            await scene.engine.say(session, "more")
            await scene.engine.wait(session)
            assert scene.engine.session(session).mode == "plan"
            fork = await scene.engine.history.fork(session)
            assert scene.engine.session(fork).mode == "plan"
            with pytest.raises(Problem):
                await scene.engine.set_mode(session, "wild")  # type: ignore[arg-type]

    bounded(main())


def test_a_yes_that_is_remembered_allows_what_waits_elsewhere_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(calling("run", command="git status"), DONE)
            one, other = await scene.start(script, mode="edits"), await scene.start(script, mode="edits")
            await scene.until(ConsentAsked, 2)
            request = next(each.request for row, each in scene.engine.consents() if row.id == one)
            await scene.engine.allow(request.id, "folder", request.patterns)
            for session in (one, other):
                await scene.engine.wait(session)
            words = {s: (await events_of(scene, s, ConsentGiven))[0] for s in (one, other)}
            (rule,) = scene.engine.rules().rules or ()
            assert words[one].rules == (rule.id,) and words[one].pattern == "git status *"
            assert words[other].by == "your rule: allow run: git status *"
            again = await scene.start(script, mode="edits")
            await scene.engine.wait(again)
            (allowed,) = await events_of(scene, again, CallAllowed)
            assert allowed.rule == rule.id
            assert await scene.engine.revoke(rule.id) == "allow run: git status *"
            last = await scene.start(script, mode="edits")
            await scene.until(ConsentAsked, 3)
            await scene.engine.stop(last)

    bounded(main())


def test_one_word_answers_several_like_requests(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            calls = [{"name": "read", "arguments": {"path": f"{n}.txt"}} for n in range(3)]
            other = [{"name": "read", "arguments": {"path": "sub/x.txt"}}]
            session = await scene.start(played({"calls": calls + other}, DONE), mode="ask")
            await scene.until(ConsentAsked, 4)
            waiting = [each.request for _, each in scene.engine.consents()]
            await scene.engine.allow(waiting[0].id, like=True)
            assert not scene.engine.consents()
            await scene.engine.wait(session)
            assert scene.status(session) == "done"

    bounded(main())


def test_writes_are_asked_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            calls = [{"name": "write", "arguments": {"path": f"{n}.txt", "content": ""}} for n in range(2)]
            session = await scene.start(played({"calls": calls}, DONE), mode="edits")
            first = await asked(scene)
            assert len(scene.engine.consents()) == 1
            await scene.engine.allow(first.id)
            await scene.engine.allow((await asked(scene, 2)).id)
            await scene.engine.wait(session)
            assert {path.name for path in scene.folder.iterdir()} == {"0.txt", "1.txt"}

    bounded(main())


def test_a_yes_is_no_yes_to_what_became_of_it(tmp_path: Path) -> None:  # I13
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(calling("run", command="ls"), DONE), mode="edits")
            request = await asked(scene)
            await scene.services.runs._live[session].work.journal.append(
                session, *(_tainted(), ConsentGiven(request.id, True))
            )
            await scene.engine.wait(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert "Call again" in refused.reason.head

    bounded(main())


def _tainted() -> Any:
    from core.domain.events import Tainted

    return Tainted("r1c1", "web: https://example.org")


def test_a_rule_that_denies_wins_over_a_yes(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(calling("run", command="git status"), DONE), mode="edits")
            request = await asked(scene)
            rule = made_rule("abc234", "deny", "run", "command", "git status *", scope="always")
            await scene.services.rules.add([rule])
            await scene.engine.allow(request.id)
            await scene.engine.wait(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert refused.rule == "abc234"

    bounded(main())


def test_what_the_start_allowed_asks_nothing_and_no_more_than_that(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(WRITE, calling("run", command="git status -s"), calling("run", command="git log"), DONE)
            session = await scene.start(script, mode="edits", allow=("write", "run:git status *"))
            request = await asked(scene)
            assert request.object == "git log" and wrote(scene)
            causes = [event.cause for event in await events_of(scene, session, CallAllowed)]
            assert causes == ["allowed when the run began: write", "your rule: allow run: git status *"]
            await scene.engine.stop(session)
            for wrong in ("nothing", "run:*", "run:git *", "write:**"):
                with pytest.raises(Problem):
                    await scene.start(script, allow=(wrong,))

    bounded(main())


def test_a_protected_file_is_written_after_a_yes_only(tmp_path: Path) -> None:  # I11
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(calling("write", path=".vscode/tasks.json", content="{}"), DONE)
            session = await scene.start(script, mode="trust")
            request = await asked(scene)
            assert "obey" in request.why and not request.patterns
            await scene.engine.allow(request.id)
            await scene.engine.wait(session)
            (back,) = await events_of(scene, session, ToolReturned)
            assert not back.failed and (scene.folder / ".vscode" / "tasks.json").read_text() == "{}"

    bounded(main())


def test_a_replay_asks_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(WRITE, calling("run", command="ls"), calling("read", path="a.txt"), DONE)
            session = await scene.start(script, mode="edits")
            await scene.engine.allow((await asked(scene)).id)
            await scene.engine.deny((await asked(scene, 2)).id, "no")
            await scene.engine.wait(session)
            (tmp_path / "again").mkdir()
            heard: list[Entry] = []

            async def pace(_: Entry) -> None:
                return

            made = await replay(
                scene.services.reader, session, tmp_path / "again", lambda told: heard.append(told.entry), pace
            )
            assert [entry.event for entry in heard] == await scene.events(session)
            assert made.differing == [] and made.given["consent_given"] == 2
            assert made.made["consent_asked"] == 2 and made.made["call_allowed"] == 1

    bounded(main())


def test_the_time_of_a_person_is_not_that_of_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(WRITE, DONE), mode="edits")
            name = (await asked(scene)).id
            talk = scene.services.runs._live[session].work.talk
            before = talk.spent["minutes"]
            await asyncio.sleep(0.3)
            await scene.engine.allow(name)
            await scene.engine.wait(session)
            assert talk.spent["minutes"] - before < 0.3 / 60

    bounded(main())


def test_an_act_that_may_have_happened_is_not_done_again_by_its_old_yes(tmp_path: Path) -> None:  # C8
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(
                played(calling("run", command="echo x >> effects; sleep 60"), DONE), mode="edits"
            )
            await scene.engine.allow((await asked(scene)).id)
            await scene.until(CallStarted)
            await crash(scene)
        async with opened(tmp_path) as scene:
            with pytest.raises(Doubt):
                await scene.engine.resume(session)
            await scene.engine.resume(session, "skip")
            await scene.engine.wait(session)
            assert scene.status(session) == "done"

    bounded(main())


def test_a_refusal_is_a_row_and_ends_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played(calling("read", path="../x"), calling("read", path=".env"), DONE))
            refused = await events_of(scene, session, CallRefused)
            assert ["outside" in refused[0].reason.head, "secrets" in refused[1].reason.head] == [True, True]
            rows = scene.engine.steps(scene.engine.session(session))
            assert [row.kind for row in rows].count("refused") == 2
            assert (await scene.events(session))[-1] == RunEnded("completed")

    bounded(main())


def test_questions_and_requests_are_not_mixed_up(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            both = [*WRITE["calls"], *calling("ask_user", question="Which?", options=[{"label": "A"}])["calls"]]
            session = await scene.start(played({"calls": both}, DONE), mode="edits")
            name = (await asked(scene)).id
            with pytest.raises(Problem):
                await scene.engine.answer(name, Answer(option="A"))
            await scene.engine.allow(name)
            await scene.when(scene.engine.questions)
            (question,) = [question for _, question in scene.engine.questions()]
            with pytest.raises(Problem):
                await scene.engine.allow(question.id)
            await scene.engine.answer(question.id, Answer(option="A"))
            await scene.engine.wait(session)
            assert len(await events_of(scene, session, QuestionAnswered)) == 1

    bounded(main())


def test_a_rule_that_is_revoked_while_a_run_goes_allows_nothing_more(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            pause = calling("ask_user", question="Go on?")
            session = await scene.start(played(WRITE, pause, WRITE, DONE), mode="edits")
            await scene.engine.allow((request := await asked(scene)).id, "folder", request.patterns)
            question = (await scene.until(QuestionAsked)).event
            assert isinstance(question, QuestionAsked)
            (rule,) = scene.engine.rules().rules or ()
            await scene.engine.revoke(rule.id)
            await scene.engine.answer(question.question.id, Answer(text="go"))
            await asked(scene, 2)
            assert scene.status(session) == "waiting"

    bounded(main())


def test_nothing_sends_data_away_unasked_once_strangers_were_read(tmp_path: Path) -> None:
    """A host that was allowed for good is asked about again; so is it in the sub-agent and in the next run."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            fetch = calling("fetch", url="https://example.org/")
            session = await scene.start(played(fetch, DONE, fetch, DONE), mode="trust", allow=("fetch",))
            run = scene.services.runs._live[session].work
            await run.record(Tainted("r0c0", "web: https://evil.example"))
            request = await asked(scene)
            assert request.taint == ("web: https://evil.example",) and not request.patterns
            await scene.engine.deny(request.id)
            await scene.engine.wait(session)
            await scene.engine.say(session, "Again.")
            again = await asked(scene, 2)
            assert again.taint == request.taint
            await scene.engine.deny(again.id)
            await scene.engine.wait(session)

    bounded(main())
