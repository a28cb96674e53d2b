"""The place above the composer where the first of what waits in a session is shown, and its dialog."""

from collections.abc import Sequence

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.question import Answer, Question
from ui.ask.card import ConsentCard, QuestionCard
from ui.ask.dialog import ConsentDialog, QuestionDialog
from ui.ask.wanted import Wanted
from ui.theme import Look

BELOW_BAR = 8
Asked = Question | Wanted
Card = QuestionCard | ConsentCard
Dialog = QuestionDialog | ConsentDialog


class AskPlace(QWidget):
    """The oldest stands here; what was begun with one that gives way is kept until it comes back."""

    answered = Signal(str, Answer)
    allowed = Signal(tuple, str, tuple)
    denied = Signal(tuple, str)
    denied_all = Signal()
    touched = Signal(str)
    shown = Signal(object)
    put_off = Signal()
    left = Signal()
    unsent = Signal(str, str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._room = 0
        self._barred = False
        self._session, self._title = "", ""
        self._settled = ""
        self._asked: tuple[Asked, ...] = ()
        self._card: Card | None = None
        self._dialog: Dialog | None = None
        self._drafts: dict[str, Answer | str] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    @property
    def card(self) -> Card | None:
        return self._card

    @property
    def dialog(self) -> Dialog | None:
        return self._dialog

    def show_asked(self, session: str, title: str, asked: Sequence[Asked]) -> None:
        """What waits in the session of this title, the oldest first."""
        first = asked[0] if asked else None
        self._give_back(session, asked)
        same = self._card is not None and first is not None and self._card.name() == first.id
        if same and (isinstance(first, Question) or _consents(asked) == _consents(self._asked)):
            self._asked = tuple(asked)
            return
        self._title, self._asked = title, tuple(asked)
        had_keyboard = self._drop()
        if first is None:
            self.hide()
            if had_keyboard:
                self.left.emit()
            return
        self._card = self._made(first)
        self._card.later.connect(lambda _name: self.put_off.emit())
        self._card.dialog_wanted.connect(lambda _name: self.open_dialog())
        self._card.bar(self._barred)
        self._card.fit(self._room)  # before it is seen: the window grows for what is, and does not shrink again
        self._column.addWidget(self._card)
        self.show()
        self._card.show()  # a layout leaves out what it would show later by itself
        self._column.activate()  # its width decides how high it must be, which it finds by itself
        if had_keyboard:  # from one to the next; what can be allowed begins to wait anew
            self.take_keyboard()
        self.shown.emit(first)

    def fit(self, room: int) -> None:
        """How high the column is in which it stands."""
        self._room = room
        if self._card:
            self._card.fit(room)

    def bar(self, on: bool) -> None:
        """Only a bar, where something else than the run is looked at."""
        self._barred = on
        self._column.setContentsMargins(0, 0, 0, BELOW_BAR if on else 0)
        if self._card:
            self._card.bar(on)

    def show_before(self, name: str, before: str) -> None:
        """What the file of a request holds now."""
        self._asked = tuple(
            Wanted(one.request, one.arguments, one.asked, before) if isinstance(one, Wanted) and one.id == name else one
            for one in self._asked
        )
        if isinstance(self._card, ConsentCard) and self._card.name() == name:
            shown = next(one for one in self._asked if one.id == name)
            assert isinstance(shown, Wanted)
            self._card.show_wanted(shown)
            if isinstance(self._dialog, ConsentDialog):
                self._dialog.form.show_wanted(shown)

    def take_keyboard(self) -> None:
        if self._card:
            self._card.take_keyboard()

    def highlight(self) -> None:
        """Catch the eye of somebody who was sent here."""
        if self._card:
            self._card.highlight()

    def is_consent(self) -> bool:
        return isinstance(self._card, ConsentCard)

    def open_dialog(self) -> None:
        """What the card shows, in a window of its own."""
        if self._dialog is not None or self._card is None:
            return
        if isinstance(self._card, ConsentCard):
            asking = ConsentDialog(
                self._look, self._card.waiting, context=self._title, draft=self._card.draft(), parent=self.window()
            )
            asking.allowed.connect(self._allow)
            asking.denied.connect(self._deny)
            asking.denied_all.connect(self.denied_all)
            self._dialog = asking
        else:
            question = self._card.question
            dialog = QuestionDialog(
                self._look, question, context=self._title, draft=self._card.draft(), parent=self.window()
            )
            dialog.answered.connect(self._answer)
            if question.expires_s > 0:
                dialog.form.touched.connect(self.touched)
            self._dialog = dialog
        self._dialog.finished.connect(lambda _: self._close_dialog())
        self._dialog.open()

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (self._card, self._dialog):
            if part is not None:
                part.restyle(look)

    def _give_back(self, session: str, asked: Sequence[Asked]) -> None:
        """A question that is gone without our answer, as it has expired, leaves the words that were typed for it."""
        card, same = self._card, session == self._session
        self._session = session
        gone = card is not None and all(one.id != card.name() for one in asked)
        if same and gone and isinstance(card, QuestionCard) and card.name() != self._settled:
            draft = card.draft()
            words = "\n".join(filter(None, (draft.text, *(part.text for part in draft.parts))))
            if words:
                self.unsent.emit(session, words)

    def _made(self, first: Asked) -> Card:
        draft = self._drafts.get(first.id)
        if isinstance(first, Question):
            card = QuestionCard(self._look, first, draft=draft if isinstance(draft, Answer) else None)
            card.answered.connect(self._answer)
            if first.expires_s > 0:
                card.form.touched.connect(self.touched)
            return card
        made = ConsentCard(self._look, _consents(self._asked), draft=draft if isinstance(draft, str) else "")
        made.allowed.connect(self._allow)
        made.denied.connect(self._deny)
        made.denied_all.connect(self.denied_all)
        return made

    def _answer(self, name: str, answer: Answer) -> None:
        self._drafts.pop(name, None)
        self._settled = name
        asked = next((one for one in self._asked if one.id == name), None)
        self.answered.emit(name, answer)
        if isinstance(asked, Question) and asked.url and answer.option:  # they have seen it whole, and said yes
            QDesktopServices.openUrl(QUrl(asked.url))

    def _allow(self, names: tuple[str, ...], scope: str, patterns: tuple[str, ...]) -> None:
        self.allowed.emit(names, scope, patterns)

    def _deny(self, names: tuple[str, ...], reason: str) -> None:
        self.denied.emit(names, reason)

    def _close_dialog(self) -> None:
        """What was typed in the dialog stands in the card now."""
        if self._dialog is None:
            return
        if isinstance(self._card, QuestionCard) and isinstance(self._dialog, QuestionDialog):
            self._card.form.fill(self._dialog.draft())
        if isinstance(self._card, ConsentCard) and isinstance(self._dialog, ConsentDialog):
            self._card.form.fill(self._dialog.draft())
        self._dialog.deleteLater()
        self._dialog = None

    def _drop(self) -> bool:
        """Take the card away; had it the keyboard?"""
        if self._card is None:
            return False
        if self._dialog is not None:
            self._dialog.close()
        if self._card.name() != self._settled:
            self._drafts[self._card.name()] = self._card.draft()
        focused: QWidget | None = self.window().focusWidget()
        had_focus = focused is not None and self._card.isAncestorOf(focused)
        self._column.removeWidget(self._card)
        self._card.hide()
        self._card.deleteLater()
        self._card = None
        return had_focus


def _consents(asked: Sequence[Asked]) -> tuple[Wanted, ...]:
    return tuple(one for one in asked if isinstance(one, Wanted))
