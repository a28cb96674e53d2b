"""Package and tarball on a clean Debian without Python: install, use with the mouse, remove; the data stays.

Needs root, the network, and the output folder of `packaging/dev.py bundle` in JOURNEYMAN_BUNDLE.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.process_health import stalls
from tests.e2e.screen import ROOT, Program, Screen, virtual_screen, wait_until

MADE = Path(os.environ.get("JOURNEYMAN_BUNDLE") or "nowhere")
ENTER = str(ROOT / "packaging" / "clean_root.sh")
TIMES = 5

pytestmark = pytest.mark.skipif(
    not MADE.is_dir(), reason="needs the output folder of `dev.py bundle` in JOURNEYMAN_BUNDLE"
)


class Debian:
    """A Debian system in a folder, entered by chroot."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def do(self, *words: str, user: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words, user=user), env=BARE, capture_output=True, text=True, timeout=900, check=False
        )

    def words(self, *words: str, user: str = "") -> list[str]:
        """Return the command line that runs `words` in the system, as root or as `user`."""
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", f"HOME=/home/{user}"]
        return [ENTER, str(self.root), *(as_user if user else ()), *words]


BARE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


class Installed(Program):
    """The installed or unpacked program, started by the user ada."""

    def __init__(self, on: Screen, debian: Debian, home: Path, program: str = "journeyman") -> None:
        self.debian, self.program = debian, program
        super().__init__(on, home)

    def _words(self, *words: str) -> list[str]:
        inside = "/" + str(self.home.relative_to(self.debian.root))
        display = ("env", f"DISPLAY={self.screen.display}", "QT_QPA_PLATFORM=xcb")
        return self.debian.words(*display, self.program, "--data-dir", inside, *words, user="ada")


@pytest.fixture
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debian]:
    """A fresh minimal system with one user."""
    base = MADE / "debian"
    if not (base / "etc" / "debian_version").exists():
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", str(base)], check=True, stdout=sys.stderr)
    root = tmp_path_factory.mktemp("clean") / "root"
    subprocess.run(["cp", "-a", str(base), str(root)], check=True)
    made = Debian(root)
    assert made.do("useradd", "--create-home", "ada").returncode == 0
    assert made.do("sh", "-c", "ls /usr/bin | grep -q ^python").returncode == 1
    yield made
    shutil.rmtree(root)


def test_the_bundle_is_installed_used_and_removed_and_the_data_stays(debian: Debian, tmp_path: Path) -> None:
    (package,) = MADE.glob("*.deb")
    shutil.copy(package, debian.root / "root" / package.name)
    assert debian.do("apt-get", "-qq", "update").returncode == 0
    install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", f"/root/{package.name}", "bubblewrap"]
    done = debian.do(*install)
    assert done.returncode == 0, done.stdout + done.stderr
    assert debian.do("sh", "-c", "ls /usr/bin | grep -q ^python").returncode == 1
    doctor = debian.do("journeyman", "doctor", user="ada")
    assert "Proven here: bubblewrap, verified" in doctor.stdout or "bubblewrap" in doctor.stdout, doctor
    sys.stdout.write(doctor.stdout + doctor.stderr)
    folder = tmp_path / "screen"
    folder.mkdir()
    home = debian.root / "home" / "ada" / "data"
    with virtual_screen(folder) as display:
        demo(display, debian, home)
        bundle = statistics.median(shown(Installed(display, debian, home)) for _ in range(TIMES))
        source = statistics.median(shown(Program(display, tmp_path / "home")) for _ in range(TIMES))
        entered = statistics.median(took(debian.words("true", user="ada")) for _ in range(TIMES))
        words = f"a window: bundle {(bundle - entered) * 1000:.0f} ms, source {source * 1000:.0f} ms\n"
        sys.stdout.write(words)
    figures(debian, package)
    assert debian.do("apt-get", "-qq", "purge", "-y", "journeyman").returncode == 0
    left = debian.do("sh", "-c", "find / -xdev -name '*journeyman*' -not -path '/proc/*' -not -path '/root/*'")
    assert all(line.startswith(("/home/", "/var/")) for line in left.stdout.splitlines()), left.stdout
    assert (home / "journeyman.db").stat().st_size > 50_000


