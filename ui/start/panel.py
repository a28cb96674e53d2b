"""The start screen, on which the user starts a session, sets up a model, tries the demo or imports sessions."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.models.local.model_state import LocalModelRow, LocalModelStates
from ui.start.new_session import ProviderOffer
from ui.start.new_session_form import NewSessionForm
from ui.start.provider_entries import ApiKeyEntry, LocalProviderEntry
from ui.start.start_entry import StartEntry
from ui.style.theme import Look
from ui.widgets.labels import label, styled_frame
from ui.widgets.local_model_entry import LocalModelEntry

WIDTH: Final = 680


class StartPanel(QFrame):
    """A centered card with the form for a new session and other entries."""

    demo_requested = Signal()
    start_requested = Signal(object)  # a NewSession
    api_key_entered = Signal(str, str)  # the provider and the API key
    shown = Signal()
    refresh_requested = Signal()
    import_requested = Signal()
    local_model_action_requested = Signal(str, str)  # a `LocalModelAction`, and the model

    def __init__(self, look: Look, *, data_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_loading = True  # true until it is known which models exist
        self._default_model = ""
        self._local_models = LocalModelStates()
        self.setObjectName("start")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName(self.tr("Start"))
        self.setProperty("surface", "background")
        fonts = look.fonts
        self._title = label("", fonts.heading, name="start.title", wrap=True)
        storage_note = self.tr("Sessions and settings are stored in {}").format(data_folder)
        self._storage_note = label(storage_note, fonts.text, "second", name="start.place", wrap=True)
        self._no_model_note = label("", fonts.text, name="start.none", wrap=True)
        self.form = NewSessionForm(look)
        title = self.tr("Run a model on this computer")
        self._local_model_entry = LocalModelEntry(look, "start.local_model", title=title)
        self._local_provider_entry = LocalProviderEntry(look)
        self._api_key_entry = ApiKeyEntry(look)
        title = self.tr("Try the built-in demo")
        text = self.tr(
            "A scripted model works in a sample folder, runs real tools and asks you one question. "
            "It needs no network and no API key."
        )
        self._demo_entry = StartEntry(look, "start.demo", "play", title, text, self.tr("Start demo"))
        title = self.tr("Import sessions from other agents")
        text = self.tr("View sessions of Claude Code, Codex, OpenCode and others here. Nothing is run.")
        self._import_entry = StartEntry(look, "start.others", "folder-open", title, text, self.tr("Import…"))
        self._card = styled_frame("card")
        self._card.setObjectName("start.card")
        self._card.setMaximumWidth(look.size(WIDTH))
        self._lay_out()
        self._connect()
        self._show_offers(())

    def _lay_out(self) -> None:
        column = QVBoxLayout(self._card)
        column.setContentsMargins(28, 28, 28, 28)
        column.setSpacing(6)
        column.addWidget(self._title)
        column.addWidget(self._storage_note)
        column.addSpacing(8)
        column.addWidget(self._no_model_note)
        column.addWidget(self.form)
        column.addSpacing(10)
        for entry in (
            self._local_model_entry,
            self._local_provider_entry,
            self._api_key_entry,
            self._demo_entry,
            self._import_entry,
        ):
            column.addWidget(entry)
        scroll = QScrollArea()
        scroll.setObjectName("start.scroll")
        scroll.setAccessibleName(self.tr("Start"))
        scroll.setWidgetResizable(True)
        # Tab focuses the widgets in the scroll area, not the scroll area itself.
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(_centered(self._card))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)

    def _connect(self) -> None:
        self.form.start_requested.connect(self.start_requested)
        self._local_model_entry.action_requested.connect(self.local_model_action_requested)
        self._local_provider_entry.model_chosen.connect(self.form.choose_model)
        self._local_provider_entry.search_requested.connect(self.refresh_requested)
        self._api_key_entry.api_key_entered.connect(self.api_key_entered)
        self._demo_entry.button.clicked.connect(lambda: self.demo_requested.emit())
        self._import_entry.button.clicked.connect(lambda: self.import_requested.emit())

    def show_providers(self, offers: Sequence[ProviderOffer], default_model: str, last_model: str = "") -> None:
        """Show the available providers.

        `default_model` is the default model of the settings, and `last_model` that of the last session that was started
        here; "" if there is none.
        """
        self._is_loading, self._default_model = False, default_model
        self._show_offers(offers, last_model)

    def _show_offers(self, offers: Sequence[ProviderOffer], last_model: str = "") -> None:
        default = self._default_model
        models = [name for offer in offers for name in offer.models]
        if default and default not in models:
            models.insert(0, default)
        has_model = bool(models)
        self.form.set_models(models, default, last_model)
        self.form.setVisible(has_model)
        if self.window().focusWidget() is self:
            self.focus_content()
        self._title.setText(self.tr("What should the agent do?") if has_model else self.tr("Get started"))
        no_model = self.tr("No model is set up yet. There are several ways to get started:")
        self._no_model_note.setText(no_model if offers else self.tr("Looking for models…"))
        self._no_model_note.setVisible(not has_model)
        self._local_provider_entry.show_offers(offers, has_model=has_model)
        self._api_key_entry.show_offers(offers, has_model=has_model)
        self._show_local_model()

    def show_local_models(self, states: LocalModelStates) -> None:
        """Show the state of the models that Journeyman can run itself."""
        self._local_models = states
        self._show_local_model()

    def _show_local_model(self) -> None:
        """If no model has been chosen, offer one; show its download. Without an offer, emphasize the demo."""
        row = _offered_model(self._local_models.rows)
        is_shown = row is not None and (_has_begun(row) or not self._default_model)
        if row is not None:
            hint = self._local_models.install_hint
            self._local_model_entry.show_row(row, hint, default_model=self._default_model)
        self._local_model_entry.setVisible(is_shown)
        self._demo_entry.button.set_tone("" if is_shown or self.form.isVisibleTo(self) else "primary")

    def focus_content(self) -> None:
        """Focus the task field. Without a model, focus the page, from which Tab leads to the first button."""
        if self.form.isVisibleTo(self):
            self.form.focus_task()
        else:
            self.setFocus()

    def has_task(self) -> bool:
        """Return whether the user has started to write a task."""
        return bool(self.form.text())

    def choose_model(self, name: str) -> None:
        self.form.choose_model(name)

    def offer_task(self, task: str, folder: str) -> None:
        """Fill in a task and a folder. The user can start the session or change them first."""
        self.form.set_folder(folder)
        self.form.fill(task)
        self.form.focus_task()

    def choose_folder(self, folder: str) -> None:
        """Set the folder and focus the task field."""
        self.form.set_folder(folder)
        self.form.focus_task()

    def restyle(self, look: Look) -> None:
        self._card.setMaximumWidth(look.size(WIDTH))
        self._title.setFont(look.fonts.heading)
        self._storage_note.setFont(look.fonts.text)
        self._no_model_note.setFont(look.fonts.text)
        for part in (
            self.form,
            self._local_model_entry,
            self._local_provider_entry,
            self._api_key_entry,
            self._demo_entry,
            self._import_entry,
        ):
            part.restyle(look)

    # Overridden Qt methods

    def event(self, event: QEvent) -> bool:
        """While the models are being loaded, add typed characters to the task, even those that are shortcuts."""
        types_ahead = self._is_loading and isinstance(event, QKeyEvent) and is_text_input(event)
        if types_ahead and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if types_ahead and event.type() == QEvent.Type.KeyPress:
            self.form.type_ahead(event)
            return True
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


def is_text_input(event: QKeyEvent) -> bool:
    """Return whether a key inserts or deletes a character.

    `?` does not count, because it shows the keyboard shortcuts.
    """
    has_command = bool(event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier))
    text = event.text()
    return not has_command and (event.key() == Qt.Key.Key_Backspace or (text not in ("", "?") and text.isprintable()))


def _centered(card: QWidget) -> QWidget:
    """Return a page with a card slightly above the center. The card is as wide as possible."""
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(card, 1000)
    row.addStretch(1)
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(24, 24, 24, 24)
    column.addStretch(2)
    column.addLayout(row)
    column.addStretch(3)
    return page


def _offered_model(rows: Sequence[LocalModelRow]) -> LocalModelRow | None:
    """Return the model to offer: one that is being downloaded, else one on this computer, else the smallest one."""
    begun = [row for row in rows if _has_begun(row)]
    available = [row for row in rows if row.is_available and row.fits]
    return next(iter([*begun, *available, *rows]), None)


def _has_begun(row: LocalModelRow) -> bool:
    """Return whether the download of a model was started and is not complete."""
    return not row.is_available and bool(row.download or row.partial or row.error)
