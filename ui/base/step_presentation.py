"""How steps are presented, depending on their kind and status: icon, color, label, badges and summary lines."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.steps import Step, verb
from ui.style.number_formats import amount, duration, size
from ui.text.visible import visible


class KindStyle(NamedTuple):
    """How steps of a kind are presented.

    `title` is the heading in the step pane; `shape` determines how a row is painted.
    """

    icon: str
    token: str
    title: str
    shape: str = "work"


class StatusStyle(NamedTuple):
    icon: str
    token: str
    label: str


class Badge(NamedTuple):
    text: str
    token: str = "second"


KINDS: Final[Mapping[str, KindStyle]] = MappingProxyType(
    {
        "run": KindStyle("play", "second", "Run", shape="header"),
        "user": KindStyle("user", "accent", "You said", shape="bubble"),
        "instructions": KindStyle("file-text", "second", "Read project instructions"),
        "thinking": KindStyle("sparkles", "thinking", "Thought"),
        "reply": KindStyle("message-square", "thinking", "Replied", shape="reply"),
        "read": KindStyle("file-text", "done", "Read a file"),
        "write": KindStyle("file-pen-line", "done", "Wrote a file"),
        "edit": KindStyle("file-pen-line", "done", "Edited a file"),
        "find": KindStyle("search", "network", "Searched for files"),
        "search": KindStyle("search", "network", "Searched the folder"),
        "fetch": KindStyle("arrow-down", "network", "Fetched a page"),
        "search_web": KindStyle("search", "network", "Searched the web"),
        "command": KindStyle("terminal", "command", "Ran a command"),
        "hook": KindStyle("terminal", "second", "Ran your hook"),
        "check_command": KindStyle("terminal", "command", "Checked a background command"),
        "todo": KindStyle("check", "thinking", "Planned"),
        "decision": KindStyle("split", "thinking", "Decided"),
        "issue": KindStyle("triangle-alert", "failed", "Reported an issue"),
        "delegate": KindStyle("bot", "agent", "Delegated to a sub-agent"),
        "check_agent": KindStyle("bot", "agent", "Checked a sub-agent in the background"),
        "tool": KindStyle("wrench", "network", "Called a tool"),
        "refused": KindStyle("shield", "failed", "Not run"),
        "permission": KindStyle("shield-question-mark", "waiting", "Asked for permission"),
        "question": KindStyle("message-circle-question-mark", "waiting", "Asked you"),
        "interrupted": KindStyle("triangle-alert", "waiting", "Interrupted", shape="interrupted"),
        "paused": KindStyle("pause", "second", "Paused"),
        "notice": KindStyle("info", "second", "Notice"),
        "compaction": KindStyle("scissors", "learned", "Context compacted", shape="compaction"),
        "read_back": KindStyle("search", "second", "Reviewed earlier steps"),
        "more_tools": KindStyle("wrench", "second", "Enabled tools"),
        "skill": KindStyle("book-open", "learned", "Used a skill"),
        "proposal": KindStyle("sparkles", "learned", "Proposed"),
        "memory": KindStyle("book-open", "learned", "Recalled from memory"),
        "remember": KindStyle("book-open", "learned", "Remembered"),
        "forget": KindStyle("book-open", "stopped", "Forgot"),
        "end": KindStyle("flag", "second", "End of the run", shape="card"),
        "fork": KindStyle("git-fork", "second", "Forked"),
        "rewind": KindStyle("undo-2", "second", "Reverted files"),
        "rating": KindStyle("thumbs-up", "second", "Rating"),
    }
)

STATUSES: Final[Mapping[str, StatusStyle]] = MappingProxyType(
    {
        "running": StatusStyle("loader-circle", "accent", "Running"),
        "pausing": StatusStyle("pause", "accent", "Pausing"),
        "waiting": StatusStyle("circle-question-mark", "waiting", "Waiting for you"),
        "done": StatusStyle("circle-check", "done", "Done"),
        "completed": StatusStyle("circle-check", "done", "Done"),
        "failed": StatusStyle("circle-x", "failed", "Failed"),
        "stopped": StatusStyle("circle-slash", "stopped", "Stopped"),
        "limit": StatusStyle("circle-alert", "waiting", "Stopped at a limit"),
        "interrupted": StatusStyle("circle-dashed", "waiting", "Interrupted"),
        "queued": StatusStyle("clock", "stopped", "Queued"),
        "paused": StatusStyle("circle-pause", "stopped", "Paused"),
        "unknown": StatusStyle("circle-ellipsis", "waiting", "May have run"),
        "unknown-ended": StatusStyle("circle-ellipsis", "stopped", "May have run"),
        "skipped": StatusStyle("circle-dot", "stopped", "Skipped"),
    }
)


KINDS_WITHOUT_SIZE: Final = frozenset({"command", "write", "edit", "todo", "decision", "issue", "delegate"})


def translate(text: str) -> str:
    """Translate `text` to the user's language."""
    return QCoreApplication.translate("timeline", text)


