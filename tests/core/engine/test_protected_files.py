"""Protected files need approval in every mode, for file tools and commands, and an approval covers only those shown."""

import contextlib
import dataclasses
from pathlib import Path

import pytest

from core.domain.events import CallRefused, FileChanged, ToolReturned
from core.domain.modes import MODES, Mode
from core.domain.permissions import Allowed, Denied, NeedsApproval, PermissionRequested
from core.domain.problems import Problem
from core.workspace.broker import FileBroker
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.engine.policy_calls import FACTS, act, verdict
from tests.core.workspace.test_broker import SPELLINGS

DONE = {"text": "Done."}
REDUCED = dataclasses.replace(FACTS, level="reduced")


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_the_broker_protects_is_asked_about(name: str, tmp_path: Path) -> None:
    """The broker and the policy agree in every mode: the user is asked, and no call is refused without asking."""
    with FileBroker(tmp_path) as broker, contextlib.suppress(Problem):
        broker.write(name, b"x")
        pytest.fail("the broker let it pass")
    for mode in (mode for mode in MODES if mode != "plan"):
        found = verdict(act("write", path=name, content="x"), mode=mode)
        secret = name == ".npmrc" and isinstance(found, Denied)
        assert secret or (
            isinstance(found, NeedsApproval) and found.request.protected_paths and not found.request.patterns
        ), (
            name,
            mode,
        )


@pytest.mark.parametrize("mode", ["accept-edits", "auto"])
def test_an_approval_opens_what_was_shown(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / ".vscode").mkdir()
            (scene.folder / ".vscode/tasks.json").write_text("old")
            session = await scene.start(
                scripted_replies(
                    call_reply("write", path=".vscode/tasks.json", content="new"),
                    call_reply("write", path=".vscode/tasks.json", content="newer"),
                    DONE,
                ),
                mode=mode,
            )
            for count, yes in ((1, True), (2, False)):
                request = (await scene.until(PermissionRequested, count)).event.request  # type: ignore[union-attr]
                assert request.protected_paths == (".vscode/tasks.json",) and "execute or follow" in request.reason
                await (scene.engine.allow(request.id) if yes else scene.engine.deny(request.id, "no"))
            await scene.engine.wait_idle(session)
            assert (scene.folder / ".vscode/tasks.json").read_text() == "new"

    run_bounded(main())


@pytest.mark.parametrize("mode", ["accept-edits", "auto"])
@pytest.mark.parametrize("name", ["config", "config.worktree", "commondir", "hooks/pre-commit", "link/config"])
def test_git_settings_in_a_folder_of_any_name_are_asked_about(name: str, mode: Mode, tmp_path: Path) -> None:
    """Git treats each folder with a HEAD as a repository, and runs what its configuration names."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "src").mkdir()
            (scene.folder / "src/HEAD").write_text("ref: refs/heads/main\n")
            (scene.folder / "link").symlink_to("src")
            path = name if name.startswith("link/") else f"src/{name}"
            session = await scene.start(scripted_replies(call_reply("write", path=path, content="x"), DONE), mode=mode)
            request = (await scene.until(PermissionRequested)).event.request  # type: ignore[union-attr]
            assert request.protected_paths == (path.replace("link", "src"),)
            await scene.engine.deny(request.id, "no")
            await scene.engine.wait_idle(session)
            assert [each.name for each in (scene.folder / "src").iterdir()] == ["HEAD"]

    run_bounded(main())


def test_an_approval_for_a_file_does_not_open_its_replacement(tmp_path: Path) -> None:
    """The path was shown as an ordinary file, but has become a link to a hook since then."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / ".git/hooks").mkdir(parents=True)
            session = await scene.start(
                scripted_replies(call_reply("write", path="docs/pre-commit", content="x"), DONE), mode="ask"
            )
            request = (await scene.until(PermissionRequested)).event.request  # type: ignore[union-attr]
            assert request.protected_paths == ()
            (scene.folder / "docs").symlink_to(".git/hooks")
            await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            (refused,) = [e for e in await scene.events(session) if isinstance(e, CallRefused)]
            assert "has changed" in refused.reason.head and not list((scene.folder / ".git/hooks").iterdir())

    run_bounded(main())


