"""The two set-up commands and what a developer needs: python3 packaging/dev.py run | test | check | bench | ..."""

import sys

if not (3, 11) <= sys.version_info < (3, 15):
    sys.exit(
        "Journeyman needs Python 3.11 to 3.14; this is " + sys.version.split()[0] + ". Start it with another python3."
    )

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from environment import PYTHON, ROOT, SCRIPTS, qt_folder, ready, stamp, stamped
from trouble import Trouble

USAGE = """\
python3 packaging/dev.py COMMAND

  run [words ...]      open Journeyman (or give it a command: run doctor)
  test [pytest words]  style, types and all tests; with words only pytest with them
  test --walk          an hour in the real window by mouse, then one by keys; --minutes, --seed, --by mouse or keys
  test --faults        kills, full disks, power cuts and the like at every point there is (a quarter of an hour)
  test --user          the attack cases as an ordinary user, also where root asks
  test --servers ...   the same, also against large model servers, which are installed once
  check                style, types and the rules of the house
  bench [words ...]    measure speed; with --write all of it, into resources/help/figures.md
  soak --minutes N     random work, faults, kills and restarts for so long; says what broke and what grew
  bundle [DIR]         what can be installed without a Python: a tarball and a .deb (on macOS an image, on Windows
                       a set-up program), into DIR, else dist
  eval --model P/M     twenty small tasks with a real model: success, rounds, tokens, consents
  screenshots DIR      paint every screen into DIR
  lock                 renew packaging/requirements*.txt from pyproject.toml

  --no-system          before COMMAND: do not look for system libraries and programs
"""
# Ways to test that are programs of their own.
MODULES = {"--walk": "tests.walk", "--faults": "tests.faults", "--user": "tests.ordinary"}
LINKED = "system libraries found"  # a line of the environment's stamp
CHECKS = {
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
}


def main(words: list[str]) -> int:
    """Do one command; the exit code is its own."""
    system = "--no-system" not in words[:1]
    name, *rest = words[0 if system else 1 :] or ["help"]
    command = COMMANDS.get(name)
    if command is None:
        print(USAGE, end="")
        return 0 if name in ("help", "-h", "--help") else 2
    try:
        return command(rest, system)
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except OSError as error:
        do = "Mend that and give the same command again; deleting .venv is always safe."
        print(Trouble("The set-up could not go on.", str(error), do), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(words: list[str], system: bool) -> int:
    """Open the app, in the folder the person stands in."""
    prepare("run", system)
    become([str(PYTHON), "-P", "-m", "app", *words])


def screenshots(words: list[str], system: bool) -> int:
    """Let the app paint its own screens, in memory: a display would change their sizes."""
    prepare("run", system)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    become([str(PYTHON), "-P", "-m", "app", "screenshots", *words])


def test(words: list[str], system: bool) -> int:
    """All checks and all tests; or only what the words ask pytest for. `--servers` is ours, not pytest's."""
    prepare("dev", system)
    if "--servers" in words:
        os.environ["JOURNEYMAN_SERVERS"] = "1"
        words = [word for word in words if word != "--servers"]
    headless()
    for word, module in MODULES.items():
        if words[:1] == [word]:
            return subprocess.call([str(PYTHON), "-m", module, *words[1:]])
    if words:
        return pytest(words)
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(failures)
        code = pytest(["-n", "3", "--dist", "worksteal"])
        failed = reading.result()
    report(failed)
    return code or bool(failed)


def check(words: list[str], system: bool) -> int:
    """Everything that reads the code and does not run it, plus the rules of the house."""
    prepare("dev", system)
    headless()
    failed = failures()
    if pytest(["-q", "tests/test_house.py", *words]) != 0:
        failed.append("the rules of the house")
    report(failed)
    return bool(failed)


def bench(words: list[str], system: bool) -> int:
    """Measure speed."""
    prepare("dev", system)
    headless()
    return subprocess.call([str(PYTHON), "-m", "tests.bench", *words], cwd=ROOT)


def soak(words: list[str], system: bool) -> int:
    """Use it for long, badly."""
    prepare("dev", system)
    headless()
    return subprocess.call([str(PYTHON), "-m", "tests.soak", *words])


def bundle(words: list[str], system: bool) -> int:
    """Make what people install."""
    prepare("bundle", system)
    return subprocess.call([str(PYTHON), str(ROOT / "packaging" / "bundle.py"), *words])


def evaluate(words: list[str], system: bool) -> int:
    """Try a model; the settings and keys of whoever asks are used, and no other data."""
    prepare("dev", system)
    headless()
    return subprocess.call([str(PYTHON), "-m", "tests.eval", *words], cwd=ROOT)


def lock(words: list[str], system: bool) -> int:
    """Renew the hashed requirements."""
    import locking

    return locking.renew(words)


def prepare(level: str, system: bool) -> None:
    """Make the environment, and see to what only the system can give."""
    ready(level)
    if not system:
        return
    unlinked, tests = LINKED not in stamped(), level == "dev"
    if unlinked or tests:
        import system_parts

        system_parts.parts_ready(qt_folder() if unlinked else None, programs=tests)
    if unlinked:
        stamp(stamped() | {LINKED})


def headless() -> None:
    """Widgets of tests are painted in memory; tests of the real window bring their own display."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of a thousand programs would compile its own source anew
    os.chdir(ROOT)


def failures() -> list[str]:
    """Run every check, also after one failed, and name those that did."""
    failed = []
    for name, (tool, *words) in CHECKS.items():
        command = [str(SCRIPTS / tool), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(f"-- {name}: {tool} {' '.join(words)}\n{done.stdout}", end="", flush=True)  # tests may print beside it
        if done.returncode != 0:
            failed.append(name)
    return failed


def pytest(words: list[str]) -> int:
    """Run pytest in the environment."""
    return subprocess.call([str(PYTHON), "-m", "pytest", *words])


def report(failed: list[str]) -> None:
    """Say last what failed first, where a reader of the end would miss it."""
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)


def become(command: list[str]) -> NoReturn:
    """Give this process to the command; where the system cannot, wait for it."""
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    sys.stdout.flush()
    os.execv(command[0], command)


COMMANDS: dict[str, Callable[[list[str], bool], int]] = {
    "run": run,
    "test": test,
    "check": check,
    "bench": bench,
    "soak": soak,
    "bundle": bundle,
    "eval": evaluate,
    "screenshots": screenshots,
    "lock": lock,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
