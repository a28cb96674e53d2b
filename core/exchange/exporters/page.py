"""One HTML file: everything inside, nothing fetched, no script; light and dark as the reader's system has it."""

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from importlib import resources

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import verb
from core.domain.visible import visible
from core.exchange.exporters.markdown import ENDS, moment
from core.exchange.leaving import Leaving
from core.exchange.story import Act, Answered, Began, Ended, Noted, Spoke, Told, arguments_of, retold

Markup = Callable[[str], str]
LINES = 2_000
WIDE = 20_000
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
LARGEST = 4 << 20


class Page:
    """`markup` turns Markdown into HTML that holds no tag of its author's; without it words stand as they are."""

    def __init__(self, markup: Markup | None) -> None:
        self._markup = markup or (lambda text: f"<pre class=words>{escape(text)}</pre>")

    def write(self, leaving: Leaving) -> Iterator[str]:
        title = words(leaving.title) or "Session"
        yield (
            "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
            '<meta name=viewport content="width=device-width, initial-scale=1">\n'
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
            'img-src data:">\n'
            f"<title>{title}</title>\n<style>\n{style()}</style>\n</head>\n<body>\n<main>\n"
        )
        for row in leaving.family:
            yield from self._session(leaving, row)
        yield "</main>\n</body>\n</html>\n"

    def _session(self, leaving: Leaving, row: SessionRow) -> Iterator[str]:
        name = words(leaving.cleaner.text(row.title)) or "Session"
        called = f"<span class=called>{words(row.called)}</span> " if row.parent and row.called else ""
        yield f'<article id="{escape(row.id)}">\n<header>\n<h1>{called}{name}</h1>\n<p class=facts>'
        facts = [
            f"<code>{words(leaving.cleaner.text(row.folder))}</code>" if row.folder else "",
            words(row.model),
            moment(row.opened),
            f"{row.steps:,} step{'s' if row.steps != 1 else ''}",
            f"{row.tokens:,} tokens" if row.tokens else "",
            f"${row.cost:,.2f}" if row.cost else "",
        ]
        yield " <i>·</i> ".join(filter(None, facts)) + "</p>\n</header>\n"
        for told in retold(leaving.entries(row)):
            yield from self._told(told, leaving)
        yield "</article>\n"

    def _told(self, told: Told, leaving: Leaving) -> Iterator[str]:
        match told:
            case Began(number=number, model=model):
                if number > 1:
                    yield f"<h2>Run {number} <small>{words(model)}</small></h2>\n"
            case Spoke(text=text, attachments=attachments):
                yield f"<section class=you>\n<p class=who>You</p>\n{self._markup(visible(text))}\n"
                for one in attachments:
                    yield _attached(one.name, one.media_type, leaving.body(one.blob) if one.blob else b"")
                yield "</section>\n"
            case Answered():
                yield from self._reply(told)
            case Noted(text=text):
                yield f"<p class=note>{words(text)}</p>\n"
            case Ended(status=status, reason=reason):
                sign = {"completed": "✓", "failed": "✕"}.get(status, "■")
                said = f" {words(reason)}" if reason else ""
                yield f"<p class='end {escape(status)}'><b>{sign} {ENDS.get(status, words(status))}</b>{said}</p>\n"

    def _reply(self, told: Answered) -> Iterator[str]:
        if told.reasoning.strip():
            yield _folded("Thought", told.reasoning, "thought")
        if told.text.strip():
            yield f"<section class=agent>\n{self._markup(visible(told.text))}\n</section>\n"
        for act in told.acts:
            yield from _act(act)


def _act(act: Act) -> Iterator[str]:
    if act.asked:
        said = f"<blockquote>{words(act.answer)}</blockquote>" if act.answer else ""
        yield f"<section class=asked><p class=who>Asked you</p><p>{words(act.asked)}</p>{said}</section>\n"
        return
    state = {"failed": "failed", "refused": "not run", "open": "no result"}.get(act.status, "")
    took = (act.ended - act.at) / SECOND if act.ended else 0
    figures = [
        f"<span class=bad>{state}</span>" if state else "",
        f"<span class=bad>exit {act.exit_code}</span>" if act.exit_code else "",
        *(_file(path, *counts) for path, counts in list(act.files.items())[:8]),
        words(act.answer),
        f"{took:,.1f} s" if took >= 0.1 else "",
    ]
    said = f"<b>{verb(act.kind, 'done')}</b> <code>{words(act.object or act.call.tool)}</code>"
    yield f"<details class='act {escape(act.kind)}'><summary>{said}<span class=figures>"
    yield " ".join(filter(None, figures)) + "</span></summary>\n"
    if act.child:
        yield f'<p><a href="#{escape(act.child)}">What {words(act.called) or "the sub-agent"} did</a></p>\n'
    for name, value in arguments_of(act.call).items():
        text = value if isinstance(value, str) else repr(value)
        if text.strip() and words(text) != words(act.object):
            yield f"<p class=name>{words(name)}</p>{_block(text)}\n"
    if act.output.strip():
        yield f"<p class=name>output</p>{_block(act.output)}\n"
    yield "</details>\n"


def _file(path: str, added: int, removed: int) -> str:
    return f"<span class=plus>+{added}</span> <span class=minus>−{removed}</span> {words(path)}"


def _folded(title: str, text: str, kind: str) -> str:
    return f"<details class={kind}><summary>{title}</summary>{_block(text)}</details>\n"


def _block(text: str) -> str:
    lines = visible(text).strip("\n").split("\n")
    shown = "\n".join(one if len(one) <= WIDE else one[:WIDE] + "…" for one in lines[:LINES])
    rest = len(lines) - LINES
    more = f"<p class=note>{rest:,} more lines are in the session.</p>" if rest > 0 else ""
    return f"<pre>{escape(shown)}</pre>{more}"


def _attached(name: str, media: str, body: bytes) -> str:
    """A picture is shown; anything else is named."""
    if media in PICTURES and 0 < len(body) <= LARGEST:
        return f'<img alt="{words(name)}" src="data:{media};base64,{base64.b64encode(body).decode()}">\n'
    return f"<p class=note>attached: {words(name)} ({words(media)}, {len(body):,} bytes)</p>\n"


def words(text: str) -> str:
    """Text in which nothing is markup, in one line."""
    return escape(" ".join(visible(text).split()))


@cache
def style() -> str:
    """The one style sheet, without its comments."""
    text = (resources.files("resources") / "export.css").read_text("utf-8")
    return re.sub(r"/\*.*?\*/\s*", "", text, flags=re.DOTALL)
