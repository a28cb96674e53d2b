"""One page of the Settings window: fields with labels, and optionally a custom section below them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.tiers import Tiers
from core.settings.schema import Settings
from ui.settings.setting_controls import SettingField, create_control
from ui.settings.tier_fields import FIELD_WIDTH
from ui.style.theme import Look
from ui.widgets.labels import label
from ui.widgets.replaceable_content import ReplaceableContent
from ui.widgets.stacking_row import StackingRow

MIN_TEXT_WIDTH: Final = 180  # of the text of a setting beside its control; with less width, the control is below it

# Additional words by which the search finds a setting.
SYNONYMS: Final[Mapping[str, str]] = {
    "theme": "dark mode color scheme",
    "font_scale": "font zoom text size",
    "model": "default model llm provider",
    "tiers": "default model small frontier",
    "text_call_models": "tool calls function calling",
    "prompt_size": "system prompt tools tokens small local model lean",
    "slow_models": "local model speed compact prompt",
    "local_idle_minutes": "local model memory unload idle",
    "local_window": "local model context window tokens n_ctx",
    "local_threads": "local model cpu threads cores",
    "local_gpu_layers": "local model gpu offload vram",
    "max_turns": "turns iterations steps budget limit",
    "max_minutes": "time duration timeout budget limit",
    "max_tokens": "token budget limit usage",
    "max_cost": "budget cost price money spending dollars limit",
    "compact_at_tokens": "context window compaction truncate tokens",
    "memory": "remember recall notes",
    "learning": "learn skills memories review reviewer",
    "review_after_calls": "learn review reviewer threshold",
    "embedding_model": "embedding embeddings vector vectors semantic search model",
    "search_engine": "search engine internet browse",
    "search_url": "search engine url endpoint",
    "watch_sessions": "external agents watch import sessions",
    "proxy": "http https socks network",
    "otlp_receive_port": "opentelemetry otlp telemetry port",
    "otlp_export_url": "opentelemetry otlp telemetry export endpoint url",
    "connect_timeout_s": "connection timeout seconds",
    "first_token_timeout_s": "first token timeout seconds latency",
    "idle_timeout_s": "stream idle read timeout seconds",
}


class CustomSection(NamedTuple):
    """A custom section of a page.

    Attributes:
        keywords: The words by which the search finds the section.
        build: A function that creates its widget.
        on_open: Called when the page is opened, to load the data of the section.
        is_first: Whether it is above the fields.
    """

    keywords: str
    build: Callable[[], QWidget]
    on_open: Callable[[], None] = lambda: None
    is_first: bool = False


class PageContents(NamedTuple):
    """The contents of a page. The search uses them to find a page that has not been built yet."""

    title: str
    fields: Sequence[SettingField]
    section: CustomSection | None = None

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether a field or the section matches every word of a search."""
        if _contains_all(self.section_keywords(), words):
            return True
        return any(_contains_all(_keywords(field), words) for field in self.fields)

    def section_keywords(self) -> str:
        return f"{self.title} {self.section.keywords if self.section else ''}".casefold()


class _SettingRow(NamedTuple):
    """The row of a setting, and the text in which the search looks for it."""

    keywords: str
    widget: QWidget


def _keywords(field: SettingField) -> str:
    """Return the text in which the search looks for the words that lead to a setting."""
    info = field.info
    return f"{info.page} {info.label} {info.help} {field.name} {SYNONYMS.get(field.name, '')}".casefold()


def _contains_all(keywords: str, words: Sequence[str]) -> bool:
    return all(word in keywords for word in words)


class SettingsPage(QWidget):
    changed = Signal(str, object)

    def __init__(self, look: Look, contents: PageContents, settings: Settings) -> None:
        super().__init__()
        self._look = look
        self._contents = contents
        self._rows: list[_SettingRow] = []
        self._fields = ReplaceableContent()
        self._section = ReplaceableContent()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 4, 20, 16)
        column.setSpacing(12)
        column.addWidget(label(self.tr(contents.title), look.fonts.title))
        # The parts are filled in the order of the layout, because Qt focuses the first widget that was created.
        if contents.section and contents.section.is_first:
            column.addWidget(self._section)
            self.rebuild_section()
            column.addWidget(self._fields)
            self.show_fields(settings)
        else:
            column.addWidget(self._fields)
            self.show_fields(settings)
            column.addWidget(self._section)
            self.rebuild_section()
        column.addStretch(1)

    def show_fields(self, settings: Settings) -> None:
        """Rebuild the controls so that they show the values of these settings."""
        self._rows.clear()
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        for field in self._contents.fields:
            row = self._build_row(field, getattr(settings, field.name))
            column.addWidget(row)
            self._rows.append(_SettingRow(_keywords(field), row))
        self._fields.replace_content(content)

    def rebuild_section(self) -> None:
        """Rebuild the custom section with current data."""
        if self._contents.section:
            self._section.replace_content(self._contents.section.build())

    def filter(self, words: Sequence[str]) -> None:
        """Show only settings and sections that match every word of a search."""
        for row in self._rows:
            row.widget.setVisible(_contains_all(row.keywords, words))
        section_matches = _contains_all(self._contents.section_keywords(), words)
        self._section.setVisible(self._contents.section is not None and section_matches)
        self._fields.setVisible(any(not row.widget.isHidden() for row in self._rows))

    def _build_row(self, field: SettingField, value: object) -> QWidget:
        fonts = self._look.fonts
        text_column = QWidget()
        texts = QVBoxLayout(text_column)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(1)
        texts.addWidget(label(self.tr(field.info.label), fonts.strong, wrap=True))
        texts.addWidget(label(self.tr(field.info.help), fonts.second, "second", wrap=True))
        texts.addStretch(1)
        control = create_control(
            self._look, field.name, field.info, value, lambda new: self.changed.emit(field.name, new)
        )
        if isinstance(value, Tiers):  # the control for tiers needs the whole width
            texts.addWidget(control)
            return text_column
        text_column.setMinimumWidth(self._look.size(MIN_TEXT_WIDTH))
        control.setMinimumWidth(self._look.size(FIELD_WIDTH))
        return StackingRow(text_column, control, spacing=16, alignment=Qt.AlignmentFlag.AlignTop)
