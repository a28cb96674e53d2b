"""Everyday commands work in the sandbox as they do outside."""

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from core.workspace import installation
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.folder_scan import FolderScan
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandLimits, CommandRequest
from core.workspace.sandbox import Sandbox, SandboxLauncher
from tests.core.workspace.commands import await_, open_sandbox

HERE = Path(__file__).parent
TOOLS = Path(sys.executable).parent


class Line(NamedTuple):
    """A line of everyday.txt: a command, the commands that prepare its folder, and the programs it needs."""

    command: str
    setup: str
    needs: tuple[str, ...]


def lines() -> list[Line]:
    """Read the list; a bar inside a command is escaped with a backslash."""
    found = []
    for text in (HERE / "everyday.txt").read_text(encoding="utf-8").splitlines():
        if text and not text.startswith("#"):
            command, setup, needs = (part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\)\|", text))
            found.append(Line(command, setup, tuple(needs.split())))
    return found


def program(name: str) -> str | None:
    """Return the path of a program; an upper-case name is looked up next to the running Python."""
    return shutil.which(name) if name.islower() or name.isdigit() else shutil.which(name.lower(), path=TOOLS)


NO_SOCKETS = "socket.create_server"
NO_SHARED_MEMORY = "multiprocessing"
IMPOSSIBLE = {"bubblewrap": (), "landlock": (NO_SOCKETS, NO_SHARED_MEMORY)}  # without namespaces, as on Ubuntu


@pytest.fixture(scope="module", params=IMPOSSIBLE)
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox with a user name in the git configuration, as most home folders have one."""
    home = tmp_path_factory.mktemp("person")
    with pytest.MonkeyPatch.context() as patch:
        if subprocess.run(["git", "config", "--global", "user.name"], capture_output=True, check=False).returncode:
            (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
            patch.setenv("HOME", str(home))
        readable = (*installation.interpreter_folders(), Path(sys.prefix))
        launcher: SandboxLauncher
        with open_sandbox(request.param):
            if request.param == "bubblewrap":
                launcher = Bubblewrap(readable)
            else:
                launcher = Landlock(readable, without_namespaces=True)
        with contextlib.closing(Sandbox(launcher, None)) as made:
            yield made


def test_the_list_is_long_enough() -> None:
    assert len(lines()) >= 60 and len({line.command for line in lines()}) == len(lines())


@pytest.mark.parametrize("line", lines(), ids=[f"{number}" for number in range(len(lines()))])
def test_an_everyday_command(line: Line, sandbox: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The command succeeds in the sandbox if it succeeds outside; the test is skipped if it fails outside too."""
    command = line.command
    if any(words in command for words in IMPOSSIBLE[request.node.callspec.params["sandbox"]]):
        pytest.skip("this sandbox cannot separate it from other programs, so it does not allow it")
    for name in line.needs:
        place = program(name)
        if place is None:
            pytest.skip(f"no {name} here")
        if name.isupper():
            command = command.replace(name, place)
    folder = tmp_path / "folder"
    folder.mkdir()
    subprocess.run(["/bin/sh", "-c", line.setup], cwd=folder, check=True, capture_output=True)
    guarded = FolderScan(folder).scan_before()
    asked = CommandRequest(
        command, folder, CommandLimits(time_s=300), protected=guarded.protected, hidden=guarded.hidden
    )
    done = await_(sandbox.run(asked))
    if done.exit_code != 0:
        again = tmp_path / "again"
        again.mkdir()
        subprocess.run(["/bin/sh", "-c", line.setup], cwd=again, check=True, capture_output=True)
        outside = subprocess.run(["/bin/sh", "-c", command], cwd=again, capture_output=True, text=True, check=False)
        assert outside.returncode != 0, f"{command}\n{done.output}"
        pytest.skip(f"it also fails without a sandbox: {outside.stderr[-100:]}")
