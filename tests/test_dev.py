"""Tests of the development commands: the environment is created once and again when stale; errors are explained."""

import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
APP = "import os, sys, core\nprint('app', sys.argv[1:], os.getcwd(), core.__file__)\n"
LDD = """
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)
\tlibxcb-cursor.so.0 => not found
\tlibnew.so.1 => not found
"""


class Checkout(NamedTuple):
    """A minimal copy of the project with empty requirements, so that its setup needs no network."""

    root: Path

    def dev(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), cwd=cwd or self.root, capture_output=True, text=True, env=offline())

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(self.root / "packaging" / "dev.py"), "--no-system", *words]

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "made-from"


def offline() -> dict[str, str]:
    """Return an environment in which pip does not use the network."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}


def build(root: Path) -> Checkout:
    """Create a checkout whose app prints how it was started."""
    (root / "packaging").mkdir(parents=True)
    for script in (ROOT / "packaging").glob("*.py"):
        shutil.copy(script, root / "packaging")
    for name in ("requirements.txt", "requirements-dev.txt"):
        (root / "packaging" / name).write_text("# nothing\n")
    for name in ("app", "core"):
        (root / name).mkdir()
        (root / name / "__init__.py").write_text("")
    (root / "app" / "__main__.py").write_text(APP)
    return Checkout(root)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout that is set up; its path contains spaces, as home folders do."""
    made = build(tmp_path_factory.mktemp("a check") / "out")
    answer = made.dev("run")
    assert "Creating the environment" in answer.stdout and answer.returncode == 0, answer
    return made


def test_a_second_start_creates_nothing(checkout: Checkout) -> None:
    """It only starts the app and does not write the stamp file."""
    before = checkout.stamp.stat().st_mtime_ns
    answer = checkout.dev("run")
    assert answer.stdout.startswith("app [] ") and checkout.stamp.stat().st_mtime_ns == before


def test_arguments_and_folder_reach_the_app(checkout: Checkout, tmp_path: Path) -> None:
    """The app imports its own packages even if the current folder contains packages of the same name."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("raise SystemExit('the wrong core')")
    answer = checkout.dev("run", "show", "--json", cwd=tmp_path)
    assert answer.stdout == f"app ['show', '--json'] {tmp_path} {checkout.root / 'core' / '__init__.py'}\n", answer


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a .cmd file instead")
def test_there_is_a_journeyman_command(checkout: Checkout, tmp_path: Path) -> None:
    """It starts the app from any folder, even if the path of the checkout contains a space."""
    launcher = checkout.root / ".venv" / "bin" / "journeyman"
    answer = subprocess.run([launcher, "doctor"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.startswith(f"app ['doctor'] {tmp_path} ")


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    """Return a checkout that is not set up yet."""
    return build(tmp_path / "checkout")


def test_an_incomplete_environment_is_created_again(fresh: Checkout) -> None:
    """If the setup is killed, the next command starts over and succeeds."""
    process = subprocess.Popen(fresh.command("run"), env=offline(), stdout=subprocess.DEVNULL, start_new_session=True)
    begun = fresh.root / ".venv" / "pyvenv.cfg"
    end = time.monotonic() + 30
    while not begun.exists() and time.monotonic() < end:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not fresh.stamp.exists()
    answer = fresh.dev("run")
    assert "Creating the environment" in answer.stdout and "app []" in answer.stdout, answer


def made_stale(checkout: Checkout) -> Iterator[str]:
    """Make the environment stale or break it, in one way after the other."""
    (checkout.root / "packaging" / "requirements.txt").write_text("# something else\n")
    yield "new requirements"
    (checkout.root / ".venv" / "bin" / "python").unlink()
    yield "Python is missing"
    checkout.root.rename(checkout.root.with_name("moved"))
    yield "moved to another folder"


@pytest.mark.skipif(sys.platform == "win32", reason="the environment has POSIX paths")
def test_a_stale_environment_is_created_again(fresh: Checkout) -> None:
    """It is stale if its requirements, its Python or its location changed."""
    fresh.dev("run")
    for why in made_stale(fresh):
        now = fresh if fresh.root.exists() else Checkout(fresh.root.with_name("moved"))
        answer = now.dev("run")
        assert "Creating the environment" in answer.stdout and "app []" in answer.stdout, (why, answer)


def test_a_failed_installation_is_explained(fresh: Checkout) -> None:
    """The error has a cause and a hint but no traceback, and the next command tries again."""
    requirements = fresh.root / "packaging" / "requirements.txt"
    requirements.write_text(f"nothing-of-this-name==1.0 --hash=sha256:{'0' * 64}\n")
    answer = fresh.dev("run")
    assert answer.returncode == 1 and "Traceback" not in answer.stderr
    assert "could not be installed.\n       pip exited with code 1." in answer.stderr and "\nhint:  " in answer.stderr
    requirements.write_text("# nothing\n")
    assert "app []" in fresh.dev("run").stdout


@pytest.mark.parametrize(("words", "code"), [((), 0), (("help",), 0), (("dance",), 2)])
def test_usage(checkout: Checkout, words: tuple[str, ...], code: int) -> None:
    """Without a command, print the usage; an unknown command is a usage error."""
    answer = checkout.dev(*words)
    assert answer.returncode == code and "screenshots DIR" in answer.stdout


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module `system_parts`; `packaging` is a folder of scripts, not a package."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    return importlib.import_module("system_parts")


def test_missing_libraries_are_named_with_their_packages(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error contains the apt-get command, or on other systems the package names; no library is left out."""
    missing = parts.unfound(LDD)
    assert missing == ["libxcb-cursor.so.0", "libnew.so.1"]
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(Exception, match=r"are missing: libxcb-cursor\.so\.0, libnew") as caught:
        parts.provide(lambda: missing, parts.DEBIAN)
    assert "packages that Debian calls libxcb-cursor0" in str(caught.value) and "contain libnew.so.1" in str(
        caught.value
    )


