"""May this call happen? A pure judgement: built-in denials, then deny > ask > allow, then what the mode says."""

import os
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from core.domain.command_line import Unclear, Understood, loose_words, read_line
from core.domain.consent import Allowed, Asks, ConsentRequest, Denied, Level, Scope, Verdict, canonical, fingerprint
from core.domain.ids import consent_id
from core.domain.modes import Mode
from core.domain.opened import changed, named, only_reads
from core.domain.problems import Problem
from core.domain.programs import for_good, may_be_for_good, obeyed_by
from core.domain.provenance import Source, taint_name
from core.domain.rules import Rule, Subject, allows, allows_part, applies, made_rule, proposals, touches
from core.domain.sensitive import is_protected, is_secret, names_secret
from core.tools.fetch import read_url
from core.tools.server_tools import server_of
from core.tools.tool import Tool, Touches

LONGEST = 20_000  # nobody reads more before saying yes
SUBJECTS: dict[Touches, Subject] = {
    "nothing": "none", "reads": "path", "writes": "path", "runs": "command", "network": "host",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Act:
    """A call as it is judged. `subjects` are its paths, its command or its hosts."""

    call_id: str
    tool: str
    object: str
    touches: Touches
    arguments: str
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is so while the call is judged.

    Attributes:
        run: names the run; a rule for one run is bound to it.
        data: our own data folder.
        level: how well commands are confined here.
        changed: files the agent has written in this session.
        hosts: what commands of this run may reach; none means no network.
        granted: tools that the person allowed when the run began.
        agent: what a sub-agent is called; empty for the session's own agent.
        posix: commands go through a POSIX shell.
        real: where a path of the folder really leads, links followed, relative to it.
        holds: a mark of what a file of the folder holds now; empty where there is none.
    """

    session: str
    run: str
    workspace: str
    data: str
    level: Level
    changed: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    granted: frozenset[str] = frozenset()
    agent: str = ""
    posix: bool = os.name == "posix"
    real: Callable[[str], str] = lambda path: path
    holds: Callable[[str], str] = lambda path: ""


def act_of(tool: Tool, parameters: Any, call_id: str, engine: str = "") -> Act:
    """A call with parameters that were read; every file, command or host it names. `engine`: where searches go."""
    plain = {name: getattr(parameters, name) for name in parameters.__dataclass_fields__}
    match tool.touches:
        case "reads" | "writes":
            subjects = tool.paths(parameters) if tool.paths else (str(plain.get("path", ".")),)
        case "runs":
            subjects = (str(plain["command"]),)
        case "network":
            at = plain.get("server", engine)
            subjects = (read_url(str(plain["url"])).netloc,) if "url" in plain else (str(at),)
        case "nothing":
            subjects = ()
    return Act(call_id, tool.name, tool.object(parameters), tool.touches, canonical(plain), subjects)


def judge(act: Act, mode: Mode, rules: Sequence[Rule] | None, taint: Sequence[str], facts: Facts) -> Verdict:
    """The verdict on a call. `rules` is None when the rule book cannot be read: then everything asks."""
    kept = [rule for rule in rules or () if applies(rule, act.tool, facts.workspace, facts.run)]
    speaking = [rule for rule in kept if rule.subject == SUBJECTS[act.touches] or not rule.pattern]
    if denied := _built_in(act, facts) or _by_deny(act, speaking, facts) or _by_plan(act, mode):
        return denied
    if act.touches == "nothing" and not any(rule.effect == "ask" for rule in speaking):
        return Allowed("it touches nothing")
    ask = _Asking(act, tuple(sorted(taint)), facts)
    if forced := _forced(act, taint, facts, ask):
        return forced
    if rules is None:
        return ask("The rules cannot be read, so everything is asked.", patterns=())
    for rule in speaking:
        if rule.effect == "ask" and _touched(rule, act, facts):
            return ask(f"Your rule: {rule.words}", rule=rule.id, patterns=())
    return _by_allow(act, speaking, facts) or _by_mode(act, mode, facts) or ask(_why(act, mode, facts))


@dataclass(frozen=True, slots=True)
class _Asking:
    """Makes the request for a person."""

    act: Act
    taint: tuple[str, ...]
    facts: Facts

    def __call__(
        self, why: str, *, rule: str = "", undoable: bool = True, patterns: tuple[str, ...] | None = None
    ) -> Asks:
        act, facts = self.act, self.facts
        opens = _opens(act, facts)
        if opens:
            patterns = ()
        if patterns is None:
            subjects = [_relative(s, facts) for s in act.subjects] if _is_path(act) else act.subjects
            patterns = proposals(act.tool, SUBJECTS[act.touches], subjects)
        request = ConsentRequest(
            id=consent_id(facts.session, act.call_id),
            call_id=act.call_id,
            tool=act.tool,
            object=act.object,
            cwd=facts.workspace,
            level=facts.level,
            fingerprint=fingerprint(
                act.tool, act.arguments, facts.workspace, facts.level, self.taint, _found(act, facts, opens)
            ),
            why=why,
            rule=rule,
            touches=act.touches,
            taint=self.taint,
            undoable=undoable,
            patterns=patterns if undoable else (),
            agent=facts.agent,
            opens=opens,
        )
        return Asks(request, act.arguments)


def _opens(act: Act, facts: Facts) -> tuple[str, ...]:
    """The protected places that this call changes, or, of a command, that it names."""
    if act.touches == "runs":
        pieces = _pieces(act.subjects[0])
        return tuple(dict.fromkeys((*named(pieces, partial(_at, facts)), *changed(pieces))))
    if act.touches != "writes":
        return ()
    places = {path: (_relative(path, facts), _relative(facts.real(path), facts)) for path in act.subjects}
    return tuple(dict.fromkeys(both[1] for both in places.values() if any(map(is_protected, both))))


def _at(facts: Facts, path: str) -> str:
    """Where a word of a command would lie in the folder, if it is a path at all."""
    try:
        return _relative(facts.real(path), facts)
    except (Problem, ValueError):
        return _relative(path, facts)


def _found(act: Act, facts: Facts, opens: tuple[str, ...]) -> tuple[str, ...]:
    if act.touches != "writes":
        return opens
    marks = tuple(facts.holds(path) for path in act.subjects)
    return (*marks, *opens) if opens or any(marks) else ()


def _is_path(act: Act) -> bool:
    return SUBJECTS[act.touches] == "path"


def _relative(path: str, facts: Facts) -> str:
    """The path as seen from the folder; it begins with `..` or `/` when it leads outside."""
    clean = posixpath.normpath(path.replace("\\", "/") if not facts.posix else path)
    if posixpath.isabs(clean):
        root = posixpath.normpath(facts.workspace)
        inside = clean == root or clean.startswith(root.rstrip("/") + "/")
        return posixpath.relpath(clean, root) if inside else clean
    return clean


def _built_in(act: Act, facts: Facts) -> Denied | None:
    """What no rule and no mode allows: other places than the folder, secrets, our own data."""
    if _is_path(act):
        for path in act.subjects:
            for place in {_relative(path, facts), _relative(facts.real(path), facts)}:
                if place.startswith(("../", "/")) or place == "..":
                    return Denied(f"{path} is outside the folder.")
                if is_secret(place):
                    return Denied(f"{path} holds secrets. A person can open it, an agent cannot.")
                if _in_data(posixpath.join(facts.workspace, place), facts):
                    return Denied(f"{path} belongs to Journeyman itself.")
    if act.touches == "runs":
        if len(act.subjects[0]) > LONGEST:
            return Denied(f"The command is longer than {LONGEST:,} characters. Write it to a file and run that.")
        for words in (*_pieces(act.subjects[0]), act.subjects[0].split()):
            for word in words:
                if names_secret(word):
                    return Denied(f"The command names {word}, which holds secrets.")
        if facts.data and facts.data in act.subjects[0] and not facts.workspace.startswith(facts.data):
            return Denied("The command names the folder of Journeyman itself.")
    return None


def _in_data(path: str, facts: Facts) -> bool:
    """Inside our data folder, unless that is where the person put the work."""
    data = facts.data.rstrip("/")
    return bool(data) and (path == data or path.startswith(data + "/")) and not facts.workspace.startswith(data + "/")


def _pieces(command: str) -> list[list[str]]:
    """The words of a command, understood or not."""
    line = read_line(command)
    if isinstance(line, Understood):
        return [list(part) for part in line.parts]
    return loose_words(command)


def _touched(rule: Rule, act: Act, facts: Facts) -> bool:
    if not rule.pattern or not act.subjects:
        return not rule.pattern
    if not _is_path(act):
        return any(touches(rule, subject) for subject in act.subjects)
    places = [place for path in act.subjects for place in (_relative(path, facts), _relative(facts.real(path), facts))]
    return any(touches(rule, place) for place in places)


def _by_deny(act: Act, rules: Sequence[Rule], facts: Facts) -> Denied | None:
    for rule in rules:
        if rule.effect == "deny" and _touched(rule, act, facts):
            return Denied(f"Your rule: {rule.words}", rule.id)
    return None


def _by_plan(act: Act, mode: Mode) -> Denied | None:
    if mode == "plan" and act.touches not in ("nothing", "reads"):
        return Denied("Plan mode only reads. Describe what you would do instead.")
    return None


def _forced(act: Act, taint: Sequence[str], facts: Facts, ask: _Asking) -> Asks | None:
    """What a person is asked whatever the rules say."""
    if act.touches == "writes":
        if opens := _opens(act, facts):
            return ask(f"Other programs obey {_and(opens)}.")
        if not act.subjects:
            return ask("It cannot be told which files it changes.", patterns=())
    way_out = act.touches == "network" or (act.touches == "runs" and bool(facts.hosts))
    if way_out and (others := _of_others(act, taint)):
        return ask(f"The run has read {others[0]}, and this can send data away.", patterns=())
    return _forced_command(act, facts, ask) if act.touches == "runs" else None


def _of_others(act: Act, taint: Sequence[str]) -> list[str]:
    """The strangers whose words the call could carry away: a tool server gets nothing new in what it said itself."""
    server = server_of(act.tool)
    own = taint_name(Source("mcp", server)) if server else ""
    return [source for source in taint if source != own]


def _forced_command(act: Act, facts: Facts, ask: _Asking) -> Asks | None:
    line = read_line(act.subjects[0])
    lost = _lost(act.subjects[0])
    if lost:
        return ask(f"{lost}.", undoable=False)
    if facts.level != "none" and (kept := _kept(act, line, facts)):
        return ask(f"{kept}, which other programs obey.")
    if facts.level == "none":
        return ask("Commands are not confined on this computer, so each one is asked.", patterns=())
    if not facts.posix and not (isinstance(line, Understood) and line.single):
        return ask("This shell reads commands in its own way.", patterns=())
    for part in line.parts if isinstance(line, Understood) else ():
        for pattern in obeyed_by(part):
            if found := sorted(path for path in facts.changed if _named(path, pattern)):
                return ask(f"{part[0]} does what {found[0]} says, and the agent changed that.", patterns=())
    return None


def _kept(act: Act, line: Understood | Unclear, facts: Facts) -> str:
    """How a command reaches for what is protected: it needs a yes, or the walls are too low to keep it off."""
    pieces = _pieces(act.subjects[0])
    if needs := changed(pieces):
        return f"It changes {_and(needs)}"
    reads = isinstance(line, Understood) and only_reads(line.parts)
    if facts.level == "verified" or reads or not (told := named(pieces, partial(_at, facts))):
        return ""
    return f"The walls here do not keep a command from changing {_and(told)}"


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _named(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def _lost(command: str) -> str:
    """Why a command cannot be undone, if so; of one that is not understood, in doubt."""
    line = read_line(command)
    if isinstance(line, Understood):
        return next((why for part in line.parts if (why := for_good(part))), "")
    return next((why for words in loose_words(command) if (why := may_be_for_good(words))), "")


def _by_allow(act: Act, rules: Sequence[Rule], facts: Facts) -> Allowed | None:
    """Every part, path or host is covered by a rule."""
    allowing = [rule for rule in rules if rule.effect == "allow" and rule.subject == SUBJECTS[act.touches]]
    if not allowing:
        return None
    spoke: list[Rule] = []
    argv: tuple[str, ...] = ()
    if act.touches == "runs":
        line = read_line(act.subjects[0])
        if not isinstance(line, Understood):
            return None
        argv = line.parts[0] if line.single else ()
        found = [next((rule for rule in allowing if allows_part(rule, part)), None) for part in line.parts]
    elif _is_path(act):
        places = [(_relative(path, facts), _relative(facts.real(path), facts)) for path in act.subjects]
        found = [next((rule for rule in allowing if all(allows(rule, p) for p in both)), None) for both in places]
    else:
        found = [next((rule for rule in allowing if allows(rule, subject)), None) for subject in act.subjects]
    for rule in found:
        if rule is None:
            return None
        spoke.append(rule)
    if not spoke:
        return None
    named = dict.fromkeys(rule.words for rule in spoke)
    return Allowed(f"your rule: {'; '.join(named)}", " ".join(dict.fromkeys(rule.id for rule in spoke)), argv)


def _by_mode(act: Act, mode: Mode, facts: Facts) -> Allowed | None:
    granted = act.tool in facts.granted
    allowed = f"allowed when the run began: {act.tool}" if granted else f"mode: {mode}"
    match act.touches:
        case "reads" if granted or mode != "ask":
            return Allowed(allowed)
        case "writes" if granted or mode in ("accept", "trust"):
            return Allowed(allowed)
        case "network" if granted:
            return Allowed(allowed)
        case "runs" if granted or mode == "trust":
            line = read_line(act.subjects[0])
            understood = isinstance(line, Understood)
            argv = line.parts[0] if isinstance(line, Understood) and line.single else ()
            return Allowed(allowed, argv=argv) if facts.level == "verified" or understood else None
        case _:
            return None


def _why(act: Act, mode: Mode, facts: Facts) -> str:
    """Why a person is asked, when neither a rule nor the mode spoke."""
    if act.touches == "runs":
        line = read_line(act.subjects[0])
        if not isinstance(line, Understood):
            return f"The command is not fully understood: {line.why}."
        return "No rule allows this command."
    asked = {"reads": "reading", "writes": "changes to files", "network": "the network"}[act.touches]
    return f"Mode {mode} asks about {asked}."


def rules_of(
    request: ConsentRequest, scope: Scope, patterns: Sequence[str], run: str, new_id: Callable[[], str], made: int
) -> list[Rule]:
    """The rules a yes makes: of the patterns the request offered, and of no others."""
    if scope == "once":
        return []
    if not request.undoable or not set(patterns) <= set(request.patterns) or not patterns:
        raise Problem("This yes cannot be remembered.", "The request did not offer that.", "Allow it once.")
    where = {"run": run, "folder": request.cwd, "always": ""}[scope]
    subject = SUBJECTS[request.touches]  # type: ignore[index]  # written by `judge` from these very names
    session = request.id.removesuffix(f"-{request.call_id}-may")
    return [
        made_rule(
            new_id(), "allow", request.tool, subject, pattern, scope=scope, where=where, made=made, session=session
        )
        for pattern in patterns
    ]
