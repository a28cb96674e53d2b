"""Sessions of external agents behave like any other: overlapping calls, crashes, forks and exports."""

from pathlib import Path

import pytest

from core.domain.events import (
    CallRefused,
    CallStarted,
    Replied,
    RequestSent,
    RunEnded,
    ToolReturned,
    UntrustedContentRead,
)  # fmt: skip
from core.domain.external_agents import ExternalAgentStarted
from core.domain.messages import Message
from core.domain.permissions import PermissionRequested
from tests.core.engine.harness import EngineHarness, crash, open_engine, run_bounded
from tests.core.engine.test_external_agents import ended, of, open_with_agent, started
from tests.core.engine.test_replay import replay


async def sent_messages(scene: EngineHarness, session: str) -> list[Message]:
    """Return the messages a model would be sent."""
    return (await scene.services.runs.conversation(session)).messages


def in_order(messages: list[Message]) -> bool:
    """Return whether each call has exactly one result, directly after the reply that made it."""
    asked = [call.id for message in messages for call in message.calls]
    behind = [
        messages[place + 1].call_id for place, message in enumerate(messages) if message.calls and not message.calls[1:]
    ]
    return asked == behind == [message.call_id for message in messages if message.role == "tool"]


def test_overlapping_calls_have_one_result_each(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "both turned")
            await scene.engine.wait_idle(session)
            messages = await sent_messages(scene, session)
            assert in_order(messages), messages
            results = [message.text.head for message in messages if message.role == "tool"]
            assert results == ["found by t6", "found by t7"]
            assert scene.status(session) == "done" and scene.bugs == []

    run_bounded(test())


def test_after_a_crash_every_open_call_gets_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (memory := tmp_path / "memory").mkdir()
    monkeypatch.setenv("ACP_MEMORY", str(memory))

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "both ask")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            await crash(scene)
            async with open_engine(tmp_path) as again:
                await again.engine.choose_option(asked.request.id, "no")
                assert list(await again.engine.unresolved_calls(session)) == ["r1c1", "r2c1"]
                await again.engine.resume(session, "skip")
                await again.engine.wait_idle(session)
                events = await again.events(session)
                begun = {event.call_id for event in events if isinstance(event, CallStarted)}
                ended = [event.call_id for event in events if isinstance(event, ToolReturned)]
                assert begun <= set(ended) and len(ended) == len(set(ended)) == 3
                assert in_order(await sent_messages(again, session))
                assert events[-1] == RunEnded("completed")
                open_rows = [
                    step.kind
                    for step in again.engine.timeline_steps(again.engine.session(session))
                    if not step.ended_at
                ]
                assert open_rows == []

    run_bounded(test())


def test_an_approval_from_before_a_restart_allows_the_same_request_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "ask")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            await crash(scene)
            async with open_engine(tmp_path) as again:
                await again.engine.choose_option(asked.request.id, "yes")
                await again.engine.resume(session, "retry")
                await again.engine.wait_idle(session)
                events = await again.events(session)
                assert len(of(events, PermissionRequested)) == 1 and events[-1] == RunEnded("completed")
                assert (again.folder / "new.txt").read_text("utf-8") == "hello\n"

    run_bounded(test())


@pytest.mark.parametrize("task", ["ask", "started"])
def test_a_denied_call_says_that_the_user_denied_it(tmp_path: Path, task: str) -> None:
    """Agents report such a call as failed without a reason, or do not report its end."""

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, task)
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            await scene.engine.deny(asked.request.id, "not now")
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            reasons = [
                event.output.head if isinstance(event, ToolReturned) else event.reason.head
                for event in events
                if isinstance(event, ToolReturned | CallRefused)
            ]
            assert reasons == ["The user did not allow this. Their reason: not now"]
            assert len(of(events, CallStarted)) == (task == "started") and events[-1] == RunEnded("completed")
            rows = [step for step in scene.engine.timeline_steps(scene.engine.session(session)) if not step.ended_at]
            assert rows == [] and scene.bugs == []

    run_bounded(test())


