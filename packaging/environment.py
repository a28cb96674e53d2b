"""The environment in .venv: made once from hashed requirements, made again when they change or it is half-made."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from trouble import Trouble

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "made-from"
REQUIREMENTS = {
    "run": ROOT / "packaging" / "requirements.txt",
    "dev": ROOT / "packaging" / "requirements-dev.txt",  # holds everything of "run" too
    "bundle": ROOT / "packaging" / "requirements-bundle.txt",
}
LAUNCHER = """#!/bin/sh
exec "{python}" -P -m app "$@"
"""


def wanted(level: str) -> set[str]:
    """The lines the stamp must hold before the environment is good for this level."""
    return {fingerprint(name) for name in ("run", level)}


def fingerprint(level: str) -> str:
    """What a level was made from: its requirements, this Python, and the place (scripts hold absolute paths)."""
    place = f"{sys.version_info[:2]}{sys.platform}{VENV}".encode()
    return f"{level} {hashlib.sha256(REQUIREMENTS[level].read_bytes() + place).hexdigest()}"


def stamped() -> set[str]:
    """What the environment was made from, or nothing when it is missing, broken or half-made."""
    if not PYTHON.exists() or not STAMP.exists():
        return set()
    return set(STAMP.read_text(encoding="utf-8").splitlines())


def stamp(lines: set[str]) -> None:
    """Write the stamp whole or not at all: it comes last, so a killed installation has none."""
    draft = STAMP.with_suffix(".draft")
    draft.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    draft.replace(STAMP)


def ready(level: str) -> None:
    """See to it that the environment holds everything of this level; quick when it does."""
    if wanted(level) <= stamped():
        return
    with one_at_a_time():
        have = stamped()
        if wanted(level) <= have:
            return
        if fingerprint("run") not in have:
            make()
        STAMP.unlink(missing_ok=True)
        install(REQUIREMENTS[level])
        make_importable()
        stamp(wanted(level) | (have if fingerprint("run") in have else set()))


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let a second terminal wait while the first one installs."""
    if os.name == "nt":
        yield
        return
    import fcntl

    handle = os.open(ROOT / "packaging", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def make() -> None:
    """A new, empty environment in the place of whatever stands there."""
    say(f"Making the environment in {VENV.relative_to(ROOT)} (once; downloads about 100 MB) ...")
    if VENV.is_symlink():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    command = [outer_python(), "-m", "venv", "--without-pip", str(VENV)]
    if subprocess.call(command) != 0:
        raise Trouble("The environment could not be made.", f"{' '.join(command)} failed, see above.", "Mend that.")


def install(requirements: Path) -> None:
    """Install exactly the pinned and hashed wheels, nothing built, nothing else."""
    command = [*pip(), "install", "--require-hashes", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--requirement", str(requirements)]
    if not sys.stdout.isatty():
        command.append("--quiet")
    code = subprocess.call(command, env={**os.environ, "PIP_USER": "0"})
    if code != 0:
        raise Trouble(
            "The libraries could not be installed.",
            f"pip ended with {code}; its own words stand above. It needs the network once, and glibc 2.34 or newer.",
            "Mend that and give the same command again.",
        )


def pip() -> list[str]:
    """The pip of this Python at work on the environment; where it has none that can, one put into the environment."""
    ask = "import pip; print(*pip.__version__.split('.')[:2])"
    answer = subprocess.run([outer_python(), "-c", ask], capture_output=True, text=True, check=False)
    if answer.returncode == 0 and tuple(map(int, answer.stdout.split())) >= (22, 3):
        return [outer_python(), "-m", "pip", "--python", str(PYTHON)]
    if subprocess.call([str(PYTHON), "-m", "ensurepip"], stdout=subprocess.DEVNULL) == 0:
        return [str(PYTHON), "-m", "pip"]
    raise Trouble(
        "There is no pip.",
        f"{outer_python()} comes with neither pip nor ensurepip, so nothing can be installed.",
        "On Debian and Ubuntu: apt-get install python3-pip",
    )


def make_importable() -> None:
    """Let the environment import the checkout, and give it a `journeyman` command: no build, no network."""
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.check_output([str(PYTHON), "-c", ask], text=True).strip())
    (packages / "journeyman-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    if os.name == "nt":
        (SCRIPTS / "journeyman.cmd").write_text(f'@"{PYTHON}" -P -m app %*\n', encoding="utf-8")
        return
    launcher = SCRIPTS / "journeyman"
    launcher.write_text(LAUNCHER.format(python=PYTHON), encoding="utf-8")
    launcher.chmod(0o755)


def qt_folder() -> Path:
    """Where the environment keeps Qt."""
    return next(VENV.rglob("site-packages/PySide6"))


def outer_python() -> str:
    """The Python under any environment we were started from, which may be the very one to be remade."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return base


def say(text: str) -> None:
    """A line for the person, in order with what the commands print."""
    print(text, flush=True)