def test_a_file_changed_since_it_was_shown_is_asked_about_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one")
            write = call_reply("write", path="a.txt", content="mine")
            session = await scene.start(scripted_replies(write, write, DONE), mode="ask")
            request = (await scene.until(PermissionRequested)).event.request  # type: ignore[union-attr]
            (scene.folder / "a.txt").write_text("two: work of somebody else")
            await scene.engine.allow(request.id)
            again = (await scene.until(PermissionRequested, 2)).event.request  # type: ignore[union-attr]
            assert (scene.folder / "a.txt").read_text().startswith("two")
            await scene.engine.allow(again.id)
            await scene.engine.wait_idle(session)
            (changed,) = [e for e in await scene.events(session) if isinstance(e, FileChanged)]
            assert scene.engine.read_blob(changed.before).startswith(b"two")

    run_bounded(main())


def test_an_approved_command_opens_only_files_it_names(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / ".envrc").write_text("old")
            (scene.folder / "plant.sh").write_text("echo new > .envrc")
            session = await scene.start(
                scripted_replies(
                    call_reply("run", command="sh plant.sh"),
                    call_reply("run", command="cp plant.sh .envrc"),
                    DONE,
                ),
                mode="ask",
            )
            first = (await scene.until(PermissionRequested)).event.request  # type: ignore[union-attr]
            await scene.engine.allow(first.id)
            second = (await scene.until(PermissionRequested, 2)).event.request  # type: ignore[union-attr]
            if first.sandbox_level == "verified":
                assert (scene.folder / ".envrc").read_text() == "old"
            assert first.protected_paths == () and second.protected_paths == (".envrc",)
            await scene.engine.allow(second.id)
            await scene.engine.wait_idle(session)
            assert (scene.folder / ".envrc").read_text() == "echo new > .envrc"
            returned = [e for e in await scene.events(session) if isinstance(e, ToolReturned)]
            assert not returned[1].failed

    run_bounded(main())


