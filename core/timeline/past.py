"""What a person looks back on, folded from the lines of a journal as they are stored: changes, decisions, verdicts.

Plain JSON and nothing heavy: the window folds it while it is open.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.domain.problems import Trouble
from core.timeline.difference import figures

Line = Mapping[str, Any]
Pair = tuple[str, str]  # the names of contents, before and after
Kept = Callable[[str], bytes | None]

CHANGES = ("file_changed", "files_rewound")
CAUSES = (
    "consent_asked", "consent_given", "call_allowed", "call_refused", "question_asked", "question_answered",
    "decision_made", "problem_reported", "tainted", "limit_met", "limit_raised", "run_paused", "context_compacted",
    "tier_chosen", "mode_set", "nudged", "retried",
)  # fmt: skip
KINDS = (*CHANGES, *CAUSES, "verdict_given", "run_ended")
REQUESTS = ("request_sent", "context_compacted")  # so many that they are read only where they are looked at
MOST_REQUESTS = 4_000  # that are kept one by one; of more, every second one goes
FILES = frozenset({"read", "write", "edit", "patch", "find", "search"})


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file: the contents before and after it, as names of blobs; empty is no file."""

    seq: int
    run: int
    path: str
    before: str
    after: str
    added: int = 0
    removed: int = 0
    rewound: bool = False


