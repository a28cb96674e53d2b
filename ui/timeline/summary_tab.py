"""The Summary tab of the step pane: what a step did, facts, images, changed files, and the start of its output."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.domain.steps import Step
from ui.style.theme import Look
from ui.text.visible import visible
from ui.timeline.output_tab import FittedTextView
from ui.timeline.step_changes import (
    MAX_FILES,
    DiffPreview,
    StepFileChange,
    StepPaneSource,
    attached_images,
    file_changes_of,
)
from ui.timeline.step_details import StepDetails
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.image_view import ImageView
from ui.widgets.labels import hairline, label, styled_frame

NAME_WIDTH: Final = 92
TEXT_LIMIT: Final = 4_000
OUTPUT_LINES: Final = 12


class SummaryTab(QScrollArea):
    """The first tab of the step pane. Its contents are rebuilt for each step."""

    changes_requested = Signal(str)
    sub_agent_requested = Signal(str, str)
    """The session that delegated to a sub-agent, and the id of its tool call."""

    def __init__(self, look: Look, rows: StepPaneSource) -> None:
        super().__init__()
        self._look = look
        self._rows = rows
        self.setObjectName("step.summary")
        self.setAccessibleName(self.tr("Summary"))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def restyle(self, look: Look) -> None:
        """Set the fonts and colors for the next step that is shown; the current contents keep theirs."""
        self._look = look

    def show_placeholder(self) -> None:
        """Show a hint in place of a step, because no step is selected."""
        page = QWidget()
        layout = _page_layout(page)
        hint = self.tr("Select a step to see what was done, why, and the result.")
        layout.addWidget(label(hint, self._look.fonts.second, "second", wrap=True))
        layout.addStretch(1)
        self._show_page(page)

    def show_step(self, session: str, step: Step, details: StepDetails, output: str) -> None:
        """Show a step and the first lines of its output."""
        page = QWidget()
        layout = _page_layout(page)
        if details.full_object:
            layout.addWidget(self._well(details.full_object[:TEXT_LIMIT], "step.block", self.tr("What was done")))
            layout.addWidget(hairline())
        layout.addLayout(self._facts_form(details))
        if step.kind == "delegate":
            open_child = Button(self._look, self.tr("Open in split view"), name="step.child", icon="columns-2")
            open_child.clicked.connect(lambda: self.sub_agent_requested.emit(session, step.key))
            layout.addWidget(open_child, 0, Qt.AlignmentFlag.AlignLeft)
        for image in attached_images(self._rows, session, step):
            view = ImageView(self._look, image.data, visible(image.name))
            if view.is_valid():
                layout.addWidget(view)
        for change in file_changes_of(self._rows, session, step)[:MAX_FILES]:
            self._add_file_change(layout, change)
        if output.strip():
            layout.addWidget(hairline())
            layout.addWidget(label(self.tr("Output"), self._look.fonts.label, "second"))
            layout.addWidget(self._well(_first_lines(output), "step.head", self.tr("Output")))
        layout.addStretch(1)
        self._show_page(page)

    def update_output(self, text: str) -> bool:
        """Replace the output of a running call; return whether the summary contains an output to replace."""
        output_view = self.findChild(FittedTextView, "step.head")
        if output_view is None:
            return False
        output_view.show_text(text)
        output_view.fit_height()
        return True

    def _facts_form(self, details: StepDetails) -> QFormLayout:
        form = QFormLayout()
        form.setHorizontalSpacing(8)
        form.setVerticalSpacing(5)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for fact in details.facts:
            caption = label(fact.label, self._look.fonts.second, "second")
            caption.setFixedWidth(self._look.size(NAME_WIDTH))
            caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            view = FittedTextView(self._look, fact.text)
            view.setAccessibleName(fact.label)
            view.setFont(self._look.fonts.second)
            form.addRow(caption, view)
        return form

    def _add_file_change(self, layout: QVBoxLayout, change: StepFileChange) -> None:
        """Add the preview of a changed file, and a button that shows all its changes."""
        look = self._look
        layout.addWidget(hairline())
        figures = " ".join(f"{sign}{count}" for sign, count in (("+", change.added), ("−", change.removed)) if count)
        file_row = QHBoxLayout()
        file_row.addWidget(ElidedLabel(visible(change.path), look.fonts.mono, name="step.changed.path"), 1)
        file_row.addWidget(label(figures, look.fonts.caption, "second"))
        layout.addLayout(file_row)
        if change.image:
            layout.addWidget(ImageView(look, change.image, ""))
        if change.diff is not None and change.diff.blocks:
            frame = styled_frame("well")
            frame_layout = QVBoxLayout(frame)
            frame_layout.setContentsMargins(6, 6, 6, 6)
            frame_layout.addWidget(DiffPreview(look, change.diff, "step.changed.lines"))
            layout.addWidget(frame)
        more = Button(look, self.tr("Show in Changes"), name="step.changed.all", tone="quiet", icon="file-pen-line")
        more.clicked.connect(lambda _=False, path=change.path: self.changes_requested.emit(path))
        layout.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _show_page(self, page: QWidget) -> None:
        self.setWidget(page)
        # Otherwise, the background of the scroll area would differ from that of the pane.
        page.setAutoFillBackground(False)

    def _well(self, text: str, name: str, accessible_name: str) -> QFrame:
        frame = styled_frame("well")
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(10, 8, 10, 8)
        view = FittedTextView(self._look, text, name)
        view.setAccessibleName(accessible_name)
        layout.addWidget(view)
        return frame


def _page_layout(page: QWidget) -> QVBoxLayout:
    layout = QVBoxLayout(page)
    layout.setContentsMargins(16, 14, 16, 14)
    layout.setSpacing(12)
    return layout


def _first_lines(output: str) -> str:
    """Return the first lines of an output, followed by an ellipsis if there are more."""
    lines = output.rstrip("\n").split("\n")
    head = "\n".join(lines[:OUTPUT_LINES])
    is_cut = len(lines) > OUTPUT_LINES or len(head) > TEXT_LIMIT
    return head[:TEXT_LIMIT] + ("\n…" if is_cut else "")
