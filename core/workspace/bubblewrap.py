"""The bubblewrap sandbox on Linux: each command gets its own view of the file system, and a system call filter."""

import contextlib
import functools
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.domain.sensitive_paths import LARGE_IN_GIT, READ_ONLY_IN_GIT, is_hidden_from_commands
from core.domain.trusted_files import READ_ONLY_NAMES
from core.workspace import installation, readable_system, seccomp_filter
from core.workspace.beneath import has_openat2, open_by_walking, open_folder, openat2, path_of_descriptor
from core.workspace.broker import READ_LIMIT
from core.workspace.git_branch import WorktreeGitFolders, read_small_text, worktree_git_folders
from core.workspace.git_folders import git_folders
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.mount_watch import FileIdentity, WatchedMount, identity_of
from core.workspace.paths import is_in_any
from core.workspace.program_search import find_system_program
from core.workspace.public_git_config import public_git_config
from core.workspace.scratch_folder import ScratchFolder
from core.workspace.unsandboxed import WATCHDOG

RELAY = Path(__file__).with_name("relay.py")
PORT = 3128
ISOLATION_OPTIONS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
# Names in a git folder that all work trees share. In `modules` and `worktrees`, only some subfolders are writable.
SHARED_IN_GIT = LARGE_IN_GIT | {"packed-refs", "packed-refs.new", "shallow", "gc.pid", "modules", "worktrees"}
MAX_MOUNTS = 200  # limit of protected or hidden paths in one folder, because each needs a mount
MAX_PACK_MOUNTS = 12  # with more pack files, the whole pack folder is mounted read-only, so git cannot add packs
# Files that root, as their owner, may write in /proc without any capability. Other users cannot write them anyway.
KERNEL = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"))


class _OpenedSources(NamedTuple):
    """The result of `_open_sources`.

    Attributes:
        arguments: the arguments, which refer to the descriptors.
        descriptors: the open sources.
        mounts: the mounts to watch, of sources that are mounted on themselves.
    """

    arguments: list[str]
    descriptors: list[int]
    mounts: list[WatchedMount]


