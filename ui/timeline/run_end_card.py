"""The card at the end of a run: status, figures, changed files, error, open proposals and the user's rating."""

from collections.abc import Callable
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent, QWheelEvent
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

from core.domain.problems import ErrorDetails
from core.domain.steps import Step
from core.timeline.idle_runs import ENDED_IDLE
from core.timeline.session_activity import UserRating
from ui.base.step_presentation import StatusStyle, end_figures, plural, status_style, translate
from ui.style.icons import pixmap, set_icon
from ui.style.number_formats import money
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import error_text, label
from ui.widgets.tooltip import tooltip_text

IDLE_STATUS: Final = StatusStyle("circle-alert", "waiting", ENDED_IDLE)
MARGIN_ABOVE: Final = 8
MARGIN_BELOW: Final = 12
MAX_SPARE: Final = 2
# Width in average characters reserved for the figures of the run; if less is left, the link to its files is hidden.
FIGURES_CHARACTERS: Final = 8
NARROW_WIDTH: Final = 440
FILES_SHOWN: Final = 4
LEFT_MARGIN: Final = 15
RIGHT_MARGIN: Final = 13
MESSAGE_MS: Final = 1_600


class RunFileChange(NamedTuple):
    """A file that the run created or changed."""

    path: str
    added: int
    removed: int
    created: bool


class RunEnd(NamedTuple):
    """The data of a run end card that the step does not contain. `header` is the step of the run's header row."""

    header: Step | None
    files: tuple[RunFileChange, ...] = ()
    rating: UserRating = UserRating()
    open_proposals: int = 0  # proposals that wait for the user's decision
    error: ErrorDetails | None = None
    can_retry: bool = False  # whether the button Try again is offered
    idle: bool = False  # whether the run did nothing although its task asked for work


class ShownEnd(NamedTuple):
    """What a card shows: the last step of the run, and the data that the step does not contain."""

    step: Step
    end: RunEnd


