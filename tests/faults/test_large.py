"""Opening a data file of a quarter of a gigabyte does not read the whole file."""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.data_folder import DATABASE_FILE, open_data_folder
from tests.core.store.made import fill
from tests.faults.conftest import REASON
from tests.faults.tally import CountFaults
from tests.faults.test_interrupted_commands import do

SIZE = 268 << 20
PIECE = 1 << 20
SHARE = 0.05  # of the file that may be read

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason=REASON)


def read_by(home: Path, log: Path) -> int:
    """Return how many bytes of the data file a command reads."""
    data = home / DATABASE_FILE
    before = ("strace", "-f", "-qq", "-y", "-o", str(log), "-e", "trace=pread64,read")
    done = do(home, "sessions", before=before)
    assert done.returncode == 0 and "Session 0" in done.stdout, done
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if f"<{data}>" in line]
    return sum(int(found[1]) for line in lines if (found := re.search(r"= (\d+)$", line)))


def test_f19_a_large_file_is_opened_without_being_read(home: Path, tmp_path: Path, tried: CountFaults) -> None:
    """A file that was closed cleanly is not checked again."""
    fill(home / DATABASE_FILE)
    with closing(sqlite3.connect(home / DATABASE_FILE)) as db:
        for number in range(1, 1 + SIZE // PIECE):
            db.execute("INSERT INTO blob VALUES (?, ?, ?)", (f"{number:064}", PIECE, os.urandom(PIECE)))
        db.commit()
    opened = open_data_folder(home)  # the first start checks the whole file and marks it as clean on exit
    assert opened.database is not None and (home / DATABASE_FILE).stat().st_size >= SIZE
    opened.database.close()
    tried(1)
    assert 0 < read_by(home, tmp_path / "log") < SIZE * SHARE
