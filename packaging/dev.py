"""The commands for development: `python3 packaging/dev.py run`, `test`, `check`, `bench` and others."""

import sys

if not (3, 11) <= sys.version_info < (3, 15):
    sys.exit("Journeyman needs Python 3.11 to 3.14; this is " + sys.version.split()[0] + ". Use another python3.")

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from environment import PYTHON, ROOT, SCRIPTS, qt_folder, ready, stamp, stamped
from setup_error import SetupError

USAGE = """\
python3 packaging/dev.py COMMAND

  run [ARGS...]        open Journeyman, or run one of its commands: run doctor
  test [ARGS...]       check style, types and spelling and run all tests; with ARGS, only run pytest with them
  test --walk          use the real window at random: an hour by mouse, then an hour by keyboard
                       (--minutes N, --seed N, --by mouse|keys)
  test --faults        kills, full disks, power failures and the like at every possible point (15 minutes)
  test --user          the attack tests as an unprivileged user, even when started as root
  test --servers ...   also run the tests against large inference servers, which are installed once
  test --thinking ...  run the tests that need a real model, which is downloaded once (1.1 GB)
  thinking [MODEL]     serve that model (qwen, or the weaker gemma) and print how to use it
  check                check style, types, spelling and the house rules
  bench [NAMES...]     measure performance; --write runs all benchmarks and updates resources/docs/figures.md
  soak --minutes N     random use, faults, kills and restarts for N minutes; reports failures and growth
  bundle [DIR]         build packages that need no Python in DIR (default: dist): a tarball and a .deb; on macOS a
                       disk image, on Windows an installer
  eval --model P/M     sixty small tasks with a real model: success, turns, tokens, permission requests
  screenshots DIR      save a picture of every screen in DIR
  lock                 update packaging/requirements*.txt from pyproject.toml

  --no-system          before COMMAND: do not check for system libraries and programs
"""
# Options of `test` that run another program than pytest.
MODULES = {"--walk": "tests.monkey", "--faults": "tests.faults", "--user": "tests.unprivileged"}
TESTS_FAILED = 1  # pytest's exit code
LAST_FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
MAX_RETRIED = 5  # failed tests; more than these have a common cause
# A line in the environment's stamp file, written when all system libraries are installed.
LINKED = "system libraries found"
CHECKS = {
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
    "spelling": ["codespell"],
}


def main(words: list[str]) -> int:
    """Run one command and return its exit code."""
    system = "--no-system" not in words[:1]
    name, *rest = words[0 if system else 1 :] or ["help"]
    command = COMMANDS.get(name)
    if command is None:
        print(USAGE, end="")
        return 0 if name in ("help", "-h", "--help") else 2
    try:
        return command(rest, system)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        hint = "Fix this and run the same command again. It is always safe to delete .venv."
        print(SetupError("The setup failed.", f"{error}.", hint), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(words: list[str], system: bool) -> int:
    """Open the app with the current folder."""
    prepare("run", system)
    become([str(PYTHON), "-P", "-m", "app", *words])


def screenshots(words: list[str], system: bool) -> int:
    """Save a picture of every screen.

    The screens are rendered offscreen, because a real display would change their sizes.
    """
    prepare("run", system)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    become([str(PYTHON), "-P", "-m", "tests.screens", *words])


def test(words: list[str], system: bool) -> int:
    """Run all checks and all tests. With arguments, run pytest, or the program in MODULES that the first one selects.

    `--servers` and `--thinking` are options of this command and not of pytest.
    """
    prepare("dev", system)
    if "--servers" in words:
        os.environ["JOURNEYMAN_SERVERS"] = "1"
        words = [word for word in words if word != "--servers"]
    if "--thinking" in words:
        os.environ["JOURNEYMAN_THINKING"] = "1"
        words = ["-m", "thinking", *(word for word in words if word != "--thinking")]
    headless()
    for word, module in MODULES.items():
        if words[:1] == [word]:
            return subprocess.call([str(PYTHON), "-m", module, *words[1:]])
    if words:
        return pytest(words)
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(failures)
        code = all_tests()
        failed = reading.result()
    report(failed)
    return code or bool(failed)


def check(words: list[str], system: bool) -> int:
    """Run the static checks and the house rules."""
    prepare("dev", system)
    headless()
    failed = failures()
    if pytest(["-q", "tests/test_house.py", *words]) != 0:
        failed.append("house rules")
    report(failed)
    return bool(failed)


def bench(words: list[str], system: bool) -> int:
    prepare("dev", system)
    headless()
    return subprocess.call([str(PYTHON), "-m", "tests.bench", *words], cwd=ROOT)


def soak(words: list[str], system: bool) -> int:
    prepare("dev", system)
    headless()
    return subprocess.call([str(PYTHON), "-m", "tests.soak", *words])


def thinking(words: list[str], system: bool) -> int:
    """Serve a small real model on this computer until interrupted."""
    prepare("dev", system)
    os.chdir(ROOT)
    return subprocess.call([str(PYTHON), "-m", "tests.servers.thinking", *words])


def bundle(words: list[str], system: bool) -> int:
    prepare("bundle", system)
    return subprocess.call([str(PYTHON), str(ROOT / "packaging" / "bundle.py"), *words])


def evaluate(words: list[str], system: bool) -> int:
    """Evaluate a model with the developer's own settings and API keys; no other user data is read."""
    prepare("dev", system)
    headless()
    return subprocess.call([str(PYTHON), "-m", "tests.eval", *words], cwd=ROOT)


def lock(words: list[str], system: bool) -> int:
    import locking

    return locking.renew(words)


def prepare(level: str, system: bool) -> None:
    """Create or update the environment for this level, and check the system libraries and programs that it needs."""
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
    """Make Qt render widgets offscreen. Tests of the real window start a display of their own."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # With it, each of a thousand subprocesses would compile all modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.chdir(ROOT)


def failures() -> list[str]:
    """Run all checks, even after a failure. Return the names of those that failed."""
    failed = []
    for name, (tool, *words) in CHECKS.items():
        command = [str(SCRIPTS / tool), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # A single print keeps the output of a check together, because others may print at the same time.
        print(f"-- {name}: {tool} {' '.join(words)}\n{done.stdout}", end="", flush=True)
        if done.returncode != 0:
            failed.append(name)
    return failed


def all_tests() -> int:
    """Run all tests, and then the failed ones again on their own if they are few. Return the exit code.

    A test that fails only while others use the machine is flaky. It is named at the end of the output, for repair, but
    is no reason to refuse a change.
    """
    code = pytest(["-n", "3", "--dist", "worksteal"])
    if code != TESTS_FAILED:
        return code
    failed = list(json.loads(LAST_FAILED.read_text(encoding="utf-8")))
    if len(failed) > MAX_RETRIED:
        return code
    print(f"\n-- running {len(failed)} failed tests again, one at a time", flush=True)
    code = pytest(["--last-failed", "--last-failed-no-failures", "none"])
    if code == 0:
        print(f"flaky: {', '.join(failed)}", file=sys.stderr)
    return code


def pytest(words: list[str]) -> int:
    return subprocess.call([str(PYTHON), "-m", "pytest", *words])


def report(failed: list[str]) -> None:
    """Print the names of the failed checks at the end of the output, where the developer sees them."""
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)


def become(command: list[str]) -> NoReturn:
    """Replace this process by the command. On Windows, run the command and exit with its exit code."""
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
    "thinking": thinking,
    "bundle": bundle,
    "eval": evaluate,
    "screenshots": screenshots,
    "lock": lock,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
