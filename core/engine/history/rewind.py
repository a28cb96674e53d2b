"""Plans and executes rewinds: files that the agent changed get back the contents they had after a given event."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.domain.events import CallStarted, EventRecord, FileChanged, ToolReturned
from core.domain.problems import Problem
from core.domain.rewind_events import FilesRewound, RewoundFile
from core.engine.run.execute import count_changed_lines
from core.store.blobs import blob_hash
from core.workspace.broker import WRITE_LIMIT, FileBroker

ReadBlob = Callable[[str], bytes | None]
RewindAction = Literal["change", "create", "remove", "same", "conflict", "lost"]
CHANGING_ACTIONS = frozenset({"change", "create", "remove"})


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a rewind would do to a file.

    `current_hash` and `target_hash` are blob hashes of the contents before and after the rewind; an empty hash means
    that the file does not exist. The action is "conflict" if something other than the agent or a rewind changed the
    file, and "lost" if the target contents were not saved.
    """

    path: str
    action: RewindAction
    current_hash: str = ""
    target_hash: str = ""
    added: int = 0
    removed: int = 0
    reason: str = ""
    current_mode: int = 0
    target_mode: int = 0  # Permission bits after the rewind; 0 if unknown.


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """What a rewind to the event `to_seq` would do.

    Attributes:
        commands: the shell commands run since. Only their effects on `files` are reverted.
        undoes_seq: the sequence number of the rewind that this plan undoes; 0 if it undoes none.
        unsaved: files known to have changed whose contents were not saved, as display names.
    """

    to_seq: int
    files: tuple[FilePlan, ...]
    commands: tuple[str, ...] = ()
    undoes_seq: int = 0
    unsaved: tuple[str, ...] = ()

    @property
    def changing_files(self) -> tuple[FilePlan, ...]:
        return tuple(file for file in self.files if file.action in CHANGING_ACTIONS)


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The target contents of a file, and all contents that the recorded events may have left in it."""

    path: str
    target_hash: str
    expected_hashes: frozenset[str]
    target_mode: int = 0


def file_histories(entries: Iterable[EventRecord], to: int) -> list[FileHistory]:
    """Return the history of every file that was changed after the event `to`."""
    found: dict[str, FileHistory] = {}
    for seq, path, before, after, rewound, mode in _changes(entries):
        if seq > to:
            first = found.get(path, FileHistory(path, before, frozenset(), mode))
            # After a crash between recording a rewind and applying it, the file still has the contents from before it.
            found[path] = replace(first, expected_hashes=frozenset({before, after} if rewound else {after}))
    return list(found.values())


def commands_since(entries: Iterable[EventRecord], to: int) -> tuple[str, ...]:
    """Return the shell commands run after the event `to`, without duplicates."""
    ran = [e.event.object for e in entries if e.seq > to and isinstance(e.event, CallStarted) and _is_command(e.event)]
    return tuple(dict.fromkeys(ran))


def unsaved_since(entries: Iterable[EventRecord], to: int) -> tuple[str, ...]:
    """Return the files that changed after the event `to` without being saved, without duplicates."""
    told = (e.event.unrestorable for e in entries if e.seq > to and isinstance(e.event, ToolReturned))
    return tuple(dict.fromkeys(name for names in told for name in names))


def last_rewind(entries: Sequence[EventRecord]) -> EventRecord | None:
    """Return the newest rewind that was not undone, reduced to the files that were not undone.

    Rewinds in the sessions of sub-agents are ignored; they can be undone in those sessions.
    """
    made: dict[int, tuple[EventRecord, FilesRewound]] = {}
    waiting: dict[int, set[str]] = {}
    for entry in entries:
        if not isinstance(entry.event, FilesRewound) or entry.session != entries[0].session:
            continue
        event = entry.event
        if not event.undoes_seq and event.files:
            made[entry.seq] = (entry, event)
        elif event.undoes_seq and event.files:
            waiting[event.undoes_seq] = set(event.skipped)
        elif event.undoes_seq in waiting:  # The undo failed for these files.
            waiting[event.undoes_seq] |= set(event.skipped)
    for seq, (entry, event) in sorted(made.items(), reverse=True):
        files = tuple(file for file in event.files if seq not in waiting or file.path in waiting[seq])
        if files:
            return replace(entry, event=replace(event, files=files))
    return None


def plan_rewind(
    folder: Path, entries: list[EventRecord], to: int, kept: ReadBlob, force: Iterable[str] = ()
) -> RewindPlan:
    """Return the plan for a rewind to the event `to`. Files in `force` are overwritten despite a conflict."""
    with FileBroker(folder) as broker:
        files = tuple(_plan_file(broker, past, kept, set(force)) for past in file_histories(entries, to))
    return RewindPlan(to, files, commands_since(entries, to), unsaved=unsaved_since(entries, to))


def plan_undo(folder: Path, entries: list[EventRecord], kept: ReadBlob, force: Iterable[str] = ()) -> RewindPlan:
    """Return the plan for undoing the last rewind. Raise Problem if there is no rewind to undo."""
    found = last_rewind(entries)
    if found is None or not isinstance(found.event, FilesRewound):
        raise Problem("There is no rewind to undo.", "None was made, or all of them are undone.", "")
    since = {past.path: past.expected_hashes for past in file_histories(entries, found.seq)}
    with FileBroker(folder) as broker:
        files = tuple(
            _plan_file(
                broker,
                FileHistory(f.path, f.before, since.get(f.path, frozenset({f.after})), f.mode_before),
                kept,
                set(force),
            )
            for f in found.event.files
        )
    return RewindPlan(found.event.to_seq, files, undoes_seq=found.seq)


def plan_replacement(folder: Path, to: int, path: str, held_now: str, body: bytes) -> RewindPlan:
    """Plan to replace the contents of one file. Raise Problem if it no longer has the contents the user saw."""
    with FileBroker(folder) as broker:
        found = current_contents(broker, path)
    if _hash(found) != held_now:
        why = "It was changed outside this session since."
        raise Problem(f"{path} does not have the contents shown.", why, "Look at it in an editor.")
    added, removed = count_changed_lines(found or b"", body)
    return RewindPlan(to, (FilePlan(path, "change", held_now, blob_hash(body), added, removed),))


def rewind_event(made: RewindPlan) -> FilesRewound:
    """Return the event to record before the plan is carried out."""
    left = tuple(file.path for file in made.files if file.action in {"conflict", "lost"})
    files = tuple(
        RewoundFile(file.path, file.current_hash, file.target_hash, file.current_mode) for file in made.changing_files
    )
    return FilesRewound(made.to_seq, files, left, made.undoes_seq)


def overwritten_contents(folder: Path, made: RewindPlan) -> dict[str, bytes]:
    """Return the contents that the plan overwrites, by blob hash, so that the rewind can be undone."""
    with FileBroker(folder) as broker:
        bodies = (current_contents(broker, file.path) for file in made.changing_files)
        return {blob_hash(body): body for body in bodies if body is not None}


def apply_plan(folder: Path, made: RewindPlan, kept: ReadBlob) -> tuple[str, ...]:
    """Execute the plan file by file. Return the files that changed after planning or could not be written."""
    stayed: list[str] = []
    with FileBroker(folder) as broker:
        for file in made.changing_files:
            found = _hash(current_contents(broker, file.path))
            body = kept(file.target_hash) if file.target_hash else None
            if found != file.current_hash or not _write_file(broker, file, body):
                stayed.append(file.path)
    return tuple(stayed)


def current_contents(broker: FileBroker, path: str) -> bytes | None:
    """Return a file's contents, or None if there is no such file. Raise Problem if it is not a regular file."""
    return None if broker.stat(path) is None else broker.read(path, WRITE_LIMIT)


