"""A person's own commands: told of each moment, able to refuse a call and an end, never in the way of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, CallStarted, HookRan, Nudged, RequestSent, RunEnded, ToolReturned
from core.domain.problems import Problem
from core.engine.hooks import Hook, hooks, run_hooks
from tests.core.engine.scenes import bounded, calling, opened, played

READ = calling("read", path="a.txt")


def write(home: Path, *made: dict[str, Any]) -> None:
    lines = []
    for hook in made:
        lines += ["[[hook]]", *(f"{name} = {json.dumps(value)}" for name, value in hook.items())]
    home.mkdir(exist_ok=True)
    (home / "hooks.toml").write_text("\n".join(lines), encoding="utf-8")


def ran(events: list[Any]) -> list[HookRan]:
    return [event for event in events if isinstance(event, HookRan)]


def test_each_moment_is_told_as_json(tmp_path: Path) -> None:
    async def main() -> None:
        keep = f"cat >> {tmp_path}/told; echo >> {tmp_path}/told"
        moments = ("run start", "before call", "after call", "end", "run end")
        write(tmp_path, *({"on": moment, "command": keep} for moment in moments))
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello")
            session = await scene.run(played(READ, {"text": "done"}))
            events = await scene.events(session)
            assert [one.moment for one in ran(events)] == list(moments)
            assert all(one.exit_code == 0 and not one.refused for one in ran(events))
            rows = [step for step in scene.engine.steps(scene.engine.session(session)) if step.kind == "hook"]
            assert len(rows) == 5 and rows[0].object.startswith("run start: cat") and rows[0].status == "done"
            assert scene.status(session) == "done" and not scene.bugs
        told = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
        assert [one["moment"] for one in told] == list(moments) and {one["session"] for one in told} == {session}
        assert told[1]["call"]["tool"] == "read" and json.loads(told[1]["call"]["arguments"]) == {"path": "a.txt"}
        assert "hello" in told[2]["call"]["result"]["output"] and told[4]["status"] == "completed"

    bounded(main())


def test_half_a_character_is_told_as_it_is(tmp_path: Path) -> None:
    async def main() -> None:
        hook = Hook("before call", f"cat > {tmp_path}/told")
        (done,) = await run_hooks([hook], "before call", "read", tmp_path, {"call": {"path": "é\udcff"}})
        assert done.exit_code == 0
        assert json.loads((tmp_path / "told").read_bytes())["call"]["path"] == "é\udcff"

    bounded(main())


def test_a_hook_refuses_a_call_with_its_reason(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "before call", "tools": ["wr*"], "command": "echo not on a Friday >&2; exit 2"})
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello")
            session = await scene.run(played(READ, calling("write", path="b.txt", content="x"), {"text": "done"}))
            events = await scene.events(session)
            (refused,) = [event for event in events if isinstance(event, CallRefused)]
            assert refused.tool == "write" and "not on a Friday" in refused.reason.head
            assert sum(isinstance(event, CallStarted) for event in events) == 1
            assert [one.refused for one in ran(events)] == [True] and not (scene.folder / "b.txt").exists()

    bounded(main())


def test_one_that_takes_too_long_is_ended_and_has_not_agreed(tmp_path: Path) -> None:
    async def main() -> None:
        write(
            tmp_path,
            {"on": "before call", "command": "sleep 600", "time_s": 0.2},
            {"on": "after call", "command": "exit 3"},
        )
        async with opened(tmp_path) as scene:
            session = await scene.run(played(READ, {"text": "done"}))
            (hook,) = ran(await scene.events(session))
            assert hook.refused and hook.exit_code is None and hook.why == "stopped after 0.2 s"
            assert not any(isinstance(event, ToolReturned) for event in await scene.events(session))

    bounded(main())


def test_other_exit_codes_refuse_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "before call", "command": "exit 1"}, {"on": "run start", "command": "no-such-command"})
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello")
            session = await scene.run(played(READ, {"text": "done"}))
            assert [one.exit_code for one in ran(await scene.events(session))] == [127, 1]
            assert scene.status(session) == "done"

    bounded(main())


def test_an_end_is_sent_on_but_not_for_ever(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "end", "command": "echo the tests are missing; exit 2"})
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "done"}, then="repeat_last"))
            events = await scene.events(session)
            assert sum(isinstance(event, Nudged) for event in events) == 5
            assert scene.status(session) == "done" and isinstance(events[-1], RunEnded)

    bounded(main())


def test_a_stopped_run_tells_of_its_end_too(tmp_path: Path) -> None:
    async def main() -> None:
        write(tmp_path, {"on": "run end", "command": "cat"})
        async with opened(tmp_path) as scene:
            session = await scene.start(played({"fault": "silence", "seconds": 600}))
            await scene.until(RequestSent)
            await scene.engine.stop(session)
            (hook,) = ran(await scene.events(session))
            assert json.loads(hook.output.head)["status"] == "stopped" and scene.status(session) == "stopped"

    bounded(main())


def test_no_file_is_no_hook(tmp_path: Path) -> None:
    assert hooks(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[hook]]\non = 'noon'\ncommand = 'true'", "is none of"),
        ("[[hook]]\non = 'end'", "needs a command"),
        ("[[hook]]\non = 'end'\ncommand = 'true'\ntime_s = 0", "seconds"),
        ("[[hook]]\non = 'end'\ncommand = 'true'\ntool = 'run'", "has no 'tool'"),
        ("hooks = 3", "there is no 'hooks'"),
        ("[[", "hooks.toml"),
    ],
)
def test_a_broken_file_is_said_and_nothing_runs(tmp_path: Path, text: str, why: str) -> None:
    """One of them may be there to refuse."""

    async def main() -> None:
        (tmp_path / "hooks.toml").write_text(text, encoding="utf-8")
        with pytest.raises(Problem) as problem:
            hooks(tmp_path)
        assert why in str(problem.value) + problem.value.trouble.do
        async with opened(tmp_path) as scene:
            session = await scene.run(played(READ, {"text": "done"}))
            assert scene.status(session) == "failed" and not scene.bugs

    bounded(main())
