"""The panel of the Decisions tab: approvals, answers, decisions and issues in one list, each with its cause."""

from typing import Any, Final, Protocol

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListView, QStackedWidget, QVBoxLayout, QWidget

from core.domain.steps import Step
from core.timeline.decision_entry import DecisionEntry
from core.timeline.decision_outcome import decision_outcome
from core.timeline.session_activity import SessionActivity
from ui.decisions.decision_rows import (
    DecisionDelegate,
    DecisionRows,
    decision_style,
    outcome_line,
    outcome_text,
    translate,
)
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.current_row import keep_current_row
from ui.widgets.empty_note import empty_note, update_note
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import allow_breaks, hairline, label
from ui.widgets.radio_group import radio_group
from ui.widgets.replaceable_content import show_in_stack

START_LOOKAHEAD: Final = 8  # number of events after an approval in which the start of the approved call is searched
FILTERS: Final = (
    ("", "All"),
    ("consents", "Approvals"),
    ("answers", "Answers"),
    ("decisions", "Decisions"),
    ("problems", "Issues"),
    ("notices", "Notices"),
)
MAX_OPTIONS: Final = 8
MAX_FOLLOWING: Final = 500  # number of rows after a decision that are read to find out what followed


class DecisionsSource(Protocol):
    """The data source of the panel; implemented by the store's reader."""

    def event(self, session: str, seq: int) -> dict[str, Any]: ...

    def row_of(self, session: str, seq: int) -> int | None: ...

    def steps(self, session: str, first: int, count: int) -> list[Step]: ...


