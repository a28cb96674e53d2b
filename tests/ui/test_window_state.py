"""How the window was left is written beside the window, and is there again."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QApplication

from tests.ui.test_desktop import until
from ui.loop import WindowLoop
from ui.window_state import WindowState

PLACE = QByteArray(b"\x00place")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no file here that keeps its writer waiting")
def test_the_window_does_not_wait_for_a_draft_to_be_written(qapp: QApplication, tmp_path: Path) -> None:
    state = WindowState(tmp_path)
    os.mkfifo(slow := tmp_path / "slow")  # whoever writes here waits for a reader
    os.link(slow, part := tmp_path / "window.part")

    async def type_on() -> None:
        state.keep_draft("s1", "Half a")
        await until(lambda: [one for one in threading.enumerate() if one.name == "window state"], "the writing")
        state.keep_draft("s1", "Half a sentence, and a comma")

    with asyncio.Runner(loop_factory=lambda: WindowLoop(qapp)) as runner:
        runner.run(type_on())
    assert WindowState(tmp_path).draft("s1") == ""
    part.unlink()  # the next time it is an ordinary file
    with slow.open() as reader:
        assert "Half a" in reader.read()
    state.flush()
    assert WindowState(tmp_path).draft("s1") == "Half a sentence, and a comma"
    assert oct((tmp_path / "window.json").stat().st_mode & 0o777) == "0o600"


def test_what_is_kept_is_there_again_and_what_is_emptied_is_gone(qapp: QApplication, tmp_path: Path) -> None:
    state = WindowState(tmp_path)
    state.keep_blob("geometry", PLACE)
    state.keep_text("scale", "1.25")
    state.keep_text("tabs", "a b")
    state.flush()
    again = WindowState(tmp_path)
    assert again.blob("geometry") == PLACE and again.number("scale", 1) == 1.25
    again.keep_text("tabs", "")
    again.flush()
    assert WindowState(tmp_path).text("tabs", "none") == "none"


def test_safe_mode_knows_and_writes_nothing_but_drafts(qapp: QApplication, tmp_path: Path) -> None:
    before = WindowState(tmp_path)
    before.keep_text("theme", "dark")
    before.keep_draft("s1", "Hello")
    before.flush()
    safe = WindowState(tmp_path, fresh=True)
    assert safe.text("theme") == "" and safe.draft("s1") == "Hello"
    safe.keep_text("theme", "light")
    safe.keep_draft("s1", "")
    safe.flush()
    assert safe.text("theme") == "light"
    assert WindowState(tmp_path).text("theme") == "dark" and WindowState(tmp_path).draft("s1") == ""


@pytest.mark.parametrize("broken", ["", "[]", '{"theme": 1}'])
def test_a_broken_file_is_as_none(qapp: QApplication, tmp_path: Path, broken: str) -> None:
    (tmp_path / "window.json").write_text(broken)
    assert WindowState(tmp_path).text("theme", "none") == "none"


def test_what_an_older_version_left_is_taken_over(qapp: QApplication, tmp_path: Path) -> None:
    older = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    older.setValue("drafts/s1", "Words, with a comma")
    older.setValue("geometry", PLACE)
    older.sync()
    state = WindowState(tmp_path)
    assert state.draft("s1") == "Words, with a comma" and state.blob("geometry") == PLACE
