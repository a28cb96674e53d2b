"""Journeyman itself runs no program that a command could put into a folder of PATH."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.agents.known_agents import is_installed
from core.agents.process import start_process
from core.domain.problems import Problem
from core.engine.policy.folder_inspection import searches_folder
from core.engine.services.hooks import load_hooks, run_hooks
from core.mcp.connection import McpConnection
from core.mcp.server_config import ResolvedMcpServer
from core.settings.schema import ExternalAgentSettings, McpServerSettings
from core.tools.search import SearchArguments
from core.tools.search import run as search
from core.workspace import folder_listing
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.git_repository import GitRepository
from core.workspace.program_search import (
    COMMAND_PATH,
    find_program,
    find_system_program,
    leave_projects_out_of_path,
    own_path,
    restore_path,
)
from core.workspace.sandbox import choose_sandbox
from core.workspace.worktrees import create_worktree, list_worktrees
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

NAMES = ("git", "bwrap", "find", "rg", "sh", "ssh", "env", "less", "gpg", "git-upload-pack")
SERVER = Path(__file__).parents[2] / "servers" / "tools.py"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


PLACES = ["an active virtual environment", "installed packages", "programs of the project", "relative"]


@pytest.fixture(params=PLACES)
def planted(request: pytest.FixtureRequest, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put programs of the names that Journeyman runs into a folder that comes first in PATH; return their mark."""
    name = {"an active virtual environment": ".venv/bin", "installed packages": "node_modules/.bin"}.get(
        request.param, "bin"
    )
    folder = ground.folder / name
    folder.mkdir(parents=True)
    (folder.parent / "pyvenv.cfg").touch() if name == ".venv/bin" else None
    mark = ground.folder.parent / "obeyed"
    for program in NAMES:
        (folder / program).write_text(f'#!/bin/sh\necho {program} >> "{mark}"\nexec /usr/bin/{program} "$@"\n')
        (folder / program).chmod(0o755)
    monkeypatch.chdir(ground.folder)
    monkeypatch.setenv("PATH", f"{'bin' if request.param == 'relative' else folder}{os.pathsep}{os.environ['PATH']}")
    return mark


def repository(folder: Path) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*settings, "commit", "-qm", "one"]):
        subprocess.run(["/usr/bin/git", *words], cwd=folder, check=True, capture_output=True)


