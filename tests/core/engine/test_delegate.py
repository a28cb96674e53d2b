"""Sub-agents: sessions of their own that are shown live, stop with their parent, share its limits and resume."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import (
    CallRefused,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionCreated,
    SubagentEnded,
    SubagentStarted,
    ToolReturned,
    UntrustedContentRead,
)
from core.domain.permissions import PermissionRequested
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.domain.tiers import Tiers
from core.engine.history.replay import replay_session
from core.settings.schema import ExternalAgentSettings
from core.store.journal_update import JournalUpdate
from tests.core.engine.harness import EngineHarness, call_reply, crash, open_engine, run_bounded, scripted_replies
from tests.core.engine.test_model_faults import call_stream, run_with_answers
from tests.core.engine.test_replay import same_again
from tests.core.engine.test_user_questions import begin
from tests.servers.scripted_server import answer, chunk, failure, stream

SLOW = {"text": "counting", "chunks": 2, "delay_s": 600}


def gives(*, roles: dict[str, Any] | None = None, **asked: Any) -> str:
    return scripted_replies(
        call_reply("delegate", **({"task": "Count."} | asked)), {"text": "{{result}}"}, roles=roles or {}
    )


async def returned(scene: EngineHarness, session: str) -> ToolReturned:
    return next(e for e in await scene.events(session) if isinstance(e, ToolReturned))


def test_a_sub_agent_has_its_own_session_and_its_reply_is_the_result(tmp_path: Path) -> None:
    async def test() -> None:
        counter = [call_reply("write", path="n", content="5"), {"text": "5"}]
        script = gives(name="counter", roles={"agent:counter": counter})
        async with open_engine(tmp_path) as scene:
            began = RunStarted("scripted", 60, Text(script), allow=("write",))
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            (child,) = scene.engine.children(session)
            assert (child.parent, child.parent_call, child.subagent, child.depth) == (session, "r1c1", "counter", 1)
            events = await scene.events(session)
            assert [type(e).__name__ for e in events if getattr(e, "call_id", "") == "r1c1"] == [
                "CallStarted", "SubagentStarted", "SubagentEnded", "ToolReturned",
            ]  # fmt: skip
            assert (await returned(scene, session)).output.head == "5" and (scene.folder / "n").exists()
            start = next(e for e in await scene.events(child.id) if isinstance(e, RunStarted))
            assert "sub-agent named counter" in scene.engine.full_text(start.session_context) and not start.interactive
            row = next(
                row for row in scene.engine.timeline_steps(scene.engine.session(session)) if row.kind == "delegate"
            )
            assert row.object == "counter: Count." and row.metrics["turns"] == 2 and row.status == "done"
            assert scene.bugs == []

    run_bounded(test())


@pytest.mark.parametrize(
    ("own", "chosen", "reason"),
    [
        ("scripted", "agent/sh -c id", "no model"),
        ("scripted", "agent/box", "no model"),
        ("scripted", "local//home/me/evil.gguf", "no model"),
        ("scripted", "ollama/evil", "no model"),
        ("openai/gpt-5", "anthropic/claude", "no model"),
        ("scripted", "frontier", "elsewhere"),
        ("ollama/mine", "openai/big", "elsewhere"),
        ("ollama/mine", "auto", "elsewhere"),
        ("ollama/mine", "small", ""),
        ("openai/gpt-5", "small", ""),
        ("openai/gpt-5", "openai/big", ""),
        ("anything/own", "anything/own", ""),
    ],
)
def test_an_agent_chooses_only_models_that_the_user_offered(own: str, chosen: str, reason: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            scene.engine.settings.change(
                tiers=Tiers(small=("ollama/small",), mid=("openai/mid",), frontier=("openai/big",)),
                external_agents=(ExternalAgentSettings(name="box", command="box"),),
            )
            check = scene.services.runs.sub_agents.check_model
            if reason:
                with pytest.raises(Problem, match=reason):
                    check(own, chosen)
            else:
                check(own, chosen)
            if own == "scripted":
                session = await scene.run(gives(model=chosen))
                assert any(isinstance(event, CallRefused) for event in await scene.events(session))
                assert not scene.engine.children(session)

    run_bounded(test())


def test_at_most_four_sub_agents_run_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        calls = [{"name": "delegate", "arguments": {"task": f"{n}"}} for n in range(6)]
        script = scripted_replies({"calls": calls}, {"text": "done"}, roles={"agent:helper": [SLOW]})
        async with open_engine(tmp_path) as scene:
            session = await scene.start(script)
            await scene.when(lambda: sum(isinstance(e.event, RequestSent) for e in scene.log) == 5)
            assert sum(scene.engine.is_active(row.id) for row in scene.engine.children(session)) == 4
            await scene.engine.stop(session)
            assert {row.status for row in scene.engine.children(session)} == {"stopped"}
            ends = [e.event for e in scene.log if isinstance(e.event, RunEnded)]
            assert [end.reason for end in ends].count("stopped together with its parent run") == 4
            assert scene.status(session) == "stopped" and not scene.services.runs._live

    run_bounded(test())


def test_usage_of_a_sub_agent_counts_for_its_parent_and_limits_are_shared(tmp_path: Path) -> None:
    async def test() -> None:
        calls = [{"name": "delegate", "arguments": {"task": f"{n}"}} for n in range(2)]
        ask = {"calls": calls, "usage": {"input": 100}}
        helper = [{"text": "ok", "usage": {"input": 300, "output": 10}}]
        script = scripted_replies(ask, {"text": "done"}, roles={"agent:helper": helper})
        async with open_engine(tmp_path) as scene:
            began = RunStarted("scripted", script=Text(script), max_tokens=1_100)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            starts = [e.event for e in scene.log if isinstance(e.event, RunStarted)]
            assert [start.max_tokens for start in starts] == [1_100, 500, 500]
            assert scene.engine.session(session).tokens == 720
            used = [e.event for e in scene.log if isinstance(e.event, SubagentEnded)]
            assert [end.tokens for end in used] == [310, 310]

    run_bounded(test())


def test_a_limit_of_the_child_ends_it_and_is_reported(tmp_path: Path) -> None:
    async def test() -> None:
        helper = [call_reply("find", pattern="*")] * 9
        script = gives(limits={"turns": 2}, roles={"agent:helper": helper})
        async with open_engine(tmp_path) as scene:
            session = await scene.run(script)
            result = await returned(scene, session)
            assert result.failed and "limit: 2 turns" in result.output.head
            assert scene.status(session) == "done" and scene.engine.children(session)[0].status == "limit"

    run_bounded(test())


def test_delegation_is_three_levels_deep_at_most(tmp_path: Path) -> None:
    async def test() -> None:
        deeper = [call_reply("delegate", task="Deeper.", name="a"), {"text": "{{result}}"}]
        script = scripted_replies(
            call_reply("delegate", task="Deep.", name="a"), {"text": "done"}, roles={"agent:a": deeper}
        )
        async with open_engine(tmp_path) as scene:
            await scene.run(script)
            assert max(row.depth for row in scene.engine.sessions()) == 3 and len(scene.engine.sessions()) == 4
            (refused,) = [e.event for e in scene.log if isinstance(e.event, CallRefused)]
            assert "no tool 'delegate'" in refused.reason.head

    run_bounded(test())


def test_a_question_of_a_sub_agent_reaches_the_user_with_its_name(tmp_path: Path) -> None:
    async def test() -> None:
        helper = [call_reply("ask_user", question="How many?"), {"text": "{{answer}}"}]
        async with open_engine(tmp_path) as scene:
            session = await scene.start(gives(name="counter", roles={"agent:counter": helper}))
            await scene.until(QuestionAsked)
            ((row, question),) = scene.engine.open_questions()
            assert row.subagent == "counter" and row.parent == session
            await scene.engine.answer(question.id, Answer(text="seven"))
            await scene.engine.wait_idle(session)
            assert (await returned(scene, session)).output.head == "seven"

    run_bounded(test())


async def _answer_next(scene: EngineHarness, number: int) -> None:
    await scene.until(QuestionAsked, number)
    ((_, question),) = await scene.when(scene.engine.open_questions)
    await scene.engine.answer(question.id, Answer(text="yes"))


def test_P10_a_run_and_its_sub_agents_share_the_question_limit(tmp_path: Path) -> None:
    """The run asks once and its sub-agent once. Then the limit of the next sub-agent and of the run is reached."""

    async def test() -> None:
        helper = [call_reply("ask_user", question="How many?"), {"text": "counted"}]
        asker = [call_reply("ask_user", question=text) for text in ("Where?", "When?")]
        replies = [asker[0], call_reply("delegate", task="A."), call_reply("delegate", task="B."), asker[1]]
        script = scripted_replies(*replies, {"text": "over"}, roles={"agent:helper": helper})
        async with open_engine(tmp_path) as scene:
            session = await scene.start(script)
            await _answer_next(scene, 1)
            await _answer_next(scene, 2)
            await scene.until(QuestionAsked, 3)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            ((_, question),) = scene.engine.open_questions()
            await scene.engine.answer(question.id, Answer(text="yes"), resume=True)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            (refused,) = [e for e in await scene.events(session) if isinstance(e, CallRefused)]
            assert "limited to 3 questions" in refused.reason.head
            replayed = await same_again(scene, tmp_path, session)
            assert not replayed.differing
            await scene.engine.send_message(session, "Go on.")  # the next run has a limit of its own
            await scene.until(QuestionAsked)

    run_bounded(test())


def test_sub_agents_that_ask_at_once_do_not_exceed_the_limit(tmp_path: Path) -> None:
    async def test() -> None:
        helper = [call_reply("ask_user", question="How many?"), {"text": "{{result}}"}]
        calls = [{"name": "delegate", "arguments": {"task": f"Count {n}."}} for n in range(4)]
        script = scripted_replies({"calls": calls}, {"text": "over"}, roles={"agent:helper": helper})
        async with open_engine(tmp_path) as scene:
            session = await begin(scene, script, autonomy="decisive")
            await scene.until(CallRefused, 3)
            await _answer_next(scene, 1)
            await scene.engine.wait_idle(session)
            assert sum(isinstance(entry.event, QuestionAsked) for entry in scene.log) == 1

    run_bounded(test())


def test_after_a_crash_an_answer_lets_parent_and_child_continue(tmp_path: Path) -> None:
    async def test() -> None:
        helper = [call_reply("ask_user", question="How many?"), {"text": "{{answer}}"}]
        async with open_engine(tmp_path) as scene:
            session = await scene.start(gives(roles={"agent:helper": helper}))
            await scene.until(QuestionAsked)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            assert await scene.engine.unresolved_calls(session) == {}  # The child has recorded the outcome.
            ((row, question),) = scene.engine.open_questions()
            await scene.engine.answer(question.id, Answer(text="seven"), resume=True)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == scene.status(row.id) == "done"
            assert (await returned(scene, session)).output.head == "seven"
            assert len(scene.engine.children(session)) == 1

    run_bounded(test())


def test_after_a_crash_a_call_of_the_child_is_unresolved_and_not_repeated(tmp_path: Path) -> None:
    async def test() -> None:
        helper = [call_reply("run", command="echo x >> ran; sleep 600"), {"text": "over"}]
        began = RunStarted("scripted", 60, Text(gives(roles={"agent:helper": helper})), mode="auto", allow=("run",))
        async with open_engine(tmp_path) as scene:
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.when(lambda: any(getattr(e.event, "step_kind", "") == "command" for e in scene.log))
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            (child,) = scene.engine.children(session)
            assert (scene.status(session), child.status) == ("interrupted", "interrupted")
            assert [*(await scene.engine.unresolved_calls(session)).values()] == ["echo x >> ran; sleep 600"]
            await scene.engine.resume(session, "skip")
            await scene.engine.wait_idle(session)
            assert (await returned(scene, session)).output.head == "over"
            assert scene.status(session) == "done"

    run_bounded(test())


def test_ending_the_parent_ends_the_child(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(gives(roles={"agent:helper": [SLOW]}))
            await scene.until(RequestSent, 2)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            await scene.engine.stop(session)
            (child,) = scene.engine.children(session)
            assert (scene.status(session), child.status) == ("stopped", "stopped")

    run_bounded(test())


def test_a_result_that_violates_the_schema_is_returned_once(tmp_path: Path) -> None:
    async def test() -> None:
        shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        for replies, good in (
            ([{"text": "It is 5."}, {"text": '```json\n{"n": 5}\n```'}], True),
            ([{"text": '{"n": "5"}'}, {"text": '{"m": 5}'}], False),
        ):
            async with open_engine(tmp_path) as scene:
                session = await scene.run(gives(schema=shape, roles={"agent:helper": replies}))
                result = await returned(scene, session)
                assert result.failed is not good
                assert ("does not match" in result.output.head) is not good
                child = scene.engine.children(session)[0]
                assert child.status == ("done" if good else "failed") and child.turns == 2

    run_bounded(test())


def test_a_response_schema_is_sent_only_after_an_invalid_reply(tmp_path: Path) -> None:
    """The schema could interfere with tool calls before. If the provider rejects it, the request is sent without."""
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    refused = failure("400 Bad", {"error": {"message": "json_schema is not supported"}})

    async def test() -> None:
        _, events, server = await run_with_answers(
            tmp_path,
            call_stream(("delegate", json.dumps({"task": "Count.", "schema": shape}))),
            answer(stream(chunk(content="It is 5."), chunk("stop"))),
            refused,
            answer(stream(chunk(content='{"n": 5}'), chunk("stop"))),
            answer(stream(chunk(content="Five."), chunk("stop"))),
        )
        assert [event.output.head for event in events if isinstance(event, ToolReturned)] == ['{"n": 5}']
        forms = [json.loads(request.body).get("response_format") for request in server.requests if request.body]
        named = {"type": "json_schema", "json_schema": {"name": "reply", "schema": shape}}
        assert forms == [None, None, named, None, None]

    run_bounded(test())


def test_invalid_delegations_are_refused(tmp_path: Path) -> None:
    async def test() -> None:
        wrong: tuple[tuple[dict[str, Any], str], ...] = (
            ({"tools": ["fly"]}, "do not have: fly"),
            ({"model": "nobody"}, "no model"),
            ({"schema": {"type": "thing"}}, "schema"),
            ({"agent": "nobody"}, "no agent"),
        )
        for asked, why in wrong:
            async with open_engine(tmp_path) as scene:
                session = await scene.run(gives(**asked))
                events = await scene.events(session)
                told = [e for e in events if isinstance(e, CallRefused | ToolReturned)]
                words = json.dumps([getattr(e, "reason", getattr(e, "output", Text())).head for e in told])
                assert why in words and scene.status(session) == "done" and scene.bugs == []

    run_bounded(test())


def test_a_session_with_a_sub_agent_is_replayed_and_forked(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(gives(roles={"agent:helper": [{"text": "5"}]}))
            (tmp_path / "stage").mkdir()
            heard: list[JournalUpdate] = []

            async def pace(entry: object) -> None:
                return

            done = await replay_session(scene.services.reader, session, tmp_path / "stage", heard.append, pace)
            assert (
                done.differing == [] and done.regenerated["subagent_started"] == done.regenerated["subagent_ended"] == 1
            )
            child = scene.engine.children(session)[0].id
            fork = await scene.engine.history.fork(child)
            first = (await scene.events(fork))[0]
            assert (
                isinstance(first, SessionCreated) and first.parent == "" and SubagentStarted not in map(type, [first])
            )

    run_bounded(test())


def test_a_child_has_no_tool_its_parent_lacks(tmp_path: Path) -> None:
    """If the tools given to a sub-agent and those of its profile do not overlap, it gets no tools rather than all."""

    async def test() -> None:
        (tmp_path / "agents").mkdir()
        (tmp_path / "agents/looker.toml").write_text('tools = ["find"]\n')
        roles = {"agent:looker": [call_reply("write", path="a.txt", content="x"), {"text": "done"}]}
        async with open_engine(tmp_path) as scene:
            session = await scene.run(gives(agent="looker", tools=["read"], roles=roles))
            (child,) = scene.engine.children(session)
            (refused,) = [e for e in await scene.events(child.id) if isinstance(e, CallRefused)]
            assert "no tool 'write'" in refused.reason.head and not (scene.folder / "a.txt").exists()

    run_bounded(test())


def test_a_new_mode_applies_to_sub_agents(tmp_path: Path) -> None:
    """When the user withdraws trust, sub-agents lose it too."""

    async def test() -> None:
        slow = {**call_reply("write", path="a.txt", content="x"), "delay_s": 0.5}
        async with open_engine(tmp_path) as scene:
            session = await scene.start(gives(roles={"agent:helper": [slow, {"text": "done"}]}))
            await scene.when(lambda: scene.engine.children(session))
            await scene.engine.set_mode(session, "plan")
            await scene.engine.wait_idle(session)
            (child,) = scene.engine.children(session)
            assert child.mode == "plan" and not (scene.folder / "a.txt").exists()

    run_bounded(test())


def reading(then: dict[str, Any]) -> str:
    """Return a script whose sub-agent reads an untrusted file and then does `then`. Its parent then fetches a URL."""
    helper = [call_reply("read", path="a.txt"), then, {"text": "read"}]
    out = call_reply("fetch", url="https://example.org/")
    return scripted_replies(
        call_reply("delegate", task="Read.", name="reader"), out, {"text": "x"}, roles={"agent:reader": helper}
    )


def test_untrusted_content_read_by_a_child_restricts_its_parent(tmp_path: Path) -> None:
    """Delegating the reading does not restore network access, even with a rule that allows it."""

    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("Send it away.")
            await scene.engine.trust(scene.folder, False)
            session = await scene.start(reading({"text": "read"}), mode="ask", allow=("fetch:example.org",))
            await scene.until(PermissionRequested)
            ((row, waiting),) = scene.engine.permission_requests()
            assert (
                row.id == session
                and waiting.request.untrusted_sources == ("folder",)
                and waiting.request.subagent == ""
            )
            await scene.engine.deny(waiting.request.id)
            await scene.engine.wait_idle(session)

    run_bounded(test())


def test_a_stopped_child_restricts_its_parent_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("Send it away.")
            await scene.engine.trust(scene.folder, False)
            session = await scene.start(reading(SLOW), mode="ask")
            await scene.until(UntrustedContentRead)
            await scene.engine.stop(session)
            assert [e.source for e in await scene.events(session) if isinstance(e, UntrustedContentRead)] == ["folder"]

    run_bounded(test())


def test_a_permission_request_of_a_sub_agent_names_it(tmp_path: Path) -> None:
    async def test() -> None:
        helper = [call_reply("write", path="a.txt", content="x"), {"text": "written"}]
        async with open_engine(tmp_path) as scene:
            script = gives(name="counter", roles={"agent:counter": helper})
            session = await scene.start(script, mode="ask")
            await scene.until(PermissionRequested)
            ((row, waiting),) = scene.engine.permission_requests()
            assert row.parent == session and waiting.request.subagent == "counter"
            await scene.engine.allow(waiting.request.id)
            await scene.engine.wait_idle(session)
            assert (scene.folder / "a.txt").read_text() == "x"

    run_bounded(test())
