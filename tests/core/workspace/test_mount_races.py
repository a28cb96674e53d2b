"""While bubblewrap starts, another command replaces what it mounts by a link: nothing outside becomes visible."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace import bubblewrap
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.folder_scan import FolderScan
from core.workspace.launcher import CommandLimits, CommandRequest, ProcessLaunch
from core.workspace.running_command import FinishedCommand, start_command
from tests.core.workspace.commands import OutputRecorder
from tests.core.workspace.ground import Ground, create_ground

SECRET = "the secret outside"
LIMITS = CommandLimits(time_s=20)


@pytest.fixture
def launcher() -> Iterator[Bubblewrap]:
    made = Bubblewrap()
    if not made.available:
        pytest.skip("no bubblewrap here")
    yield made
    made.close()


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = create_ground(tmp_path)
    (ground.outside / "secret").write_text(SECRET)
    for name in ("config", ".envrc", "commondir", "pack"):
        (ground.outside / name).write_text(SECRET)
    return ground


def run(launch: ProcessLaunch) -> FinishedCommand:
    async def main() -> FinishedCommand:
        return await (await start_command(launch, LIMITS)).wait_or_kill()

    return asyncio.run(main())


def look(folder: Path) -> str:
    return f"cat '{folder}'/* '{folder}'/.* '{folder}' 2>&1; echo mine > '{folder}/mine'; echo >> '{folder}'; true"


def replace_by_link(path: Path, target: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(target)


def create_repository(path: Path) -> None:
    top = path.parent if path.name == ".git" else path.parents[1]
    subprocess.run(["git", "init", "-q", str(top)], check=True)


PLACES: dict[str, Callable[[Path], None]] = {
    "d/.git": create_repository,
    "d/.git/config": create_repository,
    "d/.envrc": Path.touch,
    ".vscode": Path.mkdir,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("swapped", ["itself", "its folder"])
@pytest.mark.parametrize("back", [False, True])
def test_a_protected_place_is_swapped(
    place: str, swapped: str, back: bool, launcher: Bubblewrap, ground: Ground
) -> None:
    path = ground.folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    PLACES[place](path)
    name = "d/.git" if "/.git" in place else place
    victim = path if swapped == "itself" or path.parent == ground.folder else path.parent
    target = ground.outside if victim.is_dir() else ground.outside / "secret"
    request = CommandRequest(look(victim), ground.folder, LIMITS, protected=(name,))
    launch = launcher.prepare(request)
    replace_by_link(victim, target)
    if back:  # as for the next command, which is prepared while the link is there
        with_link = None
        try:
            with_link = launcher.prepare(request)
        except Problem as problem:
            assert "link" in str(problem)
        victim.unlink()
        victim.with_name("moved").rename(victim)
        if with_link:
            assert SECRET not in run(with_link).output
    assert SECRET not in run(launch).output and not (ground.outside / "mine").exists()
    assert (ground.outside / "secret").read_text() == SECRET


def test_the_folder_of_a_session_is_swapped_by_a_session_above_it(launcher: Bubblewrap, ground: Ground) -> None:
    folder = ground.folder / "inner"
    folder.mkdir()
    launch = launcher.prepare(CommandRequest(look(folder), folder, LIMITS))
    replace_by_link(folder, ground.outside)
    assert SECRET not in run(launch).output and not (ground.outside / "mine").exists()


def test_the_repository_of_a_worktree_is_swapped(launcher: Bubblewrap, ground: Ground, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(ground.folder)], check=True)
    settings = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *settings, "-C", str(ground.folder), "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    tree = tmp_path / "tree"
    subprocess.run(["git", "-C", str(ground.folder), "worktree", "add", "-q", str(tree)], check=True)
    git = ground.folder / ".git"
    launch = launcher.prepare(CommandRequest(look(git), tree, LIMITS))
    replace_by_link(git, ground.outside)
    assert SECRET not in run(launch).output and not (ground.outside / "mine").exists()


def test_what_a_program_removes_meanwhile_is_no_error(launcher: Bubblewrap, ground: Ground) -> None:
    (ground.folder / ".vscode").mkdir()
    removed: list[str] = []
    original = bubblewrap._open_beneath

    def open_beneath(root: Path, relative_path: Path) -> int:
        if relative_path.name == ".vscode" and not removed:
            removed.append(relative_path.name)
            (root / relative_path).rmdir()
        return original(root, relative_path)

    launcher._weaken = None
    bubblewrap._open_beneath = open_beneath
    try:
        launch = launcher.prepare(CommandRequest("echo fine", ground.folder, LIMITS, protected=(".vscode",)))
    finally:
        bubblewrap._open_beneath = original
    assert removed and run(launch).output == "fine\n"


def test_bubblewrap_that_cannot_bind_open_files_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.6.0\n")
    old.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find_system_program", lambda *_: str(old))
    made = Bubblewrap()
    assert not made.available
    made.close()


@pytest.mark.parametrize("decoy", ["with such a file", "without"])
@pytest.mark.parametrize("back", ["never", "after the start"])
@pytest.mark.parametrize("when", ["before the mounts", "before all"])
def test_the_folder_of_a_secret_is_swapped(
    decoy: str, back: str, when: str, launcher: Bubblewrap, ground: Ground
) -> None:
    conf, other, moved = (ground.folder / name for name in ("conf", "other", "moved"))
    conf.mkdir()
    other.mkdir()
    (conf / ".env").write_text(SECRET)
    hidden = ["conf/.env"]
    if decoy == "with such a file":
        (other / ".env").write_text("decoy")
        hidden.append("other/.env")

    def swap() -> None:
        conf.rename(moved)
        other.rename(conf)
        moved.rename(other)

    command = "echo started; while [ ! -e go ]; do sleep 0.05; done; cat conf/.env other/.env 2>/dev/null; true"
    request = CommandRequest(command, ground.folder, LIMITS, hidden=tuple(hidden))

    async def main() -> str:
        if when == "before all":
            swap()
        try:
            launch = launcher.prepare(request)
        except Problem as problem:
            return str(problem)
        swap()
        printed = OutputRecorder()
        running = await start_command(launch, LIMITS, printed)
        started, ended = asyncio.ensure_future(printed.wait_for(b"\n")), asyncio.ensure_future(running.wait())
        await asyncio.wait({started, ended}, return_when=asyncio.FIRST_COMPLETED)  # it may be ended before it starts
        started.cancel()
        if back == "after the start":
            swap()
        (ground.folder / "go").touch()
        return (await running.wait_or_kill()).output

    output = asyncio.run(main())
    assert SECRET not in output and "decoy" not in output, output


def test_secrets_in_subfolders_are_hidden_and_the_command_runs(launcher: Bubblewrap, ground: Ground) -> None:
    names = ("a b/.env", "a b/.npmrc", "d'q/e/id_rsa", "$x/.env")
    for name in names:
        (ground.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (ground.folder / name).write_text(SECRET)
    command = "pwd; find . -type f -exec cat {} + 2>/dev/null; echo fine"
    finished = run(launcher.prepare(CommandRequest(command, ground.folder, LIMITS, hidden=names)))
    assert SECRET not in finished.output and finished.output.startswith(f"{ground.folder}\n"), finished.output
    assert finished.output.endswith("fine\n") and finished.exit_code == 0


def test_a_secret_that_a_background_command_moves_away_stops_the_next_command(ground: Ground) -> None:
    (ground.folder / "conf").mkdir()
    (ground.folder / "conf" / ".env").write_text(SECRET)
    scan = FolderScan(ground.folder)
    assert scan.scan_before().hidden == ("conf/.env",)
    (ground.folder / "conf" / ".env").rename(ground.outside / "away")
    for _ in range(2):
        with pytest.raises(Problem, match="could see secrets"):
            scan.scan_before(commands_run=True)
    (ground.outside / "away").rename(ground.folder / "conf" / ".env")
    assert scan.scan_before(commands_run=True).hidden == ("conf/.env",)
    (ground.folder / "conf" / ".env").unlink()
    assert scan.scan_before().hidden == ()
