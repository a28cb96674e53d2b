"""The Decisions tab: consents, answers, decisions and problems in one list, each with its cause and the way back."""

from typing import Any, Final, Protocol

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QLabel, QListView, QStackedWidget, QVBoxLayout, QWidget

from core.timeline.past import Choice, Past
from ui.decisions.rows import ChoicePainter, ChoiceRows, choice_look, verdict_line, words
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.words import hairline, label

AHEAD: Final = 8  # entries among which a call that was allowed begins
FILTERS: Final = (
    ("", "All"),
    ("consents", "Consents"),
    ("answers", "Answers"),
    ("decisions", "Decisions"),
    ("problems", "Problems"),
    ("notices", "Notices"),
)
OPTIONS: Final = 8


class Entries(Protocol):
    """Where lines are looked into: in the app the store's reader."""

    def entry(self, session: str, seq: int) -> dict[str, Any]: ...

    def row_of(self, session: str, seq: int) -> int | None: ...


class DecisionsPanel(QWidget):
    row_wanted = Signal(int)
    revoke_wanted = Signal(str)
    """The id of a rule that is to hold no more."""

    def __init__(self, look: Look, entries: Entries, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._entries = look, entries
        self._session, self._group = "", ""
        self._past = Past()
        self._said: dict[int, str] = {}
        self._revoked: set[str] = set()
        self.setObjectName("decisions")
        self._rows = ChoiceRows(self._say, self)
        self._list = QListView()
        self._list.setObjectName("decisions.list")
        self._list.setAccessibleName(self.tr("Decisions"))
        self._list.setUniformItemSizes(True)
        self._list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._painter = ChoicePainter(self._rows, look, self._list)
        self._list.setItemDelegate(self._painter)
        self._list.setModel(self._rows)
        self._list.selectionModel().currentChanged.connect(self._choose)
        self._list.activated.connect(lambda index: self._go(index.row()))
        self._choice_of_filters = QButtonGroup(self)
        self._filters = {name: self._filter(name, words(text)) for name, text in FILTERS}
        self._empty = QLabel()
        self._empty.setObjectName("decisions.empty")
        self._empty.setTextFormat(Qt.TextFormat.PlainText)
        self._empty.setProperty("tone", "second")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._build_detail()
        self._lay_out()

    def _build_detail(self) -> None:
        look = self._look
        self._detail = QFrame()
        self._detail.setObjectName("decisions.detail")
        self._detail.setProperty("surface", "panel")
        self._title = label("", look.fonts.bold, name="decisions.title", wrap=True)
        self._told = label("", look.fonts.text, "second", name="decisions.told", wrap=True)
        self._options = label("", look.fonts.second, "second", name="decisions.options", wrap=True)
        self._show = Button(look, self.tr("Show in run"), name="decisions.show")
        self._show.clicked.connect(lambda: self._go(self._list.currentIndex().row()))
        self._revoke = Button(look, self.tr("Revoke this rule"), name="decisions.revoke", icon="undo-2")
        self._revoke.clicked.connect(self._take_back)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self._show)
        buttons.addWidget(self._revoke)
        buttons.addStretch(1)
        layout = QVBoxLayout(self._detail)
        layout.setContentsMargins(20, 12, 20, 12)
        layout.setSpacing(8)
        for part in (self._title, self._told, self._options):
            layout.addWidget(part)
        layout.addLayout(buttons)
        self._detail.hide()

    def _lay_out(self) -> None:
        filters = QHBoxLayout()
        filters.setContentsMargins(18, 9, 18, 9)
        filters.setSpacing(6)
        for button in self._filters.values():
            filters.addWidget(button)
        filters.addStretch(1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._list)
        self._stack.addWidget(self._empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(filters)
        layout.addWidget(hairline())
        layout.addWidget(self._stack, 1)
        self._edge = hairline()
        self._edge.hide()
        layout.addWidget(self._edge)
        layout.addWidget(self._detail)
        self.setFocusProxy(self._list)

    def _filter(self, name: str, text: str) -> Button:
        made = Button(self._look, text, name=f"decisions.filter.{name or 'all'}")
        made.setCheckable(True)
        made.setChecked(not name)
        made.clicked.connect(lambda: self._narrow(name))
        self._choice_of_filters.addButton(made)
        return made

    def show_past(self, session: str, past: Past, *, reading: bool) -> None:
        """Every choice of this session, as far as it was read."""
        if session != self._session:
            self._session = session
            self._said.clear()
            self._hide_detail()
        self._past = past
        found = [choice for choice in past.choices if self._group in ("", choice_look(choice.kind).group)]
        self._rows.show(found)
        nothing = self.tr(
            "Nothing was decided here yet.\nConsents, answers, decisions and problems stand here with their cause."
        )
        self._empty.setText(self.tr("Reading…") if reading else nothing)
        self._stack.setCurrentIndex(0 if found else 1)
        if self._detail.isVisible():
            self._choose(self._list.currentIndex())

    def tell_revoked(self, rule: str) -> None:
        """The rule holds no more."""
        self._revoked.add(rule)
        self._choose(self._list.currentIndex())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._painter.look = look
        for button in (*self._filters.values(), self._show, self._revoke):
            button.restyle(look)
        for text, font in (
            (self._title, look.fonts.bold), (self._told, look.fonts.text), (self._options, look.fonts.second),
            (self._empty, look.fonts.text),
        ):  # fmt: skip
            text.setFont(font)
        self._list.viewport().update()

    def _narrow(self, group: str) -> None:
        self._group = group
        self._hide_detail()
        self.show_past(self._session, self._past, reading=False)

    def _say(self, choice: Choice) -> str:
        """What a call that was allowed acted on: the entry in which it began stands soon after."""
        if choice.seq not in self._said:
            said = ""
            for seq in range(choice.seq + 1, choice.seq + AHEAD):
                entry = self._entries.entry(self._session, seq)
                if entry.get("kind") == "call_started" and entry.get("call_id") == choice.call:
                    said = f"{entry.get('tool', '')} {entry.get('object', '')}".strip()
                    break
            self._said[choice.seq] = said
        return self._said[choice.seq]

    def _choose(self, index: QModelIndex) -> None:
        choice = self._rows.choice(index.row()) if index.isValid() else None
        if choice is None:
            self._hide_detail()
            return
        self._title.setText(self._rows.what(choice))
        self._told.setText(verdict_line(choice))
        lines = [self._option(choice, name, said) for name, said in choice.options[:OPTIONS]]
        self._options.setText("\n".join(lines))
        self._options.setVisible(bool(lines))
        revoked = choice.rule in self._revoked
        self._revoke.setVisible(bool(choice.rule))
        self._revoke.setEnabled(not revoked)
        self._revoke.setText(self.tr("Revoked") if revoked else self.tr("Revoke this rule"))
        self._edge.show()
        self._detail.show()

    @staticmethod
    def _option(choice: Choice, name: str, said: str) -> str:
        mark = "●" if name == choice.chosen else "○"
        return visible(f"{mark} {name}" + (f" — {said}" if said else ""))

    def _hide_detail(self) -> None:
        self._detail.hide()
        self._edge.hide()

    def _take_back(self) -> None:
        choice = self._rows.choice(self._list.currentIndex().row())
        if choice and choice.rule:
            self.revoke_wanted.emit(choice.rule)

    def _go(self, place: int) -> None:
        choice = self._rows.choice(place)
        row = self._entries.row_of(self._session, choice.seq) if choice else None
        if row is not None:
            self.row_wanted.emit(row)
