"""The reply of the session shown is announced while it is streamed, each paragraph once."""

import json
from pathlib import Path

from PySide6.QtWidgets import QApplication

from tests.ui.test_desktop_app import Person, activate, live, until

TEXT = "I looked at the *notes*.\n\nThe letter is ready.\n\n- Add your name.\n- Keep a copy."
SPOKEN = ["I looked at the notes.", "The letter is ready.", "Add your name. Keep a copy."]


def test_each_paragraph_of_the_reply_is_announced_once_and_not_repeated_at_the_end(
    qapp: QApplication, home: Path, announcements: list[str]
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await activate(window)
        script = json.dumps({"replies": [{"text": TEXT, "chunks": 40, "delay_s": 1}]})
        session = await person.start(script)()
        window.show_session(session)
        await until(lambda: "Write it. Finished" in announcements, "the end")
        assert [text for text in announcements if text != "Write it, running"] == [*SPOKEN, "Write it. Finished"]

    live(qapp, home, act)


def test_the_reply_of_a_session_that_is_not_shown_is_announced_at_its_end_only(
    qapp: QApplication, home: Path, announcements: list[str]
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await activate(window)
        window.show_session(await person.start()())
        await until(person.card, "a session that waits")
        announcements.clear()
        await person.start(json.dumps({"replies": [{"text": TEXT, "chunks": 40}]}))()
        await until(lambda: any("Finished" in text for text in announcements), "the end")
        # The question of the session shown is announced too if it does not have the focus yet.
        assert [text for text in announcements if "Question" not in text] == [
            "Write it. Finished: I looked at the notes. The letter is ready. Add your name. Keep a copy."
        ]

    live(qapp, home, act)