def test_the_tarball_starts_where_it_is_unpacked(debian: Debian, tmp_path: Path) -> None:
    """The README lists the required libraries, and once removed the program leaves nothing but data."""
    (tarball,) = MADE.glob("*.tar.xz")
    place = debian.root / "home" / "ada"
    subprocess.run(["tar", "xf", str(tarball), "-C", str(place)], check=True)
    assert debian.do("chown", "-R", "ada:ada", "/home/ada").returncode == 0
    (folder,) = place.glob("journeyman-*")
    program = f"/home/ada/{folder.name}/journeyman"
    needs = re.findall(r"(?m)^    (lib.*(?:\n    \S.*)*)", (folder / "README").read_text("utf-8"))[0].split()
    installed = debian.do("apt-get", "-qq", "install", "-y", "--no-install-recommends", *needs)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert debian.do("sh", "-c", "ls /usr/bin | grep -q ^python; which journeyman").returncode == 1
    (tmp_path / "screen").mkdir()
    home = place / "mine" / "data"
    assert debian.do("mkdir", "/home/ada/mine", user="ada").returncode == 0
    with virtual_screen(tmp_path / "screen") as display:
        demo(display, debian, home, program)
        shows = statistics.median(shown(Installed(display, debian, home, program)) for _ in range(TIMES))
    entered = statistics.median(took(debian.words("true", user="ada")) for _ in range(TIMES))
    size = sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    sys.stdout.write(f"tarball {tarball.stat().st_size / 1e6:.1f} MB, unpacked {size:.0f} MB, ")
    sys.stdout.write(f"a window {(shows - entered) * 1000:.0f} ms\n")
    left = debian.do("sh", "-c", "cd /home/ada; find . .cache -newer .profile -maxdepth 1 -mindepth 1", user="ada")
    system = {"./.cache", ".cache/fontconfig", ".cache/mesa_shader_cache"}  # created by system libraries
    assert set(left.stdout.splitlines()) - system <= {f"./{folder.name}", "./mine"}, left.stdout


def demo(display: Screen, debian: Debian, home: Path, command: str = "journeyman") -> None:
    """Run the demo with the mouse: start it, choose an option of the question, and send the answer."""
    program = Installed(display, debian, home, command)
    try:
        program.start_demo()
        program.wait_for_card()
        program.wait_for_status("waiting")
        display.click(*program.wait_for_option(2))
        card = program.wait_for_card()
        display.click(*program.wait_for_button(after=card.left, above=card.top).middle)
        program.wait_for_status("done")
        wait_until(lambda: display.waiting_in_title() == 0, "nothing is pending")
        display.keys("alt+F4")
        assert program.process.wait(20) == 0
        assert (home / "crash.log").read_text() == ""
        sys.stdout.write(f"stalls over 100 ms: {stalls(home)} ms\n")
    finally:
        if program.process.poll() is None:
            program.kill()


def shown(program: Program) -> float:
    """Return the seconds from the start of the process to a window on the screen."""
    begun = time.perf_counter()
    try:
        wait_until(lambda: program.screen.titles(), "a window")
        return time.perf_counter() - begun
    finally:
        program.wait_for_button()
        wait_until(lambda: left(program), "the program exits")


def left(program: Program) -> bool:
    """Ask the program to close and return whether it has; repeat, because an unfocused window gets no keys."""
    if program.process.poll() is None:
        program.screen.keys("alt+F4")
    return program.process.poll() is not None


def figures(debian: Debian, package: Path) -> None:
    """Print sizes and start times, compared with those from source."""
    size = debian.do("du", "-sm", "/usr/lib/journeyman").stdout.split()[0]
    sys.stdout.write(f"package {package.stat().st_size / 1e6:.1f} MB, installed {size} MB\n")
    nothing = statistics.median(took(debian.words("true", user="ada")) for _ in range(TIMES))
    bundle = statistics.median(took(debian.words("journeyman", "sessions", user="ada")) for _ in range(TIMES))
    source = [sys.executable, "-m", "app", "--data-dir", str(debian.root / "home" / "source"), "sessions"]
    ours = statistics.median(took(source) for _ in range(TIMES))
    sys.stdout.write(f"`sessions`: bundle {(bundle - nothing) * 1000:.0f} ms, source {ours * 1000:.0f} ms\n")


def took(words: list[str]) -> float:
    begun = time.perf_counter()
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **BARE}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not re.search("Traceback", done.stderr), done
    return time.perf_counter() - begun
