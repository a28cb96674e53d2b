"""Agents of others in our sessions: what they say, do and ask becomes facts; none of them leaves a process."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.domain.agents import AgentJoined, AgentTurned
from core.domain.consent import CallAllowed, ConsentAsked, ConsentGiven
from core.domain.events import (
    CallRefused,
    CallStarted,
    FileChanged,
    PersonSpoke,
    Replied,
    ReplyCut,
    RunEnded,
    RunEvent,
    RunStarted,
    ToolReturned,
)
from core.domain.modes import Mode
from core.settings.schema import OutsideAgent
from tests.core.engine.scenes import Scene, bounded, crash, opened

SERVERS = Path(__file__).parents[2] / "servers"
SCRIPTED, HOSTILE = SERVERS / "acp_agent.py", SERVERS / "acp_hostile.py"


@asynccontextmanager
async def visited(home: Path, *hostile: str) -> AsyncIterator[Scene]:
    """A house that knows the scripted agent as `box`, or a hostile one."""
    async with opened(home) as scene:
        args = (str(HOSTILE), *hostile) if hostile else (str(SCRIPTED),)
        scene.engine.settings.change(agents=(OutsideAgent(name="box", command=sys.executable, args=args),))
        yield scene


async def started(scene: Scene, task: str, mode: Mode = "edits", **more: object) -> str:
    return await scene.engine.start(task, scene.folder, RunStarted("agent/box", mode=mode, **more))  # type: ignore[arg-type]


async def ended(scene: Scene, task: str, mode: Mode = "edits") -> tuple[list[RunEvent], RunEnded]:
    """A run to its end: its facts, and the last of them."""
    session = await started(scene, task, mode)
    await scene.engine.wait(session)
    events = await scene.events(session)
    assert isinstance(events[-1], RunEnded) and scene.bugs == []
    return events, events[-1]


def of(events: list[RunEvent], kind: type) -> list[RunEvent]:
    return [event for event in events if isinstance(event, kind)]


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_it_says_and_does_becomes_facts_and_its_question_has_its_own_options(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            (scene.folder / "old.txt").write_text("old", "utf-8")
            session = await started(scene, "edit this")
            asked = (await scene.until(ConsentAsked)).event
            assert isinstance(asked, ConsentAsked)
            names = [(one.id, one.name, one.allows) for one in asked.request.options]
            assert names == [("yes", "Allow once", True), ("ever", "Always allow edits", True),
                             ("no", "Reject", False), ("never", "Never again", False)]  # fmt: skip
            assert asked.request.object == "new.txt" and "hello" in asked.arguments.head
            assert not (scene.folder / "new.txt").exists()
            await scene.engine.choose(asked.request.id, "ever")
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert events[-1] == RunEnded("completed")
            joined = of(events, AgentJoined)[0]
            assert isinstance(joined, AgentJoined) and (joined.agent, joined.version) == ("Scripted Agent", "1.2")
            assert [one.said() for one in joined.settings] == ["Build"]
            replies = [event for event in events if isinstance(event, Replied)]
            assert replies[0].reasoning.head == "I shall greet." and replies[1].text.head == "I look first."
            assert replies[-1].text.head == "They said ever. You said: edit this"
            assert (replies[-1].usage.input, replies[-1].usage.output, replies[-1].cost) == (100, 20, 0.5)
            steps = [(event.step, event.object) for event in events if isinstance(event, CallStarted)]
            assert steps == [("todo", "0 of 2 done: Greet"), ("read", "old.txt"), ("edit", "new.txt")]
            changed = of(events, FileChanged)
            assert [(event.path, event.before) for event in changed if isinstance(event, FileChanged)] == [
                ("new.txt", "")
            ]
            rows = {step.kind: step for step in scene.engine.steps(scene.engine.session(session))}
            assert rows["edit"].marks["added"] == 1 and rows["read"].status == "done"
            plan = await scene.engine.history.plan(session, 0)
            await scene.engine.history.rewind(session, plan)
            assert not (scene.folder / "new.txt").exists()

    bounded(test())


@pytest.mark.parametrize(("how", "said"), [("no", "no"), ("never", "never"), ("deny", "no"), ("allow", "yes")])
def test_a_word_is_given_as_the_option_that_says_it(tmp_path: Path, how: str, said: str) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "ask")
            asked = (await scene.until(ConsentAsked)).event
            assert isinstance(asked, ConsentAsked)
            if how == "deny":
                await scene.engine.deny(asked.request.id, "I do not like it.")
            elif how == "allow":
                await scene.engine.allow(asked.request.id)
            else:
                await scene.engine.choose(asked.request.id, how)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert isinstance(events[-2], Replied) and events[-2].text.head.startswith(f"They said {said}.")
            assert (scene.folder / "new.txt").exists() is (said == "yes")

    bounded(test())


def test_modes_and_rules_speak_for_the_person(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            events, last = await ended(scene, "ask", "accept")
            assert last.status == "completed" and not of(events, ConsentAsked)
            assert [event.cause for event in events if isinstance(event, CallAllowed)] == ["mode: accept"]
            (scene.folder / "new.txt").unlink()
            events, last = await ended(scene, "ask", "plan")
            assert of(events, CallRefused) and not (scene.folder / "new.txt").exists()

    bounded(test())


def test_files_go_through_our_broker_and_nothing_outside_is_read(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            events, last = await ended(scene, "files", "accept")
            assert last.status == "completed"
            assert (scene.folder / "by_client.txt").read_text() == "one\ntwo\n"
            assert [event.path for event in events if isinstance(event, FileChanged)] == ["by_client.txt"]
            said = next(event for event in reversed(events) if isinstance(event, Replied))
            assert "read 'two\\n'" in said.text.head and "outside the folder" in said.text.head

    bounded(test())


def test_its_commands_are_ours_with_our_consent_and_our_walls(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "terminal")
            asked = (await scene.until(ConsentAsked)).event
            assert isinstance(asked, ConsentAsked) and asked.request.tool == "run"
            await scene.engine.allow(asked.request.id)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "completed", events[-1]
            replies = [event for event in events if isinstance(event, Replied)]
            assert replies[-1].text.head.startswith("exit 0: out"), replies[-1]
            assert "made" in [event.path for event in events if isinstance(event, FileChanged)]
            assert any(event.output.head == "out\n" for event in events if isinstance(event, ToolReturned))

    bounded(test())


def test_a_stop_leaves_no_process_and_keeps_what_was_said(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "wait")
            call = (await scene.until(CallStarted)).event
            assert isinstance(call, CallStarted)
            child, agent = int(call.object.split()[1]), scene.services.guests.at(session)
            assert agent is not None and alive(child) and alive(agent.pid)
            await scene.engine.stop(session)
            assert not alive(child) and not alive(agent.pid)
            events = await scene.events(session)
            assert events[-1] == RunEnded("stopped", "stopped by you")
            assert of(events, ReplyCut) and [event.failed for event in events if isinstance(event, ToolReturned)] == [
                True
            ]

    bounded(test())


def test_the_next_message_goes_to_the_same_program_and_one_sent_now_cuts_the_turn(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "hello")
            await scene.engine.wait(session)
            first = scene.services.guests.at(session)
            heard = asyncio.Event()
            scene.engine.listen_drafts(lambda draft: heard.set() if "Slowly" in draft.text else None)
            await scene.engine.say(session, "slow")
            await heard.wait()
            await scene.engine.say(session, "and now", now=True)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert scene.services.guests.at(session) is first and len(of(events, AgentJoined)) == 1
            said = [event.text.head for event in events if isinstance(event, Replied)]
            assert said[-1] == "You said: and now" and events[-1] == RunEnded("completed")

    bounded(test())


def test_its_death_ends_the_run_in_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            events, last = await ended(scene, "die")
            assert last.status == "failed" and last.trouble is not None
            assert "ended with the code 3" in last.trouble.why and "my last words" in last.trouble.why
            assert [event.failed for event in events if isinstance(event, ToolReturned)] == [True]

    bounded(test())


def test_a_question_survives_a_crash_and_the_agent_takes_its_session_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory := tmp_path / "memory").mkdir()
    monkeypatch.setenv("ACP_MEMORY", str(memory))

    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "ask")
            asked = (await scene.until(ConsentAsked)).event
            assert isinstance(asked, ConsentAsked)
            left = scene.services.guests.at(session)
            assert left is not None
            pid = left.pid
            await crash(scene)
            async with opened(tmp_path) as again:
                assert not alive(pid), "what the killed one left is ended at the start"
                assert again.status(session) == "waiting"
                assert [each.request.id for _, each in again.engine.consents()] == [asked.request.id]
                await again.engine.choose(asked.request.id, "yes", go_on=True)
                await again.engine.wait(session)
                events = await again.events(session)
                joined = [event for event in events if isinstance(event, AgentJoined)]
                assert len({event.theirs for event in joined}) == 1 and joined[-1].remembers
                last = next(event for event in reversed(events) if isinstance(event, Replied))
                assert "says: Allow once" in last.text.head and events[-1] == RunEnded("completed")

    bounded(test())


def test_settings_of_an_agent_are_shown_and_set(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "hello")
            await scene.engine.wait(session)
            shown = await scene.engine.guests.settings(session)
            assert [(one.name, one.value) for one in shown] == [("Mode", "build")]
            await scene.engine.guests.set(session, "mode", "look")
            assert [one.value for one in await scene.engine.guests.settings(session)] == ["look"]
            assert of(await scene.events(session), AgentTurned) == [AgentTurned("mode", "look")]

    bounded(test())


@pytest.mark.parametrize(
    ("how", "said"),
    [("noise", "no messages of the protocol"), ("endless", "a line of more than"), ("flood", "in one turn"),
     ("dies", "ended with the code 7"), ("newer", "version 99"), ("login", "Authentication required")],
)  # fmt: skip
def test_a_hostile_agent_ends_in_words(tmp_path: Path, how: str, said: str) -> None:
    async def test() -> None:
        async with visited(tmp_path, how) as scene:
            events, last = await ended(scene, "Go.")
            assert last.status == "failed" and last.trouble is not None and said in last.trouble.why, last
            assert of(events, PersonSpoke)

    bounded(test())


@pytest.mark.parametrize(
    ("how", "said"),
    [("deep", ""), ("strange", "refused"), ("reuse", "1 refused"), ("outside", "no no no no no no no no")],
)
def test_what_a_hostile_agent_may_not_do_is_not_done(tmp_path: Path, how: str, said: str) -> None:
    async def test() -> None:
        async with visited(tmp_path, how) as scene:
            session = await started(scene, "Go.", "trust")
            while scene.engine.going(session):
                await scene.when(lambda: scene.engine.consents() or scene.status(session) not in ("running", "waiting"))
                for _, each in scene.engine.consents():
                    await scene.engine.deny(each.request.id)
                if scene.status(session) not in ("running", "waiting"):
                    await scene.engine.wait(session)
            events = await scene.events(session)
            assert events[-1] == RunEnded("completed"), events[-1]
            replies = [event for event in events if isinstance(event, Replied)]
            assert "".join(reply.text.head for reply in replies[-1:]) == said
            assert all("\x1b" not in event.request.object for event in events if isinstance(event, ConsentAsked))
            assert not (tmp_path / "escape").exists() and not (scene.folder / ".env").exists()
            assert of(events, ConsentGiven) or how != "reuse"

    bounded(test())


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.engine.start("Go.", scene.folder, RunStarted("agent/no-such-program-of-mine acp"))
            await scene.engine.wait(session)
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and "no program no-such-program-of-mine" in last.reason

    bounded(test())
