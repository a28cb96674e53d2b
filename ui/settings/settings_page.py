"""One page of the Settings window: fields with labels, and optionally a custom section below them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.tiers import Tiers
from core.settings.schema import SettingInfo, Settings
from ui.settings.setting_controls import create_control
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
    fields: list[tuple[str, SettingInfo]]
    section: CustomSection | None = None

    def matches(self, typed: Sequence[str]) -> bool:
        rows = [_words(name, about) for name, about in self.fields]
        return any(all(word in keywords for word in typed) for keywords in [*rows, self.section_keywords()])

    def section_keywords(self) -> str:
        return f"{self.title} {self.section.keywords if self.section else ''}".casefold()


def _words(name: str, about: SettingInfo) -> str:
    """Return the text in which the search looks for the words that lead to a setting."""
    return f"{about.page} {about.label} {about.help} {name} {SYNONYMS.get(name, '')}".casefold()


class SettingsPage(QWidget):
    changed = Signal(str, object)

    def __init__(self, look: Look, contents: PageContents, settings: Settings) -> None:
        super().__init__()
        self._look = look
        self._contents = contents
        self._rows: list[tuple[str, QWidget]] = []
        self._fields = ReplaceableContent()
        self._part = ReplaceableContent()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 4, 20, 16)
        column.setSpacing(12)
        column.addWidget(label(self.tr(contents.title), look.fonts.title))
        parts: list[tuple[QWidget, Callable[[], None]]] = [
            (self._fields, lambda: self.show_fields(settings)),
            (self._part, self.rebuild_section),
        ]
        if contents.section and contents.section.is_first:
            parts.reverse()
        for part, fill in parts:  # filled in this order, because Qt focuses the first widget that was created
            column.addWidget(part)
            fill()
        column.addStretch(1)

    def show_fields(self, settings: Settings) -> None:
        """Rebuild the controls so that they show the values of these settings."""
        self._rows.clear()
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        for name, about in self._contents.fields:
            row = self._row(name, about, getattr(settings, name))
            column.addWidget(row)
            self._rows.append((_words(name, about), row))
        self._fields.replace_content(content)

    def rebuild_section(self) -> None:
        """Rebuild the custom section with current data."""
        if self._contents.section:
            self._part.replace_content(self._contents.section.build())

    def filter(self, typed: Sequence[str]) -> None:
        """Show only settings and sections that match every typed word."""
        for keywords, row in self._rows:
            row.setVisible(all(word in keywords for word in typed))
        keywords = self._contents.section_keywords()
        self._part.setVisible(self._contents.section is not None and all(word in keywords for word in typed))
        self._fields.setVisible(any(not row.isHidden() for _, row in self._rows))

    def _row(self, name: str, about: SettingInfo, value: object) -> QWidget:
        text_column, fonts = QWidget(), self._look.fonts
        texts = QVBoxLayout(text_column)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(1)
        texts.addWidget(label(self.tr(about.label), fonts.strong, wrap=True))
        texts.addWidget(label(self.tr(about.help), fonts.second, "second", wrap=True))
        texts.addStretch(1)
        field = create_control(self._look, name, about, value, lambda new: self.changed.emit(name, new))
        if isinstance(value, Tiers):  # the control for tiers needs the whole width
            texts.addWidget(field)
            return text_column
        text_column.setMinimumWidth(self._look.size(MIN_TEXT_WIDTH))
        field.setMinimumWidth(self._look.size(FIELD_WIDTH))
        return StackingRow(text_column, field, spacing=16, alignment=Qt.AlignmentFlag.AlignTop)
