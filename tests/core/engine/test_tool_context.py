"""The tool context of a run: opened before its first event and closed when it ends."""

import asyncio
import contextlib
from pathlib import Path
from tempfile import gettempdir

import pytest

from core.domain.events import BackgroundCommandEnded, CallStarted, FileChanged, RunEnded, SandboxTested, ToolReturned
from core.domain.problems import Problem
from core.engine.run.run_context import RunContext
from core.engine.state.conversation import fold_events
from core.engine.state.live_updates import LiveUpdate
from core.store.journal_update import JournalUpdate
from core.tools.tool_context import ToolContext, open_context
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.sandbox import choose_sandbox
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.workspace.commands import open_sandbox


def kept_places(scene: EngineHarness) -> list[ToolContext]:
    """Return a list that collects every tool context opened from now on."""
    real, places = scene.services.runs._open_tools, list[ToolContext]()

    def keep(folder: Path, session: str) -> ToolContext:
        places.append(real(folder, session))
        return places[-1]

    scene.services.runs._open_tools = keep
    return places


def test_the_sandbox_level_is_recorded_before_the_first_command(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            places = kept_places(scene)
            session = await scene.run(
                scripted_replies(call_reply("run", command="true"), call_reply("run", command="true"), {})
            )
            events = await scene.events(session)
            at = [number for number, event in enumerate(events) if isinstance(event, SandboxTested)]
            assert len(at) == 1 and isinstance(events[at[0] + 2], CallStarted)
            assert events[at[0]] == SandboxTested(places[0].sandbox.name, places[0].level, (), proof_known(places[0]))
            quiet = await scene.run(scripted_replies(call_reply("read", path="none"), {}))
            assert "SandboxTested" not in await scene.kinds(quiet)
            assert len(places) == 2 and all(place.broker._root == -1 for place in places)
            assert (tmp_path / "sandbox.json").exists() == (places[0].level != "none")

    run_bounded(main())


def proof_known(place: ToolContext) -> tuple[str, ...]:
    return place.sandbox.proof.known_gaps if place.sandbox.proof else ()


def test_t21_a_sandbox_that_fails_its_test_disables_commands(tmp_path: Path) -> None:
    """The run records the failure, the timeline shows it, and the model reads the reason."""

    def weak(words: list[str]) -> list[str]:
        return [*words, "--bind", gettempdir(), gettempdir()]

    async def main() -> None:
        made = choose_sandbox(launchers=[lambda: Bubblewrap(weaken=weak)])
        with contextlib.closing(made):
            async with open_engine(tmp_path) as scene:
                scene.services.runs._open_tools = lambda folder, _: open_context(folder, tmp_path, None, lambda: made)
                session = await scene.run(scripted_replies(call_reply("run", command="touch here"), {}))
                events = await scene.events(session)
                told = next(event for event in events if isinstance(event, SandboxTested))
                assert told.level == "verified" and "write_outside" in told.escapes
                back = next(event for event in events if isinstance(event, ToolReturned))
                assert back.failed and "Commands are disabled" in back.output.head and "outside" in back.output.head
                assert not (scene.folder / "here").exists()
                rows = scene.engine.timeline_steps(scene.engine.session(session))
                assert any(row.kind == "notice" and "commands are disabled" in row.object for row in rows)

    with open_sandbox("bubblewrap"):
        run_bounded(main())


def test_a_run_does_not_start_without_its_folder(tmp_path: Path) -> None:
    """Nothing is written, so the user keeps the message and reads the error."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "Done."}))
            before = await scene.kinds(session)
            scene.folder.rename(tmp_path / "elsewhere")
            with pytest.raises(Problem, match="cannot be opened"):
                await scene.engine.send_message(session, "Go on.")
            assert await scene.kinds(session) == before and not scene.engine.is_active(session)

    run_bounded(main())


def started(command: str) -> dict[str, object]:
    return call_reply("run", command=command, background=True)


def test_a_background_command(tmp_path: Path) -> None:
    """The call returns an id at once. The command can be inspected, ends with its run, and its changes are recorded."""
    command = "echo up; echo mine > a; while ! [ -e go ]; do sleep 0.02; done; echo on > b; sleep 600"
    script = scripted_replies(
        started(command),
        call_reply("run", command="touch go; while ! [ -e b ]; do sleep 0.02; done; echo other > c"),
        call_reply("check", id="r1c1"),
        call_reply("check", id="none"),
        call_reply("write", path="d", content="a tool's"),
        {"text": "Done."},
    )

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            heard: list[LiveUpdate] = []
            scene.engine.subscribe_live_updates(heard.append)
            session = await scene.run(script)
            events = await scene.events(session)
            back = [event for event in events if isinstance(event, ToolReturned)]
            assert "r1c1" in back[0].output.head and not back[0].failed
            assert (
                back[2].output.head == "up\n\n[r1c1 is still running]"
                and "no background command 'none'" in back[3].output.head
            )
            ended = next(event for event in events if isinstance(event, BackgroundCommandEnded))
            assert (ended.call_id, ended.output.head, ended.reason) == ("r1c1", "up\n", "ended with the run")
            assert isinstance(events[-1], RunEnded) and events.index(ended) == len(events) - 2
            changed = [event.path for event in events if isinstance(event, FileChanged)]
            assert sorted(changed) == ["a", "b", "c", "d", "go"], "each change is recorded once"
            assert b"".join(draft.output for draft in heard if draft.call == "r1c1") == b"up\n"
            assert not scene.bugs

    run_bounded(main())


def test_a_background_command_that_ends(tmp_path: Path) -> None:
    script = scripted_replies(
        started("sleep 0.1; echo bye > a; exit 3"),
        call_reply("check", id="r1c1", wait_s=20),
        started("echo up; sleep 600"),
        call_reply("check", id="r3c1", stop=True),
        {"text": "Done."},
    )

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(script)
            events = await scene.events(session)
            ends = [event for event in events if isinstance(event, BackgroundCommandEnded)]
            assert (ends[0].exit_code, ends[0].reason) == (3, "") and ends[1].reason == "stopped on request"
            back = [event.output.head for event in events if isinstance(event, ToolReturned)]
            assert "r1c1 has ended: exit code 3" in back[1] and "r3c1 has ended: stopped on request" in back[3]
            rows = [
                row
                for row in scene.engine.timeline_steps(scene.engine.session(session))
                if row.metrics.get("background")
            ]
            assert [row.status for row in rows] == ["failed", "stopped"] and not scene.bugs

    run_bounded(main())


def test_a_stop_ends_commands_and_records_their_changes(tmp_path: Path) -> None:
    """Foreground and background commands are killed, and the changes of both are recorded."""
    script = scripted_replies(
        started("echo 1 > a; sleep 600.25"), call_reply("run", command="echo 2 > b; echo ready; sleep 600.25"), {}
    )

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            ready = asyncio.Event()
            scene.engine.subscribe_live_updates(lambda draft: ready.set() if b"ready" in draft.output else None)
            session = await scene.start(script)
            await ready.wait()
            await scene.engine.stop(session)
            events = await scene.events(session)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "stopped"
            assert sorted(e.path for e in events if isinstance(e, FileChanged)) == ["a", "b"]
            assert any(isinstance(event, BackgroundCommandEnded) for event in events) and not scene.bugs
            (stopped,) = (event for event in events if isinstance(event, ToolReturned) and event.failed)
            assert stopped.output.head == "ready\n\n[stopped before it was done]"
            assert not alive("sleep 600.25")

    run_bounded(main())


def alive(words: str) -> list[Path]:
    """Return the processes of this machine whose command line contains the text."""
    return [p for p in Path("/proc").glob("[0-9]*/cmdline") if words in words_of(p).replace("\0", " ")]


def words_of(place: Path) -> str:
    try:
        return place.read_text(errors="replace")
    except OSError:
        return ""


def test_images_reach_the_model_with_the_result(tmp_path: Path) -> None:
    """Images are attachments of the result and of the message in the next request, and their contents are stored."""
    image = b"\x89PNG\r\n\x1a\n" + b"\0" * 100

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            files = {"a.png": image, "b.pdf": b"%PDF-1.7\n", "c.bin": b"\0\1", "d.gif": b"GIF89a" * 10**6}
            for name, body in files.items():
                await asyncio.to_thread((scene.folder / name).write_bytes, body)
            works: list[RunContext] = []

            def keep(told: JournalUpdate) -> None:
                if isinstance(told.entry.event, ToolReturned):
                    works.append(scene.services.runs._live[told.entry.session].context)

            scene.engine.subscribe(keep)
            calls = [{"name": "read", "arguments": {"path": name}} for name in ("a.png", "b.pdf", "c.bin", "d.gif")]
            session = await scene.run(scripted_replies({"calls": calls}, {"text": "Seen."}))
            back = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            back.sort(key=lambda event: event.call_id)  # published in the order in which they ended
            kinds = [[one.media_type for one in event.attachments] for event in back]
            assert kinds == [["image/png"], ["application/pdf"], [], []]
            assert [event.failed for event in back] == [False, False, True, True]
            assert works[0].request().read_attachment(back[0].attachments[0]) == image
            assert scene.engine.read_blob(back[0].attachments[0].blob) == image
            talk = fold_events([entry async for entry in scene.engine.events(session)])
            results = [message for message in talk.messages if message.role == "tool"]
            assert sorted(one.name for message in results for one in message.attachments) == ["a.png", "b.pdf"]

    run_bounded(main())
