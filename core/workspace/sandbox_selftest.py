"""The self-test of a sandbox: runs real attacks inside it, against a port, canary files and a decoy process outside."""

import contextlib
import hashlib
import json
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from core.workspace import attacks, installation, process_tree
from core.workspace.command_process import MARKER_VARIABLE
from core.workspace.launcher import PASSED_VARIABLES, CommandRequest, Launcher

TIMEOUT_S = 30
VISIBLE_VARIABLES = (  # environment variables that commands may have
    *PASSED_VARIABLES,
    "TERM",
    "PYTHONDONTWRITEBYTECODE",
    "TMPDIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "PWD",
    "OLDPWD",
    "_",
    "SHLVL",
    MARKER_VARIABLE,
)
OPEN_BY_DESIGN = {"landlock": ("names", "protected", "secret")}
ATTACK_DESCRIPTIONS = {
    "read_outside": "read a file outside the folder",
    "write_outside": "write outside the folder",
    "connect": "connect to a port of this machine",
    "unix_socket": "connect to a socket of another program",
    "environment": "read the environment of another program",
    "other_process": "end or slow down another program",
    "metadata": "change the permissions or times of a file outside the folder",
    "terminal": "read or write the terminal of another program",
    "names": "see whether a file outside the folder exists, its size and its times",
    "secret": "read a file with secrets in the folder",
    "namespace": "open a namespace of its own",
    "kernel": "change the settings of the kernel",
    "protected": "change a protected file",
    "daemon": "leave a process behind",
}


@dataclass(frozen=True, slots=True)
class SandboxProof:
    """The result of a self-test.

    Attributes:
        launcher: the name of the launcher.
        profile: a hash of the launcher's profile, the attacks, the current boot and the user.
        works: whether commands can run in the sandbox at all.
        escapes: the names of attacks that succeeded although the launcher should prevent them.
        known_gaps: the names of attacks that the launcher does not prevent by design.
    """

    launcher: str
    profile: str
    works: bool
    escapes: tuple[str, ...] = ()
    known_gaps: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        return ", ".join(ATTACK_DESCRIPTIONS[name] for name in self.escapes)


def prove_sandbox(launcher: Launcher, cache: Path | None = None) -> SandboxProof:
    """Return the result of the self-test, from the file `cache` if it is still valid.

    A cached result is valid until a reboot, or until the launcher's profile or the set of attacks changes.
    """
    parts = (launcher.profile, *ATTACK_DESCRIPTIONS, _boot_id(), str(os.getuid()))
    profile = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    if cache and (cached := _cached_proof(cache, profile)):
        return cached
    proof = _attack(launcher, profile)
    if cache and proof.works and not proof.escapes:  # a failed test runs again next time
        with contextlib.suppress(OSError):
            cache.touch()
            cache.chmod(0o600)  # whatever the umask: another user could claim that the sandbox works
            cache.write_text(json.dumps(asdict(proof)), encoding="utf-8")
    return proof


def _cached_proof(cache: Path, profile: str) -> SandboxProof | None:
    """Return the result in the cache; None if there is none for this profile."""
    try:
        stored = json.loads(cache.read_text(encoding="utf-8"))
        proof = SandboxProof(
            launcher=stored["launcher"],
            profile=stored["profile"],
            works=stored["works"],
            escapes=tuple(stored["escapes"]),
            known_gaps=tuple(stored["known_gaps"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return proof if proof.profile == profile else None


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _attack(launcher: Launcher, profile: str) -> SandboxProof:
    """Run the self-test."""
    with tempfile.TemporaryDirectory(prefix="journeyman-proof-", ignore_cleanup_errors=True) as base:
        folder, outside = Path(base) / "folder", Path(base) / "outside"
        canary = f"canary-{secrets.token_hex(8)}"
        (folder / ".git" / "hooks").mkdir(parents=True)
        outside.mkdir()
        (outside / "canary").write_text(canary)
        (folder / ".env").write_text(canary)
        shutil.copy(attacks.__file__, folder / "attacks.py")
        with _prepared_target(outside, folder, canary) as target:
            command = [installation.interpreter(), "-IS", str(folder / "attacks.py"), json.dumps(asdict(target))]
            escapes = _run(launcher, CommandRequest(shlex.join(command), folder))
        if escapes is None:
            return SandboxProof(launcher.name, profile, works=False)
        if (outside / attacks.CREATED_FILE).exists():
            escapes.add("write_outside")
        if _still_locked(folder / "lock"):
            escapes.add("daemon")
    known_gaps = OPEN_BY_DESIGN.get(launcher.name, ())
    return SandboxProof(
        launcher=launcher.name,
        profile=profile,
        works=True,
        escapes=tuple(sorted(escapes.difference(known_gaps))),
        known_gaps=known_gaps,
    )


def _run(launcher: Launcher, request: CommandRequest) -> set[str] | None:
    """Run the attacks and return the names of the successful ones; None if the script did not run to its end."""
    launch = launcher.prepare(request)
    life_read, life_write = os.pipe()
    try:
        answer = subprocess.run(
            launch.argv,
            cwd=launch.folder,
            env={**launch.environment},
            pass_fds=launch.descriptors,
            stdin=life_read if launch.stdin_is_watchdog else subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        for descriptor in (life_read, life_write, *launch.descriptors):
            os.close(descriptor)
        if launch.info_fd >= 0:
            process_tree.await_namespace(launch.info_fd)
    try:
        return set(json.loads(answer.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        return None


@contextlib.contextmanager
def _prepared_target(outside: Path, folder: Path, canary: str) -> Iterator[attacks.Target]:
    """Yield the targets of the attacks while they exist: a port, a terminal, a Unix socket, a process with a secret."""
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        _unix_listener(outside / "socket"),
        _terminal() as terminal,
        subprocess.Popen(["/bin/cat"], env={"SECRET": canary}, stdin=subprocess.PIPE) as decoy,
    ):
        try:
            yield attacks.Target(
                outside=str(outside),
                folder=str(folder),
                canary=canary,
                port=port.getsockname()[1],
                pid=decoy.pid,
                terminal=terminal,
                names=VISIBLE_VARIABLES,
            )
        finally:
            decoy.kill()


@contextlib.contextmanager
def _terminal() -> Iterator[str]:
    """Open a pseudo-terminal and yield the path of its terminal side; without terminals, a path that does not exist."""
    try:
        controller, terminal = os.openpty()
    except OSError:  # this machine provides no pseudo-terminals
        yield os.devnull + "/none"
        return
    try:
        yield os.ttyname(terminal)
    finally:
        os.close(controller)
        os.close(terminal)


@contextlib.contextmanager
def _unix_listener(path: Path) -> Iterator[None]:
    """Listen on a Unix socket, bound by a short path because socket paths are limited to about 100 bytes."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/{path.name}")
            listener.listen()
            yield
    finally:
        os.close(folder)


def _still_locked(path: Path) -> bool:
    if not path.exists():
        return False
    import fcntl

    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
