"""The registry of export formats."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from core.exchange.export_source import ExportSource
from core.exchange.exporters import atif, journeyman, markdown, otlp, perfetto
from core.exchange.exporters.web_page import MarkdownRenderer, WebPageExporter


class Exporter(NamedTuple):
    """An export format. `write` yields the file in pieces, `suffix` is the extension of its files."""

    title: str
    description: str
    suffix: str
    write: Callable[[ExportSource], Iterator[str]]


def exporters(markup: MarkdownRenderer | None = None) -> Mapping[str, Exporter]:
    """Return the export formats by command line name. Without `markup`, web pages show Markdown unrendered."""
    return MappingProxyType(
        {
            "md": Exporter("Markdown", "Text to read or paste.", ".md", markdown.write),
            "html": Exporter("Web page", "One file for any browser.", ".html", WebPageExporter(markup).write),
            "json": Exporter("Journeyman", "Complete; can be imported again.", ".journeyman.json", journeyman.write),
            "atif": Exporter("ATIF", "A trajectory for evaluation and training.", ".atif.json", atif.write),
            "otlp": Exporter("OpenTelemetry", "Spans for Jaeger, Langfuse or Phoenix.", ".otlp.json", otlp.write),
            "perfetto": Exporter("Perfetto", "A trace for ui.perfetto.dev.", ".perfetto.json", perfetto.write),
        }
    )