@pytest.mark.parametrize("remembers", [True, False])
def test_a_changed_setting_is_set_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembers: bool
) -> None:
    if remembers:
        (memory := tmp_path / "memory").mkdir()
        monkeypatch.setenv("ACP_MEMORY", str(memory))

    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "hello")
            await scene.engine.wait_idle(session)
            await scene.engine.external_agents.change_setting(session, "mode", "look")
            await crash(scene)
            async with open_engine(tmp_path) as again:
                await again.engine.send_message(session, "which")
                await again.engine.wait_idle(session)
                events = await again.events(session)
                last = next(event for event in reversed(events) if isinstance(event, Replied))
                assert last.text.head.startswith("Mode look.")
                joined = [event for event in events if isinstance(event, ExternalAgentStarted)]
                assert [[one.value for one in event.settings] for event in joined] == [["build"], ["look"]]
                assert joined[-1].has_history is remembers

    run_bounded(test())


def test_a_file_that_the_agent_names_by_two_paths_is_shown_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "again")
            await scene.engine.wait_idle(session)
            calls = of(await scene.events(session), CallStarted)
            assert [call.object for call in calls if isinstance(call, CallStarted)] == ["new.txt"]

    run_bounded(test())


def test_thinking_between_calls_is_visible(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "edit")
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            await scene.engine.choose_option(asked.request.id, "yes")
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            sent, replied = of(events, RequestSent), of(events, Replied)
            assert len(sent) > 1 and [one.purpose for one in sent[1:] if isinstance(one, RequestSent)] == [
                "external_agent"
            ] * (len(sent) - 1)
            rows = [
                step for step in scene.engine.timeline_steps(scene.engine.session(session)) if step.kind == "thinking"
            ]
            assert len(rows) == len(sent) <= len(replied) and {row.status for row in rows} == {"done"}

    run_bounded(test())


def test_a_fork_continues_with_another_model_and_a_replay_works(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "both turned files", "accept-edits")
            await scene.engine.wait_idle(session)
            fork = await scene.engine.history.fork(session)
            assert in_order(await sent_messages(scene, fork))
            heard, done = await replay(tmp_path, session)
            assert [entry.event for entry in heard] == await scene.events(session)
            assert done.differing == [] and not done.regenerated

    run_bounded(test())


@pytest.mark.parametrize("form", ["md", "html", "json", "atif", "otlp", "perfetto"])
def test_an_export_contains_its_actions(tmp_path: Path, form: str) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            session = await started(scene, "both turned")
            await scene.engine.wait_idle(session)
            await scene.engine.exchange.export(session, form, tmp_path / "out")

    run_bounded(test())
    said = (tmp_path / "out").read_text("utf-8")
    assert "Call t6" in said and "Call t7" in said
    assert form == "perfetto" or all(words in said for words in ("found by t6", "found by t7", "You said: both turned"))


@pytest.mark.parametrize(
    ("trusted", "sources"),
    [(True, [("t13", "web: calls of the external agent")]),
     (False, [("t12", "folder"), ("t13", "web: calls of the external agent")])],
)  # fmt: skip
def test_what_a_call_reads_outside_the_folder_is_untrusted(
    tmp_path: Path, trusted: bool, sources: list[tuple[str, str]]
) -> None:
    async def test() -> None:
        async with open_with_agent(tmp_path) as scene:
            (scene.folder / "notes.txt").write_text("mine", "utf-8")
            await scene.engine.trust(scene.folder, trusted)
            events, last = await ended(scene, "consult")
            assert last.status == "completed"
            calls = [event.call_id for event in events if isinstance(event, CallStarted)]
            read = [event for event in events if isinstance(event, UntrustedContentRead)]
            assert [(f"t{12 + calls.index(event.call_id)}", event.source) for event in read] == sources

    run_bounded(test())
