"""What a run works in: made before its first fact, told with its first command, gone when it ends."""

import asyncio
import contextlib
from pathlib import Path
from tempfile import gettempdir

import pytest

from core.domain.events import CallStarted, CommandEnded, FileChanged, RunEnded, SandboxProven, ToolReturned
from core.domain.problems import Problem
from core.engine.conversation import conversation
from core.engine.drafts import Draft
from core.engine.work import Work
from core.store.told import Told
from core.tools.place import Place, open_place
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.sandbox import choose
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.workspace.commands import walls


def kept_places(scene: Scene) -> list[Place]:
    """Every place that is opened from now on."""
    real, places = scene.services.runs._place, list[Place]()

    def keep(folder: Path, session: str) -> Place:
        places.append(real(folder, session))
        return places[-1]

    scene.services.runs._place = keep
    return places


def test_the_level_is_a_fact_before_the_first_command(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            places = kept_places(scene)
            session = await scene.run(played(calling("run", command="true"), calling("run", command="true"), {}))
            events = await scene.events(session)
            at = [number for number, event in enumerate(events) if isinstance(event, SandboxProven)]
            assert len(at) == 1 and isinstance(events[at[0] + 2], CallStarted)
            assert events[at[0]] == SandboxProven(places[0].sandbox.name, places[0].level, (), proof_known(places[0]))
            quiet = await scene.run(played(calling("read", path="none"), {}))
            assert "SandboxProven" not in await scene.kinds(quiet)
            assert len(places) == 2 and all(place.broker._root == -1 for place in places)
            assert (tmp_path / "sandbox.json").exists() == (places[0].level != "none")

    bounded(main())


def proof_known(place: Place) -> tuple[str, ...]:
    return place.sandbox.proof.known if place.sandbox.proof else ()


def test_t21_walls_that_fail_their_test_switch_commands_off(tmp_path: Path) -> None:
    """T21: the run says so, the row says so, and the model reads why."""

    def weak(words: list[str]) -> list[str]:
        return [*words, "--bind", gettempdir(), gettempdir()]

    async def main() -> None:
        made = choose(ladder=[lambda: Bubblewrap(weaken=weak)])
        with contextlib.closing(made):
            async with opened(tmp_path) as scene:
                scene.services.runs._place = lambda folder, _: open_place(folder, tmp_path, None, lambda: made)
                session = await scene.run(played(calling("run", command="touch here"), {}))
                events = await scene.events(session)
                told = next(event for event in events if isinstance(event, SandboxProven))
                assert told.level == "verified" and "write_outside" in told.open
                back = next(event for event in events if isinstance(event, ToolReturned))
                assert back.failed and "Commands are off" in back.output.head and "outside" in back.output.head
                assert not (scene.folder / "here").exists()
                rows = scene.engine.steps(scene.engine.session(session))
                assert any(row.kind == "notice" and "commands are off" in row.object for row in rows)

    with walls("bubblewrap"):
        bounded(main())


def test_without_its_folder_a_run_does_not_begin(tmp_path: Path) -> None:
    """Nothing is written: the person still has the words, and reads why."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "Done."}))
            before = await scene.kinds(session)
            scene.folder.rename(tmp_path / "elsewhere")
            with pytest.raises(Problem, match="cannot be opened"):
                await scene.engine.say(session, "Go on.")
            assert await scene.kinds(session) == before and not scene.engine.going(session)

    bounded(main())


def started(command: str) -> dict[str, object]:
    return calling("run", command=command, background=True)


def test_a_command_in_the_background(tmp_path: Path) -> None:
    """It gives an id at once, is looked after, ends with its run, and what it did is on record, once."""
    command = "echo up; echo mine > a; while ! [ -e go ]; do sleep 0.02; done; echo on > b; sleep 600"
    script = played(
        started(command),
        calling("run", command="touch go; while ! [ -e b ]; do sleep 0.02; done; echo other > c"),
        calling("check", id="r1c1"),
        calling("check", id="none"),
        calling("write", path="d", content="a tool's"),
        {"text": "Done."},
    )

    async def main() -> None:
        async with opened(tmp_path) as scene:
            heard: list[Draft] = []
            scene.engine.listen_drafts(heard.append)
            session = await scene.run(script)
            events = await scene.events(session)
            back = [event for event in events if isinstance(event, ToolReturned)]
            assert "r1c1" in back[0].output.head and not back[0].failed
            assert back[2].output.head == "up\n\n[r1c1 is still running]" and "no command 'none'" in back[3].output.head
            ended = next(event for event in events if isinstance(event, CommandEnded))
            assert (ended.call_id, ended.output.head, ended.why) == ("r1c1", "up\n", "ended with the run")
            assert isinstance(events[-1], RunEnded) and events.index(ended) == len(events) - 2
            changed = [event.path for event in events if isinstance(event, FileChanged)]
            assert sorted(changed) == ["a", "b", "c", "d", "go"], "each change once"
            assert b"".join(draft.output for draft in heard if draft.call == "r1c1") == b"up\n"
            assert not scene.bugs

    bounded(main())


def test_a_command_in_the_background_that_ends(tmp_path: Path) -> None:
    script = played(
        started("sleep 0.1; echo bye > a; exit 3"),
        calling("check", id="r1c1", wait_s=20),
        started("echo up; sleep 600"),
        calling("check", id="r3c1", stop=True),
        {"text": "Done."},
    )

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(script)
            events = await scene.events(session)
            ends = [event for event in events if isinstance(event, CommandEnded)]
            assert (ends[0].exit_code, ends[0].why) == (3, "") and ends[1].why == "stopped as asked"
            back = [event.output.head for event in events if isinstance(event, ToolReturned)]
            assert "r1c1 has ended: exit code 3" in back[1] and "r3c1 has ended: stopped as asked" in back[3]
            rows = [row for row in scene.engine.steps(scene.engine.session(session)) if row.marks.get("background")]
            assert [row.status for row in rows] == ["failed", "stopped"] and not scene.bugs

    bounded(main())


def test_a_stop_ends_commands_and_keeps_what_they_did(tmp_path: Path) -> None:
    """The command in front and the one in the background: nothing lives on, both changes are on record."""
    script = played(
        started("echo 1 > a; sleep 600.25"), calling("run", command="echo 2 > b; echo ready; sleep 600.25"), {}
    )

    async def main() -> None:
        async with opened(tmp_path) as scene:
            ready = asyncio.Event()
            scene.engine.listen_drafts(lambda draft: ready.set() if b"ready" in draft.output else None)
            session = await scene.start(script)
            await ready.wait()
            await scene.engine.stop(session)
            events = await scene.events(session)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "stopped"
            assert sorted(e.path for e in events if isinstance(e, FileChanged)) == ["a", "b"]
            assert any(isinstance(event, CommandEnded) for event in events) and not scene.bugs
            assert not alive("sleep 600.25")

    bounded(main())


def alive(words: str) -> list[Path]:
    """Processes of this machine with such words."""
    return [p for p in Path("/proc").glob("[0-9]*/cmdline") if words in words_of(p).replace("\0", " ")]


def words_of(place: Path) -> str:
    try:
        return place.read_text(errors="replace")
    except OSError:
        return ""


def test_images_reach_the_model_with_the_result(tmp_path: Path) -> None:
    """As attachments of the result, and of the message the next request carries; their contents are kept."""
    image = b"\x89PNG\r\n\x1a\n" + b"\0" * 100

    async def main() -> None:
        async with opened(tmp_path) as scene:
            files = {"a.png": image, "b.pdf": b"%PDF-1.7\n", "c.bin": b"\0\1", "d.gif": b"GIF89a" * 10**6}
            for name, body in files.items():
                await asyncio.to_thread((scene.folder / name).write_bytes, body)
            works: list[Work] = []

            def keep(told: Told) -> None:
                if isinstance(told.entry.event, ToolReturned):
                    works.append(scene.services.runs._live[told.entry.session].work)

            scene.engine.listen(keep)
            calls = [{"name": "read", "arguments": {"path": name}} for name in ("a.png", "b.pdf", "c.bin", "d.gif")]
            session = await scene.run(played({"calls": calls}, {"text": "Seen."}))
            back = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            back.sort(key=lambda event: event.call_id)  # told as they ended
            kinds = [[one.media_type for one in event.attachments] for event in back]
            assert kinds == [["image/png"], ["application/pdf"], [], []]
            assert [event.failed for event in back] == [False, False, True, True]
            assert works[0].request().contents(back[0].attachments[0]) == image
            assert scene.engine.blob(back[0].attachments[0].blob) == image
            talk = conversation([entry async for entry in scene.engine.entries(session)])
            results = [message for message in talk.messages if message.role == "tool"]
            assert sorted(one.name for message in results for one in message.attachments) == ["a.png", "b.pdf"]

    bounded(main())
