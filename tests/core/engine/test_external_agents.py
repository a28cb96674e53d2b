"""External agents in our sessions: replies, calls and requests become events, and no process is left behind."""

import asyncio
import errno
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.domain.events import (
    CallRefused,
    CallStarted,
    FileChanged,
    HarnessMessage,
    Replied,
    ReplyInterrupted,
    RunEnded,
    RunStarted,
    SessionEvent,
    ToolReturned,
    UntrustedContentRead,
    UserMessage,
)
from core.domain.external_agents import ExternalAgentSettingChanged, ExternalAgentStarted
from core.domain.modes import Mode
from core.domain.permissions import CallAllowed, PermissionDecided, PermissionRequested
from core.domain.visible import visible_exactly
from core.engine.external.external_calls import ExternalCalls
from core.settings.schema import ExternalAgentSettings
from tests.core.engine.harness import EngineHarness, crash, open_engine, run_bounded

SERVERS = Path(__file__).parents[2] / "servers"
SCRIPTED, HOSTILE = SERVERS / "acp_agent.py", SERVERS / "acp_hostile.py"


@asynccontextmanager
async def open_with_agent(home: Path, *hostile: str) -> AsyncIterator[EngineHarness]:
    """Open a data folder in which the scripted agent, or a hostile one, is configured as `box`."""
    async with open_engine(home) as scene:
        args = (str(HOSTILE), *hostile) if hostile else (str(SCRIPTED),)
        scene.engine.settings.change(
            external_agents=(ExternalAgentSettings(name="box", command=sys.executable, args=args),)
        )
        yield scene


async def started(scene: EngineHarness, task: str, mode: Mode = "ask", **more: object) -> str:
    return await scene.engine.start(task, scene.folder, RunStarted("agent/box", mode=mode, **more))  # type: ignore[arg-type]


async def ended(scene: EngineHarness, task: str, mode: Mode = "ask") -> tuple[list[SessionEvent], RunEnded]:
    """Run to the end and return the events and the last of them."""
    session = await started(scene, task, mode)
    await scene.engine.wait_idle(session)
    events = await scene.events(session)
    assert isinstance(events[-1], RunEnded) and scene.bugs == []
    return events, events[-1]


def of(events: list[SessionEvent], kind: type) -> list[SessionEvent]:
    return [event for event in events if isinstance(event, kind)]


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_activity_becomes_events_and_questions_offer_the_options_of_the_agent(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            (scene.folder / "old.txt").write_text("old", "utf-8")
            session = await started(scene, "edit this")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            names = [(one.id, one.name, one.allows) for one in asked.request.options]
            assert names == [("yes", "Allow once", True), ("ever", "Always allow edits", True),
                             ("no", "Reject", False), ("never", "Never again", False)]  # fmt: skip
            assert asked.request.object == "new.txt" and "hello" in asked.arguments.head
            assert not (scene.folder / "new.txt").exists()
            await scene.engine.choose_option(asked.request.id, "ever")
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert events[-1] == RunEnded("completed")
            joined = of(events, ExternalAgentStarted)[0]
            assert isinstance(joined, ExternalAgentStarted) and (joined.agent, joined.version) == (
                "Scripted Agent",
                "1.2",
            )
            assert [one.value_name() for one in joined.settings] == ["Build"]
            replies = [event for event in events if isinstance(event, Replied)]
            assert replies[0].reasoning.head == "I shall greet." and replies[1].text.head == "I look first."
            assert replies[-1].text.head == "They said ever. You said: edit this"
            assert (replies[-1].usage.input, replies[-1].usage.output, replies[-1].cost) == (100, 20, 0.5)
            steps = [(event.step_kind, event.object) for event in events if isinstance(event, CallStarted)]
            assert steps == [("todo", "0 of 2 done: Greet"), ("read", "old.txt"), ("edit", "new.txt")]
            changed = of(events, FileChanged)
            assert [(event.path, event.before) for event in changed if isinstance(event, FileChanged)] == [
                ("new.txt", "")
            ]
            rows = {step.kind: step for step in scene.engine.timeline_steps(scene.engine.session(session))}
            assert rows["edit"].metrics["added"] == 1 and rows["read"].status == "done"
            plan = await scene.engine.history.plan_rewind(session, 0)
            await scene.engine.history.rewind(session, plan)
            assert not (scene.folder / "new.txt").exists()

    run_bounded(test())


@pytest.mark.parametrize(("how", "said"), [("no", "no"), ("never", "never"), ("deny", "no"), ("allow", "yes")])
def test_an_approval_is_sent_as_the_matching_option(tmp_path: Path, how: str, said: str) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "ask")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            if how == "deny":
                await scene.engine.deny(asked.request.id, "I do not like it.")
            elif how == "allow":
                await scene.engine.allow(asked.request.id)
            else:
                await scene.engine.choose_option(asked.request.id, how)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert isinstance(events[-2], Replied) and events[-2].text.head.startswith(f"They said {said}.")
            assert (scene.folder / "new.txt").exists() is (said == "yes")

    run_bounded(test())