@dataclass(frozen=True, slots=True)
class FileStory:
    """A file and everything that happened to it here.

    `net` are the lines that part its contents after all of it from those before, where several changes were compared.
    """

    path: str
    changes: tuple[Change, ...]
    net: tuple[int, int] | None = None

    @property
    def added(self) -> int:
        return self.net[0] if self.net else sum(change.added for change in self.changes if not change.rewound)

    @property
    def removed(self) -> int:
        return self.net[1] if self.net else sum(change.removed for change in self.changes if not change.rewound)

    @property
    def new(self) -> bool:
        return not self.changes[0].before

    @property
    def gone(self) -> bool:
        return not self.changes[-1].after

    @property
    def back(self) -> bool:
        """Is it as it was before the agent touched it?"""
        return self.changes[0].before == self.changes[-1].after

    @property
    def kept(self) -> bool:
        """Are its contents known? Older journals only counted lines."""
        return any(change.before or change.after for change in self.changes)


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: what was chosen, by whom or what, and why. `status` is a step's; `rule` can be revoked."""

    seq: int
    run: int
    at: int
    kind: str
    what: str
    chosen: str = ""
    why: str = ""
    cause: str = ""
    status: str = "done"
    rule: str = ""
    options: tuple[tuple[str, str], ...] = ()
    call: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it left: about how many tokens of each category, and the most that the model takes, 0 unknown."""

    seq: int
    round: int
    model: str
    window: int
    tokens: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.tokens.values())


@dataclass(frozen=True, slots=True)
class Cliff:
    """A compaction, before the request with this number in the list of those that are kept."""

    seq: int
    at: int
    before: int
    after: int
    why: str


@dataclass(slots=True)
class Past:
    """Everything that was heard so far; `hear` takes lines in the order of the journal."""

    files: dict[str, list[Change]] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    verdicts: dict[int, tuple[str, str]] = field(default_factory=dict)
    troubles: dict[int, Trouble] = field(default_factory=dict)
    requests: list[Sent] = field(default_factory=list)
    cliffs: list[Cliff] = field(default_factory=list)
    _open: dict[str, int] = field(default_factory=dict)
    _every: int = 1
    _passed: int = 0
    _first: dict[tuple[str, int], str] = field(default_factory=dict)  # contents before a file was changed, by run
    _uncompared: dict[tuple[str, int], Pair] = field(default_factory=dict)
    _nets: dict[tuple[str, int], tuple[Pair, tuple[int, int] | None]] = field(default_factory=dict)

    def hear(self, lines: Iterable[Line]) -> None:
        for line in lines:
            kind = line.get("kind", "")
            if kind in CHANGES:
                self._change(line)
            elif kind == "request_sent":
                self._send(line)
            elif kind == "verdict_given":
                if line.get("by", "person") == "person":
                    self.verdicts[int(line.get("number", 0))] = (str(line.get("verdict", "")), head(line.get("note")))
            elif kind == "run_ended":
                self._end(line)
            elif kind in CAUSES:
                self._choose(line)
                if kind == "context_compacted":
                    self._compact(line)

    def stories(self) -> list[FileStory]:
        """The files in the order in which they were first changed."""
        return [self._story(path, changes) for path, changes in self.files.items()]

    def of_run(self, run: int) -> list[FileStory]:
        """The same of one run alone."""
        mine = ((path, [c for c in changes if c.run == run and not c.rewound]) for path, changes in self.files.items())
        return [self._story(path, changes, run) for path, changes in mine if changes]

    @property
    def compared(self) -> bool:
        """Is of every file that was changed more than once known what that comes to?"""
        return not self._uncompared

    def compare(self, kept: Kept) -> None:
        """Look at one of those: a few milliseconds."""
        key, pair = self._uncompared.popitem()
        self._nets[key] = pair, figures(*(kept(name) if name else b"" for name in pair))

    def totals(self) -> tuple[int, int]:
        """Lines added and removed, everywhere."""
        stories = self.stories()
        return sum(story.added for story in stories), sum(story.removed for story in stories)

    def _story(self, path: str, changes: list[Change], run: int = 0) -> FileStory:
        pair, net = self._nets.get((path, run), (None, None))
        return FileStory(path, tuple(changes), net if pair == (changes[0].before, changes[-1].after) else None)

    def _note(self, made: Change) -> None:
        """One more change of a file: of what several come to together the sum of their lines says too much."""
        self.files.setdefault(made.path, []).append(made)
        for key in ((made.path, 0), (made.path, made.run))[: 1 if made.rewound else 2]:
            pair = self._first.get(key), made.after
            if pair[0] is None:
                self._first[key] = made.before
            elif any(pair):
                self._uncompared[key] = pair[0], pair[1]

    def _change(self, line: Line) -> None:
        seq, run = int(line["seq"]), int(line.get("run", 0))
        if line["kind"] == "file_changed":
            made = Change(
                seq, run, str(line.get("path", "")), str(line.get("before", "")), str(line.get("after", "")),
                int(line.get("added", 0)), int(line.get("removed", 0)),
            )  # fmt: skip
            self._note(made)
            return
        for file in line.get("files") or ():
            path = str(file.get("path", ""))
            made = Change(seq, run, path, str(file.get("before", "")), str(file.get("after", "")), rewound=True)
            self._note(made)

    def _send(self, line: Line) -> None:
        tokens: Mapping[str, Any] = line.get("tokens") or {}
        if line.get("role") or not tokens:
            return
        told: dict[str, int] = {}
        for name, count in tokens.items():
            told[group_of(name)] = told.get(group_of(name), 0) + int(count)
        sent = Sent(
            int(line["seq"]), int(line.get("round", 0)), str(line.get("model", "")), int(line.get("window", 0)), told
        )
        self._passed += 1
        if self._passed % self._every and self.requests:
            self.requests[-1] = sent  # the newest always stands at the end
            return
        self.requests.append(sent)
        if len(self.requests) > MOST_REQUESTS:
            self.requests = self.requests[1::2]
            self.cliffs = [replace(cliff, at=cliff.at // 2) for cliff in self.cliffs]
            self._every *= 2

    def _compact(self, line: Line) -> None:
        before, after = int(line.get("before", 0)), int(line.get("after", 0))
        self.cliffs.append(Cliff(int(line["seq"]), len(self.requests), before, after, str(line.get("why", ""))))

    def _choose(self, line: Line) -> None:
        made = choice(line)
        if made is None:
            return
        key = str(line.get("request_id") or line.get("question_id") or "")
        if key in self._open:
            place = self._open.pop(key)
            asked = self.choices[place]
            self.choices[place] = replace(
                asked,
                chosen=made.chosen,
                why=made.why or asked.why,
                status=made.status,
                cause=made.cause or asked.cause,
            )
            return
        last = self.choices[-1] if self.choices else None
        if last and made.kind == "allowed" and _alike(last) == _alike(made):
            self.choices[-1] = replace(last, count=last.count + 1)
            return
        if asked_id := _asked_id(line):
            self._open[asked_id] = len(self.choices)
        self.choices.append(made)

    def _end(self, line: Line) -> None:
        """What the run asked waits for nobody any more."""
        if trouble := line.get("trouble"):
            told = Trouble(*(str(trouble.get(part) or "") for part in ("what", "why", "do")))
            self.troubles[int(line.get("run", 0))] = told
        for place in self._open.values():
            self.choices[place] = replace(self.choices[place], status="stopped")
        self._open.clear()


def _alike(choice: Choice) -> tuple[object, ...]:
    """What automatic allows have in common that are told as one."""
    return choice.kind, choice.run, choice.cause, choice.rule


def group_of(category: str) -> str:
    """Results of like tools are one category for a person."""
    if not category.startswith("results:"):
        return category
    tool = category.removeprefix("results:")
    return "results:files" if tool in FILES else "results:commands" if tool == "run" else "results:others"


def head(text: Any) -> str:
    """The words of a text that may be kept apart."""
    return str(text.get("head", "")) if isinstance(text, Mapping) else str(text or "")


def choice(line: Line) -> Choice | None:
    """What a line says about a choice."""
    seq, run, at, kind = int(line["seq"]), int(line.get("run", 0)), int(line.get("at", 0)), str(line["kind"])

    def made(name: str, said: str, **rest: Any) -> Choice:
        return Choice(seq, run, at, name, said, **rest)

    match kind:
        case "question_asked":
            asked = line.get("question") or {}
            options = tuple(
                (str(o.get("label", "")), str(o.get("description", ""))) for o in asked.get("options") or ()
            )
            return made("question", str(asked.get("text", "")), why=str(asked.get("why", "")), status="waiting",
                        options=options)  # fmt: skip
        case "question_answered":
            answer = line.get("answer") or {}
            said = ": ".join(part for part in (answer.get("option"), answer.get("text")) if part)
            unanswered = answer.get("declined") or answer.get("expired")
            cause = "you" if answer.get("by", "person") == "person" else str(answer["by"])
            return made("question", said, chosen=said, status="stopped" if unanswered else "done", cause=cause)
        case "consent_asked":
            request = line.get("request") or {}
            return made("consent", f"{request.get('tool', '')} {request.get('object', '')}".strip(),
                        why=str(request.get("why", "")), status="waiting")  # fmt: skip
        case "consent_given":
            allowed, scope = bool(line.get("allowed")), str(line.get("scope", "once"))
            by = str(line.get("by", "person"))
            return made("consent", "", chosen=f"allowed {scope}" if allowed else "denied", why=head(line.get("reason")),
                        status="done" if allowed else "stopped", cause="you" if by == "person" else by)  # fmt: skip
        case "call_allowed":
            return made("allowed", "", chosen="allowed", cause=str(line.get("cause", "")),
                        rule=str(line.get("rule", "")), call=str(line.get("call_id", "")))  # fmt: skip
        case "call_refused":
            return made("refused", str(line.get("tool", "")), chosen="refused", why=head(line.get("reason")),
                        status="failed")  # fmt: skip
        case "decision_made":
            choices = tuple((str(o.get("label", "")), _weighed(o)) for o in line.get("options") or ())
            return made("decision", str(line.get("intent", "")), chosen=str(line.get("choice", "")),
                        why=str(line.get("reason", "")), cause="the agent", options=choices)  # fmt: skip
        case "problem_reported":
            why = " · ".join(part for part in (line.get("cause"), line.get("fix")) if part)
            return made("problem", str(line.get("what", "")), chosen=str(line.get("severity", "")), why=why,
                        status="failed", cause="the agent")  # fmt: skip
        case _:
            return _notice(line, made)


def _notice(line: Line, made: Any) -> Choice | None:
    """Acts of Journeyman itself."""
    match line["kind"]:
        case "tainted":
            return _told(made("notice", f"From here on it has read words of strangers: {line.get('source', '')}"))
        case "limit_met":
            said = f"{float(line.get('used', 0)):g} of {float(line.get('allowed', 0)):g} {line.get('limit', '')}"
            return _told(made("limit", said))
        case "limit_raised":
            return _told(
                made("limit", f"{line.get('limit', '')}: up to {float(line.get('allowed', 0)):g}", cause="you")
            )
        case "run_paused":
            trouble = line.get("trouble") or {}
            return _told(made("notice", "Paused", why=str(trouble.get("what") or line.get("why") or "")))
        case "nudged":
            return _told(made("notice", "Told the agent to go on differently", why=str(line.get("why", ""))))
        case "retried":
            trouble = line.get("trouble") or {}
            return _told(made("notice", "Asked the model again", why=str(trouble.get("what", ""))))
        case "context_compacted":
            return _told(made("notice", "Compacted the context", why=str(line.get("why", ""))))
        case "tier_chosen":
            said = f"{line.get('tier', '')} {line.get('model', '')}".strip()
            return _told(
                made("notice", "Model chosen", chosen=said, why=str(line.get("why") or line.get("reason") or ""))
            )
        case "mode_set":
            return _told(made("notice", "Mode", chosen=str(line.get("mode", "")), cause="you"))
        case _:
            return None


def _told(found: Any) -> Choice | None:
    return found if isinstance(found, Choice) else None


def _asked_id(line: Line) -> str:
    part = line.get("question") if line["kind"] == "question_asked" else line.get("request")
    return str(part.get("id", "")) if isinstance(part, Mapping) and line["kind"].endswith("_asked") else ""


def _weighed(option: Mapping[str, Any]) -> str:
    """For and against, and how sure."""
    parts = [f"+ {word}" for word in option.get("pros") or ()] + [f"− {word}" for word in option.get("cons") or ()]
    if (sure := option.get("confidence", -1)) >= 0:
        parts.append(f"{sure} % sure")
    return " · ".join(parts)
