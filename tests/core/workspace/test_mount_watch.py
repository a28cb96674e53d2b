"""Another program replaces what a mount protects or hides while a command runs: the command ends, and shows nothing."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from core.workspace import mount_watch
from core.workspace.broker import FileBroker
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.folder_scan import FolderScan
from core.workspace.git_repository import GitRepository
from core.workspace.launcher import CommandLimits, CommandRequest, SandboxPermissions
from core.workspace.running_command import FinishedCommand, start_command
from tests.core.workspace.commands import OutputRecorder, await_
from tests.core.workspace.ground import Ground, create_ground

SECRET = "the secret of the user"
LIMITS = CommandLimits(time_s=60)
WRITE = "while [ ! -w {0} ]; do :; done; echo evil >> {0}; echo written; sleep 600"
FINE = "until [ -e go ]; do sleep 0.02; done; echo fine"
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")


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
    for folder in (ground.folder, ground.folder / "d"):
        git(ground.outside, "init", "-q", "-b", "master", str(folder))
        (folder / ".envrc").write_text("mine")
        (folder / ".env").write_text("A=1")
    (ground.folder / ".vscode").mkdir()
    git(ground.folder, *IDENTITY, "commit", "-q", "--allow-empty", "-m", "1")
    return ground


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def run_while(
    launcher: Bubblewrap, folder: Path, command: str, act: Callable[[], object], *, read_only: bool = False
) -> FinishedCommand:
    """Run a command, and do something as another program does once it has started."""
    found = FolderScan(folder).scan_before()
    permit = SandboxPermissions(read_only=read_only)
    request = CommandRequest(f"echo up; {command}", folder, LIMITS, permit, found.protected, found.hidden)

    async def main() -> FinishedCommand:
        printed = OutputRecorder()
        running = await start_command(launcher.prepare(request), LIMITS, printed)
        await printed.wait_for(b"up")
        act()
        finished = await running.wait_or_kill()
        assert printed.output.decode() == finished.output
        return finished

    return await_(main())


def wait_for_file(path: Path) -> None:
    for _ in range(3000):
        if path.exists():
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{path} was not created")


def put(path: Path, text: str) -> None:
    """Replace a file as editors do."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.rename(path)


def replace_folder(path: Path) -> None:
    path.rename(path.with_name("away"))
    path.mkdir()