def test_modes_and_rules_answer_for_the_user(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            events, last = await ended(scene, "ask", "accept-edits")
            assert last.status == "completed" and not of(events, PermissionRequested)
            assert [event.reason for event in events if isinstance(event, CallAllowed)] == ["mode: accept-edits"]
            (scene.folder / "new.txt").unlink()
            events, last = await ended(scene, "ask", "plan")
            assert of(events, CallRefused) and not (scene.folder / "new.txt").exists()

    run_bounded(test())


def test_a_command_of_the_agent_needs_approval_in_auto_mode_too(tmp_path: Path) -> None:
    """Auto mode rests on the sandbox, in which the agent does not run its own commands."""

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "execute", "auto")
            asked = await scene.until(PermissionRequested)
            assert isinstance(asked.event, PermissionRequested)
            await scene.engine.deny(asked.event.request.id)
            await scene.engine.wait_idle(session)
            assert not (scene.folder / "executed").exists()

    run_bounded(test())


def test_two_messages_of_the_agent_are_separate_paragraphs(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            events, _ = await ended(scene, "notice")
            replies = [event.text.head for event in events if isinstance(event, Replied)]
            assert replies == ["A new version is available.\n\nHello. You said: notice"]

    run_bounded(test())


def test_files_go_through_our_broker_and_nothing_outside_is_read(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            events, last = await ended(scene, "files", "accept-edits")
            assert last.status == "completed"
            assert (scene.folder / "by_client.txt").read_text() == "one\ntwo\n"
            assert [event.path for event in events if isinstance(event, FileChanged)] == ["by_client.txt"]
            assert [event.source for event in events if isinstance(event, UntrustedContentRead)] == ["folder"]
            said = "".join(event.text.head for event in events if isinstance(event, Replied))
            assert "read 'two\\n'" in said and "outside the folder" in said
            assert "missing: -32002 Resource not found" in said  # agents create a file after this error

    run_bounded(test())


def test_gemini_reads_a_missing_file_as_empty_so_that_it_can_create_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TITLE", "Gemini CLI")

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            events, last = await ended(scene, "files", "accept-edits")
            assert last.status == "completed"
            said = "".join(event.text.head for event in events if isinstance(event, Replied))
            assert "missing:" not in said and "outside the folder" in said

    run_bounded(test())


def test_an_agent_that_changed_nothing_is_not_told_about_our_tools(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            events, last = await ended(scene, "write the file, please")
            assert last.status == "completed" and not any(isinstance(event, HarnessMessage) for event in events)

    run_bounded(test())


def test_commands_need_our_approval_and_run_in_our_sandbox(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "terminal")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested) and asked.request.tool == "run"
            await scene.engine.allow(asked.request.id)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "completed", events[-1]
            replies = [event for event in events if isinstance(event, Replied)]
            assert replies[-1].text.head.startswith("exit 0: out"), replies[-1]
            assert "made" in [event.path for event in events if isinstance(event, FileChanged)]
            assert any(event.output.head == "out\n" for event in events if isinstance(event, ToolReturned))

    run_bounded(test())


def test_a_stop_leaves_no_process_and_keeps_the_output(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "wait")
            call = (await scene.until(CallStarted)).event
            assert isinstance(call, CallStarted)
            child, agent = int(call.object.split()[1]), scene.services.agents.get(session)
            assert agent is not None and alive(child) and alive(agent.pid)
            await scene.engine.stop(session)
            assert not alive(child) and not alive(agent.pid)
            events = await scene.events(session)
            assert events[-1] == RunEnded("stopped", "stopped by you")
            assert of(events, ReplyInterrupted) and [
                event.failed for event in events if isinstance(event, ToolReturned)
            ] == [True]

    run_bounded(test())


def test_the_next_message_goes_to_the_same_process_and_one_sent_now_interrupts_the_turn(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "hello")
            await scene.engine.wait_idle(session)
            first = scene.services.agents.get(session)
            heard = asyncio.Event()
            scene.engine.subscribe_live_updates(lambda draft: heard.set() if "Slowly" in draft.text else None)
            await scene.engine.send_message(session, "slow")
            await heard.wait()
            await scene.engine.send_message(session, "and now", now=True)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert scene.services.agents.get(session) is first and len(of(events, ExternalAgentStarted)) == 1
            said = [event.text.head for event in events if isinstance(event, Replied)]
            assert said[-1] == "You said: and now" and events[-1] == RunEnded("completed")

    run_bounded(test())


def test_a_system_call_that_times_out_does_not_end_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            monkeypatch.setattr(ExternalCalls, "add_text", fail)
            session = await started(scene, "hello")
            await scene.engine.wait_idle(session)
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed"
            assert [type(bug) for bug in scene.bugs] == [TimeoutError]

    run_bounded(test())


def test_death_of_the_agent_ends_the_run_with_an_error(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            events, last = await ended(scene, "die")
            assert last.status == "failed" and last.error is not None
            assert "exited with code 3" in last.error.cause and "my last words" in last.error.cause
            assert [event.failed for event in events if isinstance(event, ToolReturned)] == [True]

    run_bounded(test())


def test_a_question_survives_a_crash_and_the_agent_loads_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory := tmp_path / "memory").mkdir()
    monkeypatch.setenv("ACP_MEMORY", str(memory))

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "ask")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            left = scene.services.agents.get(session)
            assert left is not None
            pid = left.pid
            await crash(scene)
            async with open_engine(tmp_path) as again:
                assert not alive(pid), "what the killed one left is ended at the start"
                assert again.status(session) == "waiting"
                assert [each.request.id for _, each in again.engine.permission_requests()] == [asked.request.id]
                await again.engine.choose_option(asked.request.id, "yes", resume=True)
                await again.engine.wait_idle(session)
                events = await again.events(session)
                joined = [event for event in events if isinstance(event, ExternalAgentStarted)]
                assert len({event.agent_session_id for event in joined}) == 1 and joined[-1].has_history
                last = next(event for event in reversed(events) if isinstance(event, Replied))
                assert "answered: Allow once" in last.text.head and events[-1] == RunEnded("completed")

    run_bounded(test())


def test_settings_of_an_agent_are_shown_and_set(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "hello")
            await scene.engine.wait_idle(session)
            shown = await scene.engine.external_agents.session_settings(session)
            assert [(one.name, one.value) for one in shown] == [("Mode", "build")]
            await scene.engine.external_agents.change_setting(session, "mode", "look")
            assert [one.value for one in await scene.engine.external_agents.session_settings(session)] == ["look"]
            assert of(await scene.events(session), ExternalAgentSettingChanged) == [
                ExternalAgentSettingChanged("mode", "look")
            ]

    run_bounded(test())


@pytest.mark.parametrize(
    ("how", "said"),
    [("noise", "not protocol messages"), ("endless", "a line of more than"), ("flood", "in one turn"),
     ("dies", "exited with code 7"), ("newer", "version 99"), ("login", "Authentication required")],
)  # fmt: skip
def test_a_hostile_agent_ends_with_an_error(tmp_path: Path, how: str, said: str) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path, how) as scene:
            events, last = await ended(scene, "Go.")
            assert last.status == "failed" and last.error is not None and said in last.error.cause, last
            assert of(events, UserMessage)

    run_bounded(test())


