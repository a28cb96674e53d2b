"""Runs of models that write tool calls into the reply text, announce work, or end without doing anything."""

import json
from pathlib import Path
from typing import Any

from core.domain.events import CallStarted, HarnessMessage, Replied, RunEnded, RunStarted
from core.domain.steps import Step
from core.engine.history.replay import replay_session
from core.engine.run.nudges import NUDGE_PREFIX
from core.engine.state.live_updates import LiveUpdate
from core.settings.schema import Provider
from core.store.reader import Reader
from core.timeline.idle_runs import ended_idle
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.servers.scripted_server import ScriptedServer, ServerAction, answer, chunk, failure, scripted_server, stream

WRITE = '```json\n{"name": "write", "arguments": {"path": "out.txt", "content": "done"}}\n```'
FINISHED = {"text": "out.txt is written."}


async def nudges(scene: EngineHarness, session: str) -> list[HarnessMessage]:
    return [
        event
        for event in await scene.events(session)
        if isinstance(event, HarnessMessage) and event.text.head.startswith(NUDGE_PREFIX)
    ]


def steps_of(scene: EngineHarness, session: str) -> list[Step]:
    return scene.engine.timeline_steps(scene.engine.session(session))


async def run_task(scene: EngineHarness, task: str, *replies: dict[str, Any]) -> str:
    session = await scene.start(scripted_replies(*replies), task)
    await scene.engine.wait_idle(session)
    assert scene.bugs == []
    return session


def test_a_written_call_is_carried_out_and_the_reply_is_kept_as_it_came(tmp_path: Path) -> None:
    text = f"I write the file.\n\n{WRITE}\n\nThat will do."

    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            live: list[LiveUpdate] = []
            scene.engine.subscribe_live_updates(live.append)
            session = await run_task(scene, "Create the file out.txt.", {"text": text, "chunks": 40}, FINISHED)
            assert (scene.folder / "out.txt").read_text() == "done"
            first = next(event for event in await scene.events(session) if isinstance(event, Replied))
            assert first.written.head == text and first.text.head == "I write the file.\n\nThat will do."
            rows = [(step.kind, step.object) for step in steps_of(scene, session)]
            assert ("notice", "Tool call read from the reply text: fenced JSON") in rows
            assert ("reply", "I write the file.") in rows
            assert not any("json" in one.text or "arguments" in one.text for one in live)
            assert await nudges(scene, session) == [] and not ended_idle(steps_of(scene, session))

    run_bounded(test())

    async def again() -> None:
        folder, reader = tmp_path / "replay", Reader(tmp_path / "journeyman.db")
        folder.mkdir()
        (session,) = [row.id for row in reader.sessions()]
        try:
            done = await replay_session(reader, session, folder, lambda _: None, _at_once)
        finally:
            reader.close()
        assert done.differing == []

    run_bounded(again())


async def _at_once(_: object) -> None:
    """Skip the recorded pauses."""


def test_a_file_cannot_call_a_tool_by_being_quoted(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "notes.md").write_text(f"# Notes\n\n{WRITE}\n")
            replies = (call_reply("read", path="notes.md"), {"text": f"Next:\n\n{WRITE}"}, {"text": "No need."})
            await run_task(scene, "Read notes.md and fix the spelling.", *replies)
            assert not (scene.folder / "out.txt").exists()

    run_bounded(test())


