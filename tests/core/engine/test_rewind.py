"""Rewinding files to a step never loses changes made by others, and can be undone."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.events import FileChanged
from core.domain.problems import Problem
from core.domain.rewind_events import FilesRewound, RewoundFile
from core.engine.history.rewind import last_rewind
from core.engine.state.conversation import fold_events
from core.store.blobs import blob_hash
from core.store.reader import Reader
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies

SCRIPT = scripted_replies(
    call_reply("write", path="a.txt", content="one\n"),
    call_reply("write", path="deep/b.txt", content="new\n"),
    call_reply("write", path="a.txt", content="two\n"),
    {"text": "Done"},
)


def texts(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


async def back(scene: EngineHarness, session: str, step: int, *force: str) -> FilesRewound:
    history = scene.engine.history
    to = await history.last_seq_of_step(session, step) if step else 1
    return await history.rewind(session, await history.plan_rewind(session, to, force))


async def undo(scene: EngineHarness, session: str, *force: str) -> FilesRewound:
    history = scene.engine.history
    return await history.rewind(session, await history.plan_undo(session, force))


def test_files_are_rewound_to_each_step_and_restored(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "mine.txt").write_text("mine\n")
            session = await scene.run(SCRIPT)
            after = texts(scene.folder)
            for step, expected in (
                (6, {}),
                (4, {"a.txt": "one\n"}),
                (2, {"a.txt": "one\n", "deep/b.txt": None}),
                (0, {"a.txt": None, "deep/b.txt": None}),
            ):
                done = await back(scene, session, step)
                wanted = {name: text for name, text in (after | expected).items() if text is not None}
                assert texts(scene.folder) == wanted and not done.skipped
                if expected:
                    await undo(scene, session)
                assert texts(scene.folder) == after
            with pytest.raises(Problem, match="no rewind to undo"):
                await undo(scene, session)

    run_bounded(main())


def test_the_timeline_tells_an_undone_revert_from_a_revert(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            await back(scene, session, 4)
            await undo(scene, session)
        with contextlib.closing(Reader(scene.services.opened.path)) as reader:
            rows = reader.steps(session, 0, 100)
            assert [row.object for row in rows if row.kind == "rewind"] == ["a.txt", "the revert of a.txt"]

    run_bounded(main())


def test_a_rewind_covers_what_sub_agents_changed(tmp_path: Path) -> None:
    """Also if the parent, its child and the child's child wrote the same file in turn."""
    deepest = [call_reply("write", path="a.txt", content="deepest\n"), {"text": "ok"}]
    child = [
        call_reply("write", path="a.txt", content="child\n"),
        call_reply("delegate", task="Write.", name="deep"),
        call_reply("write", path="c.txt", content="child\n"),
        {"text": "ok"},
    ]
    script = scripted_replies(
        call_reply("write", path="a.txt", content="parent\n"),
        call_reply("delegate", task="Write.", name="child"),
        call_reply("write", path="c.txt", content="parent\n"),
        {"text": "Done"},
        roles={"agent:child": child, "agent:deep": deepest},
    )

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(script)
            after = {"a.txt": "deepest\n", "c.txt": "parent\n"}
            assert texts(scene.folder) == after
            row = scene.engine.session(session)
            numbers = {(step.kind, step.object): step.number for step in scene.engine.timeline_steps(row)}
            given = next(number for (kind, _), number in numbers.items() if kind == "delegate")
            for step, wanted in (
                (given, {"a.txt": "deepest\n", "c.txt": "child\n"}),
                (given - 1, {"a.txt": "parent\n"}),
                (0, {}),
            ):
                done = await back(scene, session, step)
                assert texts(scene.folder) == wanted and not done.skipped
                await undo(scene, session)
                assert texts(scene.folder) == after
            below = scene.engine.children(session)[0].id
            await back(scene, below, 0)  # A rewind in the child alone; the parent can still rewind across it.
            assert texts(scene.folder) == {"a.txt": "parent\n", "c.txt": "parent\n"}
            with pytest.raises(Problem, match="no rewind to undo"):
                await undo(scene, session)
            await back(scene, session, 0)
            assert texts(scene.folder) == {}

    run_bounded(main())


