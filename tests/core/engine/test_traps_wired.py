"""The traps once more, where they meet the real rule book, the real folder and the real walls."""

import asyncio
import random
from pathlib import Path

from core.domain.consent import Allowed, CallAllowed, ConsentAsked, Verdict
from core.domain.events import CallRefused, CallStarted
from core.engine.judging import judged
from core.tools.catalogue import TOOLS
from core.tools.run import Run
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.engine.test_traps import compositions
from tests.core.engine.traps import EVERYDAY, KEPT, TRAPS

LONG_S = 300  # ten thousand judgements on a busy computer
ALLOWED = tuple(f"run:{pattern}" for pattern in KEPT)


async def waits(scene: Scene) -> str:
    """A run that asks something, so that its judgements can be asked for."""
    session = await scene.start(played(calling("run", command="rm -rf x"), {"text": "x"}), mode="edits", allow=ALLOWED)
    await scene.until(ConsentAsked)
    return session


def test_i15_ten_thousand_compositions_are_not_allowed_where_a_run_asks(tmp_path: Path) -> None:
    """Each as the run itself has it judged; everyday commands are allowed in the same breath."""

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            session = await waits(scene)
            work, book = scene.services.runs._live[session].work, scene.services.rules

            async def found(command: str) -> Verdict:
                return await judged(book, work, TOOLS["run"], "r1c1", Run(command))

            tries = (*TRAPS, *compositions(10_000))
            assert [command for command in tries if isinstance(await found(command), Allowed)] == []
            assert [command for command in EVERYDAY if not isinstance(await found(command), Allowed)] == []
            await scene.engine.stop(session)

    asyncio.run(asyncio.wait_for(test(), LONG_S))


def test_i15_no_trap_starts_when_nobody_says_yes(tmp_path: Path) -> None:
    """Asked for by a model, with a person who says no to everything."""

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            tries = [*TRAPS, *random.Random(7).sample(compositions(10_000), 60)]
            calls = [{"name": "run", "arguments": {"command": command}} for command in tries]
            session = await scene.start(played({"calls": calls}, {"text": "x"}), mode="edits", allow=ALLOWED)
            while scene.engine.going(session):
                await scene.when(lambda: scene.engine.consents() or scene.status(session) == "done")
                for _, each in scene.engine.consents():
                    await scene.engine.deny(each.request.id)
                if scene.status(session) == "done":
                    await scene.engine.wait(session)
            events = await scene.events(session)
            assert not [event for event in events if isinstance(event, CallAllowed | CallStarted)]
            assert sum(isinstance(event, CallRefused) for event in events) == len(tries)

    bounded(test())
