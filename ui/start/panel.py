"""The start screen: start a session, set up a model, try the demo or import sessions."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.models.local.model_state import LocalModelRow, LocalModelStates
from ui.start.new_session_form import NewSessionForm, ProviderOffer
from ui.start.start_entry import StartEntry
from ui.style.theme import Look
from ui.widgets.api_key_dialog import ApiKeyDialog
from ui.widgets.labels import allow_breaks, label, styled_frame
from ui.widgets.local_model_entry import LocalModelEntry

WIDTH: Final = 680
MAX_NAMED: Final = 3
EMBEDDED: Final = "local"  # the provider of the models that Journeyman runs itself


class StartPanel(QFrame):
    """A centered card with the new session form and the entries."""

    demo_requested = Signal()
    start_requested = Signal(object)  # a NewSession
    api_key_entered = Signal(str, str)  # provider, API key
    shown = Signal()
    refresh_requested = Signal()
    import_requested = Signal()
    local_model_action_requested = Signal(str, str)  # an action of `LocalModelEntry`, and the model

    def __init__(self, look: Look, *, data_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._offers: tuple[ProviderOffer, ...] = ()
        self._is_loading = True  # whether it is not known yet which models there are
        self._local = ""
        self._chosen = ""
        self._local_models = LocalModelStates()
        self.setObjectName("start")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName(self.tr("Start"))
        self.setProperty("surface", "background")
        fonts = look.fonts
        self._title = label(self.tr("Get started"), fonts.heading, name="start.title", wrap=True)
        storage_note = self.tr("Sessions and settings are stored in {}").format(data_folder)
        self._storage_label = label(storage_note, fonts.text, "second", name="start.place", wrap=True)
        self.form = NewSessionForm(look)
        self._none = label("", fonts.text, name="start.none", wrap=True)
        title = self.tr("Run a model on this computer")
        self._local_model = LocalModelEntry(look, "start.local_model", title=title)
        self._local_model.action_requested.connect(self.local_model_action_requested)
        self._server = StartEntry(look, "start.local", "cpu", "", "", self.tr("Use"))
        self._key = StartEntry(
            look,
            "start.key",
            "key",
            self.tr("Add an API key"),
            self.tr("For a model provider"),
            self.tr("Add key…"),
        )
        demo_note = self.tr(
            "A scripted model works in a sample folder, runs real tools and asks you one question. "
            "It needs no network and no API key."
        )
        title = self.tr("Try the built-in demo")
        self._demo = StartEntry(look, "start.demo", "play", title, demo_note, self.tr("Start demo"))
        import_note = self.tr("View sessions of Claude Code, Codex, OpenCode and others here. Nothing is run.")
        title = self.tr("Import sessions from other agents")
        self._others = StartEntry(look, "start.others", "folder-open", title, import_note, self.tr("Import…"))
        self._others.button.clicked.connect(lambda: self.import_requested.emit())
        self._lay_out()
        self._demo.button.clicked.connect(lambda: self.demo_requested.emit())
        self._key.button.clicked.connect(self._ask_key)
        self._server.button.clicked.connect(self._use_local)
        self.form.start_requested.connect(self.start_requested)
        self.show_providers((), "")
        self._is_loading = True

    def show_providers(self, offers: Sequence[ProviderOffer], chosen: str) -> None:
        """Show the available providers; `chosen` is the default model from the settings."""
        self._offers, self._is_loading = tuple(offers), False
        names = [name for offer in offers for name in offer.models]
        if chosen and chosen not in names:
            names.insert(0, chosen)
        self.form.set_models(names, chosen)
        self.form.setVisible(bool(names))
        if self.window().focusWidget() is self:
            self.focus_content()
        self._title.setText(self.tr("What should the agent do?") if names else self.tr("Get started"))
        self._none.setVisible(not names)
        self._none.setText(
            self.tr("No model is set up yet. There are several ways to get started:")
            if offers
            else self.tr("Looking for models…")
        )
        local = next((offer for offer in offers if offer.is_local and offer.models and offer.name != EMBEDDED), None)
        self._local = local.models[0] if local else ""
        self._server.setVisible(local is not None or not names)
        self._show_local(local) if local else self._show_no_local()
        without_key = [offer.title or offer.name for offer in offers if offer.needs_key]
        self._key.setVisible(bool(without_key) or not names)
        self._key.button.setEnabled(bool(without_key))
        provider_names = ", ".join(without_key[:MAX_NAMED])
        if len(without_key) > MAX_NAMED:
            provider_names = self.tr("{names} and {more} more; add other providers in Settings").format(
                names=provider_names, more=len(without_key) - MAX_NAMED
            )
        key_note = provider_names or self.tr("For a model provider")
        self._key.set_texts(self.tr("Add an API key"), key_note, self.tr("Add key…"))
        self._chosen = chosen
        self._show_local_model()

    def show_local_models(self, states: LocalModelStates) -> None:
        """Show the state of the models that Journeyman can run itself."""
        self._local_models = states
        self._show_local_model()

    def _show_local_model(self) -> None:
        """Offer a model unless one is chosen, and show its download. Emphasize the demo only without such an offer."""
        row = _offered_model(self._local_models.rows)
        is_busy = row is not None and not row.is_available and bool(row.download or row.partial or row.error)
        is_shown = row is not None and (is_busy or not self._chosen)
        if row is not None:
            self._local_model.show_row(row, self._local_models.install_hint, default_model=self._chosen)
        self._local_model.setVisible(is_shown)
        self._demo.button.set_tone("" if is_shown or self.form.isVisibleTo(self) else "primary")

    def focus_content(self) -> None:
        """Focus the task; without a model, the page itself, from which Tab leads to the first button."""
        if self.form.isVisibleTo(self):
            self.form.focus_task()
        else:
            self.setFocus()

    def choose_folder(self, folder: str) -> None:
        """Set the folder and focus the task field."""
        self.form.set_folder(folder)
        self.form.focus_task()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._card.setMaximumWidth(look.size(WIDTH))
        self._title.setFont(look.fonts.heading)
        self._storage_label.setFont(look.fonts.text)
        self._none.setFont(look.fonts.text)
        for widget in (self.form, self._local_model, self._server, self._key, self._demo, self._others):
            widget.restyle(look)

    def _show_local(self, offer: ProviderOffer) -> None:
        model_names = ", ".join(name.split("/", 1)[-1] for name in offer.models[:MAX_NAMED])
        omitted = len(offer.models) - MAX_NAMED
        model_names += self.tr(" and {} more").format(omitted) if omitted > 0 else ""
        self._server.set_texts(
            self.tr("{} is running on this computer").format(offer.title or offer.name),
            allow_breaks(self.tr("{} · nothing leaves this computer").format(model_names)),
            self.tr("Use {}").format(self._local.split("/", 1)[-1][:28]),
            icon="circle-check",
            token="done",
        )

    def _show_no_local(self) -> None:
        """Explain how to get a local model; the button searches again."""
        idle = next((offer for offer in self._offers if offer.is_local), None)
        if idle is not None:
            title = self.tr("{} is running on this computer but has no models").format(idle.title or idle.name)
            text = self.tr("Download a model there, then search again.")
        elif not self._offers:
            title = self.tr("A provider on this computer")
            text = self.tr("Ollama, LM Studio, llama.cpp, vLLM and Jan are detected automatically.")
        else:
            title = self.tr("No local model provider is running")
            text = self.tr("Start Ollama, LM Studio, llama.cpp, vLLM or Jan, then search again.")
        self._server.set_texts(title, text, self.tr("Search again"), icon="cpu")

    def _use_local(self) -> None:
        if self._local:
            self.form.choose_model(self._local)
        else:
            self.refresh_requested.emit()

    def _ask_key(self) -> None:
        without_key = [(offer.name, offer.title) for offer in self._offers if offer.needs_key]
        dialog = ApiKeyDialog(self._look, without_key, self)
        dialog.submitted.connect(self.api_key_entered)
        dialog.open()

    def _lay_out(self) -> None:
        card = self._card = styled_frame("card")
        card.setObjectName("start.card")
        card.setMaximumWidth(self._look.size(WIDTH))
        card_layout = QVBoxLayout(card)
        card_layout.setContentsMargins(28, 28, 28, 28)
        card_layout.setSpacing(6)
        card_layout.addWidget(self._title)
        card_layout.addWidget(self._storage_label)
        card_layout.addSpacing(8)
        parts: tuple[QWidget, ...] = (
            self._none, self.form, self._local_model, self._server, self._key, self._demo, self._others
        )  # fmt: skip
        for widget in parts:
            card_layout.addWidget(widget)
            if widget is self.form:
                card_layout.addSpacing(10)
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
        scroll = QScrollArea()
        scroll.setObjectName("start.scroll")
        scroll.setAccessibleName(self.tr("Start"))
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab focuses the widgets inside, not the scroll area
        scroll.setWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)

    def event(self, event: QEvent) -> bool:
        """While the models are loaded, add what the user types to the task, also letters that are shortcuts."""
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
    """Return whether a key enters or removes a character, unless it is `?`, which shows the keyboard shortcuts."""
    has_command = bool(event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier))
    text = event.text()
    return not has_command and (event.key() == Qt.Key.Key_Backspace or (text not in ("", "?") and text.isprintable()))


def _offered_model(rows: Sequence[LocalModelRow]) -> LocalModelRow | None:
    """Return the model whose download has begun, else one on this computer, else the smallest, which works anywhere."""
    begun = [row for row in rows if not row.is_available and (row.download or row.partial or row.error)]
    available = [row for row in rows if row.is_available and row.fits]
    return next(iter([*begun, *available, *rows]), None)