@pytest.mark.skipif(sys.platform != "linux", reason="packages have Debian names")
def test_packages_are_installed_by_root_and_named_to_others(
    parts: Any, tmp_path: Path, monkeypatch: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """As root, apt-get installs them; for other users the command is shown. Output is shown only on failure."""
    log, apt = tmp_path / "log", tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$*" >> {log}\necho "delaying configuration" >&2\nexit ${{CODE:-0}}\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    answers = iter([["libEGL.so.1"], []])
    if os.geteuid() == 0:
        parts.provide(lambda: next(answers), parts.DEBIAN)
        assert log.read_text().splitlines()[-1].endswith("install -y --no-install-recommends libegl1")
        assert capfd.readouterr() == ("Installing system packages: libegl1 ...\n", "")
        monkeypatch.setenv("CODE", "100")
        with pytest.raises(Exception, match="output above"):
            parts.provide(lambda: ["libEGL.so.1"], parts.DEBIAN)
        assert capfd.readouterr().err == "delaying configuration\n"
    else:
        with pytest.raises(Exception, match="sudo apt-get install --no-install-recommends libegl1"):
            parts.provide(lambda: next(answers), parts.DEBIAN)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_pins_fit_the_project(name: str) -> None:
    """Every dependency is pinned within its bounds and with hashes; if not, run `dev.py lock`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["dependencies"] + (project["dependency-groups"]["dev"] if "dev" in name else [])
    lines = (ROOT / "packaging" / name).read_text(encoding="utf-8").splitlines()
    pins = dict(line.split(" ")[0].split("==") for line in lines if "==" in line)
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[requirement.name.lower()]), requirement
    assert sum("--hash=sha256:" in line for line in lines) > len(pins)


def test_both_requirement_files_pin_the_same_versions() -> None:
    """Users get the versions that were tested."""
    run, dev = (
        [
            Requirement(line.rstrip("\\ "))
            for line in (ROOT / "packaging" / name).read_text().splitlines()
            if "==" in line
        ]
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    for system, name in (("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows")):
        for version in ("3.11", "3.12", "3.13", "3.14"):
            here = {"sys_platform": system, "platform_system": name, "python_version": version}
            here |= {"python_full_version": f"{version}.0", "os_name": "nt" if system == "win32" else "posix"}
            pins, tested = (
                {f"{one.name}{one.specifier}" for one in found if one.marker is None or one.marker.evaluate(here)}
                for found in (run, dev)
            )
            assert pins and pins <= tested, (system, version, pins - tested)


@pytest.mark.parametrize("tests, code", [("fails_once", 0), ("fails_once passes fails", 1), ("passes", 0)])
def test_failed_tests_run_again_and_flaky_ones_are_named(tmp_path: Path, tests: str, code: int) -> None:
    checkout = build(tmp_path)
    (checkout.root / "pytest.ini").write_text("[pytest]\n")
    bodies = {
        "passes": "pass",
        "fails": "raise ValueError",
        "fails_once": "seen = Path('seen'); again = seen.exists(); seen.touch(); assert again",
    }
    made = "\n".join(f"def test_{name}():\n    {bodies[name]}" for name in tests.split())
    (checkout.root / "test_made.py").write_text(f"from pathlib import Path\n{made}\n")
    script = "import dev, pathlib, sys; dev.PYTHON = pathlib.Path(sys.executable); sys.exit(dev.all_tests())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=checkout.root,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(checkout.root / "packaging")},
    )
    assert done.returncode == code, done
    assert done.stderr == ("flaky: test_made.py::test_fails_once\n" if tests == "fails_once" else ""), done
    assert done.stdout.count("test session starts") == (1 if tests == "passes" else 2), done
