"""Exports a session as one self-contained HTML file without scripts that follows the system's light or dark theme."""

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from importlib import resources

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import verb
from core.domain.visible import strip_colors, visible
from core.exchange.export_items import (
    ExportItem,
    NoteItem,
    ReplyItem,
    RunEndItem,
    RunStartItem,
    ToolCallItem,
    UserMessageItem,
    call_arguments,
    group_events,
)
from core.exchange.export_source import ExportSource
from core.exchange.exporters.markdown import STATUS_LABELS, local_time
from core.timeline.text_diff import LineCounts

MarkdownRenderer = Callable[[str], str]
MAX_LINES = 2_000  # output of a tool call beyond this number of lines is left out
MAX_LINE_LENGTH = 20_000  # in characters; the rest of a longer line is left out
MAX_LISTED_FILES = 8  # changed files that are named in the line of a call
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_IMAGE_BYTES = 4 << 20  # a larger image is named but not embedded


class WebPageExporter:
    """Writes the web page. `markup` renders Markdown and escapes raw HTML; if it is None, texts are preformatted."""

    def __init__(self, markup: MarkdownRenderer | None) -> None:
        self._markup = markup or (lambda text: f"<pre class=words>{escape(text)}</pre>")

    def write(self, source: ExportSource) -> Iterator[str]:
        title = escape_line(source.title) or "Session"
        yield (
            "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
            '<meta name=viewport content="width=device-width, initial-scale=1">\n'
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
            'img-src data:">\n'
            f"<title>{title}</title>\n<style>\n{stylesheet()}</style>\n</head>\n<body>\n<main>\n"
        )
        for row in source.sessions:
            yield from self._session(source, row)
        yield "</main>\n</body>\n</html>\n"

    def _session(self, source: ExportSource, row: SessionRow) -> Iterator[str]:
        name = escape_line(row.title) or "Session"
        called = f"<span class=called>{escape_line(row.subagent)}</span> " if row.parent and row.subagent else ""
        yield f'<article id="{escape(row.id)}">\n<header>\n<h1>{called}{name}</h1>\n<p class=facts>'
        facts = [
            f"<code>{escape_line(row.folder)}</code>" if row.folder else "",
            escape_line(row.model),
            local_time(row.created_at),
            f"{row.steps:,} step{'s' if row.steps != 1 else ''}",
            f"{row.tokens:,} tokens" if row.tokens else "",
            f"${row.cost:,.2f}" if row.cost else "",
        ]
        yield " <i>·</i> ".join(filter(None, facts)) + "</p>\n</header>\n"
        for item in group_events(source.events(row)):
            yield from self._item(item, source)
        yield "</article>\n"

    def _item(self, item: ExportItem, source: ExportSource) -> Iterator[str]:
        match item:
            case RunStartItem(number=number, model=model):
                if number > 1:
                    yield f"<h2>Run {number} <small>{escape_line(model)}</small></h2>\n"
            case UserMessageItem(text=text, attachments=attachments):
                yield f"<section class=you>\n<p class=who>You</p>\n{self._markup(visible(text))}\n"
                for attachment in attachments:
                    content = source.blob(attachment.blob) if attachment.blob else b""
                    yield _attached(attachment.name, attachment.media_type, content)
                yield "</section>\n"
            case ReplyItem():
                yield from self._reply(item)
            case NoteItem(text=text):
                yield f"<p class=note>{escape_line(text)}</p>\n"
            case RunEndItem(status=status, reason=reason):
                symbol = {"completed": "✓", "failed": "✕"}.get(status, "■")
                markup = f" {escape_line(reason)}" if reason else ""
                yield (
                    f"<p class='end {escape(status)}'><b>{symbol}"
                    f" {STATUS_LABELS.get(status, escape_line(status))}</b>{markup}</p>\n"
                )

    def _reply(self, item: ReplyItem) -> Iterator[str]:
        if item.reasoning.strip():
            yield _folded("Thought", item.reasoning, "thought")
        if item.text.strip():
            yield f"<section class=agent>\n{self._markup(visible(item.text))}\n</section>\n"
        for call in item.calls:
            yield from _call(call)


def _call(call: ToolCallItem) -> Iterator[str]:
    if call.question:
        markup = f"<blockquote>{escape_line(call.answer)}</blockquote>" if call.answer else ""
        yield f"<section class=asked><p class=who>Asked you</p><p>{escape_line(call.question)}</p>{markup}</section>\n"
        return
    state = {"failed": "failed", "refused": "not run", "open": "no result"}.get(call.status, "")
    elapsed = (call.ended - call.at) / SECOND if call.ended else 0
    figures = [
        f"<span class=bad>{state}</span>" if state else "",
        f"<span class=bad>exit {call.exit_code}</span>" if call.exit_code else "",
        *(_file(path, counts) for path, counts in list(call.files.items())[:MAX_LISTED_FILES]),
        escape_line(call.answer),
        f"{elapsed:,.1f} s" if elapsed >= 0.1 else "",
    ]
    markup = f"<b>{verb(call.kind, 'done')}</b> <code>{escape_line(call.object or call.call.tool)}</code>"
    yield f"<details class='act {escape(call.kind)}'><summary>{markup}<span class=figures>"
    yield " ".join(filter(None, figures)) + "</span></summary>\n"
    if call.child_session:
        yield (
            f'<p><a href="#{escape(call.child_session)}">What'
            f" {escape_line(call.subagent) or 'the sub-agent'} did</a></p>\n"
        )
    for name, value in call_arguments(call.call).items():
        text = value if isinstance(value, str) else repr(value)
        if text.strip() and escape_line(text) != escape_line(call.object):
            yield f"<p class=name>{escape_line(name)}</p>{_block(text)}\n"
    if call.output.strip():
        yield f"<p class=name>output</p>{_block(strip_colors(call.output))}\n"
    yield "</details>\n"


def _file(path: str, counts: LineCounts) -> str:
    return f"<span class=plus>+{counts.added}</span> <span class=minus>−{counts.removed}</span> {escape_line(path)}"


def _folded(title: str, text: str, kind: str) -> str:
    return f"<details class={kind}><summary>{title}</summary>{_block(text)}</details>\n"


def _block(text: str) -> str:
    lines = visible(text).strip("\n").split("\n")
    body = "\n".join(
        line if len(line) <= MAX_LINE_LENGTH else line[:MAX_LINE_LENGTH] + "…" for line in lines[:MAX_LINES]
    )
    omitted = len(lines) - MAX_LINES
    footer = f"<p class=note>{omitted:,} more lines are in the session.</p>" if omitted > 0 else ""
    return f"<pre>{escape(body)}</pre>{footer}"


def _attached(name: str, media: str, body: bytes) -> str:
    """Return HTML that embeds an image of a supported type, or names any other attachment."""
    if media in IMAGE_TYPES and 0 < len(body) <= MAX_IMAGE_BYTES:
        return f'<img alt="{escape_line(name)}" src="data:{media};base64,{base64.b64encode(body).decode()}">\n'
    return f"<p class=note>attached: {escape_line(name)} ({escape_line(media)}, {len(body):,} bytes)</p>\n"


def escape_line(text: str) -> str:
    """Return the text in one line, escaped for HTML."""
    return escape(" ".join(visible(text).split()))


@cache
def stylesheet() -> str:
    """Return the style sheet without its comments."""
    text = (resources.files("resources") / "export.css").read_text("utf-8")
    return re.sub(r"/\*.*?\*/\s*", "", text, flags=re.DOTALL)
