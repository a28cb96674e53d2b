"""What a request for consent says to a person: one description, from which the card and the dialog are both made."""

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.consent import ConsentRequest, Scope, alike
from core.domain.problems import Problem
from core.tools.unified import parse
from ui.ask.whole_text import Line, Sign, lines_of, one_line
from ui.figures import duration, short_folder

COMPARED: Final = 400_000  # characters; a longer file is shown whole, as new


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request as the window holds it: the record, the arguments it was made of, what the file holds now."""

    request: ConsentRequest
    arguments: str = ""
    asked: int = 0
    before: str | None = None

    @property
    def id(self) -> str:
        return self.request.id

    def plain(self) -> dict[str, Any]:
        """The arguments; empty where they cannot be read, and then they are shown as they are."""
        try:
            read = json.loads(self.arguments)
        except ValueError:
            return {}
        return read if isinstance(read, dict) else {}


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    text: str
    tone: str = ""


def like(wanted: Wanted, others: Sequence[Wanted]) -> tuple[Wanted, ...]:
    """Those that one word may answer together with it."""
    return tuple(other for other in others if other.id != wanted.id and alike(wanted.request, other.request))


def title(request: ConsentRequest) -> str:
    match request.touches:
        case "runs":
            return _tr("Run this command?")
        case "writes":
            said = {"patch": _tr("Apply this change?"), "write": _tr("Write this file?")}
            return said.get(request.tool, _tr("Change this file?"))
        case "reads":
            return _tr("Read this?")
        case "network":
            return _tr("Reach out to the network?")
        case _:
            return _tr("Let it do this?") if request.options else _tr("Use {}?").format(one_line(request.tool))


def spoken_name(wanted: Wanted) -> str:
    """What a screen reader is told: the question, and what it is about."""
    return f"{title(wanted.request)} {one_line(wanted.request.object)}"


def lines(wanted: Wanted) -> list[Line]:
    """Everything the call would do, to its last character."""
    plain, request = wanted.plain(), wanted.request
    match request.tool:
        case "run" if _command_alone(plain):
            return lines_of(str(plain["command"]))
        case "edit" if plain.keys() == {"path", "old", "new"}:
            return [_heading(plain["path"]), *_difference(str(plain["old"]), str(plain["new"]))]
        case "write" if plain.keys() == {"path", "content"}:
            return [_heading(plain["path"]), *_difference(wanted.before or "", str(plain["content"]))]
        case "patch" if plain.keys() == {"diff"}:
            return _patched(str(plain["diff"]))
        case _ if request.options and isinstance(plain.get("changes"), list):
            told = [line for change in plain.pop("changes") for line in _change(change)]
            return told + [line for name, value in plain.items() for line in _argument(name, value)]
        case _ if plain:
            return [line for name, value in plain.items() for line in _argument(name, value)]
        case _:
            return lines_of(wanted.arguments or request.object)


def facts(wanted: Wanted, home: str = "") -> list[Fact]:
    """Why it is asked, what it can touch, how well it is confined, and what the run has read."""
    request = wanted.request
    said = [
        Fact(_tr("Asked by"), _tr("the sub-agent {}").format(one_line(request.agent)) if request.agent else ""),
        Fact(_tr("Because"), one_line(request.why)),
        Fact(_tr("It can"), _reach(wanted, home or str(Path.home()))),
    ]
    if request.touches == "runs":
        said.append(Fact(_tr("Confined"), _confined(request), "failed" if request.level == "none" else ""))
    if request.rule:
        said.append(Fact(_tr("Rule"), one_line(request.rule)))
    if request.taint:
        said.append(Fact(_tr("Has read"), _strangers(request.taint), "waiting"))
    if not request.undoable:
        said.append(Fact(_tr("For good"), _tr("This cannot be taken back. It is asked every time."), "failed"))
    return [fact for fact in said if fact.text]


def scope_words(scope: Scope) -> str:
    return {
        "once": _tr("this once"),
        "run": _tr("this run"),
        "folder": _tr("this folder"),
        "always": _tr("always"),
    }[scope]


def _command_alone(plain: dict[str, Any]) -> bool:
    """Nothing but this and the time it may take, which the facts tell."""
    told = {name for name, value in plain.items() if name != "background" or value is not False}
    return "command" in told and told <= {"command", "timeout_s"}


def _reach(wanted: Wanted, home: str) -> str:
    request = wanted.request
    folder = one_line(short_folder(request.cwd, home))
    match request.touches:
        case "runs":
            limit = wanted.plain().get("timeout_s")
            took = _tr("for at most {}").format(_time(limit)) if isinstance(limit, int | float) else ""
            where = _tr("do anything that you can") if request.level == "none" else _tr("change {}").format(folder)
            return " · ".join(part for part in (where, took) if part)
        case "writes":
            return _tr("change files in {} · you can take it back").format(folder)
        case "reads":
            return _tr("show the model what is in {}").format(one_line(request.object))
        case "network":
            return _tr("send words out, and bring words of strangers in")
        case _:
            return ""


def _time(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return _tr("{} min").format(f"{minutes:g}") if minutes and not rest else duration(int(seconds * SECOND))


def _confined(request: ConsentRequest) -> str:
    if request.options:
        return _tr("not by Journeyman: the agent runs it itself")
    return {
        "verified": _tr("to the folder, by walls that were tested on this computer"),
        "reduced": _tr("only in part: this computer has no whole walls"),
        "none": _tr("not at all: this computer has no walls"),
    }[request.level]


def _strangers(taint: tuple[str, ...]) -> str:
    named = ", ".join(one_line(source) for source in taint[:3])
    more = _tr(" and {} more").format(len(taint) - 3) if len(taint) > 3 else ""
    return _tr("words of strangers: {}").format(named + more)


def _difference(before: str, after: str) -> list[Line]:
    """Unified, with everything around: what would stand there can be read whole."""
    ended = all(text.endswith("\n") for text in (before, after) if text)
    old, new = _signed(before, "-", ended=ended), _signed(after, "+", ended=ended)
    if not before or len(before) + len(after) > COMPARED:
        return [*old, *new]
    texts = [line.text for line in old], [line.text for line in new]
    found: list[Line] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *texts, autojunk=len(old) > 2_000).get_opcodes():
        if kind == "equal":
            found += [Line(line.text, " ") for line in new[c:d]]
        else:
            found += old[a:b] + new[c:d]
    return found


def _signed(text: str, sign: Sign, *, ended: bool) -> list[Line]:
    """Where all that is compared ends with a line feed, that begins no line more."""
    return lines_of(text.removesuffix("\n") if ended else text, sign) if text else []


def _change(told: Any) -> list[Line]:
    """What an agent of others would make of a file."""
    match told:
        case {"path": str(path), "old": str(old), "new": str(new)}:
            return [_heading(path), *_difference(old, new)]
        case _:
            return _argument("changes", told)


def _heading(path: object, more: str = "") -> Line:
    return Line(one_line(str(path)) + more, "@")


def _patched(diff: str) -> list[Line]:
    """File by file, as the tool itself reads it; as it stands where the tool will refuse it."""
    try:
        files = parse(diff)
    except Problem:
        return lines_of(diff)
    found: list[Line] = []
    for file in files:
        for hunk in file.hunks:
            found.append(_heading(file.path, _tr(", line {}").format(hunk.start)))
            found += _difference("".join(hunk.old), "".join(hunk.new))
    return found


def _argument(name: str, value: Any) -> list[Line]:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first, *rest = lines_of(words)
    return [Line(f"{one_line(name)}: {first.text}"), *(Line(f"    {line.text}") for line in rest)]


def _tr(text: str) -> str:
    return QCoreApplication.translate("consent", text)
