"""Rerunning a task without a memory or skill: the new run cannot get it in any way, and both runs are compared."""

from pathlib import Path

from core.domain.events import CallRefused, RunStarted, ToolReturned
from core.domain.recall_events import MemoriesRecalled
from core.domain.skill import SkillUsed
from core.timeline.run_alignment import Alignment
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies

SKILL = "---\nname: stamps\ndescription: Stamps letters. Use it when one leaves.\n---\n\n# Stamps\n\nUse blue ink.\n"


async def again(scene: EngineHarness, session: str, item: str, script: str) -> tuple[str, Alignment]:
    """Rerun the task without the item. Return the new session and the comparison."""
    beginning = await scene.engine.history.fork_to_rerun(session, 0, script=script, excluded=(item,))
    await scene.engine.history.start_fork(beginning)
    await scene.engine.wait_idle(beginning.session_id)
    return beginning.session_id, scene.engine.analytics.compare(session, beginning.session_id)


def test_an_excluded_memory_is_neither_added_nor_found_nor_read_by_id(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            kept = (await scene.engine.memory.add("Letters are stamped with blue ink.")).memory.id
            await scene.engine.memory.add("Letters leave at noon.")
            task, script = "Stamp the letters that leave.", scripted_replies({"text": "Stamped."})
            session = await scene.start(script, task)
            await scene.engine.wait_idle(session)
            looks = [call_reply("recall", query="ink for letters"), call_reply("recall", id=kept)]
            name, found = await again(scene, session, kept, scripted_replies(*looks, {"text": "Stamped."}))
            events = await scene.events(name)
            told = [
                item.memory_id for event in events if isinstance(event, MemoriesRecalled) for item in event.memories
            ]
            assert told and kept not in told
            first, second = [event for event in events if isinstance(event, ToolReturned)]
            assert "blue ink" not in first.output.head and second.failed
            assert found.used_a.without(found.used_b).memories == {kept: "Letters are stamped with blue ink."}
            assert not found.used_b.without(found.used_a).memories and found.b.steps > found.a.steps
            await scene.engine.send_message(
                name, "And the letters of tomorrow."
            )  # Later runs of the session exclude the memory too.
            await scene.engine.wait_idle(name)
            later = await scene.events(name)
            assert all(event.excluded == (kept,) for event in later if isinstance(event, RunStarted))
            third = await again(scene, name, "other", script)  # Another rerun adds to the exclusions.
            starts = [event for event in await scene.events(third[0]) if isinstance(event, RunStarted)]
            assert starts[-1].excluded == (kept, "other")

    run_bounded(main())


def test_an_excluded_skill_is_not_offered_and_cannot_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            await scene.engine.skills.save("stamps", SKILL)
            script = scripted_replies(call_reply("use_skill", name="stamps"), {"text": "Stamped."})
            session = await scene.start(script, "Stamp the letters.")
            await scene.engine.wait_idle(session)
            assert any(isinstance(event, SkillUsed) for event in await scene.events(session))
            name, found = await again(scene, session, "stamps", script)
            events = await scene.events(name)
            (start,) = [event for event in events if isinstance(event, RunStarted)]
            assert "stamps" not in {one.name for one in start.skills} and "- stamps" not in start.session_context.head
            assert not any(isinstance(event, SkillUsed) for event in events)
            assert any(isinstance(event, CallRefused | ToolReturned) for event in events)
            assert found.used_a.without(found.used_b).skills == {"stamps": 1}

    run_bounded(main())