def _write_file(broker: FileBroker, file: FilePlan, body: bytes | None) -> bool:
    """Write or remove one file and return whether that worked. Protected files too: the user requested the rewind."""
    try:
        if body is None:
            broker.remove(file.path, allow_protected=True)
        else:
            broker.write(file.path, body, allow_protected=True, mode=file.target_mode)
    except Problem:
        return False
    return True


def _plan_file(broker: FileBroker, past: FileHistory, kept: ReadBlob, force: set[str]) -> FilePlan:
    try:
        body = current_contents(broker, past.path)
        modes = (broker.mode(past.path), past.target_mode)
    except Problem as problem:
        return FilePlan(past.path, "conflict", target_hash=past.target_hash, reason=str(problem))
    now = _hash(body)
    if now == past.target_hash and (not now or not past.target_mode or modes[0] == past.target_mode):
        return FilePlan(past.path, "same", now, past.target_hash)
    wanted = kept(past.target_hash) if past.target_hash else b""
    if wanted is None:
        return FilePlan(past.path, "lost", now, past.target_hash, reason="Its earlier contents were not saved.")
    added, removed = count_changed_lines(body or b"", wanted)
    if now not in past.expected_hashes and past.path not in force:
        did = "removed" if body is None else "changed"
        why = f"It was {did} outside this session since."
        return FilePlan(past.path, "conflict", now, past.target_hash, added, removed, why, *modes)
    action: RewindAction = "remove" if not past.target_hash else "create" if body is None else "change"
    return FilePlan(past.path, action, now, past.target_hash, added, removed, "", *modes)


def _changes(entries: Iterable[EventRecord]) -> Iterator[tuple[int, str, str, str, bool, int]]:
    """Yield every file change as (seq, path, hash before, hash after, whether a rewind made it, mode before)."""
    for entry in entries:
        match entry.event:
            case FileChanged(path=path, before=before, after=after, mode_before=mode):
                yield entry.seq, path, before, after, False, mode
            case FilesRewound(files=files):
                for file in files:
                    yield entry.seq, file.path, file.before, file.after, True, file.mode_before
            case _:
                pass


def _is_command(event: CallStarted) -> bool:
    return event.step_kind == "command"


def _hash(body: bytes | None) -> str:
    return "" if body is None else blob_hash(body)
