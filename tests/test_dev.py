"""The set-up commands: an environment made once, remade when stale or half-made, and words when a part is missing."""

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


class House(NamedTuple):
    """A small copy of the house whose requirements are empty, so that it is set up without a network."""

    root: Path

    def dev(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), cwd=cwd or self.root, capture_output=True, text=True, env=plain())

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(self.root / "packaging" / "dev.py"), "--no-system", *words]

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "made-from"


def plain() -> dict[str, str]:
    """Surroundings in which pip asks nobody."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}


def build(root: Path) -> House:
    """The set-up scripts around an app that tells how it was started."""
    (root / "packaging").mkdir(parents=True)
    for script in (ROOT / "packaging").glob("*.py"):
        shutil.copy(script, root / "packaging")
    for name in ("requirements.txt", "requirements-dev.txt"):
        (root / "packaging" / name).write_text("# nothing\n")
    for name in ("app", "core"):
        (root / name).mkdir()
        (root / name / "__init__.py").write_text("")
    (root / "app" / "__main__.py").write_text(APP)
    return House(root)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """One that was set up; its path holds a blank, as homes do."""
    made = build(tmp_path_factory.mktemp("a house") / "of mine")
    answer = made.dev("run")
    assert "Making the environment" in answer.stdout and answer.returncode == 0, answer
    return made


def test_a_second_start_makes_nothing(house: House) -> None:
    """It only starts the app, and leaves the stamp alone."""
    before = house.stamp.stat().st_mtime_ns
    answer = house.dev("run")
    assert answer.stdout.startswith("app [] ") and house.stamp.stat().st_mtime_ns == before


def test_words_and_folder_reach_the_app(house: House, tmp_path: Path) -> None:
    """The app sees the person's words and folder, and its own packages even where the folder has some of that name."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("raise SystemExit('the wrong core')")
    answer = house.dev("run", "show", "--json", cwd=tmp_path)
    assert answer.stdout == f"app ['show', '--json'] {tmp_path} {house.root / 'core' / '__init__.py'}\n", answer


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a .cmd instead, which needs a Windows to run")
def test_there_is_a_journeyman_command(house: House, tmp_path: Path) -> None:
    """It starts the app from any folder, also when the checkout's path holds a blank."""
    launcher = house.root / ".venv" / "bin" / "journeyman"
    answer = subprocess.run([launcher, "doctor"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.startswith(f"app ['doctor'] {tmp_path} ")


@pytest.fixture
def fresh(tmp_path: Path) -> House:
    """One that was not set up yet."""
    return build(tmp_path / "house")


def test_a_half_made_environment_is_made_again(fresh: House) -> None:
    """Killed in the middle, the next call starts over and succeeds."""
    process = subprocess.Popen(fresh.command("run"), env=plain(), stdout=subprocess.DEVNULL, start_new_session=True)
    begun = fresh.root / ".venv" / "pyvenv.cfg"
    end = time.monotonic() + 30
    while not begun.exists() and time.monotonic() < end:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not fresh.stamp.exists()
    answer = fresh.dev("run")
    assert "Making the environment" in answer.stdout and "app []" in answer.stdout, answer


def spoilt(house: House) -> Iterator[str]:
    """Ways in which an environment goes stale or breaks."""
    (house.root / "packaging" / "requirements.txt").write_text("# something else\n")
    yield "new requirements"
    (house.root / ".venv" / "bin" / "python").unlink()
    yield "no Python any more"
    house.root.rename(house.root.with_name("moved"))
    yield "moved to another place"


@pytest.mark.skipif(sys.platform == "win32", reason="the paths inside the environment are those of POSIX")
def test_a_stale_environment_is_made_again(fresh: House) -> None:
    """When its requirements, its Python or its place changed."""
    fresh.dev("run")
    for why in spoilt(fresh):
        now = fresh if fresh.root.exists() else House(fresh.root.with_name("moved"))
        answer = now.dev("run")
        assert "Making the environment" in answer.stdout and "app []" in answer.stdout, (why, answer)


def test_a_failed_installation_says_so(fresh: House) -> None:
    """What, why and what to do; no traceback; and the next call tries again."""
    requirements = fresh.root / "packaging" / "requirements.txt"
    requirements.write_text(f"nothing-of-this-name==1.0 --hash=sha256:{'0' * 64}\n")
    answer = fresh.dev("run")
    assert answer.returncode == 1 and "Traceback" not in answer.stderr
    assert "could not be installed.\n  why: pip ended with 1" in answer.stderr and "\n  do:  " in answer.stderr
    requirements.write_text("# nothing\n")
    assert "app []" in fresh.dev("run").stdout


@pytest.mark.parametrize(("words", "code"), [((), 0), (("help",), 0), (("dance",), 2)])
def test_usage(house: House, words: tuple[str, ...], code: int) -> None:
    """Without a command it tells what there is; an unknown one is an error of use."""
    answer = house.dev(*words)
    assert answer.returncode == code and "screenshots DIR" in answer.stdout


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that looks for system libraries; `packaging` is a folder of scripts and no package."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    return importlib.import_module("system_parts")


def test_missing_libraries_are_named_with_their_packages(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact command where there is apt; plain names elsewhere; never a name left out."""
    missing = parts.unfound(LDD)
    assert missing == ["libxcb-cursor.so.0", "libnew.so.1"]
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(Exception, match=r"are missing: libxcb-cursor\.so\.0, libnew") as caught:
        parts.provide(lambda: missing, parts.DEBIAN)
    assert "what Debian calls libxcb-cursor0" in str(caught.value) and "bring libnew.so.1" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="packages are those of Debian")
def test_packages_are_installed_by_root_and_named_to_others(
    parts: Any, tmp_path: Path, monkeypatch: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Root gets them from apt-get, without a question; anybody else gets the command. It talks only where it fails."""
    log, apt = tmp_path / "log", tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$*" >> {log}\necho "delaying configuration" >&2\nexit ${{CODE:-0}}\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    answers = iter([["libEGL.so.1"], []])
    if os.geteuid() == 0:
        parts.provide(lambda: next(answers), parts.DEBIAN)
        assert log.read_text().splitlines()[-1].endswith("install -y --no-install-recommends libegl1")
        assert capfd.readouterr() == ("Installing what the system lacks: libegl1 ...\n", "")
        monkeypatch.setenv("CODE", "100")
        with pytest.raises(Exception, match="see above"):
            parts.provide(lambda: ["libEGL.so.1"], parts.DEBIAN)
        assert capfd.readouterr().err == "delaying configuration\n"
    else:
        with pytest.raises(Exception, match="sudo apt-get install --no-install-recommends libegl1"):
            parts.provide(lambda: next(answers), parts.DEBIAN)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_pins_fit_the_project(name: str) -> None:
    """Every library the project names is pinned within its bounds, with hashes; `dev.py lock` was not forgotten."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["dependencies"] + (project["dependency-groups"]["dev"] if "dev" in name else [])
    lines = (ROOT / "packaging" / name).read_text(encoding="utf-8").splitlines()
    pins = dict(line.split(" ")[0].split("==") for line in lines if "==" in line)
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[requirement.name.lower()]), requirement
    assert sum("--hash=sha256:" in line for line in lines) > len(pins)


def test_both_lists_pin_alike() -> None:
    """What the app runs with is what it was tested with."""
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
