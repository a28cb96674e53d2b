"""How each kind and status of step looks and reads: one line in a table each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.steps import Step, verb
from ui.figures import amount, duration, size
from ui.visible import visible


class KindLook(NamedTuple):
    """`title` names the step in its pane, `shape` says which painter draws its row."""

    icon: str
    token: str
    title: str
    shape: str = "work"


class StatusLook(NamedTuple):
    icon: str
    token: str
    word: str


class Badge(NamedTuple):
    text: str
    token: str = "second"


KINDS: Final[Mapping[str, KindLook]] = MappingProxyType(
    {
        "run": KindLook("play", "second", "Run", "header"),
        "person": KindLook("user", "accent", "You said", "bubble"),
        "guide": KindLook("file-text", "second", "Read what the folder says"),
        "thinking": KindLook("sparkles", "thinking", "Thought"),
        "reply": KindLook("message-square", "thinking", "Replied", "reply"),
        "read": KindLook("file-text", "done", "Read a file"),
        "write": KindLook("file-pen-line", "done", "Wrote a file"),
        "edit": KindLook("file-pen-line", "done", "Edited a file"),
        "find": KindLook("search", "network", "Looked for files"),
        "search": KindLook("search", "network", "Searched the folder"),
        "fetch": KindLook("arrow-down", "network", "Fetched a page"),
        "search_web": KindLook("search", "network", "Searched the web"),
        "command": KindLook("terminal", "command", "Ran a command"),
        "hook": KindLook("terminal", "second", "Ran your hook"),
        "check": KindLook("terminal", "command", "Looked after a command"),
        "todo": KindLook("check", "thinking", "Planned"),
        "decision": KindLook("split", "thinking", "Decided"),
        "problem": KindLook("triangle-alert", "failed", "Reported a problem"),
        "delegate": KindLook("bot", "agent", "Gave work to a sub-agent"),
        "tool": KindLook("wrench", "network", "Called a tool"),
        "refused": KindLook("shield", "failed", "Not run"),
        "consent": KindLook("shield-question-mark", "waiting", "Asked for your consent"),
        "question": KindLook("message-circle-question-mark", "waiting", "Asked you"),
        "interrupted": KindLook("triangle-alert", "waiting", "Interrupted", "interrupted"),
        "paused": KindLook("pause", "second", "Paused"),
        "notice": KindLook("info", "second", "Notice"),
        "compaction": KindLook("scissors", "learned", "Context compacted", "compaction"),
        "recall": KindLook("search", "second", "Looked back"),
        "skill": KindLook("book-open", "learned", "Used a skill"),
        "proposal": KindLook("sparkles", "learned", "Proposed"),
        "memory": KindLook("book-open", "learned", "Recalled from memory"),
        "remember": KindLook("book-open", "learned", "Remembered"),
        "forget": KindLook("book-open", "stopped", "Forgot"),
        "end": KindLook("flag", "second", "End of the run", "card"),
        "fork": KindLook("git-fork", "second", "Forked"),
        "rewind": KindLook("undo-2", "second", "Files put back"),
        "verdict": KindLook("thumbs-up", "second", "Verdict"),
    }
)

STATUSES: Final[Mapping[str, StatusLook]] = MappingProxyType(
    {
        "running": StatusLook("loader-circle", "accent", "Running"),
        "waiting": StatusLook("circle-question-mark", "waiting", "Waiting for you"),
        "done": StatusLook("circle-check", "done", "Done"),
        "completed": StatusLook("circle-check", "done", "Done"),
        "failed": StatusLook("circle-x", "failed", "Failed"),
        "stopped": StatusLook("circle-slash", "stopped", "Stopped"),
        "limit": StatusLook("circle-alert", "waiting", "Stopped at a limit"),
        "interrupted": StatusLook("circle-dashed", "waiting", "Interrupted"),
        "queued": StatusLook("clock", "stopped", "Queued"),
        "paused": StatusLook("circle-pause", "stopped", "Paused"),
        "unknown": StatusLook("circle-ellipsis", "waiting", "May have run"),
        "unknown-ended": StatusLook("circle-ellipsis", "stopped", "May have run"),
        "skipped": StatusLook("circle-dot", "stopped", "Skipped"),
    }
)


SIZELESS: Final = frozenset({"command", "write", "edit", "todo", "decision", "problem", "delegate"})


def words(text: str) -> str:
    """`text` in the person's language."""
    return QCoreApplication.translate("timeline", text)


