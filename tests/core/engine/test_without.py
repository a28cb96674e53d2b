"""An old task once more without a memory or a skill: kept from the run in every way, and both laid side by side."""

from pathlib import Path

from core.domain.events import CallRefused, RunStarted, ToolReturned
from core.domain.recalled import MemoryRecalled
from core.domain.skill import SkillUsed
from core.timeline.align import Alignment
from tests.core.engine.scenes import Scene, bounded, calling, opened, played

SKILL = "---\nname: stamps\ndescription: Stamps letters. Use it when one leaves.\n---\n\n# Stamps\n\nUse blue ink.\n"


async def again(scene: Scene, session: str, item: str, script: str) -> tuple[str, Alignment]:
    """The same without it; its session, and both side by side."""
    beginning = await scene.engine.history.again(session, 0, script=script, without=(item,))
    await scene.engine.history.begin(beginning)
    await scene.engine.wait(beginning.session)
    return beginning.session, scene.engine.past.compare(session, beginning.session)


def test_a_memory_is_neither_told_nor_found_nor_read_by_its_id(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            kept = (await scene.engine.memory.add("Letters are stamped with blue ink.")).memory.id
            await scene.engine.memory.add("Letters leave at noon.")
            task, script = "Stamp the letters that leave.", played({"text": "Stamped."})
            session = await scene.start(script, task)
            await scene.engine.wait(session)
            looks = [calling("recall", query="ink for letters"), calling("recall", id=kept)]
            name, found = await again(scene, session, kept, played(*looks, {"text": "Stamped."}))
            events = await scene.events(name)
            told = [item.memory for event in events if isinstance(event, MemoryRecalled) for item in event.items]
            assert told and kept not in told
            first, second = [event for event in events if isinstance(event, ToolReturned)]
            assert "blue ink" not in first.output.head and second.failed
            assert found.learnt_a.without(found.learnt_b).memories == {kept: "Letters are stamped with blue ink."}
            assert not found.learnt_b.without(found.learnt_a).memories and found.b.steps > found.a.steps
            await scene.engine.say(name, "And the letters of tomorrow.")  # what goes on with it is without it too
            await scene.engine.wait(name)
            later = await scene.events(name)
            assert all(event.without == (kept,) for event in later if isinstance(event, RunStarted))
            third = await again(scene, name, "other", script)  # and so is one that leaves out more
            starts = [event for event in await scene.events(third[0]) if isinstance(event, RunStarted)]
            assert starts[-1].without == (kept, "other")

    bounded(main())


def test_a_skill_is_not_offered_and_cannot_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            await scene.engine.skills.save("stamps", SKILL)
            script = played(calling("use_skill", name="stamps"), {"text": "Stamped."})
            session = await scene.start(script, "Stamp the letters.")
            await scene.engine.wait(session)
            assert any(isinstance(event, SkillUsed) for event in await scene.events(session))
            name, found = await again(scene, session, "stamps", script)
            events = await scene.events(name)
            (start,) = [event for event in events if isinstance(event, RunStarted)]
            assert "stamps" not in {one.name for one in start.skills} and "- stamps" not in start.system.head
            assert not any(isinstance(event, SkillUsed) for event in events)
            assert any(isinstance(event, CallRefused | ToolReturned) for event in events)
            assert found.learnt_a.without(found.learnt_b).skills == {"stamps": 1}

    bounded(main())
