"""Exports a session as Markdown: messages in full, tool calls in short with their output in collapsed blocks."""

import re
from collections.abc import Iterator
from datetime import datetime

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import verb
from core.domain.visible import visible
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

MAX_LINES = 60  # longer outputs are truncated
MAX_LINE_LENGTH = 4_000  # characters; longer lines are truncated
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://)")
STATUS_LABELS = {"completed": "Done", "stopped": "Stopped", "limit": "Stopped at a limit", "failed": "Failed"}


def write(source: ExportSource) -> Iterator[str]:
    """Yield the session, then each sub-agent under its own heading."""
    for row in source.sessions:
        yield from _head(source, row)
        for item in group_events(source.events(row)):
            yield from _item(item)


def _head(source: ExportSource, row: SessionRow) -> Iterator[str]:
    title = _plain(source.redactor.redact_text(row.title)) or "Session"
    if row.id == source.root.id:
        yield f"# {title}\n\n"
    else:
        yield f'---\n\n# <a id="{row.id}"></a>Sub-agent {row.subagent or row.id}: {title}\n\n'
    cost = f" · ${row.cost:.2f}" if row.cost else ""
    facts = [
        f"`{source.redactor.redact_text(row.folder)}`" if row.folder else "",
        row.model,
        local_time(row.created_at),
    ]
    yield " · ".join(filter(None, facts)) + f" · {row.steps} steps · {row.tokens:,} tokens{cost}\n\n"


def _item(item: ExportItem) -> Iterator[str]:
    match item:
        case RunStartItem(number=number, model=model):
            if number > 1:
                yield f"## Run {number}\n\n"
                yield f"{model}\n\n" if model else ""
        case UserMessageItem(text=text, attachments=attachments):
            yield "### You\n\n" + block_quote(text) + "\n\n"
            yield "".join(f"- attached: {one.name} ({one.media_type}, {one.size:,} bytes)\n" for one in attachments)
            yield "\n" if attachments else ""
        case ReplyItem():
            yield from _reply(item)
        case NoteItem(text=text):
            yield "*" + _plain(text) + "*\n\n"
        case RunEndItem(status=status, reason=reason):
            yield f"**{STATUS_LABELS.get(status, status)}**{f': {_plain(reason)}' if reason else ''}\n\n"


def _reply(item: ReplyItem) -> Iterator[str]:
    if item.reasoning.strip():
        yield _folded("Thought", visible(item.reasoning))
    if item.text.strip():
        yield escape_tags(visible(item.text)).strip() + "\n\n"
    for act in item.calls:
        yield from _act(act)


def _act(act: ToolCallItem) -> Iterator[str]:
    if act.question:
        yield f"**Asked you:** {_plain(act.question)}\n\n" + (block_quote(act.answer) + "\n\n" if act.answer else "")
        return
    name, what = verb(act.kind, "done"), act.object or act.call.tool
    figures = [f"+{added} −{removed} {path}" for path, (added, removed) in act.files.items()]
    state = {"failed": "failed", "refused": "not run", "open": "no result"}.get(act.status, "")
    code = f"exit {act.exit_code}" if act.exit_code else ""
    took = (act.ended - act.at) / SECOND if act.ended else 0
    seconds = f"{took:.1f} s" if took >= 0.1 else ""
    more = ", ".join(filter(None, [state, code, seconds, *figures, act.answer]))
    yield f"- **{name}** {_code(what)}{f' ({more})' if more else ''}\n\n"
    if act.child_session:
        yield f"  [What {act.subagent or 'the sub-agent'} did](#{act.child_session})\n\n"
    arguments = call_arguments(act.call)
    long = {key: value for key, value in arguments.items() if isinstance(value, str) and len(value) > 200}
    for key, value in long.items():
        yield _folded(key, visible(value))
    if act.output.strip():
        yield _folded("Output", visible(act.output))


def _folded(title: str, text: str) -> str:
    """Return a collapsible block; viewers without support for `<details>` show it expanded."""
    return f"<details><summary>{title}</summary>\n\n{code_block(truncate_lines(text))}\n\n</details>\n\n"


def code_block(text: str) -> str:
    """Return a code block whose fence is longer than any in the text, so that the text cannot end it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def truncate_lines(text: str) -> str:
    """Return the first lines and the number of lines left out."""
    lines = text.strip("\n").split("\n")
    shown = [one if len(one) <= MAX_LINE_LENGTH else one[:MAX_LINE_LENGTH] + "…" for one in lines[:MAX_LINES]]
    rest = len(lines) - len(shown)
    return "\n".join([*shown, f"… {rest:,} more lines"] if rest else shown)


def block_quote(text: str) -> str:
    return "\n".join(f"> {one}".rstrip() for one in escape_tags(visible(text)).strip().splitlines())


def escape_tags(text: str) -> str:
    """Return Markdown with its HTML tags escaped outside of code."""
    lines: list[str] = []
    fence = ""
    for one in text.split("\n"):
        mark = FENCE.match(one)
        if mark and (not fence or (mark[1][0] == fence[0] and len(mark[1]) >= len(fence))):
            fence = "" if fence else mark[1]
        elif not fence:
            parts = re.split(r"(`+[^`]*`+)", one)
            one = "".join(part if place % 2 else TAG.sub("&lt;", part) for place, part in enumerate(parts))
        lines.append(one)
    return "\n".join([*lines, fence] if fence else lines)


def local_time(at: int) -> str:
    """Format a time in the local time zone, to the minute."""
    return datetime.fromtimestamp(at / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")


def _code(text: str) -> str:
    words = " ".join(visible(text).split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", words)), default=0) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def _plain(text: str) -> str:
    """Return the text in one line with all Markdown and HTML escaped."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(visible(text).split()))