class DecisionsPanel(QWidget):
    row_requested = Signal(int)
    revoke_requested = Signal(str)
    """The id of the rule to revoke."""

    def __init__(self, look: Look, entries: DecisionsSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._entries = entries
        self._session = ""
        self._group = ""
        self._activity = SessionActivity()
        self._call_texts: dict[int, str] = {}
        self._revoked: set[str] = set()
        self.setObjectName("decisions")
        self._rows = DecisionRows(self._call_text, self)
        self._list = QListView()
        self._list.setObjectName("decisions.list")
        self._list.setAccessibleName(self.tr("Decisions"))
        self._list.setUniformItemSizes(True)
        self._list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._painter = DecisionDelegate(self._rows, look, self._list)
        self._list.setItemDelegate(self._painter)
        self._list.setModel(self._rows)
        keep_current_row(self._list)
        self._list.selectionModel().currentChanged.connect(self._show_detail)
        self._list.activated.connect(lambda index: self._show_in_timeline(index.row()))
        self._filters = {name: self._filter(name, translate(text)) for name, text in FILTERS}
        radio_group(self, list(self._filters.values()))
        self._empty = empty_note(look, "", name="decisions.empty")
        self._build_detail()
        self._lay_out()

    def _build_detail(self) -> None:
        look = self._look
        self._detail = QFrame()
        self._detail.setObjectName("decisions.detail")
        self._detail.setProperty("surface", "panel")
        self._title = label("", look.fonts.bold, name="decisions.title", wrap=True)
        self._cause = label("", look.fonts.text, "second", name="decisions.told", wrap=True)
        self._options = label("", look.fonts.second, "second", name="decisions.options", wrap=True)
        self._outcome = label("", look.fonts.text, name="decisions.outcome", wrap=True)
        self._show = Button(look, self.tr("Show in timeline"), name="decisions.show")
        self._show.clicked.connect(lambda: self._show_in_timeline(self._list.currentIndex().row()))
        self._revoke = Button(look, self.tr("Revoke rule"), name="decisions.revoke", icon="undo-2")
        self._revoke.clicked.connect(self._revoke_rule)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self._show)
        buttons.addWidget(self._revoke)
        buttons.addStretch(1)
        content = QWidget()
        texts = QVBoxLayout(content)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(8)
        for part in (self._title, self._cause, self._options, self._outcome):
            texts.addWidget(part)
        self._texts = FittingScrollArea(content)
        self._texts.setObjectName("decisions.texts")
        self._texts.setAccessibleName(self.tr("Details of the decision"))
        self._texts.verticalScrollBar().rangeChanged.connect(self._let_keys_scroll)
        layout = QVBoxLayout(self._detail)
        layout.setContentsMargins(20, 12, 20, 12)
        layout.setSpacing(8)
        layout.addWidget(self._texts)
        layout.addLayout(buttons)
        self._detail.hide()

    def _lay_out(self) -> None:
        filters = WrappingRow(*self._filters.values())
        filters.setContentsMargins(18, 9, 18, 9)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._list)
        self._stack.addWidget(self._empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(filters)
        layout.addWidget(hairline())
        layout.addWidget(self._stack, 1)
        self._edge = hairline()
        self._edge.hide()
        layout.addWidget(self._edge)
        layout.addWidget(self._detail)
        self.setFocusProxy(self._list)

    def _let_keys_scroll(self, _least: int, most: int) -> None:
        """Make the texts of a long decision, which scroll, reachable by Tab."""
        self._texts.setFocusPolicy(Qt.FocusPolicy.StrongFocus if most else Qt.FocusPolicy.NoFocus)

    def _filter(self, name: str, text: str) -> Button:
        button = Button(self._look, text, name=f"decisions.filter.{name or 'all'}")
        button.setCheckable(True)
        button.setChecked(not name)
        button.clicked.connect(lambda: self._set_filter(name))
        return button

    def show_past(self, session: str, activity: SessionActivity, *, loading: bool) -> None:
        """Show the decisions of a session. `loading` is true while events of the session are being read."""
        if session != self._session:
            self._session = session
            self._call_texts.clear()
            self._hide_detail()
        self._activity = activity
        decisions = [choice for choice in activity.decisions if self._group in ("", decision_style(choice.kind).group)]
        self._rows.show(decisions)
        if loading:
            empty_text = self.tr("Reading…")
        else:
            empty_text = self.tr(
                "No decisions yet.\nApprovals, answers, decisions and issues appear here with their causes."
            )
        update_note(self._empty, empty_text)
        show_in_stack(self, self._stack, self._list if decisions else self._empty)
        if self._detail.isVisible():
            self._show_detail(self._list.currentIndex())

    def mark_revoked(self, rule: str, *, revoked: bool = True) -> None:
        """Show that a rule has been revoked, or is in effect again."""
        (self._revoked.add if revoked else self._revoked.discard)(rule)
        self._show_detail(self._list.currentIndex())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._painter.look = look
        for button in (*self._filters.values(), self._show, self._revoke):
            button.restyle(look)
        for text, font in (
            (self._title, look.fonts.bold),
            (self._cause, look.fonts.text),
            (self._options, look.fonts.second),
            (self._outcome, look.fonts.text),
            (self._empty, look.fonts.text),
        ):
            text.setFont(font)
        self._list.viewport().update()

    def _set_filter(self, group: str) -> None:
        self._group = group
        self._hide_detail()
        self.show_past(self._session, self._activity, loading=False)

    def _call_text(self, choice: DecisionEntry) -> str:
        """Return what an allowed call does. The event that starts the call says so; it follows the approval."""
        if choice.seq not in self._call_texts:
            text = ""
            for seq in range(choice.seq + 1, choice.seq + START_LOOKAHEAD):
                entry = self._entries.event(self._session, seq)
                if entry.get("kind") == "call_started" and entry.get("call_id") == choice.call:
                    text = f"{entry.get('tool', '')} {entry.get('object', '')}".strip()
                    break
            self._call_texts[choice.seq] = text
        return self._call_texts[choice.seq]

    def _show_detail(self, index: QModelIndex) -> None:
        choice = self._rows.item(index)
        if choice is None:
            self._hide_detail()
            return
        self._title.setText(allow_breaks(self._rows.subject(choice)))
        self._cause.setText(allow_breaks(outcome_line(choice)))
        lines = [self._option(choice, name, text) for name, text in choice.options[:MAX_OPTIONS]]
        if choice.constraints:
            lines.append(visible(self.tr("Constraints: {}").format("; ".join(choice.constraints))))
        self._options.setText(allow_breaks("\n".join(lines)))
        self._options.setVisible(bool(lines))
        self._outcome.setText(self._outcome_text(choice))
        self._outcome.setVisible(choice.kind == "decision")
        revoked = choice.rule in self._revoked
        self._revoke.setVisible(bool(choice.rule))
        self._revoke.setEnabled(not revoked)
        self._revoke.setText(self.tr("Revoked") if revoked else self.tr("Revoke rule"))
        self._edge.show()
        self._detail.show()
        self._texts.updateGeometry()
        self._texts.verticalScrollBar().setValue(0)

    def _outcome_text(self, choice: DecisionEntry) -> str:
        """Return what followed a decision of the agent, up to its next decision."""
        row = self._entries.row_of(self._session, choice.seq) if choice.kind == "decision" else None
        if row is None:
            return ""
        return outcome_text(decision_outcome(self._entries.steps(self._session, row + 1, MAX_FOLLOWING), choice.run))

    @staticmethod
    def _option(choice: DecisionEntry, name: str, text: str) -> str:
        mark = "●" if name == choice.chosen else "○"
        return visible(f"{mark} {name}" + (f" — {text}" if text else ""))

    def _hide_detail(self) -> None:
        self._detail.hide()
        self._edge.hide()

    def _revoke_rule(self) -> None:
        choice = self._rows.item(self._list.currentIndex())
        if choice and choice.rule:
            self.revoke_requested.emit(choice.rule)

    def _show_in_timeline(self, index: int) -> None:
        choice = self._rows.item_at(index)
        row = self._entries.row_of(self._session, choice.seq) if choice else None
        if row is not None:
            self.row_requested.emit(row)
