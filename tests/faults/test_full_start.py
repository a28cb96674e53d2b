"""A start where the disk is full already: it is named, and what is there can be looked at."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.main import main
from core.store.opening import FILE
from tests.app.test_only_looking import GOLDEN, NAME, TYPING

ALONE = ("unshare", "--user", "--map-root-user", "--mount")
FILLED = """
mount -t tmpfs -o size=8m none "$0" && cp -r "$1" "$0/home"
cat /dev/zero > "$0/theirs" 2>/dev/null; truncate -s "-$2" "$0/theirs"; shift 2; exec "$@"
"""
READING = ("sessions", f"show {NAME}", f"replay {NAME}", "doctor")


@pytest.fixture(scope="module", autouse=True)
def small_disks() -> None:
    try:
        subprocess.run([*ALONE, "true"], check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine lets nobody make a small disk of their own (no user namespaces)")


def typed(home: Path, left: int, lines: tuple[str, ...]) -> dict[str, list[str]]:
    """Each line's exit code and words, on a disk of a copy of `home` where only so many bytes are left."""
    (home / "journeyman.ballast").unlink(missing_ok=True)
    (disk := home.parent / "disk").mkdir()
    lines = tuple(f"--home {disk / 'home'} {line}" for line in lines)
    command = [*ALONE, "sh", "-c", FILLED, str(disk), str(home), str(left), sys.executable, "-P", "-c", TYPING, *lines]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(root)}, cwd=disk, check=True
    )
    told: dict[str, list[str]] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("left", [0, 32768])
def test_a_full_disk_is_named_and_one_can_look(home: Path, left: int) -> None:
    home.mkdir(exist_ok=True)
    shutil.copy(max(GOLDEN.glob("v*.db")), home / FILE)
    assert main(["--home", str(home), "sessions"]) == 0
    for line, (code, said) in typed(home, left, (*READING, "demo")).items():
        assert "You can look" in said and "full" in said and "Free some space" in said, (line, said)
        assert "Check the disk" not in said and "Give yourself the right" not in said, (line, said)
        assert "mistake" not in said, (line, said)
        assert code == "0" or line.endswith(("doctor", "demo")), (line, code, said)


def test_a_full_disk_without_data_is_named(home: Path) -> None:
    home.mkdir(exist_ok=True)
    ((code, said),) = typed(home, 0, ("sessions",)).values()
    assert code == "1" and "full" in said and "Free some space" in said and "mistake" not in said, said
