"""Images in answers as a document shows them: files of the folder in a bounded size, everything else as a link."""

import random
import re

import pytest
from PySide6.QtCore import QBuffer, QObject, QSize, QUrl
from PySide6.QtGui import QColor, QImage, QTextDocument
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from ui.dialogs.image_dialog import ImageDialog
from ui.style.theme import Look
from ui.text.answer_images import (
    MAX_IMAGES,
    AnswerImage,
    AnswerImages,
    FileStamp,
    fit_images,
    image_link,
    image_of_link,
)
from ui.text.markdown import MarkdownStream
from ui.text.safe_document import SafeDocument
from ui.timeline import reply_widgets
from ui.timeline.reply_widgets import ReplyText
from ui.widgets.image_view import ImageView

TEXT = """\
# Report ![logo](logo.png)
The sales ![Sales by **month**](out/sales%20chart.png) rose.

- first ![a](a.png)
  ![b](b.png "title")

> [![linked](logo.png)](https://example.org)

| a | b |
|---|---|
| ![cell](logo.png) | x |

![gone](gone.png) ![far](https://example.org/pixel.png) ![data](data:image/png;base64,AAAA)
"""


def picture(width: int = 300, height: int = 200) -> QImage:
    made = QImage(width, height, QImage.Format.Format_RGB32)
    made.fill(QColor("teal"))
    return made


@pytest.fixture
def images(qapp: QObject) -> AnswerImages:
    made = AnswerImages(qapp)
    for path in ("logo.png", "out/sales chart.png", "a.png", "b.png"):
        made.deliver(path, AnswerImage(FileStamp(1, 1), picture()))
    made.deliver("gone.png", AnswerImage(FileStamp(), QImage(), "There is no file gone.png."))
    return made


def document_of(text: str, look: Look, images: AnswerImages) -> tuple[SafeDocument, MarkdownStream]:
    document = SafeDocument()
    stream = MarkdownStream(document, look, file_links=True, images=images)
    stream.finish(text)
    return document, stream


def lines(document: QTextDocument) -> list[str]:
    return [line for line in re.split("[\u2028\u2029\ufdd0\ufdd1]", document.toRawText()) if line]


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("a.png", "a.png"), ("./out/a%20b.png", "./out/a b.png"), ("/srv/a.png", "/srv/a.png"),
        ("file:///srv/a.png", "/srv/a.png"), ("https://a.example/a.png", ""), ("//x/a.png", ""),
        ("\\\\x\\a.png", ""), ("data:image/png;base64,AA", ""), ("qrc:/a.png", ""), ("", ""),
    ],
)  # fmt: skip
def test_only_addresses_of_files_are_images(address: str, path: str) -> None:
    assert image_of_link(image_link(address)) == path


def test_images_have_a_line_of_their_own_with_their_description_below(look: Look, images: AnswerImages) -> None:
    document, _ = document_of(TEXT, look, images)
    assert lines(document)[:9] == [
        "Report ", "\ufffc", "logo", "The sales ", "\ufffc", "Sales by **month**", "rose.", "first ", "\ufffc",
    ]  # fmt: skip
    assert lines(document)[9:12] == ["a", "\ufffc", "b"]
    assert "[cell]" in lines(document), "images in tables are links"
    last = lines(document)[-1]
    assert last == "[gone: There is no file gone.png.] [far] [data]"


def test_images_link_to_their_file_or_to_where_the_answer_says(look: Look, images: AnswerImages) -> None:
    document, _ = document_of(TEXT, look, images)
    links = {
        form.anchorHref() for form in document.allFormats() if form.isCharFormat() for form in [form.toCharFormat()]
    }
    assert {
        image_link("logo.png"),
        image_link("gone.png"),
        "https://example.org",
        "https://example.org/pixel.png",
    } <= links
    assert not any("data:" in link for link in links)


@pytest.mark.parametrize("seed", range(4))
def test_streaming_an_answer_with_images_ends_like_rendering_at_once(
    look: Look, images: AnswerImages, seed: int
) -> None:
    chance, end = random.Random(seed), 0
    document = SafeDocument()
    stream = MarkdownStream(document, look, file_links=True, images=images)
    while end < len(TEXT):
        end += chance.randint(1, 40)
        stream.write(TEXT[:end])
    stream.finish(TEXT)
    assert document.toHtml() == document_of(TEXT, look, images)[0].toHtml()


