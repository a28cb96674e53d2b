"""The queued messages of a run as numbered cards above the message field."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from core.store.queued_messages import QueuedMessage
from ui.composer.queued_card import QueuedCard
from ui.style.theme import Look
from ui.widgets.announce import announce

MAX_HEIGHT: Final = 200  # pixels; if the cards are higher, they scroll, so that the timeline stays visible


class QueueState(NamedTuple):
    """The queued messages, and whether a run is active."""

    messages: tuple[QueuedMessage, ...]
    running: bool


class QueueCards(QScrollArea):
    """The cards of the queued messages. Signals identify a message by the sequence number of its event.

    The cards change only when the event log changes.
    """

    edited = Signal(int, str)
    moved = Signal(int, int)
    send_now_requested = Signal(int)
    removed = Signal(int)
    arranged = Signal()  # the cards have a new order
    focus_released = Signal()  # Down was pressed on the last card, or the only card was removed while it had the focus
    unsent_text = Signal(str)  # the unsaved edit of a queued message, because the message was sent in the meantime

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._cards: list[QueuedCard] = []
        self._displayed: QueueState | None = None
        self._dragged: QueuedCard | None = None
        # The message that was moved last and its new index, until the event log contains the move.
        self._move_in_progress: tuple[int, int] | None = None
        self.setObjectName("composer.queue")
        self.setAccessibleName(self.tr("Queued messages"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self._content = QWidget()
        self._content.setObjectName("composer.queue.cards")
        self._layout = QVBoxLayout(self._content)
        self._layout.setContentsMargins(0, 0, 0, 8)
        self._layout.setSpacing(6)
        self.setWidget(self._content)
        self._content.installEventFilter(self)
        self.hide()

    def show_queue(self, messages: Sequence[QueuedMessage], *, running: bool) -> None:
        """Show the queued messages.

        A card that is being edited keeps its text. `running` is true while a run is active.
        """
        state = QueueState(tuple(messages), running)
        if state == self._displayed or self._dragged:
            return
        self._displayed = state
        order = [message.entry for message in messages]
        has_same_messages = {card.seq for card in self._cards} == set(order)
        is_moved = self._move_in_progress in [(seq, at) for at, seq in enumerate(order)]
        if is_moved or not has_same_messages:
            self._move_in_progress = None
        self._replace_cards(messages)
        if running:
            note = self.tr("queued · sent after this turn")
        else:
            note = self.tr("not sent yet · will be sent with your next message")
        for number, (card, message) in enumerate(zip(self._cards, messages, strict=True), 1):
            card.show_message(message, number, note if number == 1 else "", running=running)
        self._arrange_cards()
        self.setVisible(bool(self._cards))
        self._fit_height()

    def focus_last(self) -> None:
        """Focus the card of the last message, if there is one."""
        if self._cards:
            self._cards[-1].setFocus(Qt.FocusReason.BacktabFocusReason)
            self.ensureWidgetVisible(self._cards[-1])

    def _replace_cards(self, messages: Sequence[QueuedMessage]) -> None:
        """Keep the cards of these messages, create the missing ones, and delete the others."""
        old_cards = {card.seq: card for card in self._cards}
        focused = next((card for card in self._cards if card.has_focus_inside()), None)
        focused_index = self._cards.index(focused) if focused else 0
        self._cards = []
        for message in messages:
            card = old_cards.pop(message.entry) if message.entry in old_cards else self._create_card(message)
            self._cards.append(card)
        if focused and focused not in self._cards:
            self._focus_after_removal(focused_index)
        for removed_card in old_cards.values():
            self._delete_card(removed_card)

    def take_unsaved(self) -> str:
        """Remove all cards, because another session is about to be shown; return the text of unsaved edits."""
        unsaved_texts = [text for card in self._cards if (text := card.unsaved_text())]
        self._dragged = None
        for card in self._cards:
            card.discard_edit()
        self.show_queue((), running=False)
        return "\n\n".join(unsaved_texts)

    def restyle(self, look: Look) -> None:
        self._look = look
        for card in self._cards:
            card.restyle(look)
        self._fit_height()

    def _create_card(self, message: QueuedMessage) -> QueuedCard:
        card = QueuedCard(self._look, message)
        card.edited.connect(lambda text: self.edited.emit(card.seq, text))
        card.send_now_requested.connect(lambda: self.send_now_requested.emit(card.seq))
        card.removed.connect(lambda: self.removed.emit(card.seq))
        card.move_requested.connect(lambda offset: self._move_message(card, offset))
        card.focus_move_requested.connect(lambda offset: self._move_focus(card, offset))
        card.dragged.connect(lambda y: self._drag_card(card, y))
        card.dropped.connect(lambda: self._end_drag(card))
        card.height_changed.connect(self._fit_height)
        return card

    def _focus_after_removal(self, index: int) -> None:
        """Focus the card that follows a removed one, or else the one before; without cards, release the focus."""
        if self._cards:
            self._cards[min(index, len(self._cards) - 1)].setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.focus_released.emit()

    def _delete_card(self, card: QueuedCard) -> None:
        if unsaved_text := card.unsaved_text():
            self.unsent_text.emit(unsaved_text)
        self._layout.removeWidget(card)
        card.hide()
        card.deleteLater()

    def _arrange_cards(self) -> None:
        """Arrange the cards in the order of the queue."""
        for index, card in enumerate(self._cards):
            if self._layout.indexOf(card) != index:
                self._layout.insertWidget(index, card)
            card.show()
        self.arranged.emit()

    def _move_message(self, card: QueuedCard, offset: int) -> None:
        moved = self._move_in_progress
        index = moved[1] if moved and moved[0] == card.seq else self._cards.index(card)
        new_index = index + offset
        if 0 <= new_index < len(self._cards):
            self._move_in_progress = card.seq, new_index
            self.moved.emit(card.seq, new_index)
            announce(self, self.tr("Message {} of {}").format(new_index + 1, len(self._cards)))

    def _move_focus(self, card: QueuedCard, offset: int) -> None:
        target_index = self._cards.index(card) + offset
        if 0 <= target_index < len(self._cards):
            target = self._cards[target_index]
            target.setFocus(Qt.FocusReason.TabFocusReason)
            self.ensureWidgetVisible(target)
        elif offset > 0:
            self.focus_released.emit()

    def _drag_card(self, card: QueuedCard, y: int) -> None:
        """Move a card that is being dragged to the position of the mouse.

        The new order is stored when it is dropped.
        """
        self._dragged = card
        mouse_y = card.mapTo(self._content, card.rect().topLeft()).y() + y
        new_order = [other for other in self._cards if other is not card]
        cards_above = sum(other.geometry().center().y() < mouse_y for other in new_order)
        new_order.insert(cards_above, card)
        if new_order != self._cards:
            self._cards = new_order
            self._arrange_cards()
            self._layout.activate()

    def _end_drag(self, card: QueuedCard) -> None:
        self._dragged = None
        self._displayed = None  # so that the next update from the event log sets the order
        self.moved.emit(card.seq, self._cards.index(card))

    def _fit_height(self) -> None:
        self._layout.activate()
        self.setFixedHeight(min(self._content.sizeHint().height(), self._look.size(MAX_HEIGHT)))

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self._fit_height()
        return super().eventFilter(watched, event)
