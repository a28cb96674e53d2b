"""The dialog to add or edit an agent profile."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, resize_in_screen, show_form_error
from ui.widgets.drop_down import DropDown
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.flow_layout import FlowLayout
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import TextField, framed_field, label

if TYPE_CHECKING:
    from core.engine.prompting.profile_files import ProfileFile
    from core.engine.prompting.profiles import AgentProfile

TIERS: Final = {"": "None", "small": "Small", "mid": "Mid", "frontier": "Frontier", "auto": "Auto"}
WIDTH: Final = 640
HEIGHT: Final = 620
INSTRUCTION_LINES: Final = 6
LIST_LINES: Final = 2


class AgentProfileDialog(InputDialog):
    """Asks for an agent profile.

    When `saved` is emitted, the receiver saves the profile and closes the dialog, or calls `show_error` if that fails.
    """

    saved = Signal(str, object)  # the name and the AgentProfile

    def __init__(
        self, look: Look, tools: Sequence[str], file: "ProfileFile | None" = None, parent: QWidget | None = None
    ) -> None:
        from core.engine.prompting.profiles import AgentProfile

        super().__init__(look, parent)
        self._file = file
        self._profile = file.profile if file and file.profile else AgentProfile(name="")
        self._form = QFormLayout()
        self.setObjectName("profile")
        self.setWindowTitle(self.tr("Edit agent profile") if file else self.tr("Add agent profile"))
        self._add_identity_rows()
        self._add_behavior_rows()
        self._add_tools_row(tools)
        self._add_model_rows()
        self._add_learning_rows()
        self._error = label("", look.fonts.text, "failed", name="profile.error", wrap=True)
        self._error.hide()
        save_text = self.tr("Save profile") if file else self.tr("Add profile")
        self._save = Button(look, save_text, name="profile.save", hint=self.tr("Ctrl+Enter"), tone="primary")
        self._save.clicked.connect(self._emit_saved)
        self._all_tools.toggled.connect(lambda _: self._update_tools())
        self._lay_out()
        self._update_tools()
        click_on_ctrl_enter(self, self._save)
        (self._instructions if file else self._name).setFocus()

    def _add_identity_rows(self) -> None:
        profile = self._profile
        file = self._file
        self._name = self._line("name", self.tr("Name"), file.name if file else "", "proofreader")
        self._name.setReadOnly(file is not None)
        calls_itself = "" if file and profile.name == file.name else profile.name
        self._calls_itself = self._line("called", self.tr("Calls itself"), calls_itself, self.tr("Its name"))
        self._description = self._line("description", self.tr("Description"), profile.description, self.tr("For you"))
        role_hint = self.tr("For example: A careful proofreader")
        self._role = self._line("role", self.tr("Role"), profile.role, role_hint)

    def _add_behavior_rows(self) -> None:
        profile = self._profile
        self._instructions = self._text(
            "instructions", self.tr("Instructions"), profile.instructions, INSTRUCTION_LINES, ""
        )
        self._traits = self._list("traits", self.tr("Traits"), profile.traits)
        self._actions = self._list("actions", self.tr("Unless told otherwise"), profile.actions)
        self._constraints = self._list("constraints", self.tr("Always"), profile.constraints)
        facts = "\n".join(f"{key}: {value}" for key, value in profile.setting.items())
        self._setting = self._text(
            "setting", self.tr("Where it works"), facts, LIST_LINES, self.tr("language: English")
        )

    def _add_model_rows(self) -> None:
        look = self._look
        profile = self._profile
        self._tier = DropDown(name="profile.tier", font=look.fonts.text)
        self._tier.setMinimumHeight(look.size(28))
        for value, text in TIERS.items():
            self._tier.addItem(self.tr(text), value)
        self._tier.setCurrentIndex(self._tier.findData(profile.tier))
        self._add_row(self.tr("Model tier"), self._tier, self._tier)
        model_hint = self.tr("For example: ollama/qwen3; overrides the tier")
        self._model = self._line("model", self.tr("Model"), profile.model, model_hint)

    def _add_learning_rows(self) -> None:
        learn = self._profile.learn
        topics = self.tr("Topics, one per line; empty: all")
        self._may = self._text("may", self.tr("May learn about"), "\n".join(learn.may), LIST_LINES, topics)
        self._never = self._list("never", self.tr("Never learns about"), learn.never)

    def show_error(self, error: ErrorDetails) -> None:
        """Show why the profile was not saved. What the user has entered is kept."""
        show_form_error(self, self._error, str(error))
        self._save.setEnabled(True)

    def _entered_name(self) -> str:
        return self._name.text().strip()

    def _entered_profile(self) -> "AgentProfile":
        from core.engine.prompting.profiles import AgentProfile

        chosen = [tool for tool, box in self._tools.items() if box.isChecked()]
        facts = [line.partition(":") for line in _lines(self._setting)]
        learn = self._profile.learn
        return AgentProfile(
            name=self._calls_itself.text().strip() or self._entered_name(),
            description=self._description.text().strip(),
            role=self._role.text().strip(),
            instructions=self._instructions.toPlainText().strip("\n"),
            traits=tuple(_lines(self._traits)),
            actions=tuple(_lines(self._actions)),
            constraints=tuple(_lines(self._constraints)),
            setting={key.strip(): value.strip() for key, _, value in facts},
            tools=None if self._all_tools.isChecked() else tuple(chosen),
            tier=self._tier.currentData(),
            model=self._model.text().strip(),
            learn=replace(learn, may=tuple(_lines(self._may)), never=tuple(_lines(self._never))),
        )

    def _emit_saved(self) -> None:
        incomplete = next((line for line in _lines(self._setting) if not _has_name_and_value(line)), "")
        if incomplete:
            message = self.tr("“{}” under Where it works needs a name and a value.").format(incomplete)
            self.show_error(ErrorDetails(message, "", self.tr("Write it with a colon, such as “language: English”.")))
            self._setting.setFocus()
        elif self._save.isEnabled():
            self._error.hide()
            # Prevents a second click, which would save the profile twice, until the result is known.
            self._save.setEnabled(False)
            self.saved.emit(self._entered_name(), self._entered_profile())

    def _update_tools(self) -> None:
        for box in self._tools.values():
            box.setEnabled(not self._all_tools.isChecked())

    def _add_tools_row(self, names: Sequence[str]) -> None:
        """Add a check box that allows all tools, and one for each tool."""
        allowed = self._profile.tools
        self._all_tools = CheckBox(self._look, self.tr("All tools"), name="profile.tools.all")
        self._all_tools.setChecked(allowed is None)
        self._tools = {name: CheckBox(self._look, name, name=f"profile.tool.{name}") for name in names}
        flow_area = QWidget()
        flow = FlowLayout(flow_area)
        for name, box in self._tools.items():
            box.setChecked(allowed is None or name in allowed)
            flow.addWidget(box)
        column = QVBoxLayout()
        column.setSpacing(4)
        column.addWidget(self._all_tools)
        column.addWidget(flow_area)
        self._form.addRow(label(self.tr("Tools"), self._look.fonts.text), column)

    def _line(self, name: str, title: str, text: str, hint: str) -> QLineEdit:
        field = QLineEdit(text)
        field.setPlaceholderText(hint)
        field.setObjectName(f"profile.{name}")
        field.setFont(self._look.fonts.text)
        self._add_row(title, field, field)
        return field

    def _list(self, name: str, title: str, items: Sequence[str]) -> QPlainTextEdit:
        return self._text(name, title, "\n".join(items), LIST_LINES, self.tr("One per line"))

    def _text(self, name: str, title: str, text: str, lines: int, hint: str) -> QPlainTextEdit:
        field = TextField(self._look.fonts.text, min_lines=lines, max_lines=2 * lines, enter_breaks_line=True)
        field.setPlainText(text)
        field.setPlaceholderText(hint)
        field.setObjectName(f"profile.{name}")
        self._add_row(title, framed_field(field), field)
        return field

    def _add_row(self, title: str, row: QWidget, field: QWidget) -> None:
        field.setAccessibleName(title)
        self._form.addRow(label(title, self._look.fonts.text), row)

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        self._form.setContentsMargins(0, 0, 8, 0)
        self._form.setHorizontalSpacing(12)
        self._form.setVerticalSpacing(8)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        content = QWidget()
        content.setLayout(self._form)
        cancel = Button(self._look, self.tr("Cancel"), name="profile.cancel")
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.windowTitle(), fonts.title))
        if self._file is not None:
            path = self.tr("File: {}").format(visible(str(self._file.path)))
            column.addWidget(label(path, fonts.second, "second", name="profile.file", wrap=True))
        if self._file is not None and self._file.has_comments:
            warning = self.tr("Saving here removes the comments in the file.")
            column.addWidget(label(warning, fonts.second, "waiting", name="profile.comments", wrap=True))
        column.addWidget(FittingScrollArea(content), 1)
        column.addWidget(self._error)
        column.addLayout(button_row(cancel, self._save))
        resize_in_screen(self, self._look.size(WIDTH), self._look.size(HEIGHT))


def _has_name_and_value(line: str) -> bool:
    name, colon, value = line.partition(":")
    return bool(name.strip() and colon and value.strip())


def _lines(field: QPlainTextEdit) -> list[str]:
    return [line.strip() for line in field.toPlainText().splitlines() if line.strip()]