def test_a_preview_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(
                scripted_replies(
                    call_reply("write", path="a.txt", content="1\n2\n"),
                    call_reply("run", command="touch left"),
                    {"text": "."},
                )
            )
            before, seq = texts(scene.folder), scene.engine.session(session).last_seq
            plan = await scene.engine.history.plan_rewind(session, 1)
            assert [(f.path, f.action, f.added, f.removed) for f in plan.files if f.path == "a.txt"] == [
                ("a.txt", "remove", 0, 2)
            ]
            assert plan.commands == ("touch left",)
            assert texts(scene.folder) == before and scene.engine.session(session).last_seq == seq

    run_bounded(main())


def test_files_changed_by_others_are_skipped_unless_forced(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            (scene.folder / "a.txt").write_text("by the user\n")
            (scene.folder / "deep" / "b.txt").unlink()
            done = await back(scene, session, 2)
            assert done.skipped == ("a.txt",) and texts(scene.folder) == {"a.txt": "by the user\n"}
            done = await back(scene, session, 2, "a.txt")
            assert done.files == (RewoundFile("a.txt", blob_hash(b"by the user\n"), blob_hash(b"one\n"), 0o644),)
            assert texts(scene.folder) == {"a.txt": "one\n"}
            await undo(scene, session)
            assert texts(scene.folder) == {"a.txt": "by the user\n"}

    run_bounded(main())


def test_a_file_changed_after_the_preview_is_skipped(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            plan = await scene.engine.history.plan_rewind(session, 1)
            (scene.folder / "a.txt").write_text("quicker\n")
            done = await scene.engine.history.rewind(session, plan)
            assert done.skipped == ("a.txt",) and [file.path for file in done.files] == ["deep/b.txt"]
            assert texts(scene.folder) == {"a.txt": "quicker\n"}
            later = await scene.engine.history.plan_rewind(session, 1)
            assert [file.action for file in later.files] == ["conflict", "same"]

    run_bounded(main())


def test_a_rewind_interrupted_by_a_crash_can_be_completed_or_undone(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            one, two = blob_hash(b"one\n"), blob_hash(b"two\n")
            fact = FilesRewound(9, (RewoundFile("a.txt", two, one),))
            await scene.services.runs._journal.append(session, fact)
            plan = await scene.engine.history.plan_rewind(
                session, await scene.engine.history.last_seq_of_step(session, 2)
            )
            assert [(f.path, f.action) for f in plan.files] == [("deep/b.txt", "remove"), ("a.txt", "change")]
            undone = await scene.engine.history.plan_undo(session)
            assert [file.action for file in undone.files] == ["same"]

    run_bounded(main())


def test_contents_that_were_not_kept_are_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "."}))
            (scene.folder / "big").write_text("now")
            change = FileChanged("r1c1", "big", "f" * 64, blob_hash(b"now"))
            await scene.services.runs._journal.append(session, change)
            plan = await scene.engine.history.plan_rewind(session, 1)
            assert [(f.action, f.reason) for f in plan.files] == [("lost", "Its earlier contents were not saved.")]
            assert (await scene.engine.history.rewind(session, plan)).skipped == ("big",)
            assert texts(scene.folder) == {"big": "now"}

    run_bounded(main())


def test_a_link_in_place_of_a_file_is_skipped(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            outside = tmp_path / "outside.txt"
            outside.write_text("two\n")
            (scene.folder / "a.txt").unlink()
            (scene.folder / "a.txt").symlink_to(outside)
            done = await back(scene, session, 2)
            assert "a.txt" in done.skipped and outside.read_text() == "two\n"

    run_bounded(main())


async def delete(scene: EngineHarness, *names: str) -> str:
    """Run a command that deletes links, or a file whose text is the target of one."""
    (scene.folder / "deep").mkdir()
    (scene.folder / "a.txt").write_text("mine")
    for name, target in (("link", "a.txt"), ("deep/broken", "missing"), ("deep/away", "/etc/hostname")):
        (scene.folder / name).symlink_to(target)
    (scene.folder / "text").write_text("a.txt")
    code = f"import os; [os.unlink(name) for name in {names}]"
    replies = scripted_replies(call_reply("run", command=f'python3 -c "{code}"'), {"text": "Done."})
    return await scene.run(replies)


def links(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): str(path.readlink()) for path in folder.rglob("*") if path.is_symlink()}