def delete_and_create(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


REPLACED: dict[str, Callable[[Path], object]] = {
    ".envrc": lambda folder: put(folder / ".envrc", "new"),
    "d/.envrc": lambda folder: delete_and_create(folder / "d/.envrc", "new"),
    ".git/config": lambda folder: git(folder, "config", "core.fsmonitor", "mine"),
    "d/.git/config": lambda folder: git(folder / "d", "config", "core.fsmonitor", "mine"),
    ".git/hooks": lambda folder: replace_folder(folder / ".git/hooks"),
    ".vscode": lambda folder: replace_folder(folder / ".vscode"),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_command_ends_when_another_program_replaces_a_protected_file(
    name: str, launcher: Bubblewrap, ground: Ground
) -> None:
    finished = run_while(launcher, ground.folder, WRITE.format(name), lambda: REPLACED[name](ground.folder))
    assert f"another program replaced {name} " in finished.killed_because and "protected" in finished.killed_because


@pytest.mark.parametrize("name", [".env", "d/.env"])
@pytest.mark.parametrize("replace", [put, delete_and_create])
@pytest.mark.parametrize("read_only", [False, True])
def test_the_output_never_contains_a_secret_whose_cover_was_lost(
    name: str, replace: Callable[[Path, str], object], read_only: bool, launcher: Bubblewrap, ground: Ground
) -> None:
    """The command prints the secret at once, and ends by itself; a new file may be given the same inode number."""
    path, command = ground.folder / name, f"until [ -s {name} ]; do :; done; cat {name}"
    for _ in range(3):
        finished = run_while(launcher, ground.folder, command, lambda: replace(path, SECRET), read_only=read_only)
        assert finished.output == "up\n" and f"replaced {name} " in finished.killed_because
        assert "withheld" in finished.killed_because


@pytest.mark.parametrize("text", ["", "new", "new text\n" * 20_000])
def test_a_file_that_journeyman_itself_writes_stays_protected_or_hidden(
    text: str, launcher: Bubblewrap, ground: Ground
) -> None:
    """It writes on approval, and when the user reverts a change."""
    folder = ground.folder
    (folder / "d/.envrc").chmod(0o640)

    def act() -> None:
        with FileBroker(folder) as broker:
            for name in (".envrc", "d/.envrc", ".env", "d/.env"):
                broker.write(name, text.encode(), allow_protected=True)
        (folder / "go").touch()

    command = "until [ -e go ]; do sleep 0.02; done; (echo evil >> .envrc; rm -f d/.envrc; cat .env d/.env) 2>&1; true"
    finished = run_while(launcher, folder, command, act)
    assert not finished.killed_because and "new" not in finished.output and "Read-only" in finished.output
    assert [(folder / name).read_text() for name in (".envrc", "d/.envrc", ".env", "d/.env")] == [text] * 4
    assert (folder / "d/.envrc").stat().st_mode & 0o777 == 0o640


def test_a_push_of_a_branch_that_has_been_pushed_ends_no_command(launcher: Bubblewrap, ground: Ground) -> None:
    folder, remote = ground.folder, ground.outside / "remote"
    git(ground.outside, "init", "-q", "--bare", str(remote))
    git(folder, "remote", "add", "origin", str(remote))
    repository = GitRepository(folder, run_programs=True)
    repository.push(repository.status())

    def act() -> None:
        assert repository.push(repository.status()) == "origin/master"
        (folder / "go").touch()

    finished = run_while(launcher, folder, FINE, act)
    assert finished.output == "up\nfine\n" and not finished.killed_because


def test_the_first_push_of_a_branch_ends_no_command(launcher: Bubblewrap, ground: Ground) -> None:
    """Git replaces the configuration, to record which remote branch belongs to the branch."""
    folder, remote = ground.folder, ground.outside / "remote"
    git(ground.outside, "init", "-q", "--bare", str(remote))
    git(folder, "remote", "add", "origin", str(remote))

    def act() -> None:
        git(folder, "push", "-q", "-u", "origin", "master")
        git(folder, "checkout", "-q", "-b", "b")
        assert GitRepository(folder, run_programs=True).push(GitRepository(folder, run_programs=True).status())
        (folder / "go").touch()

    finished = run_while(launcher, folder, FINE, act)
    assert finished.output == "up\nfine\n" and not finished.killed_because


@pytest.mark.parametrize(
    "attack",
    [
        "echo '[core] fsmonitor = evil' >> .git/config",
        "cp .git/config n; echo '[alias] st = !evil' >> n; mv n .git/config",
    ],
)
def test_settings_that_another_program_replaced_stay_watched(attack: str, launcher: Bubblewrap, ground: Ground) -> None:
    """The mount is gone then, so the command can write them."""
    command = f"while [ ! -e go ]; do sleep 0.02; done; {attack}; sleep 600"

    def act() -> None:
        git(ground.folder, "config", "branch.master.remote", ".")
        (ground.folder / "go").touch()

    assert "replaced .git/config " in run_while(launcher, ground.folder, command, act).killed_because


def test_settings_replaced_by_a_file_with_the_former_inode_number_end_the_command(
    launcher: Bubblewrap, ground: Ground
) -> None:
    """File systems such as ext4 and XFS soon give the number of a deleted file to a new one."""
    command = (
        "n=$(stat -c %i .git/config); touch read; while [ ! -e go ]; do :; done; "
        "for i in $(seq 500); do echo '[core] fsmonitor = evil' > .git/new$i; done; "
        "same=$(find .git -maxdepth 1 -inum $n); mv ${same:-.git/new1} .git/config; sleep 600"
    )
    go = ground.folder / "ready"
    go.touch()

    def act() -> None:
        wait_for_file(ground.folder / "read")
        git(ground.folder, "config", "branch.master.remote", ".")
        go.rename(ground.folder / "go")  # a new file could get the number

    assert "replaced .git/config " in run_while(launcher, ground.folder, command, act).killed_because


def test_a_file_with_another_hard_link_is_replaced_even_if_that_ends_a_command(
    launcher: Bubblewrap, ground: Ground
) -> None:
    other = ground.outside / "other"
    other.hardlink_to(ground.folder / ".envrc")

    def act() -> None:
        with FileBroker(ground.folder) as broker:
            broker.write(".envrc", b"new", allow_protected=True)

    finished = run_while(launcher, ground.folder, "sleep 600", act)
    assert "replaced .envrc " in finished.killed_because
    assert other.read_text() == "mine" and (ground.folder / ".envrc").read_text() == "new"


def test_a_file_that_is_created_again_is_another_one_even_if_the_kernel_drops_the_event(ground: Ground) -> None:
    """Events are dropped if too many wait to be read; then all paths are compared once more."""
    path = ground.folder / ".envrc"
    path.unlink()
    path.write_text("mine")
    watch = mount_watch.MountWatch(
        [mount_watch.WatchedMount(str(path), ".envrc", mount_watch.identity_of(path.lstat()))]
    )
    path.unlink()
    path.write_text("new")  # ext4 and XFS give it the number of the deleted file
    watch.check()
    watch.stop()
    assert "replaced .envrc " in watch.reason


def test_without_a_watch_of_the_kernel_the_paths_are_compared_again_and_again(
    launcher: Bubblewrap, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("too many watches")

    monkeypatch.setattr(mount_watch, "Inotify", refuse)
    for name in ("d/.envrc", ".git/hooks", ".vscode"):  # whose inodes the file system may use again at once
        finished = run_while(launcher, ground.folder, "sleep 600", partial(REPLACED[name], ground.folder))
        assert f"replaced {name} " in finished.killed_because
    for name, command in ((".env", "until [ -s .env ]; do :; done; cat .env"), (".envrc", "sleep 600")):
        finished = run_while(launcher, ground.folder, command, partial(put, ground.folder / name, SECRET))
        assert finished.output == "up\n" and f"replaced {name} " in finished.killed_because


def test_a_settings_file_that_only_reserves_a_name_can_be_replaced_too(launcher: Bubblewrap, ground: Ground) -> None:
    """bubblewrap creates an empty `config.worktree` if git would read one; that does not count."""
    folder = ground.folder
    git(folder, "config", "extensions.worktreeConfig", "true")
    assert run_while(launcher, folder, FINE, (folder / "go").touch).output == "up\nfine\n"
    (folder / "go").unlink()
    (folder / ".git/config.worktree").unlink(missing_ok=True)
    command = WRITE.format(".git/config.worktree")
    finished = run_while(launcher, folder, command, lambda: git(folder, "config", "--worktree", "a.b", "c"))
    assert "replaced .git/config.worktree " in finished.killed_because


def test_a_command_may_move_the_folders_of_protected_and_hidden_files(launcher: Bubblewrap, ground: Ground) -> None:
    command = f"mkdir new; mv d new/e; mkdir d; echo A=2 > d/.env; cat new/e/.env d/.env; {FINE}"
    finished = run_while(launcher, ground.folder, command, (ground.folder / "go").touch)
    assert finished.output.endswith("A=2\nfine\n") and not finished.killed_because


def test_everyday_work_of_the_user_ends_no_command(launcher: Bubblewrap, ground: Ground, tmp_path: Path) -> None:
    main, tree = ground.folder, tmp_path / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    git(main, "repack", "-adq")

    rounds: list[Path] = []

    def work() -> None:
        (main / "README").write_text(str(len(rounds)))
        git(main, "add", "README")
        git(main, *IDENTITY, "commit", "-q", "-m", "2")
        git(main, "checkout", "-q", "-b", "other")
        git(main, "repack", "-adq")
        git(main, "gc", "-q")
        (main / ".env").write_text("A=3")  # in place
        (main / "d/.envrc").unlink()
        (main / "go").touch()
        (tree / "go").touch()

    for folder in (main, tree):
        rounds.append(folder)
        finished = run_while(launcher, folder, FINE, work)
        assert finished.output == "up\nfine\n" and not finished.killed_because
        (main / "d/.envrc").touch()
        git(main, "checkout", "-q", "master")
        git(main, "branch", "-q", "-D", "other")
        (folder / "go").unlink()
