"""A data file of a quarter of a gigabyte: it is opened without being read."""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.opening import FILE, open_data
from tests.core.store.made import fill
from tests.faults.conftest import REASON
from tests.faults.tally import Tried
from tests.faults.test_carrying import do

SIZE = 268 << 20
PIECE = 1 << 20
SHARE = 0.05  # of the file

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason=REASON)


def read_by(home: Path, log: Path) -> int:
    """How many bytes of the data file a command reads."""
    data = home / FILE
    before = ("strace", "-f", "-qq", "-y", "-o", str(log), "-e", "trace=pread64,read")
    done = do(home, "sessions", before=before)
    assert done.returncode == 0 and "Session 0" in done.stdout, done
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if f"<{data}>" in line]
    return sum(int(found[1]) for line in lines if (found := re.search(r"= (\d+)$", line)))


def test_f19_a_large_file_is_opened_without_being_read(home: Path, tmp_path: Path, tried: Tried) -> None:
    """What was closed in order is not looked through again; the first paint waits for no file at all."""
    fill(home / FILE)
    with closing(sqlite3.connect(home / FILE)) as db:
        for number in range(1, 1 + SIZE // PIECE):
            db.execute("INSERT INTO blob VALUES (?, ?, ?)", (f"{number:064}", PIECE, os.urandom(PIECE)))
        db.commit()
    opened = open_data(home)  # the first to see it looks at all of it, and says so by a mark when it ends
    assert opened.database is not None and (home / FILE).stat().st_size >= SIZE
    opened.database.close()
    tried(1)
    assert 0 < read_by(home, tmp_path / "log") < SIZE * SHARE