def test_links_that_a_command_deleted_are_restored(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await delete(scene, "link", "deep/broken", "deep/away")
            assert not links(scene.folder)
            plan = await scene.engine.history.plan_rewind(session, 1)
            assert {file.path: file.action for file in plan.files} == dict.fromkeys(
                ("deep/away", "deep/broken", "link"), "create"
            )
            before = {"link": "a.txt", "deep/broken": "missing", "deep/away": "/etc/hostname"}
            for _ in range(2):
                assert not (await back(scene, session, 0)).skipped and links(scene.folder) == before
                assert not (await undo(scene, session)).skipped and not links(scene.folder)
            assert texts(scene.folder) == {"a.txt": "mine", "text": "a.txt"}

    run_bounded(main())


def test_a_link_replaces_no_file_of_the_user_and_nothing_is_written_through_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await delete(scene, "link", "text")
            (scene.folder / "link").write_text("a.txt")  # a file that contains the target of the link
            (scene.folder / "text").symlink_to("a.txt")
            assert sorted((await back(scene, session, 0)).skipped) == ["link", "text"]
            await back(scene, session, 0, "link", "text")
            assert links(scene.folder)["link"] == "a.txt" and (scene.folder / "a.txt").read_text() == "mine"

    run_bounded(main())


@pytest.mark.parametrize("target", [".git/hooks", ".vscode", "src"])
@pytest.mark.parametrize("name", ["x", "deep/x"])
@pytest.mark.parametrize("when", ["before the plan", "after the plan"])
def test_nothing_is_written_through_a_link_in_place_of_a_folder(
    target: str, name: str, when: str, tmp_path: Path
) -> None:
    script = scripted_replies(
        call_reply("write", path=f"{name}/post-checkout", content="#!/bin/sh\n"),
        call_reply("write", path=f"{name}/post-checkout", content="changed\n"),
        {"text": "Done"},
    )

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / target).mkdir(parents=True)
            session = await scene.run(script)
            folder, history = scene.folder / name, scene.engine.history

            def replace_folder() -> None:
                folder.rename(tmp_path / "moved")
                folder.symlink_to(os.path.relpath(scene.folder / target, folder.parent))

            to = await history.last_seq_of_step(session, 2)
            if when == "before the plan":
                replace_folder()
            plan = await history.plan_rewind(session, to, [f"{name}/post-checkout"])
            if when == "after the plan":
                replace_folder()
            else:
                assert "through a link" in plan.files[0].reason
            done = await history.rewind(session, plan) if when == "before the plan" else None
            if done is None:
                with contextlib.suppress(Problem):
                    await history.rewind(session, plan)
            assert not list((scene.folder / target).iterdir())

    run_bounded(main())


def test_the_model_is_informed_and_a_running_session_is_not_disturbed(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            await back(scene, session, 2)
            talk = fold_events([entry async for entry in scene.engine.events(session)])
            assert "a.txt" in talk.queued[0].text.head and "earlier state" in talk.queued[0].text.head
            other = await scene.start(scripted_replies({"text": "slow", "delay_s": 600}))
            with pytest.raises(Problem, match="already active"):
                await scene.engine.history.rewind(other, await scene.engine.history.plan_rewind(other, 1))
            await scene.engine.stop(other)

    run_bounded(main())


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "1\n", "2\n", "3\n"])), max_size=6), st.data())
def test_any_rewind_restores_and_its_undo_reverts_it(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, str]], data: st.DataObject
) -> None:
    tmp_path = tmp_path_factory.mktemp("rewind")

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            states = [texts(scene.folder)]
            session = await scene.run(scripted_replies({"text": "."}))
            seqs = [scene.engine.session(session).last_seq]
            for name, text in writes:
                path = scene.folder / name
                before = path.read_bytes() if path.exists() else None
                path.write_text(text)
                names = ["" if body is None else blob_hash(body) for body in (before, text.encode())]
                kept = {blob_hash(body): body for body in (before, text.encode()) if body is not None}
                await scene.services.runs._journal.append(
                    session, FileChanged("c", name, names[0], names[1]), blobs=kept
                )
                states.append(texts(scene.folder))
                seqs.append(scene.engine.session(session).last_seq)
            for _ in range(2):
                here = texts(scene.folder)
                place = data.draw(st.integers(0, len(writes)))
                done = await scene.engine.history.rewind(
                    session, await scene.engine.history.plan_rewind(session, seqs[place])
                )
                assert texts(scene.folder) == states[place] and not done.skipped
                if bool(done.files) and data.draw(st.booleans()):
                    await undo(scene, session)
                    assert texts(scene.folder) == here
            entries = [entry async for entry in scene.engine.events(session)]
            found = last_rewind(entries)
            assert found is None or isinstance(found.event, FilesRewound)

    asyncio.run(main())


