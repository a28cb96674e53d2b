"""The sandbox on Linux by bubblewrap: a file system view made for each command, and a filter of system calls."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.domain.sensitive_paths import LARGE_IN_GIT, READ_ONLY_IN_GIT, is_hidden_from_commands
from core.domain.trusted_files import READ_ONLY_NAMES
from core.workspace import readable_system, seccomp_filter
from core.workspace.broker import READ_LIMIT
from core.workspace.git_branch import read_small_text
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.scratch_folder import ScratchFolder
from core.workspace.unsandboxed import WATCHDOG

RELAY = Path(__file__).with_name("relay.py")
PORT = 3128
ISOLATION_OPTIONS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
OWN_IN_GIT = frozenset({"hooks", "info", "branches"})
MAX_MOUNTS = 200  # protected or hidden places in one folder; each is a mount
# What root may write in /proc as its owner, without any capability; other users cannot write it anyway.
KERNEL = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"))


class Bubblewrap:
    """Builds the bubblewrap command line for each command. Tests pass `weaken` to show that the self-test notices."""

    name = "bubblewrap"
    level: SandboxLevel = "verified"

    def __init__(
        self, readable: Sequence[Path] | None = None, weaken: Callable[[list[str]], list[str]] | None = None
    ) -> None:
        self._program = shutil.which("bwrap") or ""
        self._machine = os.uname().machine
        self._readable = tuple(readable_system.interpreter_folders() if readable is None else readable)
        self._weaken = weaken
        self._walls = [*ISOLATION_OPTIONS, *(["--disable-userns"] if _version(self._program) >= (0, 8) else [])]
        self._filter = (
            seccomp_filter.bubblewrap_filter(self._machine) if self._machine in seccomp_filter.MACHINES else b""
        )
        self._scratch = ScratchFolder()
        self._nothing = self._scratch.path / "nothing"
        self._nothing.touch(mode=0o000)
        self._empty = self._scratch.path / "empty"
        self._empty.touch()
        self._home = readable_system.home_folder()
        # Copies: each mount costs a third of a millisecond, and these would be thirty mounts for every command.
        self._etc = self._scratch.path / "etc"
        self._fixed: dict[int, list[str]] = {}

    def close(self) -> None:
        self._scratch.close()

    @property
    def available(self) -> bool:
        """Whether bubblewrap is installed and there is a filter for this machine."""
        return bool(self._program and self._filter)

    @property
    def profile(self) -> str:
        here = CommandRequest("true", Path("/nowhere"))
        fixed = [word for word in self._system(here) if str(self._scratch.path) not in word]
        words = [*self._walls, *fixed, *readable_system.ETC_NAMES, *map(str, self._readable), self._filter.hex()]
        return "\n".join([*map(str, _version(self._program)), *(self._weaken(words) if self._weaken else words)])

    def prepare(self, asked: CommandRequest) -> ProcessLaunch:
        folder = Path(os.path.realpath(asked.folder))
        if self._home and self._home.resolve().is_relative_to(folder):
            what = f"No command can run in {folder}."
            raise Problem(
                what, "It contains your home folder, which the command could read.", "Work in one of its subfolders."
            )
        command, more = with_limits(asked, WATCHDOG), clean_environment()
        words = [*self._walls, *self._view(asked), *self._folder(asked, folder)]
        if asked.permit.proxy:
            words += ["--ro-bind", str(asked.permit.proxy.parent), "/run/journeyman", *_read_only([RELAY])]
            command = (
                readable_system.interpreter(),
                "-IS",
                str(RELAY),
                f"/run/journeyman/{asked.permit.proxy.name}",
                str(PORT),
                *command,
            )
            more |= proxy_environment(PORT)
        words += ["--remount-ro", "/", "--chdir", str(folder)]  # the root is a tmpfs without a size limit
        if self._weaken:
            words = self._weaken(words)
        reading, writing = os.pipe()
        os.write(writing, self._filter)
        os.close(writing)
        info, info_end = os.pipe()
        words = [self._program, *words, "--seccomp", str(reading), "--info-fd", str(info_end), "--", *command]
        home = {"HOME": str(self._home or "/tmp"), "TMPDIR": "/tmp"}
        return ProcessLaunch(
            tuple(words), more | home, Path("/"), "namespace", (reading, info_end), stdin_is_watchdog=True, info_fd=info
        )

    def _view(self, asked: CommandRequest) -> list[str]:
        """Return the options for the system and the home folder, which are the same for every command."""
        if asked.limits.scratch not in self._fixed:
            self._fixed[asked.limits.scratch] = [*self._system(asked), *self._settings, *self._of_home(asked)]
        return self._fixed[asked.limits.scratch]

    @functools.cached_property
    def _settings(self) -> list[str]:
        """The mounts for large folders of /etc, which are not copied."""
        return [*_read_only(readable_system.copy_etc(self._etc))]

    def _system(self, asked: CommandRequest) -> Iterator[str]:
        yield from _read_only(map(Path, readable_system.SYSTEM_FOLDERS))
        for place in map(Path, readable_system.MERGED_FOLDERS):
            if place.is_symlink():
                yield from ("--symlink", os.readlink(place), str(place))  # noqa: PTH115 - the target must stay as it is written
            elif place.is_dir():
                yield from ("--ro-bind", str(place), str(place))
        yield from ("--ro-bind", str(self._etc), "/etc")
        size = ("--size", str(asked.limits.scratch), "--tmpfs")
        yield from ("--proc", "/proc", *_read_only(map(Path, KERNEL if os.getuid() == 0 else ())))
        yield from ("--dev", "/dev", *size, "/dev/shm", "--remount-ro", "/dev")
        yield from (*size, "/tmp", "--symlink", "/tmp", "/var/tmp", "--dir", "/run")
        yield from _read_only(place for place in self._readable if not self._is_in_home(place))

    def _is_in_home(self, place: Path) -> bool:
        return self._home is not None and place.is_relative_to(self._home)

    def _of_home(self, asked: CommandRequest) -> Iterator[str]:
        if self._home is None:
            return
        yield from ("--size", str(asked.limits.scratch), "--tmpfs", str(self._home))
        yield from _read_only(self._home / name for name in readable_system.HOME_PATHS)
        settings = self._scratch.path / "gitconfig"
        if not settings.exists():
            settings.write_text(readable_system.public_git_config(self._home), encoding="utf-8")
        yield from ("--ro-bind", str(settings), str(self._home / ".gitconfig"))
        bound = tuple(self._home / name for name in readable_system.HOME_PATHS)  # each mount takes time
        further = (place for place in self._readable if not any(map(place.is_relative_to, bound)))
        yield from _read_only(place for place in further if self._is_in_home(place))

    def _folder(self, asked: CommandRequest, folder: Path) -> Iterator[str]:
        """Return the options for the workspace: protected places are read-only, files with secrets are hidden."""
        yield from ("--bind", str(folder), str(folder))
        if pair := readable_system.worktree_git_folders(folder):
            yield from self._git(pair[1])
            for name in ("commondir", "config.worktree"):
                yield from _read_only(sorted(pair[1].glob(f"worktrees/*/{name}")))
            yield from self._no_more(pair[1] / "config", pair[0] / "config.worktree")
        allowed = set(asked.permit.protected_paths)
        found = [name for name in (*READ_ONLY_NAMES, *asked.protected) if os.path.lexists(folder / name)]
        for name in list(dict.fromkeys(found))[:MAX_MOUNTS]:
            place = folder / name
            if Path(name).name == ".git" and place.is_symlink():
                what, do = f"{name} is a link.", "Open the folder it leads to instead."
                raise Problem(what, "A command could not be kept from changing its target.", do)
            if Path(name).name == ".git" and place.is_dir():
                yield from self._git(place, {folder / each for each in allowed})
            elif name != ".git" and Path(name).name == ".git" and readable_system.worktree_git_folders(place.parent):
                continue  # commands may remove a worktree in the folder; a changed `.git` file is reverted
            elif not any(each == name or each.startswith(f"{name}/") for each in allowed):
                yield from _read_only(_inside(place, folder))
        if not asked.permit.secrets:
            yield from self._hidden(asked, folder)

    def _hidden(self, asked: CommandRequest, folder: Path) -> Iterator[str]:
        """Cover each file with secrets and each socket by an empty file, also where a link leads to it."""
        found = (*(name for name in (".env", ".npmrc", ".netrc") if is_hidden_from_commands(name)), *asked.hidden)
        inside = (place for name in found for place in _inside(folder / name, folder))
        places = {place: None for place in inside if place.is_file() or place.is_socket()}
        if len(places) > MAX_MOUNTS:
            what, do = f"No command can run in {folder}.", "Move them away, or work in one of its subfolders."
            raise Problem(what, f"It contains more than {MAX_MOUNTS} files with secrets, too many to hide.", do)
        for place in places:
            yield from ("--ro-bind", str(self._nothing), str(place))

    def _git(self, place: Path, allowed: Collection[Path] = ()) -> Iterator[str]:
        """Open a git folder except for its hooks and settings. As a mount it cannot be moved away and replaced."""
        for git in git_folders(place):
            yield from ("--bind", str(git), str(git))
            kept = [git.joinpath(*inner) for inner in READ_ONLY_IN_GIT]
            if not kept[0].exists() and kept[0] not in allowed and (git / "HEAD").exists():
                yield from ("--tmpfs", str(kept[0]), "--remount-ro", str(kept[0]))  # so that it cannot be created
            yield from _read_only(each for each in kept if each not in allowed)
            if kept[2] not in allowed:
                yield from self._no_more(kept[1], kept[2])

    def _no_more(self, config: Path, worktree: Path) -> Iterator[str]:
        """Prevent the creation of `config.worktree` if the configuration makes git read it."""
        with contextlib.suppress(OSError):
            large = config.stat().st_size > READ_LIMIT
            if not worktree.exists() and (large or "worktreeconfig" in read_small_text(config, READ_LIMIT).lower()):
                yield from ("--ro-bind", str(self._empty), str(worktree))


def git_folders(place: Path) -> list[Path]:
    """Return a git folder, the git folders of its submodules at any depth, and the folders between."""
    found, waiting = [place], [place / "modules"]
    while waiting and len(found) < MAX_MOUNTS:
        here = waiting.pop()
        if here.is_symlink() or not here.is_dir():
            continue
        found.append(here)
        own = OWN_IN_GIT if (here / "HEAD").exists() else frozenset()
        waiting += sorted(each for each in here.iterdir() if each.name not in LARGE_IN_GIT | own)
    return found


def _inside(place: Path, folder: Path) -> list[Path]:
    """Return the target of a path in the folder, unless it is outside."""
    if not place.is_symlink():
        return [place]
    real = Path(os.path.realpath(place))
    return [real] if real.is_relative_to(folder) and real != folder else []


def proxy_environment(port: int) -> dict[str, str]:
    """Return the environment variables by which programs find the proxy."""
    way = f"http://127.0.0.1:{port}"
    here = {"no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"}
    return here | dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), way)


def _read_only(places: Iterable[Path]) -> Iterator[str]:
    for place in places:
        if place.exists():
            yield from ("--ro-bind", str(place), str(place))


@functools.cache
def _version(program: str) -> tuple[int, ...]:
    if not program:
        return ()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=5, check=False)
        return tuple(map(int, re.findall(r"\d+", answer.stdout)[:3]))
    return ()
