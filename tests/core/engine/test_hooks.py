"""The user's hooks: they receive each hook event, can deny a call or the end of a run, and never block a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, CallStarted, HarnessMessage, HookRan, RequestSent, RunEnded, ToolReturned
from core.domain.problems import Problem
from core.engine.services.hooks import Hook, load_hooks, run_hooks
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies

READ = call_reply("read", path="a.txt")


def write(home: Path, *made: dict[str, Any]) -> None:
    lines = []
    for hook in made:
        lines += ["[[hook]]", *(f"{name} = {json.dumps(value)}" for name, value in hook.items())]
    home.mkdir(exist_ok=True)
    (home / "hooks.toml").write_text("\n".join(lines), encoding="utf-8")


def hook_runs(events: list[Any]) -> list[HookRan]:
    return [event for event in events if isinstance(event, HookRan)]


def test_each_hook_event_is_sent_as_json(tmp_path: Path) -> None:
    async def main() -> None:
        keep = f"cat >> {tmp_path}/told; echo >> {tmp_path}/told"
        moments = ("run_start", "before_call", "after_call", "before_end", "run_end")
        write(tmp_path, *({"on": moment, "command": keep} for moment in moments))
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello")
            session = await scene.run(scripted_replies(READ, {"text": "done"}))
            events = await scene.events(session)
            assert [one.trigger for one in hook_runs(events)] == list(moments)
            assert all(one.exit_code == 0 and not one.blocked for one in hook_runs(events))
            rows = [step for step in scene.engine.timeline_steps(scene.engine.session(session)) if step.kind == "hook"]
            assert len(rows) == 5 and rows[0].object.startswith("run_start: cat") and rows[0].status == "done"
            assert scene.status(session) == "done" and not scene.bugs
        told = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
        assert [one["moment"] for one in told] == list(moments) and {one["session"] for one in told} == {session}
        assert told[1]["call"]["tool"] == "read" and json.loads(told[1]["call"]["arguments"]) == {"path": "a.txt"}
        assert "hello" in told[2]["call"]["result"]["output"] and told[4]["status"] == "completed"

    run_bounded(main())


def test_a_lone_surrogate_is_sent_unchanged(tmp_path: Path) -> None:
    async def main() -> None:
        hook = Hook("before_call", f"cat > {tmp_path}/told")
        (done,) = await run_hooks([hook], "before_call", "read", tmp_path, {"call": {"path": "é\udcff"}})
        assert done.exit_code == 0
        assert json.loads((tmp_path / "told").read_bytes())["call"]["path"] == "é\udcff"

    run_bounded(main())


def test_a_hook_denies_a_call_with_its_reason(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "before_call", "tools": ["wr*"], "command": "echo not on a Friday >&2; exit 2"})
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello")
            session = await scene.run(
                scripted_replies(READ, call_reply("write", path="b.txt", content="x"), {"text": "done"})
            )
            events = await scene.events(session)
            (refused,) = [event for event in events if isinstance(event, CallRefused)]
            assert refused.tool == "write" and "not on a Friday" in refused.reason.head
            assert sum(isinstance(event, CallStarted) for event in events) == 1
            assert [one.blocked for one in hook_runs(events)] == [True] and not (scene.folder / "b.txt").exists()

    run_bounded(main())


def test_a_hook_that_times_out_is_ended_and_denies(tmp_path: Path) -> None:
    async def main() -> None:
        write(
            tmp_path,
            {"on": "before_call", "command": "sleep 600", "time_s": 0.2},
            {"on": "after_call", "command": "exit 3"},
        )
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies(READ, {"text": "done"}))
            (hook,) = hook_runs(await scene.events(session))
            assert hook.blocked and hook.exit_code is None and hook.reason == "stopped after 0.2 s"
            assert not any(isinstance(event, ToolReturned) for event in await scene.events(session))

    run_bounded(main())


def test_other_exit_codes_deny_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "before_call", "command": "exit 1"}, {"on": "run_start", "command": "no-such-command"})
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello")
            session = await scene.run(scripted_replies(READ, {"text": "done"}))
            assert [one.exit_code for one in hook_runs(await scene.events(session))] == [127, 1]
            assert scene.status(session) == "done"

    run_bounded(main())


def test_an_end_is_passed_on_but_not_forever(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "before_end", "command": "echo the tests are missing; exit 2"})
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "done"}, then="repeat_last"))
            events = await scene.events(session)
            assert sum(isinstance(event, HarnessMessage) for event in events) == 5
            assert scene.status(session) == "done" and isinstance(events[-1], RunEnded)

    run_bounded(main())


def test_a_stopped_run_sends_its_end_too(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "run_end", "command": "cat"})
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies({"fault": "silence", "seconds": 600}))
            await scene.until(RequestSent)
            await scene.engine.stop(session)
            (hook,) = hook_runs(await scene.events(session))
            assert json.loads(hook.output.head)["status"] == "stopped" and scene.status(session) == "stopped"

    run_bounded(main())


def test_without_a_file_there_are_no_hooks(tmp_path: Path) -> None:
    assert load_hooks(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[hook]]\non = 'noon'\ncommand = 'true'", "is not one of"),
        ("[[hook]]\non = 'before_end'", "needs a command"),
        ("[[hook]]\non = 'before_end'\ncommand = 'true'\ntime_s = 0", "seconds"),
        ("[[hook]]\non = 'before_end'\ncommand = 'true'\ntool = 'run'", "unknown key 'tool'"),
        ("hooks = 3", "unknown key 'hooks'"),
        ("[[", "hooks.toml"),
    ],
)
def test_a_broken_file_is_an_error_and_nothing_runs(tmp_path: Path, text: str, why: str) -> None:
    """A hook in the file may be meant to refuse calls."""

    async def main() -> None:
        (tmp_path / "hooks.toml").write_text(text, encoding="utf-8")
        with pytest.raises(Problem) as problem:
            load_hooks(tmp_path)
        assert why in str(problem.value) + problem.value.details.fix
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies(READ, {"text": "done"}))
            assert scene.status(session) == "failed" and not scene.bugs

    run_bounded(main())
