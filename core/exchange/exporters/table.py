"""Every format a session leaves in."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from core.exchange.exporters import atif, markdown, otlp, own, perfetto
from core.exchange.exporters.page import Markup, Page
from core.exchange.leaving import Leaving


class Exporter(NamedTuple):
    """`write` gives the text a piece at a time; `suffix` is how a file of it ends."""

    title: str
    about: str
    suffix: str
    write: Callable[[Leaving], Iterator[str]]


def exporters(markup: Markup | None = None) -> Mapping[str, Exporter]:
    """By the name that is typed."""
    return MappingProxyType(
        {
            "md": Exporter("Markdown", "To read and to paste.", ".md", markdown.write),
            "html": Exporter("Web page", "One file to read in any browser.", ".html", Page(markup).write),
            "json": Exporter("Journeyman", "All of it; imports back the same.", ".journeyman.json", own.write),
            "atif": Exporter("ATIF", "A trajectory for evaluation and training.", ".atif.json", atif.write),
            "otlp": Exporter("OpenTelemetry", "Spans for Jaeger, Langfuse, Phoenix.", ".otlp.json", otlp.write),
            "perfetto": Exporter("Perfetto", "A trace for ui.perfetto.dev.", ".perfetto.json", perfetto.write),
        }
    )


FORMATS = tuple(exporters())
