"""Plans and executes rewinds: files that the agent changed get back the contents they had after a given event."""

import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from core.domain.events import CallStarted, EventRecord, FileChanged, ToolReturned
from core.domain.problems import Problem
from core.domain.rewind_events import FilesRewound, OpenRewinds, RewoundFile
from core.domain.sensitive_paths import is_protected
from core.engine.run.execute import count_changed_lines
from core.store.blobs import blob_hash
from core.workspace.broker import WRITE_LIMIT, FileBroker
from core.workspace.file_change import LINK_MODE

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
    target_mode: int = 0  # Permission bits after the rewind, or `LINK_MODE`; 0 if unknown.


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
    """The blob hashes of a file's contents at the target of a rewind, and of the contents it may have now.

    If its current contents are not among `expected_hashes`, something other than the agent has changed it.
    """

    path: str
    target_hash: str
    expected_hashes: frozenset[str]
    target_mode: int = 0


def file_histories(entries: Iterable[EventRecord], to_seq: int) -> list[FileHistory]:
    """Return the history of every file that was changed after the event `to_seq`."""
    histories: dict[str, FileHistory] = {}
    for entry in entries:
        if entry.seq <= to_seq:
            continue
        for change in _changes(entry):
            first = histories.get(change.path, FileHistory(change.path, change.before, frozenset(), change.mode_before))
            # A crash may have prevented a recorded rewind from being applied, so also expect the contents before it.
            expected = {change.before, change.after} if change.is_rewind else {change.after}
            histories[change.path] = replace(first, expected_hashes=frozenset(expected))
    return list(histories.values())


def commands_since(entries: Iterable[EventRecord], to_seq: int) -> tuple[str, ...]:
    """Return the shell commands run after the event `to_seq`, without duplicates."""
    commands = [
        entry.event.object
        for entry in entries
        if entry.seq > to_seq and isinstance(entry.event, CallStarted) and entry.event.step_kind == "command"
    ]
    return tuple(dict.fromkeys(commands))


def unsaved_since(entries: Iterable[EventRecord], to_seq: int) -> tuple[str, ...]:
    """Return the files that changed after the event `to_seq` without being saved, without duplicates."""
    paths: dict[str, None] = {}
    for entry in entries:
        if entry.seq > to_seq and isinstance(entry.event, ToolReturned):
            paths |= dict.fromkeys(entry.event.unrestorable)
    return tuple(paths)


def last_rewind(entries: Sequence[EventRecord]) -> EventRecord | None:
    """Return the newest rewind that was not undone, reduced to the files that were not undone.

    Rewinds in the sessions of sub-agents are ignored; they can be undone in those sessions.
    """
    rewinds: dict[int, EventRecord] = {}
    open_rewinds = OpenRewinds()
    for entry in entries:
        event = entry.event
        if isinstance(event, FilesRewound) and entry.session == entries[0].session:
            rewinds[entry.seq] = entry
            open_rewinds.add(entry.seq, (file.path for file in event.files), event.skipped, event.undoes_seq)
    last = rewinds.get(open_rewinds.last())
    if last is None or not isinstance(last.event, FilesRewound):
        return None
    files = tuple(file for file in last.event.files if file.path in open_rewinds.paths[last.seq])
    return replace(last, event=replace(last.event, files=files))


def plan_rewind(
    folder: Path, entries: list[EventRecord], to_seq: int, read_blob: ReadBlob, force: Iterable[str] = ()
) -> RewindPlan:
    """Return the plan for a rewind to the event `to_seq`. Files in `force` are overwritten despite a conflict."""
    with _open_folder(folder) as broker:
        files = tuple(_plan_file(broker, history, read_blob, set(force)) for history in file_histories(entries, to_seq))
    return RewindPlan(to_seq, files, commands_since(entries, to_seq), unsaved=unsaved_since(entries, to_seq))