def kind_look(kind: str) -> KindLook:
    """A tool may bring a kind of its own; it looks like a tool."""
    return KINDS.get(kind, KINDS["tool"])


def status_look(status: str) -> StatusLook:
    return STATUSES.get(status, STATUSES["stopped"])


def badges(step: Step) -> list[Badge]:
    """The small figures of a row."""
    marks, found = step.marks, list[Badge]()
    if "exit" in marks:
        found.append(Badge(f"{words('exit')} {marks['exit']}", "failed" if marks["exit"] else "second"))
    if marks.get("before"):
        found.append(Badge(f"{amount(marks['before'])} → {amount(marks.get('after', 0))} {words('tok')}"))
    if marks.get("steps"):
        found.append(Badge(plural(marks["steps"], "step", "steps")))
    if marks.get("files", 0) > 1:
        found.append(Badge(f"{marks['files']} {words('files')}"))
    if marks.get("background"):
        found.append(Badge(words("in the background")))
    if marks.get("outside"):
        found.append(Badge(words("from outside"), "waiting"))
    if "allowed" in marks:
        found.append(Badge(words("allowed") if marks["allowed"] else words("refused")))
    if marks.get("added"):
        found.append(Badge(f"+{marks['added']}", "done"))
    if marks.get("removed"):
        found.append(Badge(f"−{marks['removed']}", "failed"))
    if marks.get("wait_ms"):
        found.append(Badge(f"{words('again after')} {duration(marks['wait_ms'] * 1000)}"))
    if marks.get("tokens"):
        found.append(Badge(f"{amount(marks['tokens'])} {words('tok')}"))
    if marks.get("bytes") and step.kind not in SIZELESS and step.status != "failed":  # what failed read no such size
        found.append(Badge(size(marks["bytes"])))
    return found


def plural(number: int, one: str, many: str) -> str:
    return f"{number} {words(one if number == 1 else many)}"


def run_figures(step: Step, lasted: int) -> list[str]:
    """What a run came to: for its header."""
    marks = step.marks
    parts = [
        plural(marks["thoughts"], "thinking", "thinking") if marks.get("thoughts") else "",
        plural(marks["calls"], "tool call", "tool calls") if marks.get("calls") else "",
        duration(lasted),
        f"{amount(step.tokens)} {words('tok')}" if step.tokens else "",
    ]
    return [part for part in parts if part]


def end_figures(end: Step, header: Step | None) -> list[str]:
    """What a run came to: for its card."""
    marks = end.marks
    lasted = duration(end.ended - end.began)
    rounds = plural(marks["rounds"], "round", "rounds") if marks.get("rounds") else ""
    parts = [" · ".join(part for part in (rounds, lasted) if part)]
    if header and header.tokens:
        parts.append(f"{amount(header.tokens)} {words('tok')}")
    return [part for part in parts if part]


def compaction_line(step: Step) -> str:
    """What the line across the run says where the context was compacted."""
    if not step.marks.get("before"):
        return words("compacting the context") if step.status == "running" else words("the context was not compacted")
    before, after = amount(step.marks["before"]), amount(step.marks.get("after", 0))
    return f"{words('context compacted')} · {before} → {after} {words('tokens')}"


def interrupted_line(step: Step) -> str:
    """What the row of an interrupted run says."""
    what = visible(step.object)
    if step.marks.get("calls"):
        return f"{words('Interrupted')} — “{what}” {words('may have run')}"
    return f"{words('Interrupted')} — {what}" if what else words("Interrupted")


def spoken_row(step: Step, lasted: int) -> str:
    """The row as a screen reader says it, with everything that is painted."""
    name = f"{words('Step')} {step.number}: " if step.number else ""
    if step.kind == "run":
        return (
            f"{words('Run')} {step.run}: {', '.join(run_figures(step, lasted))}, {words(status_look(step.status).word)}"
        )
    if step.kind == "end":
        name = words("End of the run")
        parts = [words(status_look(step.status).word), visible(step.object), duration(lasted)]
        return f"{name}: {', '.join(part for part in parts if part)}"
    if step.kind == "interrupted":
        return interrupted_line(step)
    if step.kind == "compaction":
        return compaction_line(step)
    what = f"{words(verb(step.kind, step.status))} {visible(step.object)}".strip()
    if kind_look(step.kind).shape != "work":
        return what
    parts = [
        what,
        *(badge.text for badge in badges(step)),
        duration(lasted),
        words(status_look(step.status).word).lower(),
    ]
    return name + ", ".join(part for part in parts if part)
