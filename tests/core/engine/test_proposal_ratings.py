"""What pending proposals say about the ratings of the runs that they come from."""

from pathlib import Path

from tests.core.engine.harness import call_reply, open_engine, run_bounded
from tests.core.engine.test_skills import NEW, proposed


def test_a_proposal_about_a_skill_says_that_its_run_was_rated_bad_since(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            _, (one,) = await proposed(scene, call_reply("manage_skill", text="# Minutes\n\nWrite.", **NEW))
            await scene.engine.history.rate(one.session, "up")
            assert scene.engine.proposals.get(one.id).reason == one.reason
            await scene.engine.history.rate(one.session, "down")
            (listed,) = scene.engine.proposals.list()
            assert listed.reason == f"{one.reason} The run that it comes from was rated as bad since."
            await scene.engine.history.rate(one.session, "")
            assert scene.engine.proposals.list() == (one,)

    run_bounded(test())
