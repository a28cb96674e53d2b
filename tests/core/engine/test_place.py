"""What a run works in: made before its first fact, told with its first command, gone when it ends."""

import contextlib
from pathlib import Path
from tempfile import gettempdir

import pytest

from core.domain.events import CallStarted, SandboxProven, ToolReturned
from core.domain.problems import Problem
from core.tools.place import Place, open_place
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.sandbox import choose
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.workspace.commands import walls


def kept_places(scene: Scene) -> list[Place]:
    """Every place that is opened from now on."""
    real, places = scene.services.runs._place, list[Place]()

    def keep(folder: Path, session: str) -> Place:
        places.append(real(folder, session))
        return places[-1]

    scene.services.runs._place = keep
    return places


def test_the_level_is_a_fact_before_the_first_command(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            places = kept_places(scene)
            session = await scene.run(played(calling("run", command="true"), calling("run", command="true"), {}))
            events = await scene.events(session)
            at = [number for number, event in enumerate(events) if isinstance(event, SandboxProven)]
            assert len(at) == 1 and isinstance(events[at[0] + 1], CallStarted)
            assert events[at[0]] == SandboxProven(places[0].sandbox.name, places[0].level, (), proof_known(places[0]))
            quiet = await scene.run(played(calling("read", path="none"), {}))
            assert "SandboxProven" not in await scene.kinds(quiet)
            assert len(places) == 2 and all(place.broker._root == -1 for place in places)
            assert (tmp_path / "sandbox.json").exists() == (places[0].level != "none")

    bounded(main())


def proof_known(place: Place) -> tuple[str, ...]:
    return place.sandbox.proof.known if place.sandbox.proof else ()


def test_walls_that_fail_their_test_switch_commands_off(tmp_path: Path) -> None:
    """T21: the run says so, the row says so, and the model reads why."""

    def weak(words: list[str]) -> list[str]:
        return [*words, "--bind", gettempdir(), gettempdir()]

    async def main() -> None:
        made = choose(ladder=[lambda: Bubblewrap(weaken=weak)])
        with contextlib.closing(made):
            async with opened(tmp_path) as scene:
                scene.services.runs._place = lambda folder, _: open_place(folder, tmp_path, None, lambda: made)
                session = await scene.run(played(calling("run", command="touch here"), {}))
                events = await scene.events(session)
                told = next(event for event in events if isinstance(event, SandboxProven))
                assert told.level == "verified" and "write_outside" in told.open
                back = next(event for event in events if isinstance(event, ToolReturned))
                assert back.failed and "Commands are off" in back.output.head and "outside" in back.output.head
                assert not (scene.folder / "here").exists()
                rows = scene.engine.steps(scene.engine.session(session))
                assert any(row.kind == "notice" and "commands are off" in row.object for row in rows)

    with walls("bubblewrap"):
        bounded(main())


def test_without_its_folder_a_run_does_not_begin(tmp_path: Path) -> None:
    """Nothing is written: the person still has the words, and reads why."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "Done."}))
            before = await scene.kinds(session)
            scene.folder.rename(tmp_path / "elsewhere")
            with pytest.raises(Problem, match="cannot be opened"):
                await scene.engine.say(session, "Go on.")
            assert await scene.kinds(session) == before and not scene.engine.going(session)

    bounded(main())
