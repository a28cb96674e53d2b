"""The queued messages of a run as numbered cards above the message field."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from core.store.queued_messages import QueuedMessage
from ui.composer.queued_card import QueuedCard
from ui.style.theme import Look
from ui.widgets.announce import announce

MAX_HEIGHT: Final = 200  # pixels; beyond it the cards scroll, so that the timeline stays visible


class QueueCards(QScrollArea):
    """The cards of the queued messages.

    Signals identify a message by the sequence number of its event. The cards change only when the event log does.
    """

    edited = Signal(int, str)
    moved = Signal(int, int)
    send_now_requested = Signal(int)
    removed = Signal(int)
    unsent_text = Signal(str)  # the unsaved edit of a message that was sent in the meantime

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._cards: list[QueuedCard] = []
        self._shown: tuple[tuple[QueuedMessage, ...], bool] = ((), False)
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

    def show_queue(self, messages: Sequence[QueuedMessage], *, running: bool) -> None:
        """Show these messages; a card that is being edited keeps its text. `running` is true while a run is active."""
        wanted = (tuple(messages), running)
        if wanted == self._shown or self._dragged:
            return
        self._shown = wanted
        known = {card.seq: card for card in self._cards}
        self._cards = [known.pop(line.entry) if line.entry in known else self._card(line) for line in messages]
        for gone in known.values():
            self._drop(gone)
        note = (
            self.tr("queued · sent after this turn")
            if running
            else self.tr("not sent yet · will be sent with your next message")
        )
        for number, (card, line) in enumerate(zip(self._cards, messages, strict=True), 1):
            card.show_message(line, number, note if number == 1 else "", running=running)
        self._order()
        self.setVisible(bool(self._cards))
        self._fit()

    def take_unsaved(self) -> str:
        """Clear the cards before another session is shown, and return the text of unsaved edits."""
        words = "\n\n".join(filter(None, (card.unsaved_text() for card in self._cards)))
        self._dragged = None
        for card in self._cards:
            card.discard_edit()
        self.show_queue((), running=False)
        return words

    def restyle(self, look: Look) -> None:
        self._look = look
        for card in self._cards:
            card.restyle(look)
        self._fit()

    def _card(self, line: QueuedMessage) -> QueuedCard:
        made = QueuedCard(self._look, line)
        made.edited.connect(lambda text: self.edited.emit(made.seq, text))
        made.send_now_requested.connect(lambda: self.send_now_requested.emit(made.seq))
        made.removed.connect(lambda: self._remove(made))
        made.move_requested.connect(lambda by: self._step(made, by))
        made.focus_move_requested.connect(lambda by: self._walk(made, by))
        made.dragged.connect(lambda y: self._drag(made, y))
        made.dropped.connect(lambda: self._end_drag(made))
        made.height_changed.connect(self._fit)
        return made

    def _drop(self, card: QueuedCard) -> None:
        if words := card.unsaved_text():
            self.unsent_text.emit(words)
        self._column.removeWidget(card)
        card.hide()
        card.deleteLater()

    def _order(self) -> None:
        for place, card in enumerate(self._cards):
            if self._column.indexOf(card) != place:
                self._column.insertWidget(place, card)
            card.show()
        for before, after in zip(self._cards, self._cards[1:], strict=False):
            QWidget.setTabOrder(before.last_widget(), after)

    def _remove(self, card: QueuedCard) -> None:
        """Remove the message and move the focus to a neighboring card."""
        if len(self._cards) > 1 and card.has_focus_inside():
            place = self._cards.index(card)
            self._cards[place + 1 if place + 1 < len(self._cards) else place - 1].setFocus()
        self.removed.emit(card.seq)

    def _step(self, card: QueuedCard, by: int) -> None:
        place = self._cards.index(card) + by
        if 0 <= place < len(self._cards):
            self.moved.emit(card.seq, place)
            announce(self, self.tr("Message {} of {}").format(place + 1, len(self._cards)))

    def _walk(self, card: QueuedCard, by: int) -> None:
        place = self._cards.index(card) + by
        if 0 <= place < len(self._cards):
            self._cards[place].setFocus(Qt.FocusReason.TabFocusReason)
            self.ensureWidgetVisible(self._cards[place])

    def _drag(self, card: QueuedCard, y: int) -> None:
        """Move the card to the mouse position; the new order is saved only when the card is dropped."""
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
        self._shown = ((), False)  # the next update from the event log decides the order
        self.moved.emit(card.seq, self._cards.index(card))

    def _fit(self) -> None:
        self._column.activate()
        self.setFixedHeight(min(self._inside.sizeHint().height(), self._look.size(MAX_HEIGHT)))

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)
