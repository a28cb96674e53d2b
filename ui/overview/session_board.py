"""The list on the Overview page: the sessions in groups with headings. One row is selected."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from ui.overview.board_groups import FAILED, FINISHED, RUNNING, WAITING, BoardEntry
from ui.overview.board_row import BoardRow
from ui.style.theme import Look
from ui.text.plain_text import markdown_to_plain_text
from ui.widgets.labels import label

AGE_INTERVAL_MS: Final = 30_000


class SessionBoard(QScrollArea):
    """The list of sessions.

    `card` is a widget that can be shown in the selected row; the list keeps it when the row is removed. `last_reply`
    returns the beginning of the last reply in a session.
    """

    selected = Signal()  # the user has clicked a row
    open_requested = Signal(str)
    clear_requested = Signal(str)

    def __init__(
        self, look: Look, card: QWidget, *, last_reply: Callable[[SessionRow], str], clock: Callable[[], int]
    ) -> None:
        super().__init__()
        self._look = look
        self._last_reply = last_reply
        self._clock = clock
        self._entries: Sequence[BoardEntry] = ()
        self._rows: dict[str, BoardRow] = {}
        self._selected = ""
        self._content = QWidget()
        self._column = QVBoxLayout(self._content)
        self._column.setContentsMargins(20, 12, 20, 20)
        self._column.setSpacing(6)
        titles = {
            WAITING: self.tr("Waiting for you"),
            RUNNING: self.tr("Running"),
            FAILED: self.tr("Failed"),
            FINISHED: self.tr("Finished, not seen yet"),
        }
        self._headings = {group: self._create_heading(group, title) for group, title in titles.items()}
        self._card = card
        self._park_card()
        self.setObjectName("overview.scroll")
        self.setAccessibleName(self.tr("Sessions"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setWidget(self._content)
        timer = QTimer(self, interval=AGE_INTERVAL_MS)
        timer.setTimerType(Qt.TimerType.VeryCoarseTimer)
        timer.timeout.connect(self._refresh_ages)
        timer.start()

    def _create_heading(self, group: str, title: str) -> QWidget:
        heading = label(title, self._look.fonts.label, "third", name=f"overview.{group}")
        heading.setContentsMargins(0, 6, 0, 0)
        heading.setParent(self._content)
        heading.hide()
        return heading

    def show_entries(self, entries: Sequence[BoardEntry], touched: Collection[str] | None = None) -> None:
        """Show these sessions. Those in `touched` are refreshed even if their entry is unchanged; None means all."""
        before, self._entries = self._entries, entries
        known = {entry.session: entry for entry in before}
        for entry in entries:
            is_unchanged = entry == known.get(entry.session)
            if entry.session not in self._rows:
                self._rows[entry.session] = self._create_row(entry)
            if not is_unchanged or touched is None or entry.session in touched:
                self._rows[entry.session].show_entry(entry, markdown_to_plain_text(self._last_reply(entry.row)))
        if _places(entries) != _places(before):
            self._remove_unlisted_rows()
            self._rebuild_column()
            self._selected = self._selected_or_successor([entry.session for entry in before])
        self.select(self._selected)

    def _create_row(self, entry: BoardEntry) -> BoardRow:
        row = BoardRow(self._look, entry, self._clock)
        row.chosen.connect(self._select_clicked)
        row.open_requested.connect(self.open_requested)
        row.clear_requested.connect(self.clear_requested)
        return row

    def _remove_unlisted_rows(self) -> None:
        for session in self._rows.keys() - set(self.sessions()):
            row = self._rows.pop(session)
            if row.isAncestorOf(self._card):
                self._park_card()
            row.hide()
            row.deleteLater()

    def _rebuild_column(self) -> None:
        while self._column.takeAt(0) is not None:
            pass
        for group, heading in self._headings.items():
            sessions = self.sessions(group)
            heading.setVisible(bool(sessions))
            if sessions:
                self._column.addWidget(heading)
            for session in sessions:
                self._column.addWidget(self._rows[session])
                self._rows[session].show()
        self._column.addStretch(1)

    def _selected_or_successor(self, before: list[str]) -> str:
        """Return the selected session.

        If it is no longer listed, return the one that followed it, or else the one before.
        """
        if self._selected in self._rows:
            return self._selected
        index = before.index(self._selected) if self._selected in before else 0
        nearest_first = [*before[index:], *reversed(before[:index]), *self.sessions()]
        return next((session for session in nearest_first if session in self._rows), "")

    # Selecting a row

    @property
    def selected_row(self) -> BoardRow | None:
        return self._rows.get(self._selected)

    @property
    def selected_session(self) -> str:
        """The session of the selected row; "" if the list is empty."""
        return self._selected

    def sessions(self, *groups: str) -> list[str]:
        """Return the sessions in some groups, or in all groups, in the order of the rows."""
        return [entry.session for entry in self._entries if not groups or entry.group in groups]

    def sessions_after_selected(self, group: str) -> list[str]:
        """Return the other sessions of a group, first those below the selected row, then those above."""
        sessions = self.sessions()
        index = sessions.index(self._selected) if self._selected in sessions else len(sessions)
        members = set(self.sessions(group))
        return [session for session in sessions[index + 1 :] + sessions[:index] if session in members]

    def select(self, session: str) -> None:
        self._selected = session
        for name, row in self._rows.items():
            row.set_chosen(name == session)

    def select_neighbor(self, by: int) -> None:
        """Select the row `by` rows below the selected one, or above it if negative; at most the last or the first."""
        sessions = self.sessions()
        if sessions:
            index = sessions.index(self._selected) + by
            self.select(sessions[min(max(index, 0), len(sessions) - 1)])

    def reveal_selected(self) -> None:
        """Scroll to the selected row with its card, even if a layout is pending."""
        if row := self.selected_row:
            for part in (row, self._content):
                if layout := part.layout():
                    layout.activate()
            self.ensureWidgetVisible(row, 0, 0)

    def _select_clicked(self, session: str) -> None:
        self.select(session)
        self.selected.emit()

    def show_card(self) -> None:
        """Move the card into the selected row."""
        row = self.selected_row
        if row and not row.isAncestorOf(self._card):
            row.add_card(self._card)

    def _park_card(self) -> None:
        """Remove the card from its row, because otherwise it would be deleted with the row."""
        self._card.setParent(self)
        self._card.hide()

    # Colors and fonts

    def _refresh_ages(self) -> None:
        if self.isVisible():
            for row in self._rows.values():
                row.refresh_age()

    def restyle(self, look: Look) -> None:
        self._look = look
        for heading in self._headings.values():
            heading.setFont(look.fonts.label)
        for row in self._rows.values():
            row.restyle(look)


def _places(entries: Sequence[BoardEntry]) -> list[tuple[str, str]]:
    return [(entry.group, entry.session) for entry in entries]