def test_files_that_git_is_configured_to_run_are_asked_about(tmp_path: Path) -> None:
    """Before the first command of the run, and when they are written by their own name rather than through a link."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / ".git").mkdir()
            (scene.folder / ".git/config").write_text("[include]\n\tpath = ../shared\n")
            (scene.folder / "shared").write_text("[core]\n\thooksPath = scripts/hooks\n")
            (scene.folder / "conf").mkdir()
            (scene.folder / ".vscode").symlink_to("conf")
            names = ("scripts/hooks/pre-commit", "conf/tasks.json")
            calls = [call_reply("write", path=name, content="x") for name in (*names, "scripts/other")]
            session = await scene.start(scripted_replies(*calls, DONE), mode="auto")
            for count, name in enumerate(names, 1):
                request = (await scene.until(PermissionRequested, count)).event.request  # type: ignore[union-attr]
                assert request.protected_paths == (name,)
                await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            assert all((scene.folder / name).read_text() == "x" for name in (*names, "scripts/other"))

    run_bounded(main())


@pytest.mark.parametrize("kind", ["folder", "worktree", "submodule"])
def test_files_that_the_repository_above_is_configured_to_run_are_asked_about(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            top, git = tmp_path, tmp_path / "elsewhere" / "worktrees" / "x"
            config = (tmp_path / ".git" if kind == "folder" else git) / "config"
            config.parent.mkdir(parents=True)
            if kind != "folder":
                (top / ".git").write_text(f"gitdir: {git}")
            if kind == "worktree":
                (git / "commondir").write_text("../..")
                config = tmp_path / "elsewhere" / "config"
            name = scene.folder.relative_to(top)
            include = "/".join([*[".."] * len(config.parent.relative_to(top).parts), str(name), "included"])
            config.write_text(f"[core]\n\thooksPath = {name}/hooks\n[include]\n\tpath = {include}\n")
            names = ("hooks/pre-commit", "included")
            calls = [call_reply("write", path=each, content="x") for each in (*names, "other")]
            session = await scene.start(scripted_replies(*calls, DONE), mode="accept-edits")
            for count, each in enumerate(names, 1):
                request = (await scene.until(PermissionRequested, count)).event.request  # type: ignore[union-attr]
                assert request.protected_paths == (each,)
                await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            assert all((scene.folder / each).read_text() == "x" for each in (*names, "other"))

    run_bounded(main())


def test_a_folder_in_the_folder_of_hooks_is_protected_as_a_whole(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (tmp_path / ".git").mkdir()
            (tmp_path / ".git" / "config").write_text(f"[core]\n\thooksPath = {scene.folder.relative_to(tmp_path)}\n")
            session = await scene.start(
                scripted_replies(call_reply("write", path="pre-commit", content="x"), DONE), mode="accept-edits"
            )
            request = (await scene.until(PermissionRequested)).event.request  # type: ignore[union-attr]
            assert request.protected_paths == ("pre-commit",)
            await scene.engine.deny(request.id)
            await scene.engine.wait_idle(session)

    run_bounded(main())


def test_an_approved_command_creates_only_files_it_names(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "plant.sh").write_text("echo new > .envrc; mkdir -p a; echo new > a/.mcp.json; echo x > b")
            session = await scene.start(scripted_replies(call_reply("run", command="sh plant.sh"), DONE), mode="ask")
            request = (await scene.until(PermissionRequested)).event.request  # type: ignore[union-attr]
            await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            (done,) = [e for e in await scene.events(session) if isinstance(e, ToolReturned)]
            assert (scene.folder / "b").exists()
            if request.sandbox_level != "none":
                assert not (scene.folder / ".envrc").exists() and not (scene.folder / "a/.mcp.json").exists()
                assert "reverted" in done.output.head

    run_bounded(main())


@pytest.mark.parametrize(
    ("command", "opens"),
    [
        ("git config user.name Ada", ".git/config"), ("git remote add origin https://example.org/x", ".git/config"),
        ("pre-commit install", ".git/hooks"), ("git submodule add https://example.org/x", ".git/config"),
    ],
)  # fmt: skip
def test_commands_that_must_change_a_protected_file_ask_in_every_mode(command: str, opens: str) -> None:
    for facts in (FACTS, REDUCED):
        found = verdict(act("run", command=command), mode="auto", facts=facts)
        assert (
            isinstance(found, NeedsApproval)
            and found.request.protected_paths == (opens,)
            and not found.request.patterns
        )


@pytest.mark.parametrize("command", ["git config --get user.name", "git config -l", "git remote -v", "git config x.y"])
def test_read_only_commands_do_not_ask(command: str) -> None:
    assert isinstance(verdict(act("run", command=command), mode="auto"), Allowed)


@pytest.mark.parametrize(
    "command",
    ["cp x .git/hooks/pre-commit", "sed -i s/a/b/ ./deep/../.envrc", "tee --output=.vscode/tasks.json",
     "mv a .MCP.json", "python3 x.py /home/ada/letters/.git/config", "sort -o .envrc x", "mv .husky x"],
)  # fmt: skip
def test_a_weak_sandbox_asks_about_named_files(command: str) -> None:
    found = verdict(act("run", command=command), mode="auto", facts=REDUCED)
    assert (
        isinstance(found, NeedsApproval)
        and found.request.protected_paths
        and "cannot stop a command" in found.request.reason
    )
    high = verdict(act("run", command=command), mode="auto")
    assert isinstance(high, Allowed), "a verified sandbox protects it"


def test_a_weak_sandbox_does_not_ask_about_reading() -> None:
    for command in ("cat .github/workflows/x.yml", "git diff .gitattributes", "ls .vscode && wc -l .vscode/tasks.json"):
        assert isinstance(verdict(act("run", command=command), mode="auto", facts=REDUCED), Allowed), command


def test_an_approval_opens_no_secret() -> None:
    assert isinstance(verdict(act("read", path=".npmrc")), Denied)
    assert isinstance(verdict(act("run", command="cat .npmrc")), Denied)
