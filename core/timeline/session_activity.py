"""What happened in a session, as the window shows it: file changes, decisions, ratings and use of the context.

It is built from stored events as JSON. The window needs this module at startup, so it imports nothing slow.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from core.domain.event_values import InstructionFile
from core.domain.problems import ErrorDetails
from core.domain.rewind_events import OpenRewinds
from core.timeline.decision_entry import DECISION_KINDS, DecisionEntry, EventJson, decision_of, text_head
from core.timeline.text_diff import LineCounts, line_counts

ReadBlob = Callable[[str], bytes | None]

CHANGE_KINDS = ("file_changed", "files_rewound")
ACTIVITY_KINDS = (*CHANGE_KINDS, *DECISION_KINDS, "request_sent", "run_rated", "run_ended")
# There are many of these events, so they are read only when they are displayed.
REQUEST_KINDS = ("run_started", "request_sent", "replied", "context_compacted")
MAX_REQUESTS = 4_000  # requests kept in memory; when there are more, every second one is dropped
FILE_TOOLS = frozenset({"read", "write", "edit", "patch", "find", "search"})


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of a file. `before` and `after` are hashes of blobs; empty means that the file did not exist."""

    seq: int
    run: int
    path: str
    before: str
    after: str
    added: int = 0
    removed: int = 0
    rewound: bool = False  # the user has reverted the file or, if also `undoes_revert`, undone a revert
    undoes_revert: bool = False


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file with all of its changes in the session.

    `net` is the number of lines added and removed from the first to the last state of the file. It is None if the file
    changed only once, or if the two states have not been compared yet.
    """

    path: str
    changes: tuple[FileEdit, ...]
    net: LineCounts | None = None

    @property
    def added(self) -> int:
        if self.net:
            return self.net.added
        return 0 if self.unchanged else sum(change.added for change in self.changes if not change.rewound)

    @property
    def removed(self) -> int:
        if self.net:
            return self.net.removed
        return 0 if self.unchanged else sum(change.removed for change in self.changes if not change.rewound)

    @property
    def created(self) -> bool:
        return not self.changes[0].before

    @property
    def deleted(self) -> bool:
        return not self.changes[-1].after

    @property
    def unchanged(self) -> bool:
        """Whether the file is again as it was before its first change in the session; false if that is unknown."""
        return self.has_contents and self.changes[0].before == self.changes[-1].after

    @property
    def has_contents(self) -> bool:
        """Whether the contents of the file were stored. Older sessions only have line counts."""
        return any(change.before or change.after for change in self.changes)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A model request.

    Attributes:
        context_window: The context window of the model in tokens; 0 if unknown.
        tokens: The estimated tokens by category.
        first_token_s: The seconds until the first token of the reply arrived; 0 if unknown.
        compact: Whether the request has the compact form of the system prompt.
    """

    seq: int
    turn: int
    model: str
    context_window: int
    tokens: Mapping[str, int]
    first_token_s: float = 0.0
    compact: bool = False

    @property
    def total(self) -> int:
        return sum(self.tokens.values())

    @property
    def prefix(self) -> int:
        """The tokens of the system prompt and the tools, which all requests of a run have in common."""
        return self.tokens.get("system", 0) + self.tokens.get("tools", 0)


@dataclass(frozen=True, slots=True)
class CompactionPoint:
    """A compaction of the context.

    `request_index` is the index in `SessionActivity.requests` of the first request after it. `before` and `after` are
    the sizes of the prompt in tokens.
    """

    seq: int
    request_index: int
    before: int
    after: int
    reason: str


class _EditedFile(NamedTuple):
    """A file in one run or, if `run` is 0, in the whole session."""

    path: str
    run: int


class _Versions(NamedTuple):
    """The hashes of the contents of a file before its first change and after the last one."""

    before: str
    after: str


class _NetChange(NamedTuple):
    """The net change between two versions of a file; `lines` is None if it is unknown."""

    versions: _Versions
    lines: LineCounts | None


class UserRating(NamedTuple):
    """The user's rating of a run: `up`, `down` or "" for none, with a note."""

    value: str = ""
    note: str = ""


