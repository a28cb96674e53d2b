"""The messages that wait for a run, as numbered cards above the input: change, order, send now, take back."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from core.store.queue import QueuedLine
from ui.composer.card import QueuedCard
from ui.theme import Look
from ui.widgets.announce import announce

HIGHEST: Final = 200  # beyond it the cards scroll: the run stays in sight


class QueueCards(QScrollArea):
    """Says what the person wants of a message by its entry; what is shown follows the journal."""

    edited = Signal(int, str)
    moved = Signal(int, int)
    hurried = Signal(int)
    removed = Signal(int)
    unsent = Signal(str)  # words that were being written into a message that was sent meanwhile

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._cards: list[QueuedCard] = []
        self._shown: tuple[tuple[QueuedLine, ...], bool] = ((), False)
        self._dragged: QueuedCard | None = None
        self.setObjectName("composer.queue")
        self.setAccessibleName(self.tr("Queued messages"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self._inside = QWidget()
        self._inside.setObjectName("composer.queue.cards")
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 0, 8)
        self._column.setSpacing(6)
        self.setWidget(self._inside)
        self._inside.installEventFilter(self)
        self.hide()

    def show_queue(self, lines: Sequence[QueuedLine], *, going: bool) -> None:
        """What waits now; a card that is being written in keeps its words."""
        wanted = (tuple(lines), going)
        if wanted == self._shown or self._dragged:
            return
        self._shown = wanted
        known = {card.entry: card for card in self._cards}
        self._cards = [known.pop(line.entry) if line.entry in known else self._card(line) for line in lines]
        for gone in known.values():
            self._drop(gone)
        note = self.tr("queued · after this round") if going else self.tr("not sent yet · goes with your next message")
        for number, (card, line) in enumerate(zip(self._cards, lines, strict=True), 1):
            card.show_line(line, number, note if number == 1 else "", going=going)
        self._order()
        self.setVisible(bool(self._cards))
        self._fit()

    def turn_away(self) -> str:
        """Another session is about to be shown: what was being written into a card here."""
        words = "\n\n".join(filter(None, (card.unsaved() for card in self._cards)))
        self._dragged = None
        for card in self._cards:
            card.give_up()
        self.show_queue((), going=False)
        return words

    def restyle(self, look: Look) -> None:
        self._look = look
        for card in self._cards:
            card.restyle(look)
        self._fit()

    def _card(self, line: QueuedLine) -> QueuedCard:
        made = QueuedCard(self._look, line)
        made.edited.connect(lambda text: self.edited.emit(made.entry, text))
        made.hurried.connect(lambda: self.hurried.emit(made.entry))
        made.removed.connect(lambda: self._remove(made))
        made.stepped.connect(lambda by: self._step(made, by))
        made.walked.connect(lambda by: self._walk(made, by))
        made.dragged.connect(lambda y: self._drag(made, y))
        made.dropped.connect(lambda: self._end_drag(made))
        made.grown.connect(self._fit)
        return made

    def _drop(self, card: QueuedCard) -> None:
        if words := card.unsaved():
            self.unsent.emit(words)
        self._column.removeWidget(card)
        card.hide()
        card.deleteLater()

    def _order(self) -> None:
        for place, card in enumerate(self._cards):
            if self._column.indexOf(card) != place:
                self._column.insertWidget(place, card)
            card.show()
        for before, after in zip(self._cards, self._cards[1:], strict=False):
            QWidget.setTabOrder(before.last_part(), after)

    def _remove(self, card: QueuedCard) -> None:
        """The keyboard goes to the neighbour."""
        if len(self._cards) > 1 and card.holds_keyboard():
            place = self._cards.index(card)
            self._cards[place + 1 if place + 1 < len(self._cards) else place - 1].setFocus()
        self.removed.emit(card.entry)

    def _step(self, card: QueuedCard, by: int) -> None:
        place = self._cards.index(card) + by
        if 0 <= place < len(self._cards):
            self.moved.emit(card.entry, place)
            announce(self, self.tr("Message {} of {}").format(place + 1, len(self._cards)))

    def _walk(self, card: QueuedCard, by: int) -> None:
        place = self._cards.index(card) + by
        if 0 <= place < len(self._cards):
            self._cards[place].setFocus(Qt.FocusReason.TabFocusReason)
            self.ensureWidgetVisible(self._cards[place])

    def _drag(self, card: QueuedCard, y: int) -> None:
        """The card goes where the mouse is; nothing is written down before it is let go."""
        self._dragged = card
        at = card.mapTo(self._inside, card.rect().topLeft()).y() + y
        others = [one for one in self._cards if one is not card]
        place = sum(at > one.geometry().center().y() for one in others)
        others.insert(place, card)
        if others != self._cards:
            self._cards = others
            self._order()
            self._column.activate()

    def _end_drag(self, card: QueuedCard) -> None:
        self._dragged = None
        self._shown = ((), False)  # the journal says next how it stands
        self.moved.emit(card.entry, self._cards.index(card))

    def _fit(self) -> None:
        self._column.activate()
        self.setFixedHeight(min(self._inside.sizeHint().height(), self._look.size(HIGHEST)))

    # Qt

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)
