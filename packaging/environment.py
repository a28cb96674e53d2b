"""Creates the environment in .venv from hashed requirements. It is created again if they change or it is incomplete."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from setup_error import SetupError

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "made-from"
REQUIREMENTS = {
    "run": ROOT / "packaging" / "requirements.txt",
    "dev": ROOT / "packaging" / "requirements-dev.txt",  # also contains the requirements of "run"
    "bundle": ROOT / "packaging" / "requirements-bundle.txt",
}
LAUNCHER = """#!/bin/sh
exec "{python}" -P -m app "$@"
"""


def wanted(level: str) -> set[str]:
    """Return the lines that the stamp file of an up-to-date environment has for this level of requirements."""
    return {fingerprint(name) for name in ("run", level)}


def fingerprint(level: str) -> str:
    """Return a hash of what an environment depends on: requirements, Python, and its path, which scripts contain."""
    place = f"{sys.version_info[:2]}{sys.platform}{VENV}".encode()
    return f"{level} {hashlib.sha256(REQUIREMENTS[level].read_bytes() + place).hexdigest()}"


def stamped() -> set[str]:
    """Return the lines of the stamp file. There are none if the environment is missing, broken or incomplete."""
    if not PYTHON.exists() or not STAMP.exists():
        return set()
    return set(STAMP.read_text(encoding="utf-8").splitlines())


def stamp(lines: set[str]) -> None:
    """Write the stamp file atomically.

    This is the last step of an installation, so an interrupted one has no stamp file.
    """
    draft = STAMP.with_suffix(".draft")
    draft.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    draft.replace(STAMP)


def ready(level: str) -> None:
    """Install the requirements of this level. If they are installed already, do nothing, which takes little time."""
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
    """Hold a lock during the block, so that a second terminal waits while the first one installs."""
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
    """Create an empty environment in the place of any existing one."""
    say(f"Creating the environment in {VENV.relative_to(ROOT)} (downloads about 130 MB) ...")
    if VENV.is_symlink():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    command = [outer_python(), "-m", "venv", "--without-pip", str(VENV)]
    if subprocess.call(command) != 0:
        raise SetupError(
            "The environment could not be created.", f"{' '.join(command)} failed.", "See its output above."
        )


def install(requirements: Path) -> None:
    """Install exactly the pinned and hashed wheels. No package is built from source."""
    command = [*pip(), "install", "--require-hashes", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--requirement", str(requirements)]
    if not sys.stdout.isatty():
        command.append("--quiet")
    code = subprocess.call(command, env={**os.environ, "PIP_USER": "0"})
    if code != 0:
        raise SetupError(
            "The libraries could not be installed.",
            f"pip exited with code {code}. It needs network access, and on Linux glibc 2.34 or newer.",
            "See its output above, fix the problem and run the same command again.",
        )


def pip() -> list[str]:
    """Return the command of a pip that can install into the environment.

    It is the pip of this Python if that is 22.3 or newer, else one that is installed into the environment.
    """
    ask = "import pip; print(*pip.__version__.split('.')[:2])"
    answer = subprocess.run([outer_python(), "-c", ask], capture_output=True, text=True, check=False)
    if answer.returncode == 0 and tuple(map(int, answer.stdout.split())) >= (22, 3):
        return [outer_python(), "-m", "pip", "--python", str(PYTHON)]
    if subprocess.call([str(PYTHON), "-m", "ensurepip"], stdout=subprocess.DEVNULL) == 0:
        return [str(PYTHON), "-m", "pip"]
    raise SetupError(
        "pip was not found.",
        f"{outer_python()} has neither pip nor ensurepip.",
        "On Debian and Ubuntu: apt-get install python3-pip",
    )


def make_importable() -> None:
    """Make the checkout importable in the environment, and add a `journeyman` command. Nothing is built."""
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
    return next(VENV.rglob("site-packages/PySide6"))


def outer_python() -> str:
    """Return the Python that environments are created from.

    This program may run in the environment that is replaced.
    """
    base: str = getattr(sys, "_base_executable", sys.executable)
    return base


def say(text: str) -> None:
    """Print a line at once, so that it comes before the output of the next subprocess."""
    print(text, flush=True)
