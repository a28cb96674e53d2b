"""Starting with a full disk: the error names the cause, and existing sessions can be viewed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.main import main
from core.store.data_folder import DATABASE_FILE
from tests.app.test_read_only_commands import GOLDEN, NAME, TYPING

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
        pytest.skip("mounting a small file system needs user namespaces, which this machine does not allow")


def run_commands(home: Path, left: int, lines: tuple[str, ...]) -> dict[str, list[str]]:
    """Run command lines on a copy of `home` on a disk with `left` bytes free; return exit code and output of each."""
    (home / "journeyman.ballast").unlink(missing_ok=True)
    (disk := home.parent / "disk").mkdir()
    lines = tuple(f"--data-dir {disk / 'home'} {line}" for line in lines)
    command = [*ALONE, "sh", "-c", FILLED, str(disk), str(home), str(left), sys.executable, "-P", "-c", TYPING, *lines]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(root)}, cwd=disk, check=True
    )
    outputs: dict[str, list[str]] = json.loads(done.stdout)
    return outputs


@pytest.mark.parametrize("left", [0, 32768])
def test_a_full_disk_is_named_and_sessions_can_be_viewed(home: Path, left: int) -> None:
    home.mkdir(exist_ok=True)
    shutil.copy(max(GOLDEN.glob("v*.db")), home / DATABASE_FILE)
    assert main(["--data-dir", str(home), "sessions"]) == 0
    for line, (code, said) in run_commands(home, left, (*READING, "demo")).items():
        assert "The data is read-only" in said and "full" in said and "Free some space" in said, (line, said)
        assert "Check the disk" not in said and "Change its permissions" not in said, (line, said)
        assert "Internal error" not in said, (line, said)
        assert code == "0" or line.endswith(("doctor", "demo")), (line, code, said)


def test_a_full_disk_without_data_is_named(home: Path) -> None:
    home.mkdir(exist_ok=True)
    ((code, said),) = run_commands(home, 0, ("sessions",)).values()
    assert code == "1" and "full" in said and "Free some space" in said and "Internal error" not in said, said