def kind_style(kind: str) -> KindStyle:
    """Return the style of a kind of step. A kind that a tool has defined gets the style of `tool`."""
    return KINDS.get(kind, KINDS["tool"])


def status_style(status: str) -> StatusStyle:
    return STATUSES.get(status, STATUSES["stopped"])


def badges(step: Step) -> list[Badge]:
    """Return the badges for the row of a step, such as exit code, changed lines and size."""
    marks = step.metrics
    result: list[Badge] = []
    if "exit_code" in marks:
        result.append(Badge(f"{translate('exit')} {marks['exit_code']}", "failed" if marks["exit_code"] else "second"))
    if marks.get("before"):
        result.append(Badge(f"{amount(marks['before'])} → {amount(marks.get('after', 0))} {translate('tok')}"))
    if marks.get("steps"):
        result.append(Badge(plural(marks["steps"], "step", "steps")))
    if marks.get("files", 0) > 1:
        result.append(Badge(f"{marks['files']} {translate('files')}"))
    if marks.get("background"):
        result.append(Badge(translate("in the background")))
    if marks.get("untrusted"):
        result.append(Badge(translate("untrusted content"), "waiting"))
    if marks.get("changed"):
        result.append(Badge(translate("allowed with your changes")))
    elif "allowed" in marks:
        result.append(Badge(translate("allowed") if marks["allowed"] else translate("denied")))
    result += changed_line_badges(step)
    if marks.get("wait_ms"):
        result.append(Badge(f"{translate('retry after')} {duration(marks['wait_ms'] * 1000)}"))
    if marks.get("tokens"):
        result.append(Badge(f"{amount(marks['tokens'])} {translate('tok')}"))
    has_read = step.status != "failed" and step.kind not in KINDS_WITHOUT_SIZE
    if has_read and marks.get("bytes"):
        result.append(Badge(size(marks["bytes"])))
    return result


def changed_line_badges(step: Step) -> list[Badge]:
    """Return badges with the numbers of added and removed lines; empty if the step changed no lines."""
    line_badges: list[Badge] = []
    if added := step.metrics.get("added"):
        line_badges.append(Badge(f"+{added}", "done"))
    if removed := step.metrics.get("removed"):
        line_badges.append(Badge(f"−{removed}", "failed"))
    return line_badges


def plural(number: int, singular_form: str, plural_form: str) -> str:
    return f"{number} {translate(singular_form if number == 1 else plural_form)}"


def run_figures(step: Step, lasted: int) -> list[str]:
    """Return the figures for the header row of a run, such as duration and cost. `lasted` is in microseconds."""
    marks = step.metrics
    parts = [
        plural(marks["thoughts"], "thought", "thoughts") if marks.get("thoughts") else "",
        plural(marks["calls"], "tool call", "tool calls") if marks.get("calls") else "",
        duration(lasted),
        f"{amount(step.tokens)} {translate('tok')}" if step.tokens else "",
    ]
    return [part for part in parts if part]


def end_figures(end: Step, header: Step | None) -> list[str]:
    """Return the figures for the card at the end of a run. `header` is the step of the run's header row."""
    marks = end.metrics
    lasted = duration(end.ended_at - end.started_at)
    turns = plural(marks["turns"], "turn", "turns") if marks.get("turns") else ""
    parts = [" · ".join(part for part in (turns, lasted) if part)]
    if header and header.tokens:
        parts.append(f"{amount(header.tokens)} {translate('tok')}")
    return [part for part in parts if part]


def compaction_line(step: Step) -> str:
    """Return the text of the line that marks a context compaction."""
    if not step.metrics.get("before"):
        if step.status == "running":
            return translate("compacting the context")
        return translate("the context was not compacted")
    before = amount(step.metrics["before"])
    after = amount(step.metrics.get("after", 0))
    return f"{translate('context compacted')} · {before} → {after} {translate('tokens')}"


def interrupted_line(step: Step) -> str:
    """Return the text of the row for an interrupted run."""
    title = translate("Interrupted")
    object_text = visible(step.object)
    if step.metrics.get("calls"):
        return f"{title} — “{object_text}” {translate('may have run')}"
    return f"{title} — {object_text}" if object_text else title


def accessible_row_text(step: Step, lasted: int) -> str:
    """Return the text of a row for screen readers. It contains everything that is painted."""
    status = translate(status_style(step.status).label)
    if step.kind == "run":
        figures = ", ".join(run_figures(step, lasted))
        return f"{translate('Run')} {step.run}: {figures}, {status}"
    if step.kind == "end":
        parts = [status, visible(step.object), duration(lasted)]
        return f"{translate('End of the run')}: {', '.join(part for part in parts if part)}"
    if step.kind == "interrupted":
        return interrupted_line(step)
    if step.kind == "compaction":
        return compaction_line(step)
    action = f"{translate(verb(step.kind, step.status))} {visible(step.object)}".strip()
    if kind_style(step.kind).shape != "work":
        return action
    prefix = f"{translate('Step')} {step.number}: " if step.number else ""
    parts = [action, *(badge.text for badge in badges(step)), duration(lasted), status.lower()]
    return prefix + ", ".join(part for part in parts if part)
