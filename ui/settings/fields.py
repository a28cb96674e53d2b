"""A control for each type of setting; what it holds is told when the person has finished with it."""

from collections.abc import Callable
from dataclasses import fields as fields_of
from dataclasses import replace
from functools import cache, partial
from typing import Any, get_args, get_type_hints

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QWidget,
)

from core.domain.tiers import Tiers
from core.settings.schema import About, Folder, Settings
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import ask_folder
from ui.widgets.number import NumberField
from ui.widgets.tick import Tick

Told = Callable[[Any], None]
WORDS = {"system": "As the system has it", "light": "Light", "dark": "Dark", "contrast": "High contrast"} | {
    "none": "None",
    "searxng": "SearXNG",
    "brave": "Brave Search",
    "tavily": "Tavily",
    "ask": "Ask",
    "add": "Add",
    "off": "Off",
}
# Edited where they are shown, not as a field.
SHOWN_AS_LISTS = frozenset({"providers", "prices", "tool_servers", "agents"})


def settable() -> list[tuple[str, About]]:
    """Names and words of the settings a field can hold, in the order of the schema."""
    return [(one.name, one.metadata["about"]) for one in fields_of(Settings) if one.name not in SHOWN_AS_LISTS]


def control(look: Look, name: str, about: About, value: Any, told: Told) -> QWidget:
    """The control of this setting, holding `value`."""
    made = _control(look, name, about, value, told)
    made.setObjectName(f"settings.{name}")
    made.setAccessibleName(_tr(about.label))
    made.setAccessibleDescription(_tr(about.help))
    made.setFont(look.fonts.text)
    return made


@cache
def _kinds() -> dict[str, Any]:
    return get_type_hints(Settings)


def _control(look: Look, name: str, about: About, value: Any, told: Told) -> QWidget:
    kind = _kinds()[name]
    if isinstance(value, Tiers):
        return _tiers(look, value, told)
    if isinstance(value, tuple):
        return _line(", ".join(value), lambda text: told(_names(text)))
    if kind is bool:
        return _switch(look, value, told)
    if kind in (int, float):
        return _number(kind, about, value, told)
    if options := get_args(kind):
        return _choice(options, value, told)
    if kind is Folder:
        return _folder(look, name, about, value, told)
    return _line(value, told)


def _folder(look: Look, name: str, about: About, value: str, told: Told) -> QWidget:
    """Typed, or chosen in the desktop's own dialog."""
    made, line = QWidget(), _line(value, told)
    line.setObjectName(f"settings.{name}.path")
    line.setAccessibleName(_tr(about.label))
    line.setAccessibleDescription(_tr(about.help))
    line.setFont(look.fonts.text)
    choose = Button(look, _tr("Choose…"), name=f"settings.{name}.choose")
    choose.setAccessibleName(_tr("Choose the folder"))

    def take(path: str) -> None:
        line.setText(path)
        _tell_changed(line, told)

    ask = partial(ask_folder, made, _tr(about.label), name=f"settings.{name}.folders")
    choose.clicked.connect(lambda: ask(line.text(), take))
    line.setMinimumWidth(look.size(60))  # with its button it is as wide as the other fields
    line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(line, 1)
    row.addWidget(choose)
    made.setFocusProxy(line)
    return made


def _choice(options: tuple[str, ...], value: str, told: Told) -> QComboBox:
    made = Choice()
    for option in options:
        made.addItem(_tr(WORDS.get(option, option)), option)
    made.setCurrentIndex(options.index(value) if value in options else 0)
    made.activated.connect(lambda place: told(options[place]))
    return made


def _switch(look: Look, value: bool, told: Told) -> QCheckBox:
    made = Tick(look, _tr("On"))
    made.setChecked(value)
    made.toggled.connect(told)
    return made


def _number(kind: type, about: About, value: float, told: Told) -> QDoubleSpinBox:
    made = NumberField()
    made.setDecimals(0 if kind is int else 2)
    made.setRange(0 if about.low is None else about.low, 1e12 if about.high is None else about.high)
    made.setSingleStep(10 if about.unit == "%" else 1)
    made.setSuffix(f" {about.unit}" if about.unit else "")
    made.setGroupSeparatorShown(True)
    made.setKeyboardTracking(False)  # half a number is not a wish
    made.setValue(value)
    made.valueChanged.connect(lambda new: told(kind(new)))
    return made


def _line(value: str, told: Told) -> QLineEdit:
    made = QLineEdit(value)
    made.editingFinished.connect(lambda: _tell_changed(made, told))
    made.setProperty("told", value)
    return made


def _tell_changed(field: QLineEdit, told: Told) -> None:
    if field.text() != field.property("told"):
        field.setProperty("told", field.text())
        told(field.text().strip())


def _tiers(look: Look, value: Tiers, told: Told) -> QWidget:
    """Three lines of names; the first that works is used."""
    made = QWidget()
    form = QFormLayout(made)
    form.setContentsMargins(0, 0, 0, 0)
    lines: dict[str, QLineEdit] = {}

    def tell(_: str) -> None:
        small, mid, frontier = (_names(lines[tier].text()) for tier in ("small", "mid", "frontier"))
        told(replace(value, small=small, mid=mid, frontier=frontier))

    for tier, words in (("small", _tr("Small")), ("mid", _tr("Mid")), ("frontier", _tr("Frontier"))):
        lines[tier] = _line(", ".join(getattr(value, tier)), tell)
        lines[tier].setObjectName(f"settings.tiers.{tier}")
        lines[tier].setAccessibleName(words)
        lines[tier].setPlaceholderText(_tr("PROVIDER/MODEL, …"))
        lines[tier].setFont(look.fonts.text)
        form.addRow(words, lines[tier])
    return made


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in map(str.strip, text.split(",")) if name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