class Bubblewrap:
    """Builds the bubblewrap command line for each command.

    Tests pass `weaken`, which removes options, to show that the self-test detects a weak sandbox.
    """

    name = "bubblewrap"
    level: SandboxLevel = "verified"

    def __init__(
        self, readable: Sequence[Path] | None = None, weaken: Callable[[list[str]], list[str]] | None = None
    ) -> None:
        self._program = find_system_program("bwrap")
        self._stat = find_system_program("stat")
        self._machine = os.uname().machine
        self._readable = tuple(installation.interpreter_folders() if readable is None else readable)
        self._weaken = weaken
        can_disable_user_namespaces = _version(self._program) >= (0, 8)
        self._isolation = [*ISOLATION_OPTIONS, *(["--disable-userns"] if can_disable_user_namespaces else [])]
        self._filter = (
            seccomp_filter.bubblewrap_filter(self._machine) if self._machine in seccomp_filter.MACHINES else b""
        )
        self._scratch = ScratchFolder()
        self._unreadable_file = self._scratch.path / "nothing"
        self._unreadable_file.touch(mode=0o000)
        self._empty_file = self._scratch.path / "empty"
        self._empty_file.touch()
        self._home = readable_system.home_folder()
        # A copy of /etc, because about thirty mounts per command would cost a third of a millisecond each.
        self._etc = self._scratch.path / "etc"
        self._common_by_scratch: dict[int, list[str]] = {}

    def close(self) -> None:
        self._scratch.close()

    @property
    def available(self) -> bool:
        """Whether bubblewrap is installed and can bind open files, and this architecture has a system call filter."""
        return bool(self._program and self._filter and _binds_open_files(self._program))

    @property
    def profile(self) -> str:
        request = CommandRequest("true", Path("/nowhere"))
        system = [option for option in self._system_options(request) if str(self._scratch.path) not in option]
        options = [*self._isolation, *system, *readable_system.ETC_NAMES, *map(str, self._readable), self._filter.hex()]
        return "\n".join([*map(str, _version(self._program)), *(self._weaken(options) if self._weaken else options)])

    def prepare(self, request: CommandRequest) -> ProcessLaunch:
        folder = Path(os.path.realpath(request.folder))
        if self._home and self._home.resolve().is_relative_to(folder):
            message = f"No command can run in {folder}."
            raise Problem(
                message, "It contains your home folder, which the command could read.", "Work in one of its subfolders."
            )
        environment = clean_environment()
        covered = [] if request.permit.secrets else self._covered_files(request, folder)
        command = with_limits(request, WATCHDOG + self._check_of_covers(covered, folder))
        arguments = [*self._isolation, *self._common_options(request), *self._workspace_options(request, folder)]
        for path in covered:  # an unreadable empty file hides each one
            arguments += ["--ro-bind", str(self._unreadable_file), str(path)]
        if request.permit.proxy:
            arguments += ["--ro-bind", str(request.permit.proxy.parent), "/run/journeyman"]
            arguments += _read_only_options([RELAY])
            command = (
                installation.interpreter(),
                "-IS",
                str(RELAY),
                f"/run/journeyman/{request.permit.proxy.name}",
                str(PORT),
                *command,
            )
            environment |= proxy_environment(PORT)
        # Read-only, because the root is a tmpfs without a size limit.
        arguments += ["--remount-ro", "/", "--chdir", str(folder)]
        if self._weaken:
            arguments = self._weaken(arguments)
        roots = _writable_folders(folder)
        covers = self._watched_covers(arguments, roots)
        sources = _open_sources(arguments, roots)
        filter_read, filter_write = os.pipe()
        os.write(filter_write, self._filter)
        os.close(filter_write)
        info_read, info_write = os.pipe()
        pipe_options = ("--seccomp", str(filter_read), "--info-fd", str(info_write))
        home = {"HOME": str(self._home or "/tmp"), "TMPDIR": "/tmp"}
        return ProcessLaunch(
            argv=(self._program, *sources.arguments, *pipe_options, "--", *command),
            environment=environment | home,
            folder=Path("/"),
            scope="namespace",
            descriptors=(filter_read, info_write, *sources.descriptors),
            stdin_is_watchdog=True,
            info_fd=info_read,
            mounts=(*sources.mounts, *covers),
        )

    def _common_options(self, request: CommandRequest) -> list[str]:
        """Return the options for the system and the home folder, which are cached by the scratch size of commands."""
        scratch = request.limits.scratch
        if scratch not in self._common_by_scratch:
            system, home = self._system_options(request), self._home_options(request)
            self._common_by_scratch[scratch] = [*system, *self._large_etc_options, *home]
        return self._common_by_scratch[scratch]

    @functools.cached_property
    def _large_etc_options(self) -> list[str]:
        """The mount options for large folders of /etc, which are mounted rather than copied."""
        return [*_read_only_options(readable_system.copy_etc(self._etc))]

    def _system_options(self, request: CommandRequest) -> Iterator[str]:
        yield from _read_only_options(map(Path, readable_system.SYSTEM_FOLDERS))
        for folder in map(Path, readable_system.MERGED_FOLDERS):
            if folder.is_symlink():
                yield from ("--symlink", os.readlink(folder), str(folder))  # noqa: PTH115 - the target must stay as it is written
            elif folder.is_dir():
                yield from ("--ro-bind", str(folder), str(folder))
        yield from ("--ro-bind", str(self._etc), "/etc")
        size = ("--size", str(request.limits.scratch), "--tmpfs")
        yield from ("--proc", "/proc", *_read_only_options(map(Path, KERNEL if os.getuid() == 0 else ())))
        yield from ("--dev", "/dev", *size, "/dev/shm", "--remount-ro", "/dev")
        yield from (*size, "/tmp", "--symlink", "/tmp", "/var/tmp", "--dir", "/run")
        yield from _read_only_options(folder for folder in self._readable if not self._is_in_home(folder))

    def _is_in_home(self, path: Path) -> bool:
        return self._home is not None and path.is_relative_to(self._home)

    def _home_options(self, request: CommandRequest) -> Iterator[str]:
        if self._home is None:
            return
        yield from ("--size", str(request.limits.scratch), "--tmpfs", str(self._home))
        yield from _read_only_options(self._home / name for name in readable_system.HOME_PATHS)
        settings = self._scratch.path / "gitconfig"
        if not settings.exists():
            settings.write_text(public_git_config(self._home), encoding="utf-8")
        yield from ("--ro-bind", str(settings), str(self._home / ".gitconfig"))
        # Skipped below, because each mount takes time.
        mounted = tuple(self._home / name for name in readable_system.HOME_PATHS)
        further = (path for path in self._readable if not any(map(path.is_relative_to, mounted)))
        yield from _read_only_options(path for path in further if self._is_in_home(path))

    def _workspace_options(self, request: CommandRequest, folder: Path) -> Iterator[str]:
        """Return the options that mount the workspace, read-only if the command may not write."""
        if request.permit.read_only:
            yield from _read_only_options([folder, *(worktree_git_folders(folder) or ())])
        else:
            yield from self._writable_options(request, folder)

    def _writable_options(self, request: CommandRequest, folder: Path) -> Iterator[str]:
        """Return the options that make the workspace writable except for its protected places."""
        yield from ("--bind", str(folder), str(folder))
        if worktree_folders := worktree_git_folders(folder):
            own, common = worktree_folders
            yield from self._git_options(common, request)
            yield from _replaceable_options(_states_of_other_worktrees(worktree_folders))
            yield from _read_only_options(own / name for name in ("commondir", "config.worktree"))
            yield from self._prevent_worktree_config(common / "config", own / "config.worktree")
        yield from _read_only_options(installation.installation_inside(folder))
        approved = set(request.permit.protected_paths)
        names = [name for name in (*READ_ONLY_NAMES, *request.protected) if os.path.lexists(folder / name)]
        for name in list(dict.fromkeys(names))[:MAX_MOUNTS]:
            path = folder / name
            is_git = path.name == ".git"
            if is_git and path.is_symlink():
                message, fix = f"{name} is a link.", "Open the folder it leads to instead."
                raise Problem(message, "A command could not be kept from changing its target.", fix)
            if is_git and path.is_dir():
                yield from self._git_options(path, request, {folder / approved_path for approved_path in approved})
                if not request.loses_history:
                    yield from _replaceable_options(_states_of_worktrees_outside(path, folder))
            elif is_git and name != ".git" and worktree_git_folders(path.parent):
                continue  # commands may remove a nested worktree; a changed `.git` file is reverted afterwards
            elif not any(is_in_any(approved_path, (name,)) for approved_path in approved):
                yield from _read_only_options(_target_inside(path, folder))

    def _covered_files(self, request: CommandRequest, folder: Path) -> list[Path]:
        """Return the files with secrets and the sockets that the command must not see, including targets of links."""
        names = (*(name for name in (".env", ".npmrc", ".netrc") if is_hidden_from_commands(name)), *request.hidden)
        targets = (path for name in names for path in _target_inside(folder / name, folder))
        paths = {path: None for path in targets if path.is_file() or path.is_socket()}
        if len(paths) > MAX_MOUNTS:
            message, fix = f"No command can run in {folder}.", "Move them away, or work in one of its subfolders."
            raise Problem(message, f"It contains more than {MAX_MOUNTS} files with secrets, too many to hide.", fix)
        if any(not os.path.lexists(folder / name) for name in request.hidden):  # the scan before the command found it
            raise Problem("The command was not run.", "A file with secrets was moved just now.", "Try again.")
        return list(paths)

    def _watched_covers(self, arguments: Sequence[str], roots: Sequence[Path]) -> list[WatchedMount]:
        """Return the mounts inside the writable `roots` that cover a path with a file or folder from elsewhere."""
        tops = tuple(f"{root}/" for root in roots)
        covers: list[WatchedMount] = []
        for option, first, second in zip(arguments, arguments[1:], arguments[2:], strict=False):
            if option == "--ro-bind" and second.startswith(tops) and not f"{first}/".startswith(tops):
                target, hides = second, first == str(self._unreadable_file)
            elif option == "--tmpfs" and first.startswith(tops):
                target, hides = first, False
            else:
                continue
            covers.append(_watched_mount(Path(target), roots, _identity(target), hides=hides))
        return covers

    def _check_of_covers(self, covered: Iterable[Path], folder: Path) -> str:
        """Return shell code that exits with 126 unless every covered file appears empty inside the sandbox.

        Another command could swap a folder with secrets for another while bubblewrap mounts, so the shell code compares
        the inodes of folders, not only names.
        """
        names_by_folder: dict[Path, list[str]] = {}
        for path in covered:
            if path.parent != folder and self._stat:
                names_by_folder.setdefault(path.parent, []).append(path.name)
        lines: list[str] = []
        expected: dict[str, None] = {}
        for parent, names in names_by_folder.items():
            try:
                descriptor = _open_beneath(folder, parent.relative_to(folder))
                expected[str(os.fstat(descriptor).st_ino)] = None
                present = set(names) <= set(os.listdir(f"/proc/self/fd/{descriptor}"))  # noqa: PTH208 - the names are enough
                os.close(descriptor)
            except OSError:
                present = False
            if not present:
                raise Problem("The command was not run.", "A file with secrets was moved just now.", "Try again.")
            empty = "".join(f"[ ! -s ./{shlex.quote(name)} ] && " for name in names)
            lines.append(f'cd -P {shlex.quote(str(parent))} 2>/dev/null && {empty}s="$s $({self._stat} -c %i .) "; ')
        if len(expected) < len(lines):  # a folder was renamed in between, and so was found under two names
            raise Problem("The command was not run.", "Folders with secrets are being moved.", "Try again.")
        if not lines:
            return ""
        missing = (
            "echo 'The command was not run: files with secrets could not be hidden, because a program moves them.'"
        )
        check = f'for i in {" ".join(expected)}; do case "$s" in *" $i "*) ;; *) {missing}; exit 126;; esac; done; '
        return f"s=; {''.join(lines)}cd {shlex.quote(str(folder))}; {check}"

    def _git_options(self, folder: Path, request: CommandRequest, allowed: Collection[Path] = ()) -> Iterator[str]:
        """Make a git folder writable except for its hooks, settings and packs.

        The git folder becomes a mount point, so that a command cannot move it away and replace it.
        """
        for git in git_folders(folder):
            yield from ("--bind", str(git), str(git))
            protected = [git.joinpath(*parts) for parts in READ_ONLY_IN_GIT]
            hooks, config, worktree_config = protected[:3]
            if not hooks.exists() and hooks not in allowed and (git / "HEAD").exists():
                # An empty read-only folder, so that the command cannot create hooks.
                yield from ("--tmpfs", str(hooks), "--remount-ro", str(hooks))
            writable = {*allowed, config} if request.sets_upstream else allowed
            yield from _read_only_options(path for path in protected if path not in writable)
            if not request.loses_history:
                yield from _replaceable_options(_packs(git))
            if worktree_config not in allowed:
                yield from self._prevent_worktree_config(config, worktree_config)

    def _prevent_worktree_config(self, config: Path, worktree: Path) -> Iterator[str]:
        """Cover `config.worktree` with an empty read-only file, if the configuration would make git read it."""
        with contextlib.suppress(OSError):
            large = config.stat().st_size > READ_LIMIT
            if not worktree.exists() and (large or "worktreeconfig" in read_small_text(config, READ_LIMIT).lower()):
                yield from ("--ro-bind", str(self._empty_file), str(worktree))