def plan_undo(folder: Path, entries: list[EventRecord], read_blob: ReadBlob, force: Iterable[str] = ()) -> RewindPlan:
    """Return the plan for undoing the last rewind. Raise Problem if there is no rewind to undo."""
    rewind = last_rewind(entries)
    if rewind is None or not isinstance(rewind.event, FilesRewound):
        raise Problem("There is no rewind to undo.", "None was made, or all of them are undone.", "")
    expected = {history.path: history.expected_hashes for history in file_histories(entries, rewind.seq)}
    with _open_folder(folder) as broker:
        histories = (
            FileHistory(
                path=file.path,
                target_hash=file.before,
                expected_hashes=expected.get(file.path, frozenset({file.after})),
                target_mode=file.mode_before,
            )
            for file in rewind.event.files
        )
        files = tuple(_plan_file(broker, history, read_blob, set(force)) for history in histories)
    return RewindPlan(rewind.event.to_seq, files, undoes_seq=rewind.seq)


def plan_replacement(folder: Path, to_seq: int, path: str, expected_hash: str, body: bytes) -> RewindPlan:
    """Plan to replace the contents of one file. Raise Problem if it no longer has the contents the user saw."""
    with _open_folder(folder) as broker:
        contents = current_contents(broker, path)
    if _hash(contents) != expected_hash:
        why = "It was changed outside this session since."
        raise Problem(f"{path} does not have the contents shown.", why, "Look at it in an editor.")
    counts = count_changed_lines(contents or b"", body)
    file = FilePlan(
        path=path,
        action="change",
        current_hash=expected_hash,
        target_hash=blob_hash(body),
        added=counts.added,
        removed=counts.removed,
    )
    return RewindPlan(to_seq, (file,))


def rewind_event(plan: RewindPlan) -> FilesRewound:
    """Return the event to record before the plan is carried out."""
    skipped = tuple(file.path for file in plan.files if file.action in {"conflict", "lost"})
    files = tuple(
        RewoundFile(file.path, before=file.current_hash, after=file.target_hash, mode_before=file.current_mode)
        for file in plan.changing_files
    )
    return FilesRewound(plan.to_seq, files, skipped, undoes_seq=plan.undoes_seq)


def overwritten_contents(folder: Path, plan: RewindPlan) -> dict[str, bytes]:
    """Return the contents that the plan overwrites, by blob hash, so that the rewind can be undone."""
    with _open_folder(folder) as broker:
        bodies = (_current_state(broker, file.path).body for file in plan.changing_files)
        return {blob_hash(body): body for body in bodies if body is not None}


def apply_plan(folder: Path, plan: RewindPlan, read_blob: ReadBlob) -> tuple[str, ...]:
    """Execute the plan file by file. Return the files that changed after planning or could not be written."""
    skipped: list[str] = []
    with _open_folder(folder) as broker:
        for file in plan.changing_files:
            body = read_blob(file.target_hash) if file.target_hash else None
            if not _write_file(broker, file, body):
                skipped.append(file.path)
    return tuple(skipped)


def current_contents(broker: FileBroker, path: str) -> bytes | None:
    """Return a file's contents, or None if there is no such file.

    Raise Problem if it is not a regular file, or if a folder in its path was replaced by a symbolic link.
    """
    folder = path.rpartition("/")[0]
    if folder and broker.resolve(folder) != folder:
        raise Problem(f"{path} is now reached through a link.", "A folder was replaced by it.", "Remove the link.")
    return None if broker.stat(path) is None else broker.read(path, WRITE_LIMIT)


class _FileState(NamedTuple):
    """The contents of a file and its permission bits; for a symbolic link its target and `LINK_MODE`."""

    body: bytes | None
    mode: int


