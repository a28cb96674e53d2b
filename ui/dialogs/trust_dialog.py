"""The dialog that asks, before the first run in a folder, whether to follow its project instructions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, fit_to_content
from ui.widgets.labels import hide_unless, label, read_only_text

if TYPE_CHECKING:
    from core.engine.policy.trust import FolderTrust

MAX_NAMES: Final = 12


class TrustDialog(QDialog):
    """Asks whether to trust a folder.

    `decided` carries the answer; it is not emitted if the user cancels. Cancel has the initial focus.
    """

    decided = Signal(bool)

    def __init__(self, look: Look, folder_trust: "FolderTrust", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trust")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        was_trusted = bool(folder_trust.trusted)
        title = self.tr("Trust this folder again?") if was_trusted else self.tr("Trust this folder?")
        self.setWindowTitle(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.title, name="trust.title", wrap=True))
        column.addWidget(label(visible(folder_trust.folder), look.fonts.mono, name="trust.folder", wrap=True))
        column.addWidget(label(self._heading(folder_trust), look.fonts.text, name="trust.found", wrap=True))
        names = folder_trust.changed if was_trusted else folder_trust.instructions
        if names:
            lines = [visible(name) for name in names[:MAX_NAMES]]
            if len(names) > MAX_NAMES:
                lines.append(self.tr("and {} more").format(len(names) - MAX_NAMES))
            column.addWidget(label("\n".join(lines), look.fonts.mono, "second", name="trust.names", wrap=True))
        texts = {name: folder_trust.texts[name] for name in names if name in folder_trust.texts}
        self._files = self._build_files(look, texts)
        column.addWidget(self._files, 1)
        column.addSpacing(4)
        for name, text in self._consequences(folder_trust).items():
            column.addWidget(label(text, look.fonts.text, "second", name=f"trust.{name}", wrap=True))
        column.addSpacing(4)
        column.addLayout(self._buttons(look, has_files=bool(texts)))
        self.setMinimumWidth(look.size(520))
        self._cancel.setFocus()
        fit_to_content(self)

    def _heading(self, folder_trust: "FolderTrust") -> str:
        if folder_trust.trusted:
            return self.tr("These project instructions are new or have changed since you trusted the folder:")
        if folder_trust.instructions:
            return self.tr("It has project instructions, which tell the agent what to do:")
        return self.tr("It has no project instructions yet, such as an AGENTS.md, skills or commands.")

    def _consequences(self, folder_trust: "FolderTrust") -> dict[str, str]:
        """Return texts about the consequences of each answer, by the object name of their label."""
        if folder_trust.instructions or folder_trust.trusted:
            trusted = self.tr(
                "If you trust it, the agent follows these files as they are now. When one of them changes, you are "
                "asked again. Trust it only if you know who wrote them."
            )
            ignored = self.tr(
                "If you continue without trusting it, the agent still works here but ignores these files."
            )
        else:
            trusted = self.tr(
                "If you trust it, the agent relies on the files in it. When project instructions appear, you are asked "
                "again. Trust it only if you know who wrote the files."
            )
            ignored = self.tr("If you continue without trusting it, the agent still works here.")
        ignored += " " + self.tr(
            "Once it has read any file, it asks before each use of the network, despite saved rules, because the file "
            "may contain instructions from others."
        )
        undo = self.tr("You can change this later under Settings, Trusted folders.")
        return {"trusted": trusted, "ignored": ignored, "undo": undo}

    def _build_files(self, look: Look, texts: Mapping[str, str]) -> QWidget:
        """Return a frame with the contents of the files, which is hidden at first."""
        contents = "\n\n".join(f"── {visible(name)}\n\n{visible(body)}" for name, body in texts.items())
        frame = read_only_text(
            contents, look.fonts.mono, name="trust.contents", accessible_name=self.tr("Contents of the files")
        ).frame
        frame.setMinimumHeight(min(look.size(220), self.screen().availableGeometry().height() // 4))
        frame.hide()
        return frame

    def _toggle_files(self) -> None:
        """Show or hide the contents of the files, and resize the dialog accordingly."""
        shown = not self._files.isVisibleTo(self)
        self._files.setVisible(shown)
        self._show.setText(self.tr("Hide files") if shown else self.tr("Show files"))
        fit_to_content(self)

    def _buttons(self, look: Look, *, has_files: bool) -> QHBoxLayout:
        self._show = Button(look, self.tr("Show files"), name="trust.show", tone="quiet")
        self._show.setToolTip(self.tr("Read these files before you decide"))
        hide_unless(self._show, has_files)
        self._show.clicked.connect(self._toggle_files)
        self._cancel = cancel = Button(look, self.tr("Cancel"), name="trust.cancel")
        no = Button(look, self.tr("Continue without trusting"), name="trust.no")
        yes = Button(look, self.tr("Trust this folder"), name="trust.yes", tone="primary")
        cancel.setToolTip(self.tr("Do not start the run. You are asked again next time"))
        no.setToolTip(self.tr("Start the run without following these files"))
        yes.setToolTip(self.tr("Start the run and follow these files as they are now"))
        for button in (self._show, cancel, no, yes):
            button.setAutoDefault(False)
            button.setDefault(False)
        cancel.clicked.connect(self.reject)
        no.clicked.connect(lambda: self._decide(False))
        yes.clicked.connect(lambda: self._decide(True))
        row = button_row(cancel, no, yes)
        row.insertWidget(0, self._show)
        return row

    def _decide(self, trusted: bool) -> None:
        self.decided.emit(trusted)
        self.accept()