def _states_of_other_worktrees(git: WorktreeGitFolders) -> list[Path]:
    """Return the state of the main and of other linked work trees, which a command in this one must not change."""
    main = [path for path in git.common.iterdir() if path.name not in SHARED_IN_GIT and path.suffix != ".lock"]
    linked = [path for path in (git.common / "worktrees").iterdir() if path != git.own]
    return [path for path in sorted(main) + sorted(linked) if not path.is_symlink()][:MAX_MOUNTS]


def _states_of_worktrees_outside(git: Path, folder: Path) -> list[Path]:
    """Return the state folders of linked work trees outside `folder`. They contain what the user has staged there."""
    states = [] if (git / "worktrees").is_symlink() else sorted((git / "worktrees").glob("*/gitdir"))
    outside: list[Path] = []
    for pointer in states:
        tree = os.path.realpath(read_small_text(pointer).strip())
        if not pointer.parent.is_symlink() and os.path.lexists(tree) and not Path(tree).is_relative_to(folder):
            outside.append(pointer.parent)
    return outside[:MAX_MOUNTS]


def _packs(git: Path) -> list[Path]:
    """Return the pack files of a git folder, or the pack folder if there are many; nothing if it is a link."""
    folder = git / "objects" / "pack"
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return []
    packs = sorted(path for path in folder.iterdir() if path.suffix in (".pack", ".idx") and not path.is_symlink())
    return packs if len(packs) <= MAX_PACK_MOUNTS else [folder]


