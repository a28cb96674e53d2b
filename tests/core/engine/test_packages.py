"""Packages: what they bring is used only while their files are as the user trusted them, and goes with them."""

import json
from pathlib import Path

import pytest

from core.domain.events import CallRefused, HookRan, RunEnded, RunStarted, UserMessage
from core.domain.problems import Problem
from core.domain.skill import SkillSaved
from core.domain.text import Text
from core.engine.services.packages import PackageOverview
from core.packages.package_index import PACKAGES_FOLDER
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.packages.made import commit_all, make_package

WRITE = scripted_replies(call_reply("write", path="a", content="b"), {"text": "done"})

DONE_AT_ONCE = RunStarted("scripted", 60, Text(scripted_replies({"text": "done"})), mode="auto")


async def added(scene: EngineHarness, folder: Path) -> PackageOverview:
    return await scene.engine.packages.add(str(make_package(folder / "review")))


async def refused_by_hook(scene: EngineHarness) -> bool:
    session = await scene.run(WRITE)
    events = await scene.events(session)
    assert any(isinstance(event, RunEnded) and event.status == "completed" for event in events)
    return any(isinstance(event, CallRefused) and "not in this project" in event.reason.head for event in events)


def test_a_package_is_shown_then_trusted_used_and_removed(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home") as scene:
            overview = await added(scene, tmp_path)
            contents = overview.contents
            assert (contents.title, contents.version) == ("Review helpers", "1.2")
            assert [hook.command for hook in contents.hooks] == ['"$PACKAGE_ROOT"/guard.sh']
            (server,) = contents.servers
            root = scene.services.opened.path.parent / PACKAGES_FOLDER / "review"
            assert server.server.args == (str(root / "serve.py"),)
            assert [skill.name for skill in contents.skills] == ["careful-review"]
            assert [command.name for command in contents.commands] == ["summarize"]
            assert [reason.partition(":")[0] for reason in contents.unused] == ["/status", "agents"]
            # Not trusted: nothing is used, and no server was started.
            assert not await refused_by_hook(scene) and not scene.engine.mcp_servers.list()
            assert "careful-review" not in [row.name for row in await scene.engine.skills.list()]
            assert "summarize" not in scene.engine.slash_commands(scene.folder)
            (result,) = await scene.engine.packages.trust("review", overview.digest)
            assert result.error is None and result.name == "review-box" and result.tools
            assert await refused_by_hook(scene)
            assert [server.package for server in scene.engine.mcp_servers.list()] == ["review"]
            row = next(row for row in await scene.engine.skills.list() if row.name == "careful-review")
            assert (row.source, row.state) == ("package", "enabled")
            assert "Read every line." in await scene.engine.skills.read_text(row.key)
            session = await scene.engine.start("/summarize this", scene.folder, DONE_AT_ONCE)
            await scene.engine.wait_idle(session)
            said = next(event for event in await scene.events(session) if isinstance(event, UserMessage))
            assert said.text.head == "Summarize this."
            await scene.engine.packages.remove("review")
            assert not await refused_by_hook(scene) and not scene.engine.mcp_servers.list()
            assert "careful-review" not in [row.name for row in await scene.engine.skills.list()]
            assert not scene.engine.slash_commands(scene.folder) and not root.exists()
            assert await scene.engine.packages.list() == () and scene.bugs == []

    run_bounded(test())


def test_a_changed_file_stops_everything_until_it_is_trusted_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home") as scene:
            overview = await added(scene, tmp_path)
            await scene.engine.packages.trust("review", overview.digest)
            guard = scene.services.opened.path.parent / PACKAGES_FOLDER / "review" / "guard.sh"
            guard.chmod(0o755)
            guard.write_text("exit 0\n", "utf-8")
            guard.chmod(0o555)
            changed = await scene.engine.packages.show("review")
            assert changed.state == "changed" and changed.changed == ("changed guard.sh",)
            session = await scene.run(WRITE)
            end = [event for event in await scene.events(session) if isinstance(event, RunEnded)][-1]
            assert end.status == "failed" and "not as you trusted it" in end.reason
            assert not any(isinstance(event, HookRan) for event in await scene.events(session))
            assert "careful-review" not in [row.name for row in await scene.engine.skills.list()]
            tested = await scene.engine.mcp_servers.test("review-box")
            assert tested.error and "not as you trusted it" in tested.error.cause
            with pytest.raises(Problem, match="has changed since it was shown"):
                await scene.engine.packages.trust("review", overview.digest)
            await scene.engine.packages.trust("review", changed.digest)
            assert not await refused_by_hook(scene)  # the guard lets everything through now, and ran
            assert any(isinstance(each.event, HookRan) for each in scene.log)
            await scene.engine.packages.distrust("review")
            assert not scene.engine.mcp_servers.list() and not await refused_by_hook(scene)

    run_bounded(test())


def test_an_update_is_pinned_to_its_commit_and_asks_again(tmp_path: Path) -> None:
    async def test() -> None:
        repository = make_package(tmp_path / "there" / "review.git")
        first = commit_all(repository)
        async with open_engine(tmp_path / "home") as scene:
            overview = await scene.engine.packages.add(repository.as_uri())
            assert overview.package.name == "review" and overview.package.commit == first
            await scene.engine.packages.trust("review", overview.digest)
            same, changed = await scene.engine.packages.update("review")
            assert not changed and same.state == "trusted"
            (repository / "guard.sh").write_text("exit 0\n", "utf-8")
            (repository / "extra.txt").write_text("more\n", "utf-8")
            second = commit_all(repository)
            assert (await scene.engine.packages.show("review")).state == "trusted"  # until the user updates it
            newer, changed = await scene.engine.packages.update("review")
            assert changed and newer.package.commit == second and newer.state == "changed"
            assert newer.changed == ("added extra.txt", "changed guard.sh")

    run_bounded(test())


def test_a_skill_of_a_package_is_edited_as_a_copy(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home") as scene:
            overview = await added(scene, tmp_path)
            await scene.engine.packages.trust("review", overview.digest)
            opened = await scene.engine.skills.open("careful-review")
            saved = await scene.engine.skills.save(
                opened.row.key, opened.text.replace("every", "each"), base=opened.base, why="shorter"
            )
            assert isinstance(saved, SkillSaved) and saved.key == "library/careful-review"
            assert (await scene.engine.packages.show("review")).state == "trusted"
            rows = {row.source: row.state for row in await scene.engine.skills.list() if row.name == "careful-review"}
            assert rows == {"library": "enabled", "package": "shadowed"}

    run_bounded(test())


def test_names_that_are_taken_stay_those_of_the_user(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home") as scene:
            home = scene.services.opened.path.parent
            (home / "commands").mkdir()
            (home / "commands" / "summarize.md").write_text("Mine.", "utf-8")
            overview = await added(scene, tmp_path)
            await scene.engine.packages.trust("review", overview.digest)
            commands = scene.engine.slash_commands(scene.folder)
            assert {name: one.origin for name, one in commands.items()} == {
                "summarize": "own", "review:summarize": "package",
            }  # fmt: skip
            with pytest.raises(Problem, match="already a package"):
                await scene.engine.packages.add(str(tmp_path / "review"))
            second = await scene.engine.packages.add(str(tmp_path / "review"), name="second")
            (result,) = await scene.engine.packages.trust("second", second.digest)
            assert result.name == "second-box"

    run_bounded(test())


def test_what_is_unusable_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        bad = make_package(tmp_path / "bad")
        async with open_engine(tmp_path / "home") as scene:
            (bad / "hooks.toml").write_text("[[hook]]\non = 'never'\n", "utf-8")
            with pytest.raises(Problem, match=r"hooks\.toml of the package cannot be read"):
                await scene.engine.packages.add(str(bad))
            plain = tmp_path / "plain"
            (plain / "agents").mkdir(parents=True)
            (plain / "agents" / "a.md").write_text("You.", "utf-8")
            with pytest.raises(Problem, match="brings nothing that Journeyman uses"):
                await scene.engine.packages.add(str(plain))
            (bad / "hooks.toml").unlink()
            (bad / ".claude-plugin" / "plugin.json").write_text(
                json.dumps({"mcpServers": {"x": {"cwd": "/"}}}), "utf-8"
            )
            overview = await scene.engine.packages.add(str(bad))
            assert "MCP server x: it needs another working folder" in overview.contents.unused
            await scene.engine.packages.remove("bad")
            folder = scene.services.opened.path.parent / PACKAGES_FOLDER
            assert list(folder.iterdir()) == [] and await scene.engine.packages.list() == ()

    run_bounded(test())