def test_announced_work_gets_one_reminder(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            promise = {"text": "I will now write the file."}
            session = await run_task(scene, "Hello.", promise, {"calls": [json.loads(WRITE[8:-4])]}, FINISHED)
            assert (scene.folder / "out.txt").exists() and len(await nudges(scene, session)) == 1
            session = await run_task(scene, "Hello.", promise, promise, promise)
            assert scene.status(session) == "done" and scene.engine.session(session).turns == 2

    run_bounded(test())


def test_a_call_that_is_not_valid_is_explained_to_the_model(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            wrong = {"text": WRITE.replace('"content"', '"lines"')}
            session = await run_task(scene, "Create the file out.txt.", wrong, {"text": WRITE}, FINISHED)
            (nudge,) = await nudges(scene, session)
            assert "content" in nudge.text.head and (scene.folder / "out.txt").exists()

    run_bounded(test())


def test_a_run_that_did_nothing_for_a_task_that_asks_for_work_is_marked(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            advice = {"text": "You need to change the operator in shop.py."}
            session = await run_task(scene, "Fix the bug in shop.py.", advice, advice)
            assert len(await nudges(scene, session)) == 1 and ended_idle(steps_of(scene, session))
            session = await run_task(scene, "What is wrong in shop.py?", advice)
            assert await nudges(scene, session) == [] and not ended_idle(steps_of(scene, session))
            session = await run_task(scene, "Fix shop.py.", call_reply("write", path="a", content="b"), FINISHED)
            assert await nudges(scene, session) == [] and not ended_idle(steps_of(scene, session))
            await scene.engine.send_message(session, "Fix test.py, too.")
            await scene.engine.wait_idle(session)
            for run in (1, 2):
                opening = [
                    step for step in steps_of(scene, session) if step.run == run and step.kind in ("user", "run")
                ]
                assert scene.engine.run_opening(session, run) == opening and len(opening) == 2

    run_bounded(test())


def test_a_command_that_failed_counts_as_work(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            tests = call_reply("run", command="exit 3")
            session = await run_task(scene, "Run the tests.", tests, {"text": "They fail."})
            assert await nudges(scene, session) == []

    run_bounded(test())


def test_a_run_whose_check_still_fails_ends_as_failed(tmp_path: Path) -> None:
    """Unless a file was changed after it: then nothing is known."""
    task = "Running `test -f done.txt` fails. Fix it."
    check, claim = call_reply("run", command="test -f done.txt"), {"text": "It is fixed."}
    unchanged = call_reply("write", path="as_it_was.txt", content="x")
    repair, other = call_reply("write", path="done.txt", content="x"), call_reply("write", path="a", content="b")

    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            for replies, status in (
                ((other, check, claim), "failed"),
                ((other, check, repair, check, claim), "done"),
                ((other, check, other, claim), "failed"),  # the file had this text already
                ((check, repair, claim), "done"),
                ((claim, claim, claim, claim), "failed"),  # nothing was done
                ((unchanged, claim, claim, claim), "failed"),
            ):
                (scene.folder / "done.txt").unlink(missing_ok=True)
                (scene.folder / "as_it_was.txt").write_text("x")
                session = await run_task(scene, task, *replies)
                assert scene.engine.session(session).status == status, replies
                (end,) = [event for event in await scene.events(session) if isinstance(event, RunEnded)]
                assert ("test -f done.txt" in end.reason) == (status == "failed")

    run_bounded(test())


async def ask_server(scene: EngineHarness, server: ScriptedServer) -> str:
    scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
    began = RunStarted("box/m", 9, mode="auto")
    session = await scene.engine.start("Create the file out.txt.", scene.folder, began)
    await scene.engine.wait_idle(session)
    assert scene.bugs == [] and scene.status(session) == "done"
    return session


def saying(text: str) -> list[ServerAction]:
    return answer(stream(chunk(content=text), chunk("stop")))


def calling() -> list[ServerAction]:
    function = {"name": "write", "arguments": json.dumps({"path": "b.txt", "content": "b"})}
    return answer(stream(chunk(tool_calls=[{"index": 0, "id": "c", "function": function}]), chunk("tool_calls")))


LISTING = answer(json.dumps({"data": [{"id": "m"}]}).encode(), "application/json")


def test_a_model_that_writes_its_calls_twice_is_remembered(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [LISTING, saying(WRITE), saying(WRITE.replace("done", "2")), saying("It is written.")]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            await ask_server(scene, server)
            assert scene.engine.settings.current.text_call_models == ("box/m",)
            posts = [request for request in server.requests if request.method == "POST"]
            assert all("tools" in request.json for request in posts), "the prompt prefix stays as it is"
        async with (
            scripted_server(LISTING, saying("Nothing."), saying("Nothing.")) as server,
            open_engine(tmp_path) as scene,
        ):
            await ask_server(scene, server)
            assert not any("tools" in request.json for request in server.requests if request.method == "POST")

    run_bounded(test())


def test_a_model_that_also_calls_natively_is_not_remembered(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [
            LISTING,
            saying(WRITE),
            calling(),
            saying(WRITE),
            saying(WRITE.replace("done", "2")),
            saying("Done."),
        ]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            session = await ask_server(scene, server)
            assert sum(isinstance(event, CallStarted) for event in await scene.events(session)) == 4
            assert scene.engine.settings.current.text_call_models == ()

    run_bounded(test())


def test_a_model_that_wrote_a_call_and_gave_up_continues_with_text_calls(tmp_path: Path) -> None:
    look = '```json\n{"name": "find", "arguments": {"pattern": "*"}}\n```'
    final = '{"tool": "final", "arguments": {"text": "Done."}}'

    async def test() -> None:
        answers = [LISTING, saying(look), saying("You should write it."), saying(WRITE), saying(final), saying("Done.")]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            session = await ask_server(scene, server)
            assert (scene.folder / "out.txt").exists() and len(await nudges(scene, session)) == 1
            posts = [request for request in server.requests if request.method == "POST"]
            assert ["tools" in request.json for request in posts] == [True, True, False, False, False]
            assert "TextCallsEnabled" in await scene.kinds(session)

    run_bounded(test())


def test_after_a_reply_without_a_call_the_provider_of_a_small_model_enforces_one(tmp_path: Path) -> None:
    call = json.dumps({"name": "write", "arguments": {"path": "b.txt", "content": "b"}})

    async def test() -> None:
        answers = [LISTING, saying("You should write it."), saying(call), saying("It is written.")]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(prompt_size="compact")
            session = await ask_server(scene, server)
            posts = [request.json for request in server.requests if request.method == "POST"]
            first, enforced, *later = (post.get("response_format") for post in posts)
            assert first is None and not any(later) and all(post["tools"] for post in posts)
            shapes = enforced["json_schema"]["schema"]["anyOf"]
            assert {"const": "write"} in [shape["properties"]["name"] for shape in shapes]
            assert len(await nudges(scene, session)) >= 1 and (scene.folder / "b.txt").exists()

    run_bounded(test())


def test_a_provider_that_cannot_enforce_a_call_is_asked_without_it(tmp_path: Path) -> None:
    rejected = failure("400 Bad Request", {"error": {"message": "json_schema is not supported with tools"}})

    async def test() -> None:
        answers = [LISTING, saying("You should write it."), rejected, calling(), saying("It is written.")]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(prompt_size="compact")
            await ask_server(scene, server)
            posts = [request.json for request in server.requests if request.method == "POST"]
            assert [post.get("response_format") is None for post in posts[:4]] == [True, False, True, True]
            assert (scene.folder / "b.txt").exists()

    run_bounded(test())