def test_files_skipped_by_an_undo_can_still_be_undone(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            await back(scene, session, 2)
            (scene.folder / "a.txt").write_text("mine\n")
            done = await undo(scene, session)
            assert done.skipped == ("a.txt",) and texts(scene.folder) == {"a.txt": "mine\n", "deep/b.txt": "new\n"}
            (scene.folder / "deep" / "b.txt").write_text("later\n")
            again = await undo(scene, session, "a.txt")
            assert [file.path for file in again.files] == ["a.txt"] and not again.skipped
            assert texts(scene.folder) == {"a.txt": "two\n", "deep/b.txt": "later\n"}
            with pytest.raises(Problem, match="no rewind to undo"):
                await undo(scene, session)

    run_bounded(main())


def test_a_file_changed_during_an_undo_can_still_be_undone(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            await back(scene, session, 2)
            plan = await scene.engine.history.plan_undo(session)
            (scene.folder / "a.txt").write_text("quicker\n")
            assert (await scene.engine.history.rewind(session, plan)).skipped == ("a.txt",)
            await undo(scene, session, "a.txt")
            assert texts(scene.folder) == {"a.txt": "two\n", "deep/b.txt": "new\n"}

    run_bounded(main())


def test_a_name_that_is_not_text_is_reported_and_stands_for_no_other_file(tmp_path: Path) -> None:
    command = "for n in 'q\\377' 'made\\377'; do printf new > \"$(printf \"$n\")\"; done; ln -s a.txt link"
    child = [call_reply("run", command="ln -s a.txt below"), {"text": "ok"}]

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            odd, twin = scene.folder / os.fsdecode(b"q\xff"), scene.folder / "q?"
            for path in (odd, twin):
                path.write_text("original")
            script = scripted_replies(
                call_reply("run", command=command),
                call_reply("delegate", task="Link.", name="child"),
                {"text": "."},
                roles={"agent:child": child},
            )
            session = await scene.run(script)
            assert not [e for e in await scene.events(session) if isinstance(e, FileChanged)]
            plan = await scene.engine.history.plan_rewind(session, 1)
            unkept = ("below", "link", "made⟦U+DCFF⟧", "q⟦U+DCFF⟧")
            assert plan.files == () and tuple(sorted(plan.unsaved)) == unkept
            await scene.engine.history.rewind(session, plan)
            assert (odd.read_text(), twin.read_text()) == ("new", "original")

    run_bounded(main())


def test_a_hunk_is_reverted_unless_the_file_changed(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            history, held = scene.engine.history, blob_hash(b"two\n")
            done = await history.replace_contents(session, "a.txt", held, b"half\n")
            assert done.files == (RewoundFile("a.txt", held, blob_hash(b"half\n")),)
            assert texts(scene.folder)["a.txt"] == "half\n"
            await undo(scene, session)
            assert texts(scene.folder)["a.txt"] == "two\n"
            (scene.folder / "a.txt").write_text("mine\n")
            with pytest.raises(Problem, match="does not have the contents"):
                await history.replace_contents(session, "a.txt", held, b"half\n")
            assert texts(scene.folder)["a.txt"] == "mine\n"

    run_bounded(main())


def test_a_single_file_is_reverted(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            plan = await scene.engine.history.plan_rewind(session, 1, only="a.txt")
            assert [file.path for file in plan.files] == ["a.txt"]
            await scene.engine.history.rewind(session, plan)
            assert texts(scene.folder) == {"deep/b.txt": "new\n"}

    run_bounded(main())
