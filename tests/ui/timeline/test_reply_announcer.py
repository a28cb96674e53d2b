"""Replies are announced paragraph by paragraph, each once."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from ui.timeline.reply_announcer import ReplyAnnouncer

REPLY = "I *found* it.\n\nThe fix:\n\n```python\na = 1\n\nb = 2\n```\n\nAll tests pass"


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


@pytest.mark.parametrize("step", [1, 7, len(REPLY)])
def test_each_paragraph_is_announced_once_when_it_is_complete(
    window: QWidget, announcements: list[str], step: int
) -> None:
    announcer = ReplyAnnouncer(window)
    for _ in range(2):
        announcements.clear()
        for end in range(step, len(REPLY), step):
            announcer.follow(REPLY[:end])
        if step == 1:
            assert announcements == ["I found it.", "The fix:", "a = 1 b = 2"]
        announcer.finish(REPLY)
        heard = " ".join(announcements).replace(". All", " All")
        assert heard == "I found it. The fix: a = 1 b = 2 All tests pass"


def test_the_part_of_a_reply_that_arrived_before_its_session_was_shown_is_skipped(
    window: QWidget, announcements: list[str]
) -> None:
    announcer = ReplyAnnouncer(window)
    announcer.skip(REPLY)
    announcer.finish(REPLY)
    assert announcements == ["All tests pass"]


def test_nothing_is_announced_while_the_session_is_hidden(window: QWidget, announcements: list[str]) -> None:
    session = QWidget(window)
    announcer = ReplyAnnouncer(session)
    announcer.follow(REPLY)
    session.show()
    announcer.finish(REPLY)
    assert announcements == ["All tests pass"]