def test_tools_run_no_planted_program(planted: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(ground.folder)
    for number in range(folder_listing.SCAN_LIMIT):
        (ground.folder / f"{number}").touch()
    folder_listing._find.cache_clear()
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "inside" in made.use("cat real/file; echo '*' > .gitattributes").output
        found = asyncio.run(search(SearchArguments("inside"), made.context))
    folder_listing._find.cache_clear()
    assert "real/file" in found.output and not planted.exists()


def test_the_sandbox_is_no_planted_program(planted: Path, ground: Ground) -> None:
    if not Path("/usr/bin/bwrap").exists():
        pytest.skip("no bubblewrap here")
    with (
        contextlib.closing(choose_sandbox(launchers=[Bubblewrap])) as sandbox,
        open_harness(sandbox, ground.folder) as made,
    ):
        assert made.use("cat real/file").output == "inside"
    assert not planted.exists()


def test_the_sandbox_is_no_program_in_a_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the folder is not a repository, an agent may have worked there."""
    ran = tmp_path / "ran"
    for name in ("bwrap", "find", "sandbox-exec"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho x > "{ran}"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    Bubblewrap().close()
    assert [find_system_program(name) for name in ("bwrap", "find", "sandbox-exec")] == ["", "", ""]
    assert not ran.exists()


def test_git_for_the_user_is_no_planted_program(planted: Path, ground: Ground) -> None:
    repository(ground.folder)
    assert GitRepository(ground.folder).status().root == ground.folder
    tree, _ = create_worktree(ground.folder, "a", follow_settings=True)
    assert [each.folder for each in list_worktrees(ground.folder)] == [tree.folder]
    assert not planted.exists()


def plant(planted: Path, ground: Ground, name: str) -> None:
    """Put a program of this name next to the planted ones; it exists nowhere else."""
    folder = Path(os.environ["PATH"].split(os.pathsep)[0])
    program = ground.folder / folder / name
    program.write_text(f'#!/bin/sh\necho {name} >> "{planted}"\n')
    program.chmod(0o755)


def test_hooks_run_no_planted_program(planted: Path, ground: Ground) -> None:
    plant(planted, ground, "notify")
    plant(planted, ground, "guard.sh")
    data = ground.folder.parent / "data"
    data.mkdir()
    (data / "guard.sh").write_text("#!/bin/sh\necho of the user\n")
    (data / "guard.sh").chmod(0o755)
    (ground.folder / "guard.sh").write_text(f'#!/bin/sh\necho guard >> "{planted}"\n')
    (ground.folder / "guard.sh").chmod(0o755)
    commands = ("git --version; notify", "./guard.sh", 'cd "$JOURNEYMAN_FOLDER" && pwd')
    (data / "hooks.toml").write_text("".join(f"[[hook]]\non = 'run_end'\ncommand = '{each}'\n" for each in commands))
    ran = asyncio.run(run_hooks(load_hooks(data), "run_end", "", ground.folder, {}))
    assert "git version" in ran[0].output.head and ran[0].exit_code == 127
    assert ran[1].output.head == "of the user\n" and ran[2].output.head == f"{ground.folder}\n"
    assert not planted.exists()


def test_external_agents_are_no_planted_programs(planted: Path, ground: Ground) -> None:
    plant(planted, ground, "my-agent")
    (ground.folder / "json.py").write_text(f"open({str(planted)!r}, 'w')\n")

    async def output(*argv: str) -> bytes:
        program = await start_process(argv, ground.folder, ground.folder.parent)
        assert program._process.stdout
        try:
            return await program._process.stdout.read()
        finally:
            await program.kill()

    for argv in (["my-agent"], ["./bin/my-agent"]):
        with pytest.raises(Problem, match="my-agent"):
            asyncio.run(output(*argv))
    assert asyncio.run(output("env", "sh", "-c", "git --version; my-agent")).startswith(b"git version")
    assert (
        asyncio.run(output(sys.executable, "-c", "import json, os; print(os.getcwd())")) == f"{Path.home()}\n".encode()
    )
    agent = ExternalAgentSettings(name="a", command="my-agent")
    repository(ground.folder)  # what is offered belongs to no session, so this must be known to be a project
    assert not is_installed(agent) and not planted.exists()


def test_mcp_servers_are_no_planted_programs(planted: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    if (ground.folder / "bin").exists():  # no server belongs to one folder, so this must be known to be of a project
        repository(ground.folder)
    plant(planted, ground, "my-server")
    outside = ground.folder.parent / "own"
    outside.mkdir()
    (outside / "env-server").write_text(
        f"#!/bin/sh\ngit --version >&2\nexec {sys.executable} {SERVER} {outside}/mark\n"
    )
    (outside / "env-server").chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{outside}")

    async def tools(command: str) -> int:
        server = McpServerSettings(name="box", command=command)
        connection = McpConnection(ResolvedMcpServer(server, {}), ground.folder.parent / "log")
        await connection.start()
        found = len(connection.tools)
        await connection.close()
        return found

    with pytest.raises(Problem, match="did not start"):
        asyncio.run(tools("my-server"))
    assert asyncio.run(tools("env-server")) > 0
    assert not planted.exists()


def test_libraries_start_no_planted_program(planted: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt and others look in PATH themselves; a command still finds the programs of its project."""
    (ground.folder / "bin").mkdir(exist_ok=True)
    repository(ground.folder)
    plant(planted, ground, "xdg-open")
    before = os.environ["PATH"]
    monkeypatch.setenv(COMMAND_PATH, "")
    leave_projects_out_of_path()
    assert shutil.which("xdg-open") != str(ground.folder / "bin" / "xdg-open")
    assert str(ground.folder) not in os.environ["PATH"]
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert made.use("echo $PATH").output.strip() == before
    restore_path()
    assert os.environ["PATH"] == before and COMMAND_PATH not in os.environ and not planted.exists()


def test_programs_in_repositories_are_those_of_a_project_unless_they_are_installed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    installed, project, plain = home / ".nvm" / "bin", home / "code" / "project" / "bin", home / "bin"
    outside = tmp_path / "srv" / "project" / "bin"
    for folder in (installed, project, plain, outside):
        folder.mkdir(parents=True)
        (folder / folder.parent.name.strip(".")).write_text("#!/bin/sh\n")
    for repository_folder in (home, home / ".nvm", home / "code" / "project", tmp_path / "srv" / "project"):
        (repository_folder / ".git").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (installed, project, plain, outside))))
    assert own_path() == f"{installed}{os.pathsep}{plain}"


def test_programs_of_the_user_are_found_after_those_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "home" / "bin"
    mine.mkdir(parents=True)
    for name in ("git", "my-editor"):
        (mine / name).write_text("#!/bin/sh\n")
        (mine / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{mine}{os.pathsep}/usr/bin{os.pathsep}.{os.pathsep}")
    assert own_path() == f"/usr/bin{os.pathsep}{mine}"
    assert find_program("git") == "/usr/bin/git" and find_program("my-editor") == str(mine / "my-editor")
    assert find_program("my-editor", tmp_path) == "" and find_program("nothing") == ""


def test_a_folder_of_path_that_cannot_be_examined_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that only another user may enter, or one whose name is too long, which fails for root as well."""
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    closed.chmod(0)
    unusual = (closed / "bin", Path("/", "x" * 300, "bin"), tmp_path / "x\udc80" / "bin")
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, unusual), "/usr/bin", "/bin"]))
    try:
        assert find_program("sh", tmp_path / "work").endswith("/sh")
        assert find_system_program("sh").endswith("/sh")
        assert not searches_folder(tmp_path / "work")
    finally:
        closed.chmod(0o700)
