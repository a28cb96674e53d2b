"""Controls for settings, one kind for each type. A control reports its value when the user has finished editing it."""

from collections.abc import Callable
from dataclasses import fields as fields_of
from functools import cache, partial
from typing import Any, NamedTuple, get_args, get_type_hints

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QHBoxLayout, QSizePolicy, QWidget

from core.domain.tiers import Tiers
from core.settings.schema import FolderPath, SettingInfo, Settings
from ui.settings.text_setting import report_change, split_names, text_field
from ui.settings.tier_fields import TierFields
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import open_folder_picker
from ui.widgets.drop_down import DropDown
from ui.widgets.number_field import NumberField

OnChange = Callable[[Any], None]
OPTION_LABELS = {
    "system": "System default",
    "light": "Light",
    "dark": "Dark",
    "contrast": "High contrast",
    "none": "None",
    "searxng": "SearXNG",
    "brave": "Brave Search",
    "tavily": "Tavily",
    "ask": "Ask",
    "add": "Add",
    "off": "Off",
    "auto": "Automatic",
    "full": "Full",
    "compact": "Compact",
    "background": "Keep running",
    "stop": "Pause and quit",
    "vscode": "Visual Studio Code",
    "cursor": "Cursor",
    "zed": "Zed",
    "jetbrains": "JetBrains",
    "sublime": "Sublime Text",
    "kate": "Kate",
    "environment": "$VISUAL or $EDITOR",
}
# These settings have no control, because they are edited on pages of their own.
WITHOUT_CONTROL = frozenset({"providers", "prices", "mcp_servers", "external_agents"})


class SettingField(NamedTuple):
    """A setting that has a control: its name in the schema, and its description."""

    name: str
    info: SettingInfo


def settings_with_control() -> list[SettingField]:
    """Return the settings that have a control, in the order of the schema."""
    fields = [field for field in fields_of(Settings) if field.name not in WITHOUT_CONTROL]
    return [SettingField(field.name, field.metadata["about"]) for field in fields]


def create_control(look: Look, name: str, about: SettingInfo, value: Any, on_change: OnChange) -> QWidget:
    """Return a control for a setting that shows `value`. `on_change` is called with each new value."""
    control = _control(look, name, about, value, on_change)
    control.setObjectName(f"settings.{name}")
    control.setAccessibleName(_tr(about.label))
    control.setAccessibleDescription(_tr(about.help))
    control.setFont(look.fonts.text)
    return control


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Settings)


def _control(look: Look, name: str, about: SettingInfo, value: Any, on_change: OnChange) -> QWidget:
    kind = _types()[name]
    if isinstance(value, Tiers):
        return TierFields(look, value, on_change)
    if isinstance(value, tuple):
        names = text_field(", ".join(value), lambda text: on_change(split_names(text)))
        names.setPlaceholderText(_tr("None detected"))
        return names
    if kind is bool:
        return _switch(look, value, on_change)
    if kind in (int, float):
        return _number(kind, about, value, on_change)
    if options := get_args(kind):
        return _choice(options, value, on_change)
    if kind is FolderPath:
        return _folder(look, name, about, value, on_change)
    return text_field(value, on_change)


def _folder(look: Look, name: str, about: SettingInfo, value: str, on_change: OnChange) -> QWidget:
    """Return a text field with a button that opens the file dialog of the desktop."""
    container = QWidget()
    line = text_field(value, on_change)
    line.setObjectName(f"settings.{name}.path")
    line.setAccessibleName(_tr(about.label))
    line.setAccessibleDescription(_tr(about.help))
    line.setFont(look.fonts.text)
    choose = Button(look, _tr("Choose…"), name=f"settings.{name}.choose")
    choose.setAccessibleName(_tr("Choose a folder"))

    def take(path: str) -> None:
        line.setText(path)
        report_change(line, on_change)

    ask = partial(open_folder_picker, container, _tr(about.label), name=f"settings.{name}.folders")
    choose.clicked.connect(lambda: ask(line.text(), take))
    line.setMinimumWidth(look.size(60))  # so that the field and its button together are as wide as the other fields
    line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    row = QHBoxLayout(container)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(line, 1)
    row.addWidget(choose)
    container.setFocusProxy(line)
    return container


def _choice(options: tuple[str, ...], value: str, on_change: OnChange) -> QComboBox:
    combo_box = DropDown()
    for option in options:
        combo_box.addItem(_tr(OPTION_LABELS.get(option, option)), option)
    combo_box.setCurrentIndex(options.index(value) if value in options else 0)
    combo_box.activated.connect(lambda index: on_change(options[index]))
    return combo_box


def _switch(look: Look, value: bool, on_change: OnChange) -> QCheckBox:
    check_box = CheckBox(look, _tr("On"))
    check_box.setChecked(value)
    check_box.toggled.connect(on_change)
    return check_box


def _number(kind: type, about: SettingInfo, value: float, on_change: OnChange) -> QDoubleSpinBox:
    spin_box = NumberField()
    spin_box.setDecimals(0 if kind is int else 2)
    spin_box.setMinimum(0 if about.low is None else about.low)
    spin_box.setMaximum(1e12 if about.high is None else about.high)
    if about.unit == "%":
        spin_box.setSingleStep(10)
        spin_box.setSuffix("%")
    elif about.unit:
        spin_box.setSuffix(f" {about.unit}")
    spin_box.setGroupSeparatorShown(True)
    spin_box.setKeyboardTracking(False)  # report a number only when the user has finished typing it
    spin_box.setValue(value)
    spin_box.valueChanged.connect(lambda new: on_change(kind(new)))
    return spin_box


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