@pytest.mark.parametrize(
    ("how", "said"),
    [("deep", ""), ("strange", "refused"), ("reuse", "1 refused"), ("outside", "no no no no no no no no")],
)
def test_forbidden_actions_of_a_hostile_agent_are_refused(tmp_path: Path, how: str, said: str) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path, how) as scene:
            session = await started(scene, "Go.", "auto")
            while scene.engine.is_active(session):
                await scene.when(
                    lambda: scene.engine.permission_requests() or scene.status(session) not in ("running", "waiting")
                )
                for _, each in scene.engine.permission_requests():
                    await scene.engine.deny(each.request.id)
                if scene.status(session) not in ("running", "waiting"):
                    await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert events[-1] == RunEnded("completed"), events[-1]
            replies = [event for event in events if isinstance(event, Replied)]
            assert "".join(reply.text.head for reply in replies[-1:]) == said
            asked = [event.request.object for event in events if isinstance(event, PermissionRequested)]
            assert all("\x1b" not in visible_exactly(target) for target in asked)
            assert not (tmp_path / "escape").exists() and not (scene.folder / ".env").exists()
            assert of(events, PermissionDecided) or how != "reuse"

    run_bounded(test())


@pytest.mark.parametrize("mode", ["auto", "plan"])
def test_the_declared_kind_of_a_call_does_not_hide_what_it_contains(tmp_path: Path, mode: Mode) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path, "lies") as scene:
            (scene.folder / "README.md").write_text("hello")
            session = await started(scene, "Go.", mode)
            asked = []
            while scene.status(session) in ("running", "waiting"):
                await scene.when(
                    lambda: scene.engine.permission_requests() or scene.status(session) not in ("running", "waiting")
                )
                for _, each in scene.engine.permission_requests():
                    asked.append((each.request.tool, each.request.object))
                    assert "calls it “read”" in each.request.reason
                    await scene.engine.deny(each.request.id)
            events = await scene.events(session)
            commands = [("execute", "touch planted.txt"), ("execute", "touch planted.txt"), ("other", "Read README.md")]
            if mode == "plan":
                assert len(of(events, CallRefused)) == 4 and not asked
            else:  # which allows edits
                assert asked == commands
                assert [event.reason for event in events if isinstance(event, CallAllowed)] == ["mode: auto"]

    run_bounded(test())


