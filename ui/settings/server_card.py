"""One model server: its address, its key, its models with windows and prices, and what a test of each came to."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.theme import Look, wear
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.words import breakable, label

if TYPE_CHECKING:
    from core.engine.providers import ModelRow, ProviderRow
    from core.models.trial import Trial

MOST: Final = 8  # of a long list, until all are asked for
WIRES: Final = {"chat": "Chat Completions", "responses": "Responses", "anthropic": "Anthropic", "ollama": "Ollama"}
Wish = Callable[[str, str], None]
Said = tuple[str, str]  # words and their tone


class ServerCard(QFrame):
    """Tells `wish` what is wanted of the server, or of a model; `said` is what tests came to."""

    def __init__(
        self, look: Look, row: "ProviderRow", wish: Wish, said: Mapping[str, Said], chosen: str, *, whole: bool = False
    ) -> None:
        super().__init__()
        self._look, self._row, self._wish, self._said, self._chosen = look, row, wish, said, chosen
        self._results: dict[str, QLabel] = {}
        self.setObjectName(f"settings.server.{row.name}")
        self.setProperty("surface", "well")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 10)
        column.setSpacing(4)
        column.addLayout(self._head())
        said_of = label(_state(row), look.fonts.second, "failed" if row.trouble else "second", wrap=True)
        said_of.setObjectName(f"settings.server.{row.name}.state")
        column.addWidget(said_of)
        shown = row.models if whole else row.models[:MOST]
        for model in shown:
            column.addWidget(self._model(model))
        if len(shown) < len(row.models):
            more = _tr("Show all {}").format(f"{len(row.models):,}")
            button = self._button(more, "whole", row.name, _tr("Show all models of {}").format(row.title))
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)

    def show_trial(self, model: str, said: Said) -> None:
        """What is known of a test by now."""
        if result := self._results.get(model):
            result.setText(breakable(said[0]))
            wear(result, tone=said[1])
            result.setVisible(bool(said[0]))

    def _head(self) -> QHBoxLayout:
        row, fonts = self._row, self._look.fonts
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label(visible(row.title or row.name), fonts.strong, wrap=True))
        words.addWidget(
            label(f"{visible(row.url)} · {WIRES.get(row.wire, row.wire)}", fonts.second, "second", wrap=True)
        )
        words.addWidget(
            label(key_words(row), fonts.second, "second", name=f"settings.server.{row.name}.key", wrap=True)
        )
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addLayout(words, 1)
        buttons = [("give", _tr("Change the key…") if row.key_from else _tr("Give a key…"), _tr("Give {} a key"))]
        if row.key_from in ("keyring", "session"):
            buttons.append(("forget", _tr("Forget the key"), _tr("Forget the key of {}")))
        if row.by == "you":
            buttons.append(("remove", _tr("Remove"), _tr("Remove the server {}")))
        for word, text, spoken in buttons:
            if word != "give" or row.needs_key or row.key_from or row.by == "you":
                button = self._button(text, word, row.name, spoken.format(row.title or row.name))
                head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return head

    def _model(self, model: "ModelRow") -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(1)
        line = QHBoxLayout()
        line.setSpacing(6)
        words = QVBoxLayout()
        words.setSpacing(0)
        short = visible(model.name.partition("/")[2] or model.name)
        words.addWidget(label(short, self._look.fonts.mono, wrap=True))
        words.addWidget(label(figures(model), self._look.fonts.second, "second", wrap=True))
        line.addLayout(words, 1)
        if model.name == self._chosen:
            line.addWidget(label(_tr("used for new runs"), self._look.fonts.second, "done"))
        else:
            line.addWidget(self._button(_tr("Use"), "use", model.name, _tr("Use {} for new runs").format(short)))
        line.addWidget(self._button(_tr("Test"), "test", model.name, _tr("Test {}").format(short)))
        column.addLayout(line)
        result = self._results[model.name] = label("", self._look.fonts.second, wrap=True)
        result.setObjectName(f"settings.model.{model.name}.result")
        column.addWidget(result)
        self.show_trial(model.name, self._said.get(model.name, ("", "")))
        return made

    def _button(self, text: str, word: str, name: str, spoken: str) -> Button:
        made = Button(self._look, text, name=f"settings.{word}.{name}")
        made.setAccessibleName(spoken)
        made.clicked.connect(lambda: self._wish(word, name))
        return made


def key_words(row: "ProviderRow") -> str:
    """Where its key is from; never the key."""
    if row.key_from == "keyring":
        return _tr("Key: in the keyring of your system")
    if row.key_from == "session":
        return _tr("Key: kept until Journeyman ends")
    if row.key_from:
        return _tr("Key: from the environment variable {}").format(row.key_from)
    return _tr("Key: none yet") if row.needs_key else _tr("No key is needed")


def figures(model: "ModelRow") -> str:
    """Window and price; what is not known is said."""
    window = _tr("{} tokens").format(f"{model.window:,}") if model.window else _tr("window unknown")
    if model.price_in is None or model.price_out is None:
        price = _tr("price unknown")
    elif model.price_in == model.price_out == 0:
        price = _tr("free")
    else:
        price = _tr("${in_} in, ${out} out for 1M tokens ({source})").format(
            in_=f"{model.price_in:g}", out=f"{model.price_out:g}", source=model.price_from
        )
    tools = {True: _tr("calls tools"), False: _tr("calls no tools"), None: ""}[model.tools]
    return " · ".join(part for part in (window, price, tools) if part)


def trial_words(trial: "Trial") -> Said:
    """What a test came to, in a line."""
    if trial.trouble:
        return visible(str(trial.trouble)), "failed"
    first = _tr("first word after {:.2f} s").format(trial.first_s) if trial.first_s is not None else _tr("no words")
    streams = {True: _tr("streams"), False: _tr("does not stream"), None: _tr("streaming could not be seen")}
    tools = {True: _tr("calls tools"), False: _tr("calls no tools"), None: _tr("tool calls could not be tried")}
    why = f" ({visible(str(trial.tools_trouble))})" if trial.tools_trouble else ""
    whole = _tr("whole after {:.2f} s").format(trial.took_s or 0.0)
    said = ", ".join((first, whole, streams[trial.streams], tools[trial.tools]))
    return _tr("It answers: {}.").format(said + why), "done" if trial.streams and trial.tools else "waiting"


def _state(row: "ProviderRow") -> str:
    if row.trouble:
        return visible(str(row.trouble))
    if row.there is False:
        return _tr("Nothing listens there. Start it, then look again.")
    if not row.models:
        return _tr("It lists no models.") if row.there else _tr("It is asked once it has a key.")
    return _tr("1 model") if len(row.models) == 1 else _tr("{} models").format(f"{len(row.models):,}")


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
