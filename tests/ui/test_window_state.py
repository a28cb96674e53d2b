"""The window state is written in the background and restored."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QApplication

from tests.ui.test_desktop_app import until
from ui.base.window_loop import WindowLoop
from ui.base.window_state import WindowState

PLACE = QByteArray(b"\x00place")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no file here that keeps its writer waiting")
def test_the_window_does_not_wait_for_a_draft_to_be_written(qapp: QApplication, tmp_path: Path) -> None:
    state = WindowState(tmp_path)
    os.mkfifo(slow := tmp_path / "slow")  # writing to it blocks until someone reads
    os.link(slow, part := tmp_path / "window.part")

    async def type_on() -> None:
        state.set_draft("s1", "Half a")
        await until(lambda: [one for one in threading.enumerate() if one.name == "window state"], "the writing")
        state.set_draft("s1", "Half a sentence, and a comma")

    with asyncio.Runner(loop_factory=lambda: WindowLoop(qapp)) as runner:
        runner.run(type_on())
    assert WindowState(tmp_path).draft("s1") == ""
    part.unlink()  # the next write creates an ordinary file
    with slow.open() as reader:
        assert "Half a" in reader.read()
    state.flush()
    assert WindowState(tmp_path).draft("s1") == "Half a sentence, and a comma"
    assert oct((tmp_path / "window.json").stat().st_mode & 0o777) == "0o600"


def test_saved_state_is_restored_and_emptied_state_is_removed(qapp: QApplication, tmp_path: Path) -> None:
    state = WindowState(tmp_path)
    state.set_blob("geometry", PLACE)
    state.set_text("scale", "1.25")
    state.set_text("tabs", "a b")
    state.flush()
    again = WindowState(tmp_path)
    assert again.blob("geometry") == PLACE and again.number("scale", 1) == 1.25
    again.set_text("tabs", "")
    again.flush()
    assert WindowState(tmp_path).text("tabs", "none") == "none"


def test_safe_mode_reads_nothing_and_writes_only_drafts(qapp: QApplication, tmp_path: Path) -> None:
    before = WindowState(tmp_path)
    before.set_text("theme", "dark")
    before.set_draft("s1", "Hello")
    before.flush()
    safe = WindowState(tmp_path, fresh=True)
    assert safe.text("theme") == "" and safe.draft("s1") == "Hello"
    safe.set_text("theme", "light")
    safe.set_draft("s1", "")
    safe.flush()
    assert safe.text("theme") == "light"
    assert WindowState(tmp_path).text("theme") == "dark" and WindowState(tmp_path).draft("s1") == ""


@pytest.mark.parametrize("broken", ["", "[]", '{"theme": 1}'])
def test_a_broken_file_is_ignored(qapp: QApplication, tmp_path: Path, broken: str) -> None:
    (tmp_path / "window.json").write_text(broken)
    assert WindowState(tmp_path).text("theme", "none") == "none"


def test_state_of_an_older_version_is_migrated(qapp: QApplication, tmp_path: Path) -> None:
    older = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    older.setValue("drafts/s1", "Words, with a comma")
    older.setValue("geometry", PLACE)
    older.sync()
    state = WindowState(tmp_path)
    assert state.draft("s1") == "Words, with a comma" and state.blob("geometry") == PLACE