def _target_inside(path: Path, folder: Path) -> list[Path]:
    """Return a path with its link resolved, as a list; an empty list if the link leads outside the folder."""
    if not path.is_symlink():
        return [path]
    target = Path(os.path.realpath(path))
    return [target] if target.is_relative_to(folder) and target != folder else []


def proxy_environment(port: int) -> dict[str, str]:
    """Return the environment variables that make programs use the HTTP proxy on this local port."""
    url = f"http://127.0.0.1:{port}"
    local = {"no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"}
    return local | dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), url)


def _read_only_options(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))


def _replaceable_options(paths: Iterable[Path]) -> Iterator[str]:
    """Return options for read-only mounts of files that git outside the sandbox often replaces or deletes.

    Unlike with `_read_only_options`, the command keeps running if such a mount is lost. None of these files can make
    git run a program.
    """
    for path in paths:
        if path.exists():
            yield from ("--ro-bind-try", str(path), str(path))


def _writable_folders(folder: Path) -> list[Path]:
    """Return the folders where running commands can replace files by links: the workspace and a shared git folder."""
    worktree_folders = worktree_git_folders(folder)
    return [folder, worktree_folders.common] if worktree_folders else [folder]


def _watched_mount(
    path: Path, roots: Sequence[Path], identity: FileIdentity | None, *, hides: bool = False
) -> WatchedMount:
    name = path.relative_to(roots[0]) if path.is_relative_to(roots[0]) else path
    return WatchedMount(str(path), str(name), identity, hides)


