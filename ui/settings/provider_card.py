"""The card of a provider: its URL, API key, models with context windows and prices, and test results."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.column import column_in
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import allow_breaks, label
from ui.widgets.stacking_row import StackingRow
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.services.providers import ModelRow, ProviderRow
    from core.models.model_check import ModelCheck

TEXT_WIDTH: Final = 220  # pixels; if the buttons leave less for the text, they are placed below it
MAX_COLLAPSED_MODELS: Final = 8  # models shown until the user expands the list
API_FORMAT_NAMES: Final = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "anthropic": "Anthropic",
    "ollama": "Ollama",
}
TESTED: Final = frozenset({"done", "waiting"})  # the tones of the results of tests in which the model replied


class ProviderAction(StrEnum):
    """Actions on providers. A signal carries an action as text, and the provider that it concerns."""

    LIST = "list"  # show the providers as they were last queried
    RELOAD = "reload"  # query all providers again
    ADD = "add"
    REMOVE = "remove"
    SET_KEY = "set_key"  # the signal carries a provider or a search engine
    REMOVE_KEY = "remove_key"  # the same
    TEST_MODEL = "test_model"  # the signal carries the model
    SET_DEFAULT = "set_default"  # make a model the default for new sessions; the signal carries the model
    CHOOSE_DEFAULT = "choose_default"  # let the user choose the default model from a list that can be searched
    USE_PROXY = "use_proxy"  # the signal carries the URL of the proxy


OnAction = Callable[[ProviderAction, str], None]


class ProviderCard(QFrame):
    """The card of a provider.

    `on_action` is called with an action and the name of the provider or model. `outcomes` are test results by model.
    """

    show_all_requested = Signal()  # show all models

    def __init__(
        self,
        look: Look,
        row: "ProviderRow",
        on_action: OnAction,
        outcomes: Mapping[str, TonedText],
        default_model: str,
        *,
        expanded: bool = False,
    ) -> None:
        super().__init__()
        self._look = look
        self._row = row
        self._on_action = on_action
        self._outcomes = outcomes
        self._default_model = default_model
        self._results: dict[str, QLabel] = {}
        self._figures: dict[str, QLabel] = {}
        self.setObjectName(f"settings.server.{row.name}")
        self.setProperty("surface", "well")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 10)
        column.setSpacing(4)
        column.addWidget(self._build_header())
        state = label(provider_state(row), look.fonts.second, "failed" if row.error else "second", wrap=True)
        state.setObjectName(f"settings.server.{row.name}.state")
        column.addWidget(state)
        visible_models = row.models if expanded else row.models[:MAX_COLLAPSED_MODELS]
        for model in visible_models:
            column.addWidget(self._model(model))
        if len(visible_models) < len(row.models):
            text = _tr("Show all {} models").format(f"{len(row.models):,}")
            more = Button(look, text, name=f"settings.show_all.{row.name}")
            more.setAccessibleName(_tr("Show all models of {}").format(row.title))
            more.clicked.connect(lambda: self.show_all_requested.emit())
            column.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def show_test(self, model: str, outcome: TonedText) -> None:
        """Show the progress or result of testing a model.

        The result of a test says whether the model supports tool calls, so the figures of the model no longer do.
        """
        for row in self._row.models:
            if row.name == model and (figures := self._figures.get(model)):
                figures.setText(allow_breaks(model_figures(row, tested=outcome.tone in TESTED)))
        if result := self._results.get(model):
            result.setText(allow_breaks(outcome.text))
            set_style_properties(result, tone=outcome.tone)
            result.setVisible(bool(outcome.text))

    def _build_header(self) -> QWidget:
        row = self._row
        fonts = self._look.fonts
        title = row.title or row.name
        text_column = self._text_column()
        texts = column_in(text_column, spacing=1)
        texts.addWidget(label(visible(title), fonts.strong, wrap=True))
        address = f"{visible(row.url)} · {API_FORMAT_NAMES.get(row.api_format, row.api_format)}"
        texts.addWidget(label(address, fonts.second, "second", wrap=True))
        key_name = f"settings.server.{row.name}.key"
        texts.addWidget(label(api_key_text(row), fonts.second, "second", name=key_name, wrap=True))
        buttons: list[Button] = []
        if row.needs_key or row.key_from or row.added_by == "you":
            text = _tr("Change API key…") if row.key_from else _tr("Set API key…")
            accessible_name = _tr("Set the API key of {}").format(title)
            buttons.append(self._button(text, ProviderAction.SET_KEY, row.name, accessible_name))
        if row.key_from in ("keyring", "session"):
            accessible_name = _tr("Remove the API key of {}").format(title)
            buttons.append(self._button(_tr("Remove API key"), ProviderAction.REMOVE_KEY, row.name, accessible_name))
        if row.added_by == "you":
            accessible_name = _tr("Remove the provider {}").format(title)
            buttons.append(self._button(_tr("Remove provider"), ProviderAction.REMOVE, row.name, accessible_name))
        return button_row(text_column, WrappingRow(*buttons))

    def _text_column(self) -> QWidget:
        """Return a widget for texts that wrap, which gets the width that the buttons next to it leave."""
        widget = QWidget()
        widget.setMinimumWidth(self._look.size(TEXT_WIDTH))
        return widget

    def _model(self, model: "ModelRow") -> QWidget:
        container = QWidget()
        column = QVBoxLayout(container)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(1)
        text_column = self._text_column()
        texts = column_in(text_column)
        short_name = visible(model.name.partition("/")[2] or model.name)
        texts.addWidget(label(short_name, self._look.fonts.mono, wrap=True))
        figures = label("", self._look.fonts.second, "second", name=f"settings.model.{model.name}.figures", wrap=True)
        self._figures[model.name] = figures
        texts.addWidget(figures)
        default: QWidget
        if model.name == self._default_model:
            default = label(_tr("default for new sessions"), self._look.fonts.second, "done")
        else:
            accessible_name = _tr("Set {} as the default for new sessions").format(short_name)
            default = self._button(_tr("Set as default"), ProviderAction.SET_DEFAULT, model.name, accessible_name)
        test = self._button(_tr("Test"), ProviderAction.TEST_MODEL, model.name, _tr("Test {}").format(short_name))
        test.setToolTip(_tr("Send two short requests to check that the model answers and calls tools"))
        column.addWidget(button_row(text_column, WrappingRow(default, test)))
        result = self._results[model.name] = label("", self._look.fonts.second, wrap=True)
        result.setObjectName(f"settings.model.{model.name}.result")
        column.addWidget(result)
        self.show_test(model.name, self._outcomes.get(model.name, TonedText("", "")))
        return container

    def _button(self, text: str, action: ProviderAction, name: str, accessible_name: str) -> Button:
        button = Button(self._look, text, name=f"settings.{action}.{name}")
        button.setAccessibleName(accessible_name)
        button.clicked.connect(lambda: self._on_action(action, name))
        return button


def button_row(text: QWidget, buttons: WrappingRow) -> QWidget:
    """Return a row of a text and buttons. If there is too little width, the buttons are below the text, and wrap."""
    return StackingRow(text, buttons, spacing=6, alignment=Qt.AlignmentFlag.AlignTop)


def api_key_text(row: "ProviderRow") -> str:
    """Return where the API key of a provider comes from, such as the keyring. The key itself is never shown."""
    if row.key_from == "keyring":
        return _tr("API key: in the system keyring")
    if row.key_from == "session":
        return _tr("API key: in memory until Journeyman closes")
    if row.key_from:
        return _tr("API key: from the environment variable {}").format(row.key_from)
    return _tr("API key: not set") if row.needs_key else _tr("No API key needed")


def model_figures(model: "ModelRow", *, tested: bool = False) -> str:
    """Return a line with the context window and price of a model and, unless it was tested, its tool support."""
    window = _tr("context window unknown")
    if model.context_window:
        window = _tr("{} tokens of context").format(f"{model.context_window:,}")
    if model.price_in is None or model.price_out is None:
        price = _tr("price unknown")
    elif model.price_in == model.price_out == 0:
        price = _tr("free")
    else:
        price = _tr("${in_} in, ${out} out per 1M tokens ({source})").format(
            in_=f"{model.price_in:g}", out=f"{model.price_out:g}", source=model.price_from
        )
    tools = {True: _tr("supports tool calls"), False: _tr("no tool calls"), None: ""}[model.tools]
    return " · ".join(part for part in (window, price, "" if tested else tools) if part)


def outcome_text(check: "ModelCheck") -> TonedText:
    """Return one line about the result of testing a model."""
    if check.error:
        return TonedText(visible(str(check.error)), "failed")
    first = _tr("no text")
    if check.first_token_s is not None:
        first = _tr("first token after {:.2f} s").format(check.first_token_s)
    streams = {True: _tr("streams"), False: _tr("does not stream"), None: _tr("streaming could not be tested")}
    tools = {True: _tr("supports tool calls"), False: _tr("no tool calls"), None: _tr("tool calls could not be tested")}
    reason = f" ({visible(str(check.tool_call_error))})" if check.tool_call_error else ""
    total = _tr("complete after {:.2f} s").format(check.total_s or 0.0)
    outcome = ", ".join((first, total, streams[check.streams], tools[check.calls_tools]))
    tone = "done" if check.streams and check.calls_tools else "waiting"
    return TonedText(_tr("The model replied: {}.").format(outcome + reason), tone)


def provider_state(row: "ProviderRow") -> str:
    """Return a text with the number of a provider's models, or why they cannot be listed."""
    if row.error:
        return visible(str(row.error))
    if row.reachable is False:
        return _tr("No server is running at this address. Start it, then select Refresh.")
    if not row.models:
        return _tr("It offers no models.") if row.reachable else _tr("Set the API key to list its models.")
    return _tr("1 model") if len(row.models) == 1 else _tr("{} models").format(f"{len(row.models):,}")


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
