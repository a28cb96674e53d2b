"""The trap commands again, with the real rule book, folder and sandbox."""

import asyncio
import random
from pathlib import Path

from core.domain.events import CallRefused, CallStarted
from core.domain.permissions import Allowed, CallAllowed, PermissionRequested, PolicyDecision
from core.engine.run.policy_check import check_policy
from core.tools.catalogue import TOOLS
from core.tools.run import RunArguments
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.engine.test_trap_commands import compositions
from tests.core.engine.trap_commands import EVERYDAY, KEPT, TRAPS

LONG_S = 300  # ten thousand evaluations on a busy computer
ALLOWED = tuple(f"run:{pattern}" for pattern in KEPT)


async def waits(scene: EngineHarness) -> str:
    """Start a run that waits for an answer, so that calls can be evaluated in its context."""
    session = await scene.start(
        scripted_replies(call_reply("run", command="rm -rf x"), {"text": "x"}), mode="ask", allow=ALLOWED
    )
    await scene.until(PermissionRequested)
    return session


def test_i15_ten_thousand_compositions_are_not_allowed_in_a_run(tmp_path: Path) -> None:
    """Each is evaluated as the run itself would; everyday commands are allowed."""

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            session = await waits(scene)
            work, book = scene.services.runs._live[session].context, scene.services.rules

            async def found(command: str) -> PolicyDecision:
                return await check_policy(book, work, TOOLS["run"], "r1c1", RunArguments(command))

            tries = (*TRAPS, *compositions(10_000))
            assert [command for command in tries if isinstance(await found(command), Allowed)] == []
            assert [command for command in EVERYDAY if not isinstance(await found(command), Allowed)] == []
            await scene.engine.stop(session)

    asyncio.run(asyncio.wait_for(test(), LONG_S))


def test_i15_no_trap_starts_without_approval(tmp_path: Path) -> None:
    """A model requests them, and every request is denied."""

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            tries = [*TRAPS, *random.Random(7).sample(compositions(10_000), 60)]
            calls = [{"name": "run", "arguments": {"command": command}} for command in tries]
            session = await scene.start(scripted_replies({"calls": calls}, {"text": "x"}), mode="ask", allow=ALLOWED)
            while scene.engine.is_active(session):
                await scene.when(lambda: scene.engine.permission_requests() or scene.status(session) == "done")
                for _, each in scene.engine.permission_requests():
                    await scene.engine.deny(each.request.id)
                if scene.status(session) == "done":
                    await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert not [event for event in events if isinstance(event, CallAllowed | CallStarted)]
            assert sum(isinstance(event, CallRefused) for event in events) == len(tries)

    run_bounded(test())
