"""Images in answers in the real window: shown from the folder, never from the network, and opened by a click."""

import json
import os
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from PySide6.QtCore import QPoint, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QImage, QTextDocument
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget

from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.dialogs.image_dialog import ImageDialog
from ui.text.answer_images import image_link
from ui.timeline.reply_widgets import ReplyText


class Server(ThreadingHTTPServer):
    """A server on this computer that counts requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.paths.append(self.path)
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def paint(path: Path, color: str, size: tuple[int, int] = (300, 200)) -> None:
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.fill(QColor(color))
    assert image.save(str(path))


def work_folder(home: Path) -> Path:
    folder = home / "work"
    folder.mkdir()
    paint(folder / "chart.png", "teal", (3_000, 1_500))
    (folder / "text.png").write_text("no image")
    os.mkfifo(folder / "pipe.png")
    paint(home / "outside.png", "red")
    (folder / "link.png").symlink_to(home / "outside.png")
    return folder


async def answered(person: Person, *texts: str) -> ReplyText:
    session = await person.start(json.dumps({"replies": [{"text": text} for text in texts]}))()
    window = person.window
    await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
    window.show_session(session)
    await until(lambda: window.view.page.view.replies.shown, "the answer")
    return next(iter(window.view.page.view.replies.shown.values()))


def image_in(reply: ReplyText, path: str) -> QImage:
    name = QUrl(image_link(path))
    found = reply.document().resource(QTextDocument.ResourceType.ImageResource.value, name)
    assert isinstance(found, QImage)
    return found


def is_loaded(reply: ReplyText, path: str = "chart.png") -> bool:
    return image_in(reply, path).width() > 1


def test_files_of_the_folder_are_shown_and_nothing_is_loaded_from_the_network(
    qapp: QApplication, home: Path, server: Server
) -> None:
    async def act(person: Person) -> None:
        folder = work_folder(home)
        address = f"http://127.0.0.1:{server.server_port}/pixel.png"
        text = (
            f"Here: ![Sales by month]({folder}/chart.png) ![far]({address})\n\n![gone](gone.png) ![words](text.png)"
            " ![pipe](pipe.png) ![out](../outside.png) ![link](link.png)"
        )
        reply = await answered(person, text)
        await until(lambda: is_loaded(reply, f"{folder}/chart.png"), "the image")
        await until(lambda: reply.toPlainText().count(": ") >= 6, "what is wrong with the others")
        shown = reply.toPlainText()
        assert "Sales by month" in shown and "[far]" in shown
        assert "[gone: There is no file gone.png.]" in shown
        assert "[words: The file is not an image that can be shown.]" in shown
        assert "[pipe: pipe.png is not a regular file.]" in shown
        assert "[out: ../outside.png is outside the folder.]" in shown
        assert "[link: link.png is outside the folder.]" in shown
        image = image_in(reply, f"{folder}/chart.png")
        await until(lambda: image.height() <= reply.height(), "room for it")
        assert image.width() <= reply.width() and image.height() <= 420
        assert image.pixelColor(5, 5).name() == QColor("teal").name()

    live(qapp, home, act)
    assert server.paths == []


def test_a_click_opens_the_image_and_the_menu_reaches_it_by_keyboard(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        work_folder(home)
        shell, view = person.shell, person.window.view
        reply = await answered(person, "![Sales](chart.png)\n\nSee [a page](https://a.example).")
        await until(lambda: is_loaded(reply), "the image")
        await until(lambda: reply.height() > image_in(reply, "chart.png").height(), "room for it")
        click(reply.viewport(), QPoint(40, 60))
        dialog = await until(lambda: shell.findChild(ImageDialog), "the dialog")
        assert dialog.windowTitle() == "chart.png"
        assert find(dialog, QWidget, "image.picture").accessibleName().startswith("chart.png, 2400 × 1200 · ")
        click(find(dialog, QPushButton, "image.copy"))
        assert QGuiApplication.clipboard().image().width() == 2_400
        dialog.close()
        await until(lambda: shell.findChild(ImageDialog) is None, "it is closed")
        rows = view.page.view
        view.page._open_row_menu(QPoint(20, rows.rowViewportPosition(reply_position(person)) + 5))
        menu = await until(lambda: view.page.findChild(QMenu, "row.menu.links"), "the menu")
        assert [action.text() for action in menu.actions()] == ["Sales", "a page"]
        menu.actions()[0].trigger()
        again = await until(lambda: shell.findChild(ImageDialog), "the dialog again")
        again.close()

    live(qapp, home, act)


def reply_position(person: Person) -> int:
    model = person.window.view.page.model
    steps = [model.step_at(position) for position in range(model.rowCount())]
    return next(position for position, step in enumerate(steps) if step and step.kind == "reply")


def test_a_replaced_file_is_shown_after_the_next_answer(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        folder, window = work_folder(home), person.window
        paint(folder / "chart.png", "teal")
        reply = await answered(person, "![Sales](chart.png)", "Again: ![Sales](chart.png)")
        await until(lambda: is_loaded(reply), "the image")
        paint(folder / "new.png", "orange", (310, 200))
        shutil.move(folder / "new.png", folder / "chart.png")
        await person.program.engine.ask(lambda engine: engine.send_message(window.selection.session, "Again"))
        await until(lambda: image_in(reply, "chart.png").width() == 310, "the new image in the old answer")

    live(qapp, home, act)


def test_the_dialog_fits_the_window(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        image = QImage(2_400, 1_200, QImage.Format.Format_RGB32)
        person.shell.resize(900, 600)
        dialog = ImageDialog(person.window.look, "a/very/long/path/" * 9 + "chart.png", image, 9, person.window)
        dialog.open()
        assert dialog.width() <= 900 and dialog.height() <= 600
        assert dialog.focusWidget() is find(dialog, QPushButton, "image.close")
        dialog.reject()

    live(qapp, home, act)