def test_an_image_is_reduced_to_the_width_of_the_text_and_never_enlarged(look: Look, images: AnswerImages) -> None:
    images.deliver("wide.png", AnswerImage(FileStamp(1, 1), picture(1_600, 300)))
    images.deliver("tall.png", AnswerImage(FileStamp(1, 1), picture(300, 900)))
    document, _ = document_of("- ![wide](wide.png)\n\n![tall](tall.png)\n\n![logo](logo.png)", look, images)

    def size(path: str) -> QSize:
        found = document.resource(QTextDocument.ResourceType.ImageResource.value, QUrl(image_link(path)))
        assert isinstance(found, QImage)
        return found.deviceIndependentSize().toSize()

    for width, pixel_ratio in ((600, 1.0), (400, 1.5), (800, 2.0)):
        fit_images(document, images, look, width, pixel_ratio)
        document.setTextWidth(width)
        assert document.idealWidth() <= width
        assert size("wide.png").width() == width - 20 and size("tall.png").height() <= 420
        assert size("logo.png").width() <= 300
    loaded = images.find("logo.png")
    assert loaded is not None and loaded.image.devicePixelRatio() == 1.0


def test_an_answer_shows_a_bounded_number_of_images(look: Look, images: AnswerImages) -> None:
    asked: list[str] = []
    images.requested.connect(lambda path, _: asked.append(path))
    text = "\n\n".join(f"![x](n{number}.png)" for number in range(3 * MAX_IMAGES))
    document, stream = document_of(text, look, images)
    assert len(asked) == len(stream.image_links) == MAX_IMAGES
    assert lines(document)[-1] == "[x]"
    stream.finish(text + "\n\n![x](n0.png)")
    assert len(asked) == MAX_IMAGES, "an image is requested once"
    images.recheck()
    stream.restyle(look)
    assert len(asked) == 2 * MAX_IMAGES, "and again when the file may have changed"


def test_the_memory_for_images_is_bounded(images: AnswerImages) -> None:
    for number in range(30):
        images.deliver(f"{number}.png", AnswerImage(FileStamp(1, 1), picture(1_600, 900)))
    assert images.find("0.png") is None and images.find("29.png") is not None


def test_images_are_fitted_again_only_when_others_arrive(
    qapp: QObject, look: Look, images: AnswerImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[int] = []

    def count(document: QTextDocument, images: AnswerImages, look: Look, width: int, pixel_ratio: float) -> None:
        fitted.append(width)
        fit_images(document, images, look, width, pixel_ratio)

    monkeypatch.setattr(reply_widgets, "fit_images", count)
    parent = QWidget()
    reply = ReplyText(look, images, parent)
    text, heights = "![logo](logo.png)\n\n", []
    for word in range(5):
        text += f"word {word}\n\n"
        reply.set_markdown(text, finished=False)
        heights.append(reply.height_at(400))
    assert fitted == [400] and heights == sorted(set(heights))
    reply.set_markdown(text + "![a](a.png)\n\n", finished=False)
    reply.height_at(400)
    reply.height_at(300)
    assert fitted == [400, 400, 300]
    reply.set_markdown("![b](b.png)", finished=True)
    assert reply.height_at(300) >= 200 and len(fitted) == 4


@pytest.mark.parametrize("look", ["dark"], indirect=True)
def test_transparent_images_have_a_light_ground(look: Look, images: AnswerImages, qtbot: QtBot) -> None:
    drawing = QImage(300, 200, QImage.Format.Format_ARGB32)
    drawing.fill(QColor("transparent"))
    images.deliver("drawing.png", AnswerImage(FileStamp(1, 1), drawing))
    document, _ = document_of("![drawing](drawing.png)", look, images)
    fit_images(document, images, look, 600, 2.0)
    shown = document.resource(QTextDocument.ResourceType.ImageResource.value, QUrl(image_link("drawing.png")))
    assert isinstance(shown, QImage) and shown.pixelColor(5, 5) == QColor("white")
    assert shown.deviceIndependentSize().toSize() == QSize(150, 100)
    buffer, window = QBuffer(), QWidget()
    qtbot.addWidget(window)
    drawing.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs take bytes only, PySide takes str
    view, dialog = (
        ImageView(look, bytes(buffer.data().data()), ""),
        ImageDialog(look, "drawing.png", drawing, 9, window),
    )
    for widget in (view, find(dialog, QWidget, "image.picture")):
        widget.resize(320, 240)
        assert widget.grab().toImage().pixelColor(160, 120) == QColor("white")
