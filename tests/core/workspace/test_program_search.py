"""Journeyman itself runs no program that a command could put into a folder of PATH."""

import asyncio
import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from core.tools.search import SearchArguments
from core.tools.search import run as search
from core.workspace import folder_listing
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.git_repository import GitRepository
from core.workspace.program_search import find_program, own_path
from core.workspace.sandbox import choose_sandbox
from core.workspace.worktrees import create_worktree, list_worktrees
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

NAMES = ("git", "bwrap", "find", "rg", "sh", "ssh", "env", "less", "gpg", "git-upload-pack")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


@pytest.fixture(params=["an active virtual environment", "installed packages", "programs of the project", "relative"])
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


def test_git_for_the_user_is_no_planted_program(planted: Path, ground: Ground) -> None:
    repository(ground.folder)
    assert GitRepository(ground.folder).status().root == ground.folder
    tree, _ = create_worktree(ground.folder, "a", follow_settings=True)
    assert [each.folder for each in list_worktrees(ground.folder)] == [tree.folder]
    assert not planted.exists()


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
