"""Markdown that a person likes to read: what was said in full, what was done in short, with its output."""

import re
from collections.abc import Iterator
from datetime import datetime

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import verb
from core.domain.visible import visible
from core.exchange.leaving import Leaving
from core.exchange.story import Act, Answered, Began, Ended, Noted, Spoke, Told, arguments_of, retold

SHOWN = 60  # lines of one output
WIDE = 4_000  # characters of one line
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://)")
ENDS = {"completed": "Done", "stopped": "Stopped", "limit": "Stopped at a limit", "failed": "Failed"}


def write(leaving: Leaving) -> Iterator[str]:
    """The session, and each sub-agent under a heading of its own at the end."""
    for row in leaving.family:
        yield from _head(leaving, row)
        for told in retold(leaving.entries(row)):
            yield from _told(told)


def _head(leaving: Leaving, row: SessionRow) -> Iterator[str]:
    title = _plain(leaving.cleaner.text(row.title)) or "Session"
    if row.id == leaving.root.id:
        yield f"# {title}\n\n"
    else:
        yield f'---\n\n# <a id="{row.id}"></a>Sub-agent {row.called or row.id}: {title}\n\n'
    cost = f" · ${row.cost:.2f}" if row.cost else ""
    facts = [f"`{leaving.cleaner.text(row.folder)}`" if row.folder else "", row.model, moment(row.opened)]
    yield " · ".join(filter(None, facts)) + f" · {row.steps} steps · {row.tokens:,} tokens{cost}\n\n"


def _told(told: Told) -> Iterator[str]:
    match told:
        case Began(number=number, model=model):
            if number > 1:
                yield f"## Run {number}\n\n"
                yield f"{model}\n\n" if model else ""
        case Spoke(text=text, attachments=attachments):
            yield "### You\n\n" + quoted(text) + "\n\n"
            yield "".join(f"- attached: {one.name} ({one.media_type}, {one.size:,} bytes)\n" for one in attachments)
            yield "\n" if attachments else ""
        case Answered():
            yield from _reply(told)
        case Noted(text=text):
            yield "*" + _plain(text) + "*\n\n"
        case Ended(status=status, reason=reason):
            yield f"**{ENDS.get(status, status)}**{f': {_plain(reason)}' if reason else ''}\n\n"


def _reply(told: Answered) -> Iterator[str]:
    if told.reasoning.strip():
        yield _folded("Thought", visible(told.reasoning))
    if told.text.strip():
        yield calm(visible(told.text)).strip() + "\n\n"
    for act in told.acts:
        yield from _act(act)


def _act(act: Act) -> Iterator[str]:
    if act.asked:
        yield f"**Asked you:** {_plain(act.asked)}\n\n" + (quoted(act.answer) + "\n\n" if act.answer else "")
        return
    name, what = verb(act.kind, "done"), act.object or act.call.tool
    figures = [f"+{added} −{removed} {path}" for path, (added, removed) in act.files.items()]
    state = {"failed": "failed", "refused": "not run", "open": "no result"}.get(act.status, "")
    code = f"exit {act.exit_code}" if act.exit_code else ""
    took = (act.ended - act.at) / SECOND if act.ended else 0
    seconds = f"{took:.1f} s" if took >= 0.1 else ""
    more = ", ".join(filter(None, [state, code, seconds, *figures, act.answer]))
    yield f"- **{name}** {_code(what)}{f' ({more})' if more else ''}\n\n"
    if act.child:
        yield f"  [What {act.called or 'the sub-agent'} did](#{act.child})\n\n"
    arguments = arguments_of(act.call)
    long = {key: value for key, value in arguments.items() if isinstance(value, str) and len(value) > 200}
    for key, value in long.items():
        yield _folded(key, visible(value))
    if act.output.strip():
        yield _folded("Output", visible(act.output))


def _folded(title: str, text: str) -> str:
    """A block that a reader opens where the page can, and reads past where it cannot."""
    return f"<details><summary>{title}</summary>\n\n{fenced(cut(text))}\n\n</details>\n\n"


def fenced(text: str) -> str:
    """A code block that its own contents cannot end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def cut(text: str) -> str:
    """The first lines, and how many there are more."""
    lines = text.strip("\n").split("\n")
    shown = [one if len(one) <= WIDE else one[:WIDE] + "…" for one in lines[:SHOWN]]
    rest = len(lines) - len(shown)
    return "\n".join([*shown, f"… {rest:,} more lines"] if rest else shown)


def quoted(text: str) -> str:
    return "\n".join(f"> {one}".rstrip() for one in calm(visible(text)).strip().splitlines())


def calm(text: str) -> str:
    """Markdown without tags of its author's; in code they are code."""
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


def moment(at: int) -> str:
    """As people write it."""
    return datetime.fromtimestamp(at / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")


def _code(text: str) -> str:
    words = " ".join(visible(text).split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", words)), default=0) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def _plain(text: str) -> str:
    """Words in a line, in which nothing is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(visible(text).split()))
