"""The details of a memory: text, scope, source, relevance, conflicts, uses and versions."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QScrollArea, QVBoxLayout, QWidget

from core.domain.memory import NORMAL_RELEVANCE, Memory
from core.domain.memory_marks import EXPIRES, tags_of, user_rating_of, without_marks
from ui.memory.controller import MemoryAction
from ui.memory.link_line import LinkLine
from ui.memory.relevance_plot import RelevancePlot
from ui.memory.texts import (
    KIND_COLORS,
    TitleOf,
    author_text,
    field_label,
    field_text,
    kind_label,
    scope_text,
    tr,
    usage_text,
)
from ui.memory.version_history import VersionHistory
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import hairline, label, styled_frame
from ui.widgets.stacking_row import StackingRow, plain_row
from ui.widgets.time_formats import to_local_time

if TYPE_CHECKING:
    from core.engine.services.memory_results import MemoryDetails, RunOutcomes
    from core.store.memory_records import MemoryUse

MAX_CONTEXT: Final = 400  # characters of the context of a memory that are shown
MAX_USES: Final = 12  # runs listed at most under Uses
SIDE: Final = 16
RATINGS: Final = {MemoryAction.RATE_HELPFUL: "good", MemoryAction.RATE_UNHELPFUL: "bad"}
"""The actions that rate a memory, with the rating that each stores."""


class RatingStyle(NamedTuple):
    """The icon of a run with a rating, the name of its color in the theme, and the rating as text."""

    icon: str
    token: str
    text: str


RATING_STYLES: Final = {
    "good": RatingStyle("circle-check", "done", "rated good"),
    "bad": RatingStyle("circle-x", "failed", "rated bad"),
}
NOT_RATED: Final = RatingStyle("circle-ellipsis", "stopped", "")


class CardButton(NamedTuple):
    """A button for an action on the memory. `title` contains the keyboard shortcut."""

    action: MemoryAction
    icon: str
    title: str


class MemoryProperty(NamedTuple):
    """A row in the table of the properties of a memory."""

    label: str
    text: str


class MemoryCard(QWidget):
    """Shows a memory.

    `action_requested` carries a `MemoryAction`, `event_requested` a session and the sequence number of an event,
    `memory_requested` the ID of another memory, and `undo_requested` the number of a change.
    """

    action_requested = Signal(str)
    edit_requested = Signal()
    event_requested = Signal(str, int)
    memory_requested = Signal(str)
    undo_requested = Signal(int)

    def __init__(self, look: Look, title_of: TitleOf) -> None:
        super().__init__()
        self._look = look
        self._title_of = title_of
        self._shown: MemoryDetails | None = None
        self.setObjectName("memory.card")
        self._kind = label("", look.fonts.bold, name="memory.card.kind")
        self.versions = VersionHistory(look, self)
        self.versions.undo_requested.connect(self.undo_requested)
        self._plot = RelevancePlot(look, self)
        self._scroll = QScrollArea()
        self._scroll.setObjectName("memory.card.scroll")
        self._scroll.setAccessibleName(self.tr("Memory"))
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._edit = self._icon_button("edit", "pencil", tr("Edit (E)"), self.edit)
        self._buttons = {
            button.action: self._icon_button(
                button.action, button.icon, button.title, partial(self.run_action, button.action)
            )
            for button in _card_buttons()
        }
        buttons = plain_row(self._edit, *self._buttons.values(), spacing=2)
        left = Qt.AlignmentFlag.AlignLeft
        head = StackingRow(self._kind, buttons, margins=QMargins(SIDE, 11, 10, 11), spacing=2, alignment=left)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(head)
        layout.addWidget(hairline())
        layout.addWidget(self._scroll, 1)

    @property
    def details(self) -> "MemoryDetails | None":
        return self._shown

    @property
    def memory(self) -> Memory | None:
        return self._shown.listed.memory if self._shown else None

    def edit(self) -> None:
        """Request to edit the memory after a click on the button or its shortcut. Ignored if the button is hidden."""
        if self.memory and not self._edit.isHidden():
            self.edit_requested.emit()

    def run_action(self, action: MemoryAction) -> None:
        """Request an action after a click on its button or its keyboard shortcut. Ignored if the button is hidden.

        The button of an action that is in effect, such as that of the current rating, reverses it.
        """
        if not self.memory or self._buttons[action].isHidden():
            return
        if action == MemoryAction.PIN and self.memory.pinned:
            action = MemoryAction.UNPIN
        elif RATINGS.get(action) == user_rating_of(self.memory.content):
            action = MemoryAction.REMOVE_RATING
        self.action_requested.emit(action)

    def show_memory(self, details: "MemoryDetails") -> None:
        """Show a memory from its beginning, or update the one on display without scrolling."""
        is_other = not self.memory or self.memory.id != details.listed.memory.id
        self._shown = details
        memory = details.listed.memory
        self._kind.setText(kind_label(memory.content.kind).capitalize())
        self._update_buttons(memory)
        self._rebuild_contents(details)
        if is_other:
            self._scroll.verticalScrollBar().setValue(0)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._kind.setFont(look.fonts.bold)
        for button in (self._edit, *self._buttons.values()):
            button.restyle(look)
        self._plot.restyle(look)
        self.versions.restyle(look)
        if self._shown:
            self._rebuild_contents(self._shown)

    def _update_buttons(self, memory: Memory) -> None:
        """Show the buttons of the possible actions. The title of an action that is in effect says how to reverse it."""
        is_active = memory.status == "active"
        rating = user_rating_of(memory.content)
        visibility = {
            MemoryAction.RESTORE: not is_active,
            MemoryAction.FORGET: memory.status != "forgotten",
            MemoryAction.ERASE: memory.status == "forgotten",
        }
        reversing_titles = {
            MemoryAction.PIN: tr("Unpin (P)") if memory.pinned else "",
            MemoryAction.RATE_HELPFUL: tr("Remove your rating (+)") if rating == "good" else "",
            MemoryAction.RATE_UNHELPFUL: tr("Remove your rating (-)") if rating == "bad" else "",
        }
        self._edit.setVisible(is_active)
        for card_button in _card_buttons():
            title = reversing_titles.get(card_button.action) or card_button.title
            button = self._buttons[card_button.action]
            button.setToolTip(title)
            button.setAccessibleName(title)
            button.setVisible(visibility.get(card_button.action, is_active))

    def _rebuild_contents(self, details: "MemoryDetails") -> None:
        """Build the contents again, because it depends on the memory which parts are shown."""
        memory, fonts = details.listed.memory, self._look.fonts
        content = styled_frame("panel")
        column = QVBoxLayout(content)
        column.setContentsMargins(SIDE, 14, SIDE, SIDE)
        column.setSpacing(10)
        text = label(visible(memory.content.text), fonts.title, name="memory.card.text", wrap=True)
        text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        column.addWidget(text)
        column.addWidget(hairline())
        column.addLayout(self._properties(details))
        self._add_conflicts(column, details.conflicts)
        column.addWidget(hairline())
        column.addWidget(self._heading(tr("Relevance over time")))
        self._plot.show_relevance(details.relevance_history, details.forecast, KIND_COLORS[memory.content.kind])
        column.addWidget(self._plot)
        column.addWidget(hairline())
        self._add_uses(column, details)
        column.addWidget(hairline())
        column.addWidget(self._heading(tr("Versions")))
        self.versions.show_changes(details.changes)
        column.addWidget(self.versions)
        column.addStretch(1)
        self._replace_contents(content)

    def _replace_contents(self, content: QWidget) -> None:
        """Replace the contents and delete the old widgets. Widgets to keep must already be children of `content`."""
        top = self._scroll.verticalScrollBar().value()
        old: QWidget | None = self._scroll.takeWidget()
        if old is not None:
            old.deleteLater()
        self._scroll.setWidget(content)
        self._scroll.verticalScrollBar().setValue(top)

    def _properties(self, details: "MemoryDetails") -> QGridLayout:
        memory, fonts = details.listed.memory, self._look.fonts
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for row, memory_property in enumerate(self._property_texts(details)):
            title = label(memory_property.label, fonts.second, "second")
            grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label(visible(memory_property.text), fonts.second, wrap=True), row, 1)
        session_title = self._title_of(memory.session) if memory.session else ""
        if session_title:
            row = grid.rowCount()
            grid.addWidget(label(tr("Session"), fonts.second, "second"), row, 0)
            hint = tr("Show the session in which it was learned")
            link = LinkLine(self._look, visible(session_title), name="memory.card.source", description=hint)
            link.clicked.connect(partial(self.event_requested.emit, memory.session, memory.seq))
            grid.addWidget(link, row, 1)
        return grid

    def _property_texts(self, details: "MemoryDetails") -> list[MemoryProperty]:
        memory, listed = details.listed.memory, details.listed
        content = memory.content
        fields = without_marks(content.fields).items()
        texts = [MemoryProperty(field_label(name), field_text(name, text)) for name, text in fields if text]
        if tags := tags_of(content):
            texts.append(MemoryProperty(tr("Tags"), ", ".join(tags)))
        if expires := content.fields.get(EXPIRES):
            texts.append(MemoryProperty(tr("Expires"), expires))
        rating_texts = {"good": tr("helpful"), "bad": tr("not helpful, so it is no longer added to any context")}
        if rating := rating_texts.get(user_rating_of(content)):
            texts.append(MemoryProperty(tr("Your rating"), rating))
        texts.append(MemoryProperty(tr("Applies to"), scope_text(memory, self._title_of)))
        state = {"high": tr("high"), "normal": tr("normal"), "low": tr("low"), "decayed": tr("decayed")}
        relevance = f"{round(listed.relevance * 100)}% · {state[listed.state]} · {usage_text(memory)}"
        texts.append(MemoryProperty(tr("Relevance"), relevance))
        evidence = tr("learned once") if memory.evidence == 1 else tr("learned {} times").format(memory.evidence)
        texts.append(MemoryProperty(tr("Confidence"), f"{round(content.confidence * 100)}% · {evidence}"))
        texts.append(MemoryProperty(tr("Author"), author_text(memory.author)))
        texts.append(MemoryProperty(tr("Decays"), self._decay_text(details)))
        if memory.status != "active":
            status = tr("archived, not added to any context") if memory.status == "archived" else tr("forgotten")
            texts.append(MemoryProperty(tr("Status"), status))
        if content.context:
            texts.append(MemoryProperty(tr("Context"), content.context[:MAX_CONTEXT]))
        learned = to_local_time(memory.created_at).strftime("%d %b %Y, %H:%M").lstrip("0")
        texts.append(MemoryProperty(tr("Learned"), learned))
        return texts

    def _decay_text(self, details: "MemoryDetails") -> str:
        memory = details.listed.memory
        if memory.never_decays:
            return tr("never, because you pinned it") if memory.pinned else tr("never, because you wrote it")
        decayed_after = (point.days for point in details.forecast if point.relevance < NORMAL_RELEVANCE)
        days = next(decayed_after, 0)
        if not days:
            is_decayed = details.listed.relevance < NORMAL_RELEVANCE
            return tr("already decayed") if is_decayed else tr("not within a year")
        return tr("within {} days if unused").format(days)

    def _add_conflicts(self, column: QVBoxLayout, conflicting: Sequence[Memory]) -> None:
        """List the memories that contradict this one, if any, so that the user can edit or forget one of them."""
        if not conflicting:
            return
        column.addWidget(hairline())
        column.addWidget(self._heading(tr("Conflicts with")))
        hint = tr("These memories contradict this one. Edit or forget the ones that are wrong.")
        column.addWidget(label(hint, self._look.fonts.second, "waiting", wrap=True))
        for memory in conflicting:
            link = LinkLine(
                self._look, visible(memory.content.text), name="memory.card.other", description=tr("Show this memory")
            )
            link.clicked.connect(partial(self.memory_requested.emit, memory.id))
            column.addWidget(link)

    def _add_uses(self, column: QVBoxLayout, details: "MemoryDetails") -> None:
        fonts = self._look.fonts
        if not details.uses:
            column.addWidget(self._heading(tr("Used in")))
            column.addWidget(label(tr("Not added to the context of any run yet."), fonts.second, "second", wrap=True))
            return
        received = details.outcomes_used.runs + details.outcomes_unused.runs
        heading = tr("Used in {} of {} runs that received it").format(details.outcomes_used.runs, received)
        column.addWidget(self._heading(heading))
        for outcomes, name in ((details.outcomes_used, tr("Used")), (details.outcomes_unused, tr("Not used"))):
            column.addWidget(label(f"{name}: {_outcome_text(outcomes)}", fonts.second, "second", wrap=True))
        runs = QVBoxLayout()
        runs.setSpacing(2)
        column.addLayout(runs)
        for use in details.uses[:MAX_USES]:
            runs.addWidget(self._use_link(use))
        if (more := len(details.uses) - MAX_USES) > 0:
            column.addWidget(label(tr("and {} older runs").format(f"{more:,}"), fonts.second, "third"))

    def _use_link(self, use: "MemoryUse") -> LinkLine:
        """Return a link to the session of a run that received the memory."""
        style = RATING_STYLES.get(use.run_rating, NOT_RATED)
        parts = (
            visible(self._title_of(use.session)) or tr("a deleted session"),
            "" if use.used else tr("not used"),
            tr(style.text) if style.text else "",
        )
        link = LinkLine(
            self._look,
            " · ".join(part for part in parts if part),
            name="memory.card.use",
            description=tr("Show this session"),
            icon=style.icon,
            color_token=style.token,
        )
        link.clicked.connect(partial(self.event_requested.emit, use.session, 0))
        return link

    def _heading(self, text: str) -> QWidget:
        return label(text, self._look.fonts.label, "second", wrap=True)

    def _icon_button(self, name: str, icon: str, title: str, on_click: Callable[[], None]) -> Button:
        button = Button(self._look, "", name=f"memory.card.{name}", icon=icon, tone="quiet")
        button.setAccessibleName(title)
        button.setToolTip(title)
        button.clicked.connect(on_click)
        return button


def _card_buttons() -> tuple[CardButton, ...]:
    """Return the buttons from left to right."""
    return (
        CardButton(MemoryAction.RATE_HELPFUL, "thumbs-up", tr("Helpful (+)")),
        CardButton(MemoryAction.RATE_UNHELPFUL, "thumbs-down", tr("Not helpful: no longer add it to any context (-)")),
        CardButton(MemoryAction.PIN, "pin", tr("Pin: always add to the context, never decay (P)")),
        CardButton(MemoryAction.ARCHIVE, "archive", tr("Archive: keep, but do not add to any context (A)")),
        CardButton(MemoryAction.RESTORE, "undo-2", tr("Restore (R)")),
        CardButton(MemoryAction.FORGET, "trash-2", tr("Forget (Del)")),
        CardButton(MemoryAction.ERASE, "x", tr("Erase permanently")),
    )


def _outcome_text(outcomes: "RunOutcomes") -> str:
    """Return how the runs were rated, in numbers: a percentage of a few runs would be misleading."""
    runs = tr("1 run") if outcomes.runs == 1 else tr("{} runs").format(outcomes.runs)
    if not outcomes.rated:
        return tr("{}, none rated").format(runs)
    return tr("{}, {} of {} ratings good").format(runs, outcomes.good, outcomes.rated)
