"""Errors and messages float above the content: nothing moves under the pointer, and the keyboard stays in place."""

from pathlib import Path

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from core.domain.problems import ErrorDetails
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, activate, live, until

LONG = ErrorDetails("The server is down.", "It did not respond. " * 12, "Try again later.")


def place(part: QWidget) -> QRect:
    return QRect(part.mapToGlobal(QPoint(0, 0)), part.size())


async def places_at_rest(parts: list[QWidget]) -> list[QRect]:
    """Return where the parts are once the window has stopped moving them."""
    seen = list[list[QRect]]()

    def places() -> list[QRect] | None:
        seen.append([place(part) for part in parts])
        return seen[-1] if seen[-20:].count(seen[-1]) == 20 else None

    return await until(places, "a layout at rest")


def test_no_control_moves_when_a_banner_comes_or_goes(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        window.show_session(await person.start()())
        answer = await until(person.card, "the question")
        parts = [answer, find(window.view, QPushButton, "run.stop"), find(window.view, QWidget, "run.tabs")]
        parts += [find(window.view, QWidget, name) for name in ("composer.input", "composer.send")]
        before = await places_at_rest(parts)
        rows = window.view.page.view
        height = rows.height()
        for bar in (window.notice, window.toast):
            window.show_error(LONG) if bar is window.notice else window.toast.show_message("Saved")
            await until(lambda: rows.height() < height, "room below the steps")
            assert [place(part) for part in parts] == before
            assert bar.height() >= bar.heightForWidth(bar.width()), "its text is not cut"
            assert not any(place(bar).intersects(box) for box in before)
            click(find(bar, QPushButton, "notice.close" if bar is window.notice else "toast.close"))
            await until(lambda: rows.height() == height, "the steps have their height again")
            assert [place(part) for part in parts] == before

    live(qapp, home, act)


def test_closing_a_banner_keeps_the_keyboard_in_what_is_shown(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        window.show_session(session := await person.start()())
        await until(person.card, "the question")
        await activate(window)
        close = find(window.notice, QPushButton, "notice.close")

        def close_banner() -> None:
            window.show_error(LONG)
            close.setFocus()
            press(close, Qt.Key.Key_Space)

        close_banner()
        assert window.view.asking.isAncestorOf(window.focusWidget()), "the question"
        click(find(window.view, QPushButton, "run.stop"))
        await until(lambda: window.row(session).status == "stopped", "the run has ended")
        close_banner()
        assert window.view.page.view.hasFocus(), "the steps"
        window.selection.choose_page("usage")
        await until(lambda: window.pages.isVisible(), "the page")
        close_banner()
        assert window.pages.isAncestorOf(window.focusWidget()), "the page"

    live(qapp, home, act)