@dataclass(slots=True)
class SessionActivity:
    """What has happened in a session so far. Update it with `apply`."""

    files: dict[str, list[FileEdit]] = field(default_factory=dict)
    decisions: list[DecisionEntry] = field(default_factory=list)
    ratings: dict[int, UserRating] = field(default_factory=dict)  # by run number
    errors: dict[int, ErrorDetails] = field(default_factory=dict)
    pause_error: ErrorDetails | None = None  # the error that caused the last pause; None if the user paused
    requests: list[SentRequest] = field(default_factory=list)
    compactions: list[CompactionPoint] = field(default_factory=list)
    compact: bool = False  # whether the latest run has a compact prompt
    instructions: tuple[InstructionFile, ...] = ()  # the instruction files of the latest run
    open_rewinds: OpenRewinds = field(default_factory=OpenRewinds)
    _open: dict[str, int] = field(default_factory=dict)
    _tier_choice: tuple[str, ...] = ()
    _every: int = 1
    _request_count: int = 0
    _original_blobs: dict[_EditedFile, str] = field(default_factory=dict)  # the blob before the first change
    _uncompared: dict[_EditedFile, _Versions] = field(default_factory=dict)
    _net_changes: dict[_EditedFile, _NetChange] = field(default_factory=dict)

    def apply(self, lines: Iterable[EventJson]) -> None:
        """Apply stored events, in the order of the event log."""
        for line in lines:
            kind = line.get("kind", "")
            if kind in CHANGE_KINDS:
                self._change(line)
            elif kind == "request_sent":
                self._add_request(line)
                self._add_tier_choice(line)
            elif kind == "replied" and self.requests:
                self.requests[-1] = replace(self.requests[-1], first_token_s=float(line.get("first_token_s", 0.0)))
            elif kind == "run_started":
                self.compact = line.get("prompt_size") == "compact"
                self.instructions = tuple(map(_instruction_file, line.get("instruction_files") or ()))
            elif kind == "run_rated":
                if line.get("by", "user") == "user":
                    rating = UserRating(value=str(line.get("rating", "")), note=text_head(line.get("note")))
                    self.ratings[int(line.get("run_number", 0))] = rating
            elif kind == "run_paused":
                self.pause_error = _error_details(line)
            elif kind == "run_ended":
                self._end(line)
            elif kind in DECISION_KINDS:
                self._add_decision(line)
                if kind == "context_compacted":
                    self._compact(line)

    def changed_files(self) -> list[ChangedFile]:
        """Return the changed files, in the order of their first changes."""
        return [self._changed_file(path, changes) for path, changes in self.files.items()]

    def changed_files_of_run(self, run: int) -> list[ChangedFile]:
        """Return the files that one run changed, in the order of its first changes.

        Changes by rewinding are ignored.
        """
        changed_files = []
        for path, changes in self.files.items():
            if own_changes := [change for change in changes if change.run == run and not change.rewound]:
                changed_files.append(self._changed_file(path, own_changes, run))
        return changed_files

    @property
    def all_compared(self) -> bool:
        """Whether the net change is known for every file that changed more than once."""
        return not self._uncompared

    def compare_next(self, read_blob: ReadBlob) -> None:
        """Compute one of the missing net changes. Called repeatedly, because each takes a few milliseconds."""
        file, versions = self._uncompared.popitem()
        old = read_blob(versions.before) if versions.before else b""
        new = read_blob(versions.after) if versions.after else b""
        self._net_changes[file] = _NetChange(versions, line_counts(old, new))

    def line_totals(self) -> LineCounts:
        """Return how many lines were added and removed in all files together."""
        files = self.changed_files()
        return LineCounts(added=sum(file.added for file in files), removed=sum(file.removed for file in files))

    def _changed_file(self, path: str, changes: list[FileEdit], run: int = 0) -> ChangedFile:
        net_change = self._net_changes.get(_EditedFile(path, run))
        versions = _Versions(before=changes[0].before, after=changes[-1].after)
        is_current = net_change is not None and net_change.versions == versions
        return ChangedFile(path, tuple(changes), net=net_change.lines if net_change and is_current else None)

    def _record_edit(self, edit: FileEdit) -> None:
        """Record a change.

        For a file that changed before, note that its net change must be computed from its contents.
        """
        self.files.setdefault(edit.path, []).append(edit)
        files = [_EditedFile(edit.path, run=0)]
        if not edit.rewound:
            files.append(_EditedFile(edit.path, edit.run))
        for file in files:
            original = self._original_blobs.get(file)
            if original is None:
                self._original_blobs[file] = edit.before
            elif original or edit.after:
                self._uncompared[file] = _Versions(original, edit.after)

    def _change(self, line: EventJson) -> None:
        seq, run = int(line["seq"]), int(line.get("run", 0))
        if line["kind"] == "file_changed":
            edit = FileEdit(
                seq=seq,
                run=run,
                path=str(line.get("path", "")),
                before=str(line.get("before", "")),
                after=str(line.get("after", "")),
                added=int(line.get("added", 0)),
                removed=int(line.get("removed", 0)),
            )
            self._record_edit(edit)
            return
        files = line.get("files") or ()
        paths = [str(file.get("path", "")) for file in files]
        undoes_seq = int(line.get("undoes_seq", 0))
        self.open_rewinds.add(seq, paths, line.get("skipped") or (), undoes_seq)
        for path, file in zip(paths, files, strict=True):
            edit = FileEdit(
                seq=seq,
                run=run,
                path=path,
                before=str(file.get("before", "")),
                after=str(file.get("after", "")),
                rewound=True,
                undoes_revert=undoes_seq > 0,
            )
            self._record_edit(edit)

    def _add_request(self, line: EventJson) -> None:
        tokens: Mapping[str, Any] = line.get("tokens") or {}
        if line.get("purpose") or not tokens:
            return
        grouped: dict[str, int] = {}
        for name, count in tokens.items():
            grouped[category_group(name)] = grouped.get(category_group(name), 0) + int(count)
        request = SentRequest(
            seq=int(line["seq"]),
            turn=int(line.get("turn", 0)),
            model=str(line.get("model", "")),
            context_window=int(line.get("context_window", 0)),
            tokens=grouped,
            compact=self.compact,
        )
        self._request_count += 1
        if self._request_count % self._every and self.requests:
            self.requests[-1] = request  # the newest request is kept, in place of the one before it
            return
        self.requests.append(request)
        if len(self.requests) > MAX_REQUESTS:
            self.requests = self.requests[1::2]
            self.compactions = [replace(point, request_index=point.request_index // 2) for point in self.compactions]
            self._every *= 2

    def _compact(self, line: EventJson) -> None:
        point = CompactionPoint(
            seq=int(line["seq"]),
            request_index=len(self.requests),
            before=int(line.get("tokens_before", 0)),
            after=int(line.get("tokens_after", 0)),
            reason=str(line.get("reason", "")),
        )
        self.compactions.append(point)

    def _add_decision(self, line: EventJson) -> None:
        entry = decision_of(line)
        if entry is None:
            return
        key = str(line.get("request_id") or line.get("question_id") or "")
        if key in self._open:
            index = self._open.pop(key)
            request = self.decisions[index]
            self.decisions[index] = replace(
                request,
                chosen=entry.chosen,
                why=entry.why or request.why,
                status=entry.status,
                cause=entry.cause or request.cause,
                rule=entry.rule,
            )
            return
        last = self.decisions[-1] if self.decisions else None
        if last and entry.kind == "allowed" and _merge_key(last) == _merge_key(entry):
            self.decisions[-1] = replace(last, count=last.count + 1)
            return
        if request_id := _request_id(line):
            self._open[request_id] = len(self.decisions)
        self.decisions.append(entry)

    def _add_tier_choice(self, line: EventJson) -> None:
        """Record which model a tier rule chose, unless the request before had the same model for the same reason."""
        choice = tuple(str(line.get(name, "")) for name in ("model", "tier", "reason", "purpose"))
        if choice[1] and choice != self._tier_choice:
            what, cause = "Summary" if choice[3] == "summary" else "Next requests", f"the rules for tiers ({choice[1]})"
            seq, run, at = (int(line.get(name, 0)) for name in ("seq", "run", "at"))
            self.decisions.append(
                DecisionEntry(
                    seq=seq, run=run, at=at, kind="tier", what=what, chosen=choice[0], why=choice[2], cause=cause
                )
            )
        self._tier_choice = choice

    def _end(self, line: EventJson) -> None:
        """Note the error of a run that ended, and close its open questions and permission requests."""
        if details := _error_details(line):
            self.errors[int(line.get("run", 0))] = details
        for index in self._open.values():
            self.decisions[index] = replace(self.decisions[index], status="stopped")
        self._open.clear()


def _error_details(line: EventJson) -> ErrorDetails | None:
    error = line.get("error")
    if not error:
        return None
    return ErrorDetails(
        message=str(error.get("message") or ""), cause=str(error.get("cause") or ""), fix=str(error.get("fix") or "")
    )


def _merge_key(choice: DecisionEntry) -> tuple[object, ...]:
    """Return the properties that must be equal for two automatic approvals to be merged."""
    return choice.kind, choice.run, choice.cause, choice.rule


def category_group(category: str) -> str:
    """Return the category to display. The results of similar tools are shown as one category."""
    if not category.startswith("results:"):
        return category
    tool = category.removeprefix("results:")
    if tool in FILE_TOOLS:
        return "results:files"
    return "results:commands" if tool == "run" else "results:others"


def _instruction_file(fields: Mapping[str, Any]) -> InstructionFile:
    return InstructionFile(
        name=str(fields.get("name", "")),
        size=int(fields.get("size", 0)),
        included=int(fields.get("included", 0)),
        error=str(fields.get("error", "")),
        tokens=int(fields.get("tokens", 0)),
    )


def _request_id(line: EventJson) -> str:
    """Return the ID of the question or permission request that an event opens; empty for any other event."""
    if line["kind"] not in ("question_asked", "permission_requested"):
        return ""
    request = line.get("question" if line["kind"] == "question_asked" else "request")
    return str(request.get("id", "")) if isinstance(request, Mapping) else ""
