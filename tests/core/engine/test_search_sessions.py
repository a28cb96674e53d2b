"""The agent searches earlier sessions of its folder, and what it finds keeps its origin."""

from pathlib import Path

from core.domain.events import CallRefused, RunStarted, SessionEvent, ToolReturned, UntrustedContentRead, UserMessage
from core.domain.provenance import ContentSource, source_label
from core.domain.text import Text
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.engine.test_imported_sessions import forked, transcript
from tests.core.engine.test_replay import replay

MORE = call_reply("more_tools", names=["search_sessions"])
DONE = {"text": "done"}


async def outputs(scene: EngineHarness, *replies: dict[str, object]) -> list[str]:
    events = await scene.events(await scene.run(scripted_replies(MORE, *replies, DONE)))
    return [
        event.output.head if isinstance(event, ToolReturned) else event.reason.head
        for event in events
        if isinstance(event, ToolReturned | CallRefused)
    ][1:]


def untrusted(events: list[SessionEvent]) -> list[str]:
    return [event.source for event in events if isinstance(event, UntrustedContentRead)]


def test_an_earlier_session_is_found_and_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            write = call_reply("write", path="notes.md", content="The thermometer shows the damp.")
            earlier = await scene.run(
                scripted_replies({"text": "I start.", **write}, {"text": "The boiler was repaired."})
            )
            (none,) = await outputs(scene, call_reply("search_sessions", query="unicorn"))
            assert none == "No earlier session in this folder contains these words."
            found, around = await outputs(
                scene,
                call_reply("search_sessions", query="thermometer"),
                call_reply("search_sessions", query="thermometer", session=earlier, event=6),
            )
            assert f"session {earlier}, event " in found and "The thermometer shows" in found
            assert found.startswith("<data-") and "boiler" in around and "damp" in around
            report = around.partition("\n\n")[0].splitlines()[1:]
            assert report[0] == "Run 1: Go." and "1 file changed. It completed." in report[1]
            assert report[2:] == [
                "file notes.md (+1 −0)",
                "last: write notes.md (done: Wrote notes.md (31 bytes).)",
                "answer: The boiler was repaired.",
            ]
            (unknown,) = await outputs(scene, call_reply("search_sessions", query="x", session="nobody"))
            assert "There is no earlier session 'nobody' in this folder." in unknown

    run_bounded(main())


def test_H10_a_folder_is_the_same_however_its_path_is_written(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            began = RunStarted("scripted", script=Text(scripted_replies({"text": "The marmot sleeps."})))
            indirect = scene.folder / ".." / scene.folder.name
            session = await scene.engine.start("Go.", indirect, began)
            await scene.engine.wait_idle(session)
            assert scene.engine.session(session).folder == str(scene.folder.resolve())
            (found,) = await outputs(scene, call_reply("search_sessions", query="marmot"))
            assert f"session {session}, event " in found

    run_bounded(main())


def test_sessions_of_other_folders_and_of_the_trash_are_not_searched(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            other = tmp_path / "elsewhere"
            other.mkdir()
            began = RunStarted("scripted", script=Text(scripted_replies({"text": "The password of the marmot."})))
            await scene.engine.wait_idle(await scene.engine.start("Go.", other, began))
            trashed = await scene.run(scripted_replies({"text": "A marmot again."}))
            await scene.engine.archive.trash((trashed,))
            (found,) = await outputs(scene, call_reply("search_sessions", query="marmot"))
            assert found == "No earlier session in this folder contains these words."

    run_bounded(main())


def test_untrusted_content_of_an_earlier_session_stays_untrusted(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            earlier = await scene.run(scripted_replies({"text": "A page about otters."}))
            sound = await scene.run(scripted_replies(MORE, call_reply("search_sessions", query="otters"), DONE))
            assert untrusted(await scene.events(sound)) == []
            await scene.services.engine._journal.append(earlier, UntrustedContentRead("", "web: example.org"))
            again = await scene.run(scripted_replies(MORE, call_reply("search_sessions", query="otters"), DONE))
            assert untrusted(await scene.events(again)) == ["import: earlier sessions"]
            _, result = await replay(tmp_path, again)
            assert not result.differing

    run_bounded(main())


def test_what_a_session_started_with_stays_untrusted(tmp_path: Path) -> None:
    """A sub-agent has its task from a caller that had read untrusted content, and need not have read any itself."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            page = source_label(ContentSource("web", "example.org"))
            script = Text(scripted_replies({"text": "A page about otters."}))
            began = RunStarted("scripted", script=script, untrusted_sources=(page,))
            await scene.engine.wait_idle(await scene.engine.start("Go.", scene.folder, began))
            found = await scene.run(scripted_replies(MORE, call_reply("search_sessions", query="otters"), DONE))
            assert untrusted(await scene.events(found)) == ["import: earlier sessions"]

    run_bounded(main())


def test_a_fork_of_an_imported_session_stays_untrusted(tmp_path: Path) -> None:
    """Also if the transcript has no start of a run, which would carry its origin."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            said = ("replied", {"text": {"head": "A page about otters."}})
            fork = await forked(scene, transcript(tmp_path / "t.json", scene.folder, said))
            state = (await scene.services.runs.conversation(fork)).permissions
            assert state.user_words == [] and list(state.untrusted) == ["import: Journeyman"]
            found = await scene.run(scripted_replies(MORE, call_reply("search_sessions", query="otters"), DONE))
            assert untrusted(await scene.events(found)) == ["import: earlier sessions"]
            began = RunStarted("scripted", script=Text(scripted_replies(DONE)))
            await scene.services.runs.start(fork, (UserMessage(Text("Go on with the beavers.")), began))
            await scene.engine.wait_idle(fork)
            state = (await scene.services.runs.conversation(fork)).permissions
            assert state.user_words == ["Go on with the beavers."] and state.untrusted

    run_bounded(main())
