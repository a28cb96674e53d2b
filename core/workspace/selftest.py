"""Prove a sandbox before it is trusted: nine real attacks, run inside it, against a listener, a canary and a decoy."""

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

from core.workspace import attacks, toolchains, usage
from core.workspace.launch import PASSED, Asked, Launcher
from core.workspace.process import MARK

TIME_S = 30
OPEN_BY_DESIGN = {"landlock": ("protected",)}
SAID = {
    "read_outside": "read a file outside the folder",
    "write_outside": "write outside the folder",
    "connect": "connect to a port of this machine",
    "unix_socket": "connect to a socket of another program",
    "environment": "read the environment of another program",
    "namespace": "open a namespace of its own",
    "kernel": "change the settings of the kernel",
    "protected": "change a protected file",
    "daemon": "leave a process behind",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of the attacks. It `works` when commands run in it at all; `open` are the ways out it should close."""

    launcher: str
    profile: str
    works: bool
    open: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # open by design on this rung

    @property
    def words(self) -> str:
        return ", ".join(SAID[name] for name in self.open)


def prove(launcher: Launcher, cache: Path | None = None) -> Proof:
    """The proof of this profile on this machine since it was started; made anew where there is none."""
    name = hashlib.sha256(f"{launcher.profile}\n{_boot()}\n{os.getuid()}".encode()).hexdigest()
    if cache and (known := _kept(cache, name)):
        return known
    proof = _attack(launcher, name)
    if cache and proof.works and not proof.open:  # only what is good is worth remembering
        with contextlib.suppress(OSError):
            cache.write_text(json.dumps(asdict(proof)), encoding="utf-8")
    return proof


def _kept(cache: Path, name: str) -> Proof | None:
    try:
        told = json.loads(cache.read_text(encoding="utf-8"))
        known = Proof(told["launcher"], told["profile"], told["works"], tuple(told["open"]), tuple(told["known"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return known if known.profile == name else None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _attack(launcher: Launcher, name: str) -> Proof:
    with tempfile.TemporaryDirectory(prefix="journeyman-proof-", ignore_cleanup_errors=True) as base:
        folder, outside, canary = Path(base) / "folder", Path(base) / "outside", f"canary-{secrets.token_hex(8)}"
        (folder / ".git" / "hooks").mkdir(parents=True)
        outside.mkdir()
        (outside / "canary").write_text(canary)
        shutil.copy(attacks.__file__, folder / "attacks.py")
        with _decoys(outside, canary) as port:
            order = {"outside": str(outside), "folder": str(folder), "canary": canary, "port": str(port)}
            order["names"] = " ".join(
                [
                    *PASSED,
                    "TERM",
                    "TMPDIR",
                    "GIT_CONFIG_GLOBAL",
                    "GIT_CONFIG_NOSYSTEM",
                    "PWD",
                    "OLDPWD",
                    "_",
                    "SHLVL",
                    MARK,
                ]
            )
            words = [toolchains.python(), "-IS", str(folder / "attacks.py"), json.dumps(order)]
            found = _run(launcher, Asked(shlex.join(words), folder))
        if found is None:
            return Proof(launcher.name, name, works=False)
        if (outside / "mine").exists():
            found.add("write_outside")
        if _still_locked(folder / "lock"):
            found.add("daemon")
    known = OPEN_BY_DESIGN.get(launcher.name, ())
    return Proof(launcher.name, name, True, tuple(sorted(found.difference(known))), known)


def _run(launcher: Launcher, asked: Asked) -> set[str] | None:
    """What the attacker reports; None when it never came to speak."""
    launch = launcher.prepare(asked)
    watched, life = os.pipe()
    try:
        answer = subprocess.run(
            launch.words,
            cwd=launch.folder,
            env={**launch.environment},
            pass_fds=launch.descriptors,
            stdin=watched if launch.guarded else subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        for descriptor in (watched, life, *launch.descriptors):
            os.close(descriptor)
        if launch.told >= 0:
            usage.await_namespace(launch.told)
    try:
        return set(json.loads(answer.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        return None


@contextlib.contextmanager
def _decoys(outside: Path, canary: str) -> Iterator[int]:
    """A port, a socket and a process with a secret in its environment."""
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        _unix_listener(outside / "socket"),
        subprocess.Popen(["/bin/cat"], env={"SECRET": canary}, stdin=subprocess.PIPE) as decoy,
    ):
        try:
            yield port.getsockname()[1]
        finally:
            decoy.kill()


@contextlib.contextmanager
def _unix_listener(place: Path) -> Iterator[None]:
    """By a short name: paths of sockets may only have a hundred bytes."""
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/{place.name}")
            listener.listen()
            yield
    finally:
        os.close(folder)


def _still_locked(place: Path) -> bool:
    if not place.exists():
        return False
    import fcntl

    with place.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
