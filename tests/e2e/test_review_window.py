"""A large change is reviewed in a real window: comments on five lines are sent as one message, by keys and by mouse."""

import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from core.store.reader import Reader, ReadError
from tests.e2e.accessibility import AccessibilityBus, AccessibilityTree
from tests.e2e.screen import Program, Screen, running_program, wait_until
from tests.e2e.simulated_user import SimulatedUser
from tests.e2e.terminal import Terminal

FILES = [f"part_{number:02}.py" for number in range(32)]
END = "END = True\n"
LINES = "".join(f"def step_{number}(value):\n    return value + {number}\n" for number in range(36))
READS = [{"name": "read", "arguments": {"path": file}} for file in FILES]
EDITS = [{"name": "edit", "arguments": {"path": file, "old_string": END, "new_string": LINES + END}} for file in FILES]
Review = Callable[[SimulatedUser, AccessibilityTree], None]


def change_files(terminal: Terminal) -> None:
    """Let an agent add 72 lines to each of 32 files. Each run of its session does this again."""
    for file in FILES:
        (terminal.folder / file).write_text(END)
    terminal.script({"calls": READS}, {"calls": EDITS}, {"text": "I added the **steps**."})
    assert terminal.run().code == 0


def review_by_keyboard(user: SimulatedUser, tree: AccessibilityTree) -> None:
    user.display.keys("alt+3")
    user.wait_for("changes.count", "32 files")
    user.wait_for_focus("changes.files", role="list")
    user.display.keys("Return")
    user.wait_for_focus("changes.lines", role="table")
    for number in range(1, 6):
        user.display.keys("Down", "Down", "c")
        user.wait_for("changes.lines", "Comment on line", "cell")  # its field has the focus
        user.type_text(f"Comment {number}")
        user.display.keys("Return")
        wait_for_announcement(tree, "1 comment not sent" if number == 1 else f"{number} comments not sent")
        if number < 5:
            user.display.keys("shift+n")
            wait_for_announcement(tree, f"Changed lines of {FILES[number]}, 72 lines added")
    user.display.keys("bracketright")
    wait_for_announcement(tree, f"Changed lines of {FILES[0]}, 72 lines added")
    user.display.keys("ctrl+Return")
    wait_for_announcement(tree, "Sent 5 comments")


def review_by_mouse(user: SimulatedUser, tree: AccessibilityTree) -> None:
    user.click(name="Changes", role="page tab")
    user.wait_for("changes.count", "32 files")
    for number in range(1, 6):
        user.click("changes.files", FILES[number - 1], "list item")
        user.wait_for("changes.lines", f"Changed lines of {FILES[number - 1]}")
        line = user.wait_for("changes.lines", "added 2: ", "cell").area
        user.display.click(line.left + 10, line.middle[1])  # the plus sign
        user.wait_for("changes.lines", "Comment on line", "cell")  # its field has the focus
        user.type_text(f"Comment {number}")
        user.display.keys("Return")
        wait_for_announcement(tree, "1 comment not sent" if number == 1 else f"{number} comments not sent")
    user.click("changes.send")
    wait_for_announcement(tree, "Sent 5 comments")


def wait_for_announcement(tree: AccessibilityTree, text: str) -> None:
    while tree.next_announcement() != text:
        pass


def messages(program: Program) -> list[str]:
    """Return the messages of the user in the only session that is not of a sub-agent."""
    try:
        with closing(Reader(program.home / "journeyman.db")) as reader:
            [row] = [row for row in reader.sessions() if not row.parent]
            events = [(seq, kind) for seq, *_, kind, _ in reader.raw_events(row.id)]
            return [reader.full_text(row.id, seq) for seq, kind in events if kind == "user_message"]
    except (ReadError, sqlite3.Error):
        return []


@pytest.mark.parametrize("review", [review_by_keyboard, review_by_mouse])
def test_comments_on_five_lines_are_sent_and_the_follow_up_is_shown(
    display: Screen, accessibility_bus: AccessibilityBus, terminal: Terminal, review: Review
) -> None:
    change_files(terminal)
    with closing(AccessibilityTree(accessibility_bus)) as tree:
        tree.subscribe_announcements()
        with running_program(display, terminal.home) as program:
            user = SimulatedUser(display, program, tree)
            user.wait_for("run.tabs", role="page tab list")
            begin = time.monotonic()
            review(user, tree)
            sys.stdout.write(f"{review.__name__}: {time.monotonic() - begin:.1f} s\n")
            user.wait_for("changes.reply.title", "Reply to your comments")
            user.wait_for("changes.total", f"+{2 * 32 * 72} −0")
            wait_until(lambda: len(messages(program)) == 2, "one message with all comments")
            comments = messages(program)[1]
            assert [text for text in FILES if text in comments] == FILES[:5]
            assert all(f"Comment {number}" in comments for number in range(1, 6))
            user.wait_for("changes.lines", "Comment on line", "cell")
            program.kill()
