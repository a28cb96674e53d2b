"""The dialog that shows the skills in a folder or a zip file, with their findings, before they are imported."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QScrollArea, QVBoxLayout, QWidget

from core.domain.skill import ImportedSkill
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, resize_in_screen
from ui.widgets.labels import label, styled_frame

FINDING_TONES: Final = {"error": "failed", "warning": "waiting"}
MAX_FINDINGS: Final = 5  # findings listed at most for each skill


class SkillImportDialog(QDialog):
    """Lets the user select skills to import. `confirmed` carries the keys of the selected skills."""

    confirmed = Signal(object)

    def __init__(
        self, look: Look, source_name: str, skills: Sequence[ImportedSkill], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._check_boxes: dict[str, CheckBox] = {}
        self.setObjectName("skill.import")
        self.setWindowTitle(self.tr("Import skills"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = self.tr("1 skill in {}.") if len(skills) == 1 else self.tr("{} skills in {{}}.").format(len(skills))
        hint = self.tr(
            "Imported skills are copied to your library. Import only skills that you trust: agents follow them."
        )
        content = QWidget()
        inner = QVBoxLayout(content)
        inner.setContentsMargins(0, 0, 8, 0)
        inner.setSpacing(8)
        for skill in skills:
            inner.addWidget(self._create_card(skill))
        inner.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(content)
        cancel = Button(look, self.tr("Cancel"), name="skill.import.cancel")
        self._import_button = Button(look, "", name="skill.import.yes", tone="primary")
        cancel.clicked.connect(self.reject)
        self._import_button.clicked.connect(self._confirm)
        click_on_ctrl_enter(self, self._import_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.windowTitle(), look.fonts.title))
        column.addWidget(label(f"{text.format(visible(source_name))} {hint}", look.fonts.text, "second", wrap=True))
        column.addWidget(scroll, 1)
        column.addLayout(button_row(cancel, self._import_button))
        resize_in_screen(self, look.size(600), look.size(min(560, 220 + 90 * len(skills))))
        self._update_button()
        cancel.setFocus()

    def selected(self) -> list[str]:
        return [key for key, check_box in self._check_boxes.items() if check_box.isChecked() and check_box.isEnabled()]

    def _create_card(self, skill: ImportedSkill) -> QWidget:
        card = styled_frame("well")
        column = QVBoxLayout(card)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(3)
        check_box = CheckBox(self._look, visible(skill.name), name=f"skill.import.{skill.name}")
        check_box.setChecked(not skill.name_taken_by and not skill.error)
        check_box.setEnabled(not skill.error and skill.name_taken_by != "same")
        check_box.toggled.connect(lambda _: self._update_button())
        self._check_boxes[skill.key or skill.name] = check_box
        column.addWidget(check_box)
        files = len(skill.files)
        count = self.tr("1 file") if files == 1 else self.tr("{} files").format(files)
        column.addWidget(label(count, self._look.fonts.second, "second"))
        if warning := visible(skill.error) or self._name_warning(skill):
            column.addWidget(label(warning, self._look.fonts.second, "failed" if skill.error else "waiting", wrap=True))
        for finding in skill.findings[:MAX_FINDINGS]:
            text = f"{self.tr('Line {}').format(finding.line)}: {visible(finding.message)} {visible(finding.fix)}"
            tone = FINDING_TONES.get(finding.level, "second")
            column.addWidget(label(text.strip(), self._look.fonts.second, tone, wrap=True))
        if len(skill.findings) > MAX_FINDINGS:
            more = self.tr("and {} more findings").format(len(skill.findings) - MAX_FINDINGS)
            column.addWidget(label(more, self._look.fonts.second, "third"))
        return card

    def _name_warning(self, skill: ImportedSkill) -> str:
        if skill.name_taken_by == "same":
            return self.tr("Your library already has exactly this skill.")
        if skill.name_taken_by == "other":
            return self.tr("Your library has another skill with this name. This one will be named {}.").format(
                visible(skill.key.rpartition("/")[2])
            )
        return ""

    def _update_button(self) -> None:
        count = len(self.selected())
        self._import_button.setText(
            self.tr("Import 1 skill") if count == 1 else self.tr("Import {} skills").format(count)
        )
        self._import_button.setEnabled(count > 0)

    def _confirm(self) -> None:
        selected = self.selected()
        self.accept()
        self.confirmed.emit(selected)