def _current_state(broker: FileBroker, path: str) -> _FileState:
    """Return the present state of a path. Raise Problem as `current_contents` does, but not for a symbolic link."""
    folder = path.rpartition("/")[0]
    status = broker.stat(path) if not folder or broker.resolve(folder) == folder else None
    if status and stat.S_ISLNK(status.st_mode):
        return _FileState(broker.read_link(path), LINK_MODE)
    return _FileState(current_contents(broker, path), broker.mode(path))


@contextmanager
def _open_folder(folder: Path) -> Iterator[FileBroker]:
    """Open the folder of a session. Raise Problem if it cannot be opened, for example because it was deleted."""
    try:
        broker = FileBroker(folder)
    except OSError as error:
        message = "The files of this session cannot be reverted."
        fix = "Move or restore the folder to this path and try again."
        raise Problem(message, f"The folder {folder} cannot be opened: {error.strerror}.", fix) from error
    with broker:
        yield broker


def _write_file(broker: FileBroker, file: FilePlan, body: bytes | None) -> bool:
    """Write or remove one file. Return False if it has changed since planning or cannot be written.

    A protected file is written only if the path itself shows that it is protected, not if a link leads to one.
    """
    protected = is_protected(file.path)
    becomes_link = file.target_mode == LINK_MODE
    try:
        state = _current_state(broker, file.path)
        if _hash(state.body) != file.current_hash:
            return False
        if body is None or state.mode == LINK_MODE or (becomes_link and state.body is not None):
            broker.remove(file.path, allow_protected=protected)  # a link itself, through which nothing is written
        if body is not None and becomes_link:
            broker.write_link(file.path, body, allow_protected=protected)
        elif body is not None:
            broker.write(file.path, body, allow_protected=protected, mode=file.target_mode)
    except Problem:
        return False
    return True


def _plan_file(broker: FileBroker, history: FileHistory, read_blob: ReadBlob, force: set[str]) -> FilePlan:
    """Return what a rewind would do to the file."""
    try:
        body, mode = _current_state(broker, history.path)
        if mode == LINK_MODE and _hash(body) not in {*history.expected_hashes, history.target_hash}:
            body = current_contents(broker, history.path)  # which says that it is a link now
    except Problem as problem:
        return FilePlan(history.path, "conflict", target_hash=history.target_hash, reason=str(problem))
    current_hash = _hash(body)
    same_mode = not current_hash or not history.target_mode or mode == history.target_mode
    if current_hash == history.target_hash and same_mode:
        return FilePlan(history.path, "same", current_hash, history.target_hash)
    target = read_blob(history.target_hash) if history.target_hash else b""
    if target is None:
        reason = "Its earlier contents were not saved."
        return FilePlan(history.path, "lost", current_hash, history.target_hash, reason=reason)
    action: RewindAction = "change"
    reason = ""
    if current_hash not in history.expected_hashes and history.path not in force:
        action = "conflict"
        reason = f"It was {'removed' if body is None else 'changed'} outside this session since."
    elif not history.target_hash:
        action = "remove"
    elif body is None:
        action = "create"
    counts = count_changed_lines(body or b"", target)
    return FilePlan(
        path=history.path,
        action=action,
        current_hash=current_hash,
        target_hash=history.target_hash,
        added=counts.added,
        removed=counts.removed,
        reason=reason,
        current_mode=mode,
        target_mode=history.target_mode,
    )


class _Change(NamedTuple):
    """A change of a file by the agent or by a rewind. `before` and `after` are blob hashes, "" without a file."""

    path: str
    before: str
    after: str
    mode_before: int
    is_rewind: bool = False


def _changes(entry: EventRecord) -> Iterator[_Change]:
    """Yield the file changes that an event records."""
    match entry.event:
        case FileChanged() as event:
            yield _Change(event.path, event.before, event.after, event.mode_before)
        case FilesRewound(files=files):
            for file in files:
                yield _Change(file.path, file.before, file.after, file.mode_before, is_rewind=True)
        case _:
            pass


def _hash(body: bytes | None) -> str:
    return "" if body is None else blob_hash(body)
