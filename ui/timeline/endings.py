"""The card at the end of a run: how it ended, what it made and took, and whether it helped."""

from collections.abc import Callable
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.domain.problems import Trouble
from core.domain.steps import Step
from ui.figures import money
from ui.icons import pixmap, put_icon
from ui.looks import end_figures, plural, status_look, words
from ui.theme import Look, wear
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.tip import tip
from ui.widgets.words import breakable, label

ABOVE: Final = 8
BELOW: Final = 12
SPARE: Final = 2
FILES_SHOWN: Final = 4
SAID_MS: Final = 1_600


class Verdict(NamedTuple):
    word: str = ""  # up, down or nothing
    note: str = ""


class Made(NamedTuple):
    """A file the run made or changed."""

    path: str
    added: int
    removed: int
    new: bool


class RunEnd(NamedTuple):
    """What the card of a run shows, its row aside."""

    header: Step | None
    files: tuple[Made, ...] = ()
    verdict: Verdict = Verdict()
    proposals: int = 0  # that wait for a word
    trouble: Trouble | None = None
    again: bool = False  # may it be tried once more?


class EndCard(QFrame):
    judged = Signal(int, str, str)
    """The run, up, down or nothing, and the note."""
    changes_wanted = Signal(str)
    """The file whose changes a person wants to see; empty for all of them."""
    review_wanted = Signal()
    """What was proposed is to be decided on."""
    again_wanted = Signal()
    """What failed is to be tried once more."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._run, self._word = 0, ""
        self._shown: tuple[Step, RunEnd] | None = None
        self.setObjectName("end")
        self.setProperty("surface", "card")
        self._glyph = QLabel()
        self._status = label("", look.fonts.strong, name="end.status")
        self._figures = ElidedLabel("", look.fonts.text, "second", name="end.figures")
        self._files = self._link("end.files")
        self._files.clicked.connect(lambda: self.changes_wanted.emit(""))
        self._proposals = self._link("end.proposals")
        self._proposals.setToolTip(words("What was learnt here waits for your word: keep, edit or reject"))
        self._proposals.clicked.connect(self.review_wanted)
        self._asks = label(words("Did it help?"), look.fonts.text, "second", name="end.asks")
        self._thumbs = {word: self._thumb(word) for word in ("up", "down")}
        self._why = ElidedLabel("", look.fonts.text, name="end.why")
        self._cure = label("", look.fonts.text, "second", name="end.cure", wrap=True)
        self._again = Button(look, words("Try again"), name="end.again")
        self._again.clicked.connect(self.again_wanted)
        self._names = QHBoxLayout()
        self._names.setSpacing(14)
        self._names_box = QWidget()
        self._names_box.setLayout(self._names)
        self._note = QLineEdit()
        self._note.setObjectName("end.note")
        self._note.setPlaceholderText(words("Add a note: what was good, what was not?"))
        self._note.setAccessibleName(words("A note to your verdict"))
        self._note.returnPressed.connect(self._keep_note)
        self._kept = label("", look.fonts.second, "done", name="end.kept")
        self._calm = QTimer(self, interval=SAID_MS, singleShot=True)
        self._calm.timeout.connect(lambda: self._say(""))
        self._lay_out()

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(8)
        for part in (self._glyph, self._status):
            first.addWidget(part)
        first.addSpacing(8)
        first.addWidget(self._figures, 1)
        first.addWidget(self._files)
        first.addWidget(self._proposals)
        first.addSpacing(8)
        first.addWidget(self._asks)
        for thumb in self._thumbs.values():
            first.addWidget(thumb)
        self._names.setContentsMargins(0, 0, 0, 0)
        note = QHBoxLayout()
        note.setSpacing(10)
        note.addWidget(self._note, 1)
        note.addWidget(self._kept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(15, 9, 13, 9)
        layout.setSpacing(6)
        layout.addLayout(first)
        layout.addWidget(self._why)
        cure = QHBoxLayout()
        cure.setSpacing(12)
        cure.addWidget(self._cure, 1)
        cure.addWidget(self._again, 0, Qt.AlignmentFlag.AlignBottom)
        layout.addLayout(cure)
        layout.addWidget(self._names_box)
        layout.addLayout(note)

    def show_end(self, step: Step, end: RunEnd) -> None:
        """The end of a run, as it is known now."""
        if self._shown == (step, end):
            return
        other = step.run != self._run or self._shown is None
        self._shown = (step, end)
        self._run, self._word = step.run, end.verdict.word
        status, theme = status_look(step.status), self._look.theme
        size = self._look.size(16)
        self._glyph.setPixmap(pixmap(status.icon, theme.colour(status.token), size, self.devicePixelRatioF()))
        self._status.setText(words(status.word))
        wear(self._status, tone=status.token)
        figures = end_figures(step, end.header)
        if end.header and end.header.cost:
            figures.append(money(end.header.cost))
        self._figures.show_text(" · ".join(figures))
        self._show_files(end.files)
        self._proposals.setText(f" {plural(end.proposals, 'proposal', 'proposals')}")
        put_icon(self._proposals, "sparkles", theme.learned, size)
        self._proposals.setVisible(end.proposals > 0)
        self._why.show_text(visible(step.object))
        self._why.setVisible(bool(step.object))
        cure = "\n".join(visible(part) for part in (end.trouble.why, end.trouble.do) if part) if end.trouble else ""
        self._cure.setText(breakable(cure))
        self._cure.setVisible(bool(cure))
        self._again.setVisible(end.again)
        for word, thumb in self._thumbs.items():
            thumb.setChecked(word == self._word)
            colour = (theme.done if word == "up" else theme.failed) if word == self._word else theme.text
            put_icon(thumb, f"thumbs-{word}", colour, size)
        if other or not self._note.hasFocus():
            self._note.setText(end.verdict.note)
        self._note.setVisible(bool(self._word))
        if other:
            self._say("")
        parts = [self._status.text(), *figures, visible(step.object), cure, words("Did it help?")]
        self.setAccessibleName(f"{words('End of the run')}: {', '.join(part for part in parts if part)}")

    def tall(self, width: int = 0) -> int:
        """How high it is where it is so wide."""
        layout = self.layout()
        assert layout is not None
        for part in (*layout.findChildren(QLayout), layout):
            part.invalidate()  # what came or went while the card was hidden has told nobody
        if not layout.hasHeightForWidth():  # nothing in it is wrapped
            return layout.totalSizeHint().height()
        return layout.totalHeightForWidth(width or self.width())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._status.setFont(look.fonts.strong)
        for part in (self._figures, self._why, self._cure, self._asks):
            part.setFont(look.fonts.text)
        self._again.restyle(look)
        self._files.setFont(look.fonts.text)
        self._proposals.setFont(look.fonts.text)
        self._kept.setFont(look.fonts.second)
        self._note.setFont(look.fonts.text)
        if shown := self._shown:
            self._shown = None
            self.show_end(*shown)

    def _show_files(self, files: tuple[Made, ...]) -> None:
        new = sum(file.new for file in files)
        said = [plural(new, "file made", "files made")] if new else []
        said += [plural(len(files) - new, "file changed", "files changed")] if len(files) > new else []
        self._files.setText(" · ".join(said))
        self._files.setVisible(bool(files))
        while (item := self._names.takeAt(0)) is not None:
            if old := item.widget():
                old.hide()
                old.deleteLater()
        parts = [self._file(file) for file in files[:FILES_SHOWN]]
        if len(files) > FILES_SHOWN:
            more = self._link("end.more")
            more.setText(f"+{len(files) - FILES_SHOWN}")
            more.clicked.connect(lambda: self.changes_wanted.emit(""))
            parts.append(more)
        for part in parts:
            self._names.addWidget(part)
            part.show()  # in a card that is seen Qt does it later, and how high the card is, is asked now
        self._names.addStretch(1)
        self._names_box.setVisible(bool(files))

    def _file(self, file: Made) -> QPushButton:
        made = self._link("end.file")
        made.setFont(self._look.fonts.mono)
        name = visible(file.path)
        metrics = QFontMetrics(self._look.fonts.mono)
        figures = " ".join(f"{sign}{number}" for sign, number in (("+", file.added), ("−", file.removed)) if number)
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, self._look.size(180))
        made.setText(f" {shown} {figures}".rstrip())
        made.setToolTip(tip(words("Show what changed in {}").format(name)))
        made.setAccessibleName(f"{name} {figures}")
        picture = "file-plus" if file.new else "file-pen-line"
        put_icon(made, picture, self._look.theme.done, self._look.size(16))
        made.clicked.connect(lambda: self.changes_wanted.emit(file.path))
        return made

    def _link(self, name: str) -> QPushButton:
        made = QPushButton(self)
        made.setObjectName(name)
        made.setProperty("tone", "link")
        made.setFont(self._look.fonts.text)
        made.setCursor(Qt.CursorShape.PointingHandCursor)
        return made

    def _thumb(self, word: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(f"end.{word}")
        made.setCheckable(True)
        made.setProperty("tone", "framed")
        said = words("It helped") if word == "up" else words("It did not help")
        made.setToolTip(said)
        made.setAccessibleName(said)
        made.clicked.connect(lambda: self._judge(word))
        return made

    def _judge(self, word: str) -> None:
        """The same thumb once more takes the verdict back."""
        word = "" if word == self._word else word
        self._say("")
        self.judged.emit(self._run, word, self._note.text().strip() if word else "")

    def _keep_note(self) -> None:
        self._say(words("Kept"))
        self.judged.emit(self._run, self._word, self._note.text().strip())

    def _say(self, said: str) -> None:
        """Beside the note, which has the whole width while nothing is said."""
        self._kept.setText(said)
        self._kept.setVisible(bool(said))
        if said:
            self._calm.start()

    # Qt

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class Endings:
    """A card for each end of a run near the screen."""

    def __init__(self, parent: QWidget, look: Look, made: Callable[[EndCard], None]) -> None:
        self._parent, self._look, self._tell = parent, look, made
        self._shown: dict[int, EndCard] = {}
        self._spare: list[EndCard] = []
        self._near: set[int] = set()

    @property
    def shown(self) -> dict[int, EndCard]:
        return self._shown

    def height(self, step: Step, end: RunEnd, width: int) -> int:
        card = self._shown.get(step.row)
        self._near.add(step.row)
        if card is None:
            card = self._shown[step.row] = self._spare.pop() if self._spare else self._make()
        card.show_end(step, end)
        return card.tall(width) + ABOVE + BELOW

    def place(self, boxes: dict[int, QRect]) -> None:
        for row in [row for row in self._shown if row not in boxes]:
            card = self._shown[row]
            card.hide()
            if row not in self._near:
                self._spare.append(self._shown.pop(row))
        while len(self._spare) > SPARE:
            self._spare.pop().deleteLater()
        self._near.clear()
        for row, box in boxes.items():
            card = self._shown[row]
            if card.geometry() != box:
                card.setGeometry(box)
            card.show()

    def clear(self) -> None:
        for card in self._shown.values():
            card.hide()
            self._spare.append(card)
        self._shown.clear()

    def restyle(self, look: Look) -> None:
        self._look = look
        for card in [*self._shown.values(), *self._spare]:
            card.restyle(look)

    def _make(self) -> EndCard:
        card = EndCard(self._look, self._parent)
        for part in (card, *card.findChildren(QWidget)):
            part.ensurePolished()  # how high it is depends on the style sheet, and it is asked before it is shown
        self._tell(card)
        return card