class RunEndCard(QFrame):
    rated = Signal(int, str, str)
    """Run number, rating (up, down or empty) and note."""
    changes_requested = Signal(str)
    """The path whose changes to show; empty for all files."""
    review_requested = Signal()
    """The user wants to review the open proposals."""
    retry_requested = Signal()
    """The user wants to retry the failed run."""
    model_change_requested = Signal()

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._run = 0
        self._rating = ""
        self._shown: ShownEnd | None = None
        self.setObjectName("end")
        self.setProperty("surface", "card")
        self._icon = QLabel()
        self._status = label("", look.fonts.strong, name="end.status")
        self._figures = ElidedLabel("", look.fonts.text, "second", name="end.figures")
        self._files = self._create_link("end.files")
        self._files.clicked.connect(lambda: self.changes_requested.emit(""))
        self._proposals = self._create_link("end.proposals")
        self._proposals.setToolTip(translate("Review what the agent proposes to keep from this run"))
        self._proposals.clicked.connect(self.review_requested)
        self._prompt = label(translate("Did it help?"), look.fonts.text, "second", name="end.asks")
        self._thumbs = {word: self._create_thumb_button(word) for word in ("up", "down")}
        self._reason = ElidedLabel("", look.fonts.text, name="end.why")
        self._fix = label("", look.fonts.text, "second", name="end.cure", wrap=True)
        self._retry = Button(look, translate("Try again"), name="end.again")
        self._retry.clicked.connect(self.retry_requested)
        self._model = Button(look, translate("Change model"), name="end.model", tone="quiet")
        self._model.clicked.connect(self.model_change_requested)
        self._file_link_layout = QHBoxLayout()
        self._file_link_layout.setSpacing(14)
        self._file_links: list[QPushButton] = []
        self._proposal_count = 0
        self._file_count = 0  # number of all changed files, including those without a link
        self._file_link_row = QWidget()
        self._file_link_row.setLayout(self._file_link_layout)
        self._note = QLineEdit()
        self._note.setObjectName("end.note")
        self._note.setPlaceholderText(translate("Add a note: what went well, what did not?"))
        self._note.setAccessibleName(translate("Note about your rating"))
        self._note.returnPressed.connect(self._save_note)
        self._saved_label = label("", look.fonts.second, "done", name="end.kept")
        self._message_timer = QTimer(self, interval=MESSAGE_MS, singleShot=True)
        self._message_timer.timeout.connect(lambda: self._show_message(""))
        self._lay_out()

    def _lay_out(self) -> None:
        status_row = QHBoxLayout()
        status_row.setSpacing(8)
        for widget in (self._icon, self._status):
            status_row.addWidget(widget)
        status_row.addSpacing(8)
        status_row.addWidget(self._figures, 1)
        status_row.addWidget(self._files)
        status_row.addWidget(self._proposals)
        status_row.addSpacing(8)
        status_row.addWidget(self._prompt)
        for thumb in self._thumbs.values():
            status_row.addWidget(thumb)
        self._file_link_layout.setContentsMargins(0, 0, 0, 0)
        note_row = QHBoxLayout()
        note_row.setSpacing(10)
        note_row.addWidget(self._note, 1)
        note_row.addWidget(self._saved_label)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(LEFT_MARGIN, 9, RIGHT_MARGIN, 9)
        layout.setSpacing(6)
        layout.addLayout(status_row)
        layout.addWidget(self._reason)
        fix_row = QHBoxLayout()
        fix_row.setSpacing(12)
        fix_row.addWidget(self._fix, 1)
        fix_row.addWidget(self._model, 0, Qt.AlignmentFlag.AlignBottom)
        fix_row.addWidget(self._retry, 0, Qt.AlignmentFlag.AlignBottom)
        layout.addLayout(fix_row)
        layout.addWidget(self._file_link_row)
        layout.addLayout(note_row)

    def show_end(self, step: Step, end: RunEnd) -> None:
        """Show the end of a run; do nothing if the data has not changed."""
        if self._shown == (step, end):
            return
        other_run = step.run != self._run or self._shown is None
        self._shown = ShownEnd(step, end)
        self._run = step.run
        self._rating = end.rating.value
        self._show_status(IDLE_STATUS if end.idle else status_style(step.status))
        figures = end_figures(step, end.header)
        if end.header and end.header.cost:
            figures.append(money(end.header.cost))
        self._figures.show_text(" · ".join(figures))
        self._show_files(end.files)
        self._show_proposals(end.open_proposals)
        self._fit_status()
        self._reason.show_text(visible(step.object))
        self._reason.setVisible(bool(step.object))
        fix_text = _explanation(end.error) if end.error else ""
        self._fix.setText(error_text(fix_text))
        self._fix.setVisible(bool(fix_text))
        self._retry.setVisible(end.can_retry)
        self._model.setVisible(end.can_retry)
        self._show_rating()
        if other_run or not self._note.hasFocus():
            self._note.setText(end.rating.note)
        if other_run:
            self._show_message("")
        parts = [self._status.text(), *figures, visible(step.object), fix_text, translate("Did it help?")]
        self.setAccessibleName(f"{translate('End of the run')}: {', '.join(text for text in parts if text)}")

    def _show_status(self, status: StatusStyle) -> None:
        color, size = self._look.theme.color(status.token), self._look.size(16)
        self._icon.setPixmap(pixmap(status.icon, color, size, self.devicePixelRatioF()))
        self._status.setText(translate(status.label))
        set_style_properties(self._status, tone=status.token)

    def _show_proposals(self, count: int) -> None:
        self._proposal_count = count
        self._proposals.setAccessibleName(plural(count, "proposal", "proposals"))
        set_icon(self._proposals, "sparkles", self._look.theme.learned, self._look.size(16))
        self._proposals.setVisible(count > 0)

    def _show_rating(self) -> None:
        """Check the thumb button of the rating, and show the field for a note if there is a rating."""
        theme = self._look.theme
        colors = {"up": theme.done, "down": theme.failed}
        for direction, thumb in self._thumbs.items():
            is_chosen = direction == self._rating
            thumb.setChecked(is_chosen)
            thumb.setAccessibleName(translate("{} (run {})").format(thumb.toolTip(), self._run))
            color = colors[direction] if is_chosen else theme.text
            set_icon(thumb, f"thumbs-{direction}", color, self._look.size(16))
        self._note.setVisible(bool(self._rating))

    def height_at(self, width: int = 0) -> int:
        """Return the height of the card at a width."""
        layout = self.layout()
        assert layout is not None
        for child_layout in (*layout.findChildren(QLayout), layout):
            child_layout.invalidate()  # needed if the card changed while it was hidden
        if not layout.hasHeightForWidth():  # there is no visible label that wraps
            return layout.totalSizeHint().height()
        return layout.totalHeightForWidth(width or self.width())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._status.setFont(look.fonts.strong)
        for widget in (self._figures, self._reason, self._fix, self._prompt):
            widget.setFont(look.fonts.text)
        self._retry.restyle(look)
        self._model.restyle(look)
        self._files.setFont(look.fonts.text)
        self._proposals.setFont(look.fonts.text)
        self._saved_label.setFont(look.fonts.second)
        self._note.setFont(look.fonts.text)
        if shown := self._shown:
            self._shown = None
            self.show_end(shown.step, shown.end)

    def _show_files(self, files: tuple[RunFileChange, ...]) -> None:
        created = sum(file.created for file in files)
        changed = len(files) - created
        counts = []
        if created:
            counts.append(plural(created, "file created", "files created"))
        if changed:
            counts.append(plural(changed, "file changed", "files changed"))
        self._files.setText(" · ".join(counts))
        self._files.setVisible(bool(files))
        while (item := self._file_link_layout.takeAt(0)) is not None:
            if old := item.widget():
                old.hide()
                old.deleteLater()
        self._file_links = [self._create_file_link(file) for file in files[:FILES_SHOWN]]
        self._more = self._create_link("end.more")
        self._more.clicked.connect(lambda: self.changes_requested.emit(""))
        self._file_count = len(files)
        for part in (*self._file_links, self._more):
            self._file_link_layout.addWidget(part)
            part.show()  # Qt would show the part later, but the height of the card is needed now
        self._file_link_layout.addStretch(1)
        self._file_link_row.setVisible(bool(files))
        self._fit_files()

    def _fit_status(self) -> None:
        """Fit the first line into the width of the card.

        If the figures of the run have too little room, hide the link to all files, then shorten the text about
        proposals.
        """
        figures_width = FIGURES_CHARACTERS * self._figures.fontMetrics().averageCharWidth()
        available = self.contentsRect().width() - LEFT_MARGIN - RIGHT_MARGIN - 16 - figures_width
        self._proposals.setText(f" {plural(self._proposal_count, 'proposal', 'proposals')}")
        others = [self._icon, self._status, self._proposals, self._prompt, *self._thumbs.values()]
        needed = sum(part.sizeHint().width() + 8 for part in others if not part.isHidden())
        self._files.setHidden(not self._file_links or needed + self._files.sizeHint().width() + 8 > available)
        if needed > available:
            self._proposals.setText(f" {self._proposal_count}")

    def _fit_files(self) -> None:
        """Show as many links to files as fit, at least one, and the number of the remaining files."""
        available = self.contentsRect().width() - LEFT_MARGIN - RIGHT_MARGIN
        shown = len(self._file_links)
        while shown > 1 and self._files_width(shown) > available:
            shown -= 1
        self._more.setText(f"+{self._file_count - shown}")
        self._more.setVisible(shown < self._file_count)
        for number, link in enumerate(self._file_links):
            link.setVisible(number < shown)

    def _files_width(self, shown: int) -> int:
        """Return the width of the first `shown` links to files and of the number of remaining files."""
        parts = self._file_links[:shown]
        if shown < self._file_count:
            self._more.setText(f"+{self._file_count - shown}")
            parts.append(self._more)
        return sum(part.sizeHint().width() for part in parts) + self._file_link_layout.spacing() * (len(parts) - 1)

    def _create_file_link(self, file: RunFileChange) -> QPushButton:
        link = self._create_link("end.file")
        link.setFont(self._look.fonts.mono)
        name = visible(file.path)
        metrics = QFontMetrics(self._look.fonts.mono)
        figures = " ".join(f"{sign}{number}" for sign, number in (("+", file.added), ("−", file.removed)) if number)
        elided_name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, self._look.size(180))
        link.setText(f" {elided_name} {figures}".rstrip())
        link.setToolTip(tooltip_text(translate("Show changes in {}").format(name)))
        link.setAccessibleName(f"{name} {figures}")
        icon_name = "file-plus" if file.created else "file-pen-line"
        set_icon(link, icon_name, self._look.theme.done, self._look.size(16))
        link.clicked.connect(lambda: self.changes_requested.emit(file.path))
        return link

    def _create_link(self, name: str) -> QPushButton:
        link = QPushButton(self)
        link.setObjectName(name)
        link.setProperty("tone", "link")
        link.setFont(self._look.fonts.text)
        link.setCursor(Qt.CursorShape.PointingHandCursor)
        return link

    def _create_thumb_button(self, direction: str) -> QToolButton:
        thumb_button = QToolButton()
        thumb_button.setObjectName(f"end.{direction}")
        thumb_button.setCheckable(True)
        thumb_button.setProperty("tone", "framed")
        text = translate("It helped") if direction == "up" else translate("It did not help")
        thumb_button.setToolTip(text)
        thumb_button.toggled.connect(lambda checked: self._on_thumb_toggled(direction, checked))
        return thumb_button

    def _on_thumb_toggled(self, direction: str, checked: bool) -> None:
        """Rate the run if the user has toggled the button; `_show_rating` toggles it only to show the rating."""
        if checked != (direction == self._rating):
            self._rate(direction)

    def _rate(self, direction: str) -> None:
        """Rate the run as the thumb button says; the same button again removes the rating."""
        direction = "" if direction == self._rating else direction
        self._show_message("")
        self.rated.emit(self._run, direction, self._note.text().strip() if direction else "")

    def _save_note(self) -> None:
        self._show_message(translate("Saved"))
        self.rated.emit(self._run, self._rating, self._note.text().strip())

    def _show_message(self, text: str) -> None:
        """Show a short confirmation beside the note.

        If `text` is empty, hide it, so that the note gets the full width.
        """
        self._saved_label.setText(text)
        self._saved_label.setVisible(bool(text))
        if text:
            self._message_timer.start()

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the question beside the thumb buttons if the card is too narrow for it and the figures of the run."""
        super().resizeEvent(event)
        self._prompt.setHidden(event.size().width() < self._look.size(NARROW_WIDTH))
        self._fit_status()
        if self._file_links:
            self._fit_files()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def _explanation(error: ErrorDetails) -> str:
    """Return the cause and the fix of an error, each on its own line."""
    return "\n".join(visible(text) for text in (error.cause, error.fix) if text)


class RunEndCards:
    """The run end cards near the viewport. Cards that are scrolled away are reused; `on_created` gets each new card."""

    def __init__(self, parent: QWidget, look: Look, on_created: Callable[[RunEndCard], None]) -> None:
        self._parent = parent
        self._look = look
        self._on_created = on_created
        self._shown: dict[int, RunEndCard] = {}
        self._spare: list[RunEndCard] = []
        self._needed_rows: set[int] = set()

    @property
    def shown(self) -> dict[int, RunEndCard]:
        return self._shown

    def row_height(self, step: Step, end: RunEnd, width: int) -> int:
        """Return the height of the row of a card with its margins, creating the card if needed."""
        card = self._shown.get(step.row)
        self._needed_rows.add(step.row)
        if card is None:
            card = self._shown[step.row] = self._spare.pop() if self._spare else self._create_card()
        card.show_end(step, end)
        return card.height_at(width) + MARGIN_ABOVE + MARGIN_BELOW

    def place_cards(self, boxes: dict[int, QRect]) -> None:
        """Place the visible cards in their boxes, hide others near the viewport, and reuse or delete the rest."""
        for row in [row for row in self._shown if row not in boxes]:
            card = self._shown[row]
            card.hide()
            if row not in self._needed_rows:
                self._spare.append(self._shown.pop(row))
        while len(self._spare) > MAX_SPARE:
            self._spare.pop().deleteLater()
        self._needed_rows.clear()
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

    def _create_card(self) -> RunEndCard:
        card = RunEndCard(self._look, self._parent)
        for part in (card, *card.findChildren(QWidget)):
            # The style sheet must be applied before the card is shown, because the height depends on it.
            part.ensurePolished()
        self._on_created(card)
        return card