def _identity(path: str) -> FileIdentity | None:
    try:
        return identity_of(os.lstat(path))
    except OSError:
        return None


def _open_sources(arguments: Sequence[str], roots: Sequence[Path]) -> _OpenedSources:
    """Open the mount sources inside `roots`, and return arguments that refer to their descriptors.

    bubblewrap would look sources up by name, and another command could replace one by a link to anywhere before that.
    """
    opened = _OpenedSources(arguments=[], descriptors=[], mounts=[])
    iterator = iter(arguments)
    try:
        for option in iterator:
            if option not in ("--bind", "--ro-bind", "--ro-bind-try"):
                opened.arguments.append(option)
                continue
            source, target = Path(next(iterator)), next(iterator)
            root = next((each for each in roots if source.is_relative_to(each)), None)
            if root is None:
                opened.arguments.extend((option, str(source), target))
                continue
            try:
                descriptor = _open_beneath(root, source.relative_to(root))
            except FileNotFoundError:  # optional mount sources may be deleted at any time
                continue
            opened.descriptors.append(descriptor)
            if str(source) == target:
                target = path_of_descriptor(descriptor)
            opened.arguments.extend((f"{option.removesuffix('-try')}-fd", str(descriptor), target))
            if option != "--ro-bind-try" and source not in roots:
                opened.mounts.append(_watched_mount(Path(target), roots, identity_of(os.fstat(descriptor))))
    except OSError as error:
        for descriptor in opened.descriptors:
            os.close(descriptor)
        message, cause = "The command was not run.", "A program is replacing protected files of the folder by links."
        raise Problem(message, cause, "End the commands in the background.") from error
    return opened


def _open_beneath(root: Path, relative_path: Path) -> int:
    """Open a path beneath `root`, following no link in either; return an O_PATH descriptor."""
    folder = open_folder(str(root))
    try:
        open_file = openat2 if has_openat2() else open_by_walking
        return open_file(folder, str(relative_path), os.O_PATH)
    finally:
        os.close(folder)


@functools.cache
def _binds_open_files(program: str) -> bool:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=5, check=False)
        return "--ro-bind-fd" in answer.stdout + answer.stderr
    return False


@functools.cache
def _version(program: str) -> tuple[int, ...]:
    if not program:
        return ()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=5, check=False)
        return tuple(map(int, re.findall(r"\d+", answer.stdout)[:3]))
    return ()
