"""Calls that the user changes before allowing them: checked again, run as changed, and recorded as the user's."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, CallStarted, HarnessMessage, RunEnded, ToolReturned
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.problems import Problem
from core.domain.rules import RuleDraft
from core.engine.history.replay import replay_session
from core.tools.editable_argument import editable_text
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.engine.test_permission import events_of, wait_for_request

WRITE = call_reply("write", path="a.txt", content="written\n")
RUN = call_reply("run", command="echo one; touch made")
DONE = {"text": "Done: {{result}}"}


def test_the_changed_text_is_written_and_the_model_and_the_timeline_are_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            request = await wait_for_request(scene)
            await scene.engine.allow_changed(request.id, "changed\n")
            await scene.engine.wait_idle(session)
            assert (scene.folder / "a.txt").read_text() == "changed\n"
            (decided,) = await events_of(scene, session, PermissionDecided)
            assert json.loads(decided.arguments.head) == {"path": "a.txt", "content": "changed\n"}
            note, started = await events_of(scene, session, HarnessMessage, CallStarted)
            assert note.text.head.startswith("[The user changed this call of write") and "changed\\n" in note.text.head
            assert note.reason == "you changed the call before it ran: write a.txt" and started.object == "a.txt"
            assert len(await events_of(scene, session, PermissionRequested)) == 1

    run_bounded(main())


def test_a_changed_command_that_needs_another_approval_is_asked_about_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "kept.txt").write_text("kept")
            session = await scene.start(scripted_replies(RUN, DONE), mode="ask")
            first = await wait_for_request(scene)
            await scene.engine.allow_changed(first.id, "rm kept.txt")
            second = await wait_for_request(scene, 2)
            assert second.id != first.id and second.object == "rm kept.txt" and not second.reversible
            assert (scene.folder / "kept.txt").exists() and not (scene.folder / "made").exists()
            await scene.engine.deny(second.id, "Keep it.")
            await scene.engine.wait_idle(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert "Keep it." in refused.reason.head and (scene.folder / "kept.txt").exists()

    run_bounded(main())


def test_a_changed_command_that_a_rule_denies_is_not_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            await scene.engine.add_rule(RuleDraft("deny", "run", "touch *"))
            session = await scene.start(scripted_replies(call_reply("run", command="python3 -c 1"), DONE), mode="ask")
            await scene.engine.allow_changed((await wait_for_request(scene)).id, "touch made")
            await scene.engine.wait_idle(session)
            (refused,) = await events_of(scene, session, CallRefused)
            assert refused.reason.head.startswith("Your rule:") and not (scene.folder / "made").exists()

    run_bounded(main())


def test_an_unchanged_text_is_a_plain_approval(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(WRITE, DONE), mode="ask")
            request = await wait_for_request(scene)
            (_, waiting), *_ = scene.engine.permission_requests()
            await scene.engine.allow_changed(request.id, editable_text("write", waiting.arguments))
            await scene.engine.wait_idle(session)
            (decided,) = await events_of(scene, session, PermissionDecided)
            assert decided.allowed and not decided.arguments.head
            assert not await events_of(scene, session, HarnessMessage)

    run_bounded(main())


@pytest.mark.parametrize(
    ("call", "text", "wrong"),
    [
        (WRITE, " ", "empty"),
        (call_reply("patch", diff="--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"), "\n", "empty"),
        (call_reply("read", path="a.txt"), "{", "not valid JSON"),
        (call_reply("read", path="a.txt"), "[1]", "not a JSON object"),
        (call_reply("read", path="a.txt"), '{"path": 1}', "path"),
    ],
)
def test_a_change_that_cannot_be_used_leaves_the_request_open(
    tmp_path: Path, call: dict[str, Any], text: str, wrong: str
) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(call, DONE), mode="ask-all")
            request = await wait_for_request(scene)
            with pytest.raises(Problem, match=wrong):
                await scene.engine.allow_changed(request.id, text)
            assert len(scene.engine.permission_requests()) == 1
            await scene.engine.stop(session)

    run_bounded(main())


def test_a_change_given_while_journeyman_was_closed_counts_after_the_restart_and_in_a_replay(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(RUN, DONE), mode="ask")
            request = await wait_for_request(scene)
        async with open_engine(tmp_path) as scene:
            await scene.engine.allow_changed(request.id, "echo two; touch other", resume=True)
            await scene.until(RunEnded)
            (returned,) = await events_of(scene, session, ToolReturned)
            assert "two" in returned.output.head and not (scene.folder / "made").exists()
            assert (scene.folder / "other").exists()

            async def at_once(_entry: object) -> None:
                return None

            (tmp_path / "again").mkdir()
            reader = scene.services.reader
            result = await replay_session(reader, session, tmp_path / "again", lambda _update: None, at_once)
            assert result.differing == [] and result.regenerated["harness_message"] == 1

    run_bounded(main())