def test_an_approval_covers_once_what_the_user_saw(tmp_path: Path) -> None:
    """Neither a mode that allows a read nor the approval of one call allows what the agent makes of the call later."""

    async def test() -> None:
        async with open_with_agent(tmp_path, "changes") as scene:
            (scene.folder / "README.md").write_text("hello")
            (scene.folder / "hidden.txt").write_text("hidden")
            hook = "if grep -q hidden.txt; then echo 'This file is hidden.' >&2; exit 2; fi"
            (tmp_path / "hooks.toml").write_text(f"[[hook]]\non = 'before_call'\ncommand = {json.dumps(hook)}\n")
            session = await started(scene, "Go.")
            asked = []
            while scene.status(session) in ("running", "waiting"):
                await scene.when(
                    lambda: scene.engine.permission_requests() or scene.status(session) not in ("running", "waiting")
                )
                for _, each in scene.engine.permission_requests():
                    asked.append((each.request.tool, each.request.object))
                    await (scene.engine.allow if len(asked) <= 2 else scene.engine.deny)(each.request.id)
            events = await scene.events(session)
            said = [event.text.head for event in events if isinstance(event, Replied) and event.text.head]
            assert said == ["no no no no yes no yes no yes no"]
            assert asked[:2] == [("execute", "touch seen"), ("edit", "shown.txt")] and len(asked) == 8
            assert (scene.folder / "shown.txt").read_text() == "shown" and not list(scene.folder.glob("planted*"))
            reads = [event.object for event in events if isinstance(event, CallStarted) and event.tool == "read"]
            assert "README.md" in reads and "hidden.txt" not in reads
            assert any("This file is hidden" in event.reason.head for event in events if isinstance(event, CallRefused))

    run_bounded(test())


def test_an_agent_added_while_the_known_agents_are_looked_for_is_in_the_overview(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            agents = scene.engine.external_agents
            looking = asyncio.create_task(agents.overview())
            await asyncio.sleep(0)
            added = agents.add("mine", "opencode acp")
            found = await looking
            assert found.added == (added,)
            assert added.argv() not in [agent.settings.argv() for agent in (*found.installed, *found.missing)]

    run_bounded(test())


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            command = "no-such-program-of-mine acp"
            began = RunStarted(f"agent/{command}", agent_command=command)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and "program no-such-program-of-mine was not found" in last.reason

    run_bounded(test())


def test_the_error_for_a_missing_known_agent_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            agents = scene.engine.external_agents
            agents.add("mine", "opencode acp")
            result = await agents.test("mine")
            assert result.error is not None
            assert result.error.fix == "Install it: npm install -g opencode-ai"
            assert [agent.name for agent in (await agents.overview()).not_found] == ["mine"]

    run_bounded(test())
