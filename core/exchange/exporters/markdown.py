"""Exports a session as Markdown: messages in full, tool calls in short with their output in collapsed blocks."""

from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote

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
from core.exchange.exporters.untrusted_markdown import code_block, code_span, html_text, plain_line, safe_markdown

MAX_LINES = 60  # output of a tool call beyond this number of lines is left out
MAX_LINE_LENGTH = 4_000  # in characters; the rest of a longer line is left out
STATUS_LABELS = {"completed": "Done", "stopped": "Stopped", "limit": "Stopped at a limit", "failed": "Failed"}


def write(source: ExportSource) -> Iterator[str]:
    """Yield the session, then each sub-agent under its own heading."""
    for row in source.sessions:
        yield from _head(source, row)
        for item in group_events(source.events(row)):
            yield from _item(item)


def _head(source: ExportSource, row: SessionRow) -> Iterator[str]:
    title = plain_line(row.title) or "Session"
    if row.id == source.root.id:
        yield f"# {title}\n\n"
    else:
        name = plain_line(row.subagent or row.id)
        yield f'---\n\n# <a id="{html_text(row.id)}"></a>Sub-agent {name}: {title}\n\n'
    cost = f" · ${row.cost:.2f}" if row.cost else ""
    facts = [
        code_span(row.folder) if row.folder else "",
        plain_line(row.model),
        local_time(row.created_at),
    ]
    yield " · ".join(filter(None, facts)) + f" · {row.steps} steps · {row.tokens:,} tokens{cost}\n\n"


def _item(item: ExportItem) -> Iterator[str]:
    match item:
        case RunStartItem(number=number, model=model):
            if number > 1:
                yield f"## Run {number}\n\n"
                yield f"{plain_line(model)}\n\n" if model else ""
        case UserMessageItem(text=text, attachments=attachments):
            yield "### You\n\n" + block_quote(text) + "\n\n"
            for attachment in attachments:
                details = f"{plain_line(attachment.media_type)}, {attachment.size:,} bytes"
                yield f"- attached: {code_span(attachment.name)} ({details})\n"
            yield "\n" if attachments else ""
        case ReplyItem():
            yield from _reply(item)
        case NoteItem(text=text):
            yield "*" + plain_line(text) + "*\n\n"
        case RunEndItem(status=status, reason=reason):
            yield f"**{STATUS_LABELS.get(status, status)}**{f': {plain_line(reason)}' if reason else ''}\n\n"


def _reply(item: ReplyItem) -> Iterator[str]:
    if item.reasoning.strip():
        yield _folded("Thought", visible(item.reasoning))
    if item.text.strip():
        yield safe_markdown(item.text) + "\n\n"
    for call in item.calls:
        yield from _call(call)


def _call(call: ToolCallItem) -> Iterator[str]:
    if call.question:
        yield f"**Asked you:** {plain_line(call.question)}\n\n" + (
            block_quote(call.answer) + "\n\n" if call.answer else ""
        )
        return
    name, target = verb(call.kind, "done"), call.object or call.call.tool
    figures = [f"+{added} −{removed} {code_span(path)}" for path, (added, removed) in call.files.items()]
    state = {"failed": "failed", "refused": "not run", "open": "no result"}.get(call.status, "")
    code = f"exit {call.exit_code}" if call.exit_code else ""
    elapsed = (call.ended - call.at) / SECOND if call.ended else 0
    seconds = f"{elapsed:.1f} s" if elapsed >= 0.1 else ""
    details = ", ".join(filter(None, [state, code, seconds, *figures, plain_line(call.answer)]))
    yield f"- **{name}** {code_span(target)}{f' ({details})' if details else ''}\n\n"
    if call.child_session:
        yield f"  [What {plain_line(call.subagent) or 'the sub-agent'} did](#{quote(call.child_session)})\n\n"
    arguments = call_arguments(call.call)
    long = {key: value for key, value in arguments.items() if isinstance(value, str) and len(value) > 200}
    for key, value in long.items():
        yield _folded(key, visible(value))
    if call.output.strip():
        yield _folded("Output", visible(strip_colors(call.output)))


def _folded(title: str, text: str) -> str:
    """Return a collapsed block of the text. Viewers without support for `<details>` show it expanded."""
    return f"<details><summary>{html_text(title)}</summary>\n\n{code_block(truncate_lines(text))}\n\n</details>\n\n"


def truncate_lines(text: str) -> str:
    """Return at most MAX_LINES lines, each of at most MAX_LINE_LENGTH characters, and a note of the lines left out."""
    lines = text.strip("\n").split("\n")
    kept_lines = [line if len(line) <= MAX_LINE_LENGTH else line[:MAX_LINE_LENGTH] + "…" for line in lines[:MAX_LINES]]
    omitted = len(lines) - len(kept_lines)
    return "\n".join([*kept_lines, f"… {omitted:,} more lines"] if omitted else kept_lines)


def block_quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in safe_markdown(text).split("\n"))


def local_time(at: int) -> str:
    """Format a time in microseconds in the local time zone, to the minute."""
    return datetime.fromtimestamp(at / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
