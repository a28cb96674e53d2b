"""A really full disk: a small file system that another program fills, and that is freed again."""

import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import asyncio, os, sys
from pathlib import Path
from core.domain.events import UserMessage
from core.domain.text import Text
from core.domain.problems import Problem
from core.store.backup import back_up
from core.store.journal import Journal
from core.store.data_folder import open_data_folder
from tests.sessions import create_session
from core.store.reader import Reader

folder = Path(sys.argv[1]) / "data"
opened = open_data_folder(folder)
reader = Reader(opened.path)
journal = Journal(opened.database, reader)
opened.ballast.on_release = lambda: print("relieved")

def fill_up():
    with (folder.parent / "theirs").open("ab", buffering=0) as file:  # append: truncating would free space
        try:
            while file.write(bytes(65536)):
                pass
        except OSError:
            pass

async def main():
    name = await create_session(journal, "/tmp", "t")
    print("ballast", opened.ballast.path.exists())
    fill_up()
    entry = await journal.append(name, UserMessage(Text("the disk is full " * 40000)))
    print("saved", entry.seq, opened.ballast.path.exists())
    fill_up()
    try:
        await journal.append(name, UserMessage(Text("and full again")), blobs={"a" * 64: os.urandom(9_000_000)})
    except Problem as problem:
        print(problem)
    try:
        back_up(opened.path)
    except Problem as problem:
        print(problem)
    (folder.parent / "theirs").unlink()
    await journal.append(name, UserMessage(Text("there is room")))
    entry = await journal.append(name, UserMessage(Text("and some was kept back again")))
    print("saved", entry.seq, opened.ballast.path.exists())

asyncio.run(main())
reader.close()
opened.database.close()
opened = open_data_folder(folder)
opened.database.close()
print(opened.warnings, sorted(file.name for file in folder.iterdir()), list((folder / "backups").iterdir()))
"""

SAID = """\
ballast True
relieved
saved 2 False
The disk is full. database or disk is full. Free some space, then try again. Everything shown so far is saved.
The backup failed. database or disk is full. The older backups were kept.
saved 4 True
() ['backups', 'journeyman.ballast', 'journeyman.db', 'journeyman.mark'] []
"""


ALONE = ("unshare", "--user", "--map-root-user", "--mount")


def needs_small_file_system() -> None:
    try:
        subprocess.run([*ALONE, "true"], check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small file system needs user namespaces, which this machine does not allow")


def on_small_disk(folder: Path, megabytes: int, work: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a Python program whose first argument is a folder on a small file system."""
    script = f'mount -t tmpfs -o size={megabytes}m none "$0" && exec "$@"'
    command = [*ALONE, "sh", "-c", script, str(folder), sys.executable, "-c", work, str(folder), *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=root, check=False)


def test_a_full_disk_is_relieved_then_reported_then_recovered(tmp_path: Path) -> None:
    needs_small_file_system()
    done = on_small_disk(tmp_path, 80, WORK)
    assert (done.stdout, done.stderr) == (SAID, "")
