"""Confine commands on Linux by bubblewrap: a view of the machine made for one command, and a filter of system calls."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from core.domain.consent import Level
from core.domain.problems import Problem
from core.domain.sensitive import LARGE_IN_GIT, WALLED_IN_GIT, WALLED_NAMES, is_hidden
from core.workspace import seccomp, toolchains
from core.workspace.branch import small_text
from core.workspace.broker import READ_LIMIT
from core.workspace.launch import Asked, Launch, clean_environment, limited
from core.workspace.plain import GUARD
from core.workspace.scratch import Scratch

RELAY = Path(__file__).with_name("relay.py")
PORT = 3128
WALLS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
OWN_IN_GIT = frozenset({"hooks", "info", "branches"})
MANY = 200  # places with walls of their own in one folder; each is a mount
# What root may write in /proc by owning it, without any power; to others it is closed anyway.
KERNEL = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"))


class Bubblewrap:
    """Makes the words for one command after the other. `weaken` is for the proof that a weak profile is noticed."""

    name = "bubblewrap"
    level: Level = "verified"

    def __init__(
        self, readable: Sequence[Path] | None = None, weaken: Callable[[list[str]], list[str]] | None = None
    ) -> None:
        self._program = shutil.which("bwrap") or ""
        self._machine = os.uname().machine
        self._readable = tuple(toolchains.python_parts() if readable is None else readable)
        self._weaken = weaken
        self._walls = [*WALLS, *(["--disable-userns"] if _version(self._program) >= (0, 8) else [])]
        self._filter = seccomp.program(self._machine) if self._machine in seccomp.MACHINES else b""
        self._scratch = Scratch()
        self._nothing = self._scratch.path / "nothing"
        self._nothing.touch(mode=0o000)
        self._empty = self._scratch.path / "empty"
        self._empty.touch()
        self._home = toolchains.home()
        # Copies: each mount costs a third of a millisecond, and these would be thirty for every command.
        self._etc = self._scratch.path / "etc"
        self._fixed: dict[int, list[str]] = {}

    def close(self) -> None:
        self._scratch.close()

    @property
    def possible(self) -> bool:
        """Whether there is a bubblewrap, and a filter for this machine."""
        return bool(self._program and self._filter)

    @property
    def profile(self) -> str:
        here = Asked("true", Path("/nowhere"))
        fixed = [word for word in self._system(here) if str(self._scratch.path) not in word]
        words = [*self._walls, *fixed, *toolchains.ETC, *map(str, self._readable), self._filter.hex()]
        return "\n".join([*map(str, _version(self._program)), *(self._weaken(words) if self._weaken else words)])

    def prepare(self, asked: Asked) -> Launch:
        folder = Path(os.path.realpath(asked.folder))
        if self._home and self._home.resolve().is_relative_to(folder):
            what = f"No command can run in {folder}."
            raise Problem(
                what, "All of your home lies in it, and would be open to the command.", "Work in a folder of it."
            )
        command, more = limited(asked, GUARD), clean_environment()
        words = [*self._walls, *self._view(asked), *self._folder(asked, folder)]
        if asked.permit.proxy:
            words += ["--ro-bind", str(asked.permit.proxy.parent), "/run/journeyman", *_read_only([RELAY])]
            command = (
                toolchains.python(),
                "-IS",
                str(RELAY),
                f"/run/journeyman/{asked.permit.proxy.name}",
                str(PORT),
                *command,
            )
            more |= proxies(PORT)
        words += ["--remount-ro", "/", "--chdir", str(folder)]  # it is made of memory, and has no size
        if self._weaken:
            words = self._weaken(words)
        reading, writing = os.pipe()
        os.write(writing, self._filter)
        os.close(writing)
        told, telling = os.pipe()
        words = [self._program, *words, "--seccomp", str(reading), "--info-fd", str(telling), "--", *command]
        home = {"HOME": str(self._home or "/tmp"), "TMPDIR": "/tmp"}
        return Launch(tuple(words), more | home, Path("/"), "namespace", (reading, telling), guarded=True, told=told)

    def _view(self, asked: Asked) -> list[str]:
        """Of the machine and the home; the same for every command."""
        if asked.limits.scratch not in self._fixed:
            self._fixed[asked.limits.scratch] = [*self._system(asked), *self._settings, *self._of_home(asked)]
        return self._fixed[asked.limits.scratch]

    @functools.cached_property
    def _settings(self) -> list[str]:
        """What of them is no copy."""
        return [*_read_only(toolchains.lay_settings(self._etc))]

    def _system(self, asked: Asked) -> Iterator[str]:
        yield from _read_only(map(Path, toolchains.SYSTEM))
        for place in map(Path, toolchains.MERGED):
            if place.is_symlink():
                yield from ("--symlink", os.readlink(place), str(place))  # noqa: PTH115 - the spelling is kept
            elif place.is_dir():
                yield from ("--ro-bind", str(place), str(place))
        yield from ("--ro-bind", str(self._etc), "/etc")
        size = ("--size", str(asked.limits.scratch), "--tmpfs")
        yield from ("--proc", "/proc", *_read_only(map(Path, KERNEL if os.getuid() == 0 else ())))
        yield from ("--dev", "/dev", *size, "/dev/shm", "--remount-ro", "/dev")
        yield from (*size, "/tmp", "--symlink", "/tmp", "/var/tmp", "--dir", "/run")
        yield from _read_only(self._readable)

    def _of_home(self, asked: Asked) -> Iterator[str]:
        if self._home is None:
            return
        yield from ("--size", str(asked.limits.scratch), "--tmpfs", str(self._home))
        yield from _read_only(self._home / name for name in toolchains.HOME)
        settings = self._scratch.path / "gitconfig"
        if not settings.exists():
            settings.write_text(toolchains.git_settings(self._home), encoding="utf-8")
        yield from ("--ro-bind", str(settings), str(self._home / ".gitconfig"))
        yield from _read_only(self._readable)  # they may lie in the home that was just covered

    def _folder(self, asked: Asked, folder: Path) -> Iterator[str]:
        """The workspace, what is protected in it read-only, what is secret not at all."""
        yield from ("--bind", str(folder), str(folder))
        if pair := toolchains.git_folder_of(folder):
            yield from self._git(pair[1])
            for name in ("commondir", "config.worktree"):
                yield from _read_only(sorted(pair[1].glob(f"worktrees/*/{name}")))
            yield from self._no_more(pair[1] / "config", pair[0] / "config.worktree")
        allowed = set(asked.permit.protected)
        found = [name for name in (*WALLED_NAMES, *asked.protected) if os.path.lexists(folder / name)]
        for name in list(dict.fromkeys(found))[:MANY]:
            place = folder / name
            if Path(name).name == ".git" and place.is_symlink():
                what, do = f"{name} is a link.", "Open the folder it leads to instead."
                raise Problem(what, "A command could not be kept from turning it round.", do)
            if Path(name).name == ".git" and place.is_dir():
                yield from self._git(place, {folder / each for each in allowed})
            elif name != ".git" and Path(name).name == ".git" and toolchains.git_folder_of(place.parent):
                continue  # a worktree in the folder can be removed; turned round, it is put back
            elif not any(each == name or each.startswith(f"{name}/") for each in allowed):
                yield from _read_only(_inside(place, folder))
        if not asked.permit.secrets:
            yield from self._hidden(asked, folder)

    def _hidden(self, asked: Asked, folder: Path) -> Iterator[str]:
        """Nothing in the place of each file that holds keys, also where a link leads to it."""
        found = [name for name in (".env", ".npmrc", ".netrc", *asked.hidden) if is_hidden(name)]
        places = {place: None for name in found for place in _inside(folder / name, folder) if place.is_file()}
        if len(places) > MANY:
            what, do = f"No command can run in {folder}.", "Move them away, or work in a folder of it."
            raise Problem(what, f"More than {MANY} files in it hold keys, and would be open to the command.", do)
        for place in places:
            yield from ("--ro-bind", str(self._nothing), str(place))

    def _git(self, place: Path, allowed: Collection[Path] = ()) -> Iterator[str]:
        """A git folder that can be worked in. It is a mount itself, or else it could be moved away and made anew."""
        for git in git_folders(place):
            yield from ("--bind", str(git), str(git))
            kept = [git.joinpath(*inner) for inner in WALLED_IN_GIT]
            if not kept[0].exists() and kept[0] not in allowed and (git / "HEAD").exists():
                yield from ("--tmpfs", str(kept[0]), "--remount-ro", str(kept[0]))  # nor can it be made anew
            yield from _read_only(each for each in kept if each not in allowed)
            if kept[2] not in allowed:
                yield from self._no_more(kept[1], kept[2])

    def _no_more(self, config: Path, worktree: Path) -> Iterator[str]:
        """Where git also obeys settings of one worktree, and there are none: nor can they be made."""
        with contextlib.suppress(OSError):
            large = config.stat().st_size > READ_LIMIT
            if not worktree.exists() and (large or "worktreeconfig" in small_text(config, READ_LIMIT).lower()):
                yield from ("--ro-bind", str(self._empty), str(worktree))


def git_folders(place: Path) -> list[Path]:
    """A git folder, those of its submodules however deep, and what lies between."""
    found, waiting = [place], [place / "modules"]
    while waiting and len(found) < MANY:
        here = waiting.pop()
        if here.is_symlink() or not here.is_dir():
            continue
        found.append(here)
        own = OWN_IN_GIT if (here / "HEAD").exists() else frozenset()
        waiting += sorted(each for each in here.iterdir() if each.name not in LARGE_IN_GIT | own)
    return found


def _inside(place: Path, folder: Path) -> list[Path]:
    """Where a name of the folder really leads, if not out of it."""
    if not place.is_symlink():
        return [place]
    real = Path(os.path.realpath(place))
    return [real] if real.is_relative_to(folder) and real != folder else []


def proxies(port: int) -> dict[str, str]:
    """Where programs look for the way out."""
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
