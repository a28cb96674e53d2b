"""The replay of a session in the real window: step by step, to a row, to the end, and again."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from tests.core.engine.harness import call_reply, scripted_replies
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.dialogs.replay_dialog import ReplayDialog
from ui.widgets.item_list import ItemListView

SCRIPT = scripted_replies(call_reply("find", pattern="*"), call_reply("read", path="a.txt"), {"text": "It says one."})


def reached(dialog: ReplayDialog) -> int:
    return sum(item.replayed is not None for item in dialog.rows.items)


def state(dialog: ReplayDialog) -> str:
    return find(dialog, QLabel, "replay.state").text().replace("\u200b", "")


def test_a_session_is_replayed_step_by_step_and_from_a_row(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        (home / "work").mkdir()
        (home / "work" / "a.txt").write_text("one\n", "utf-8")
        await until(person.window.start.isVisible, "the start screen")
        session = await person.start(SCRIPT)()
        person.window.show_session(session)
        await until(lambda: person.window.row(session).status == "done", "the run")
        await until(person.window.actions_by_id["session.replay"].isEnabled, "the command")
        person.window.commands.actions.trigger("session.replay")
        dialog = await until(lambda: person.window.findChild(ReplayDialog), "the replay")
        following = find(dialog, QPushButton, "replay.next")
        await until(following.isEnabled, "it waits")
        assert reached(dialog) == 0 and len(dialog.rows.items) > 6
        press(dialog, Qt.Key.Key_Return)
        await until(lambda: reached(dialog) == 2 and following.isEnabled(), "the first step")
        rows = find(dialog, ItemListView, "replay.rows")
        read = next(n for n, item in enumerate(dialog.rows.items) if item.step.kind == "read")
        rows.setCurrentIndex(dialog.rows.index(read))
        click(find(dialog, QPushButton, "replay.selected"))
        await until(lambda: reached(dialog) == read and following.isEnabled(), "the row")
        click(find(dialog, QPushButton, "replay.end"))
        await until(lambda: state(dialog).startswith("The end."), "the end")
        assert reached(dialog) == len(dialog.rows.items) and "0 different" in state(dialog)
        assert not following.isEnabled()
        assert "Recorded: Read a.txt\nPlayed" in find(dialog, QLabel, "replay.details").text().replace("\u200b", "")
        click(find(dialog, QPushButton, "replay.restart"))
        await until(lambda: reached(dialog) == 0 and following.isEnabled(), "it starts over")
        dialog.close()
        await until(lambda: person.window.findChild(ReplayDialog) is None, "it closes")
        person.window.view.page.replay_requested.emit(read)
        again = await until(lambda: person.window.findChild(ReplayDialog), "the replay from a row")
        await until(lambda: reached(again) == read, "it goes on to the row")
        again.close()

    live(qapp, home, act)
