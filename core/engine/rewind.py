"""Put files that the agent changed back to how they were after an entry: what that would do, and doing it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.domain.events import CallStarted, Entry, FileChanged, ToolReturned
from core.domain.problems import Problem
from core.domain.rewinding import FilesRewound, Rewound
from core.engine.acts import lines_changed
from core.store.blobs import blob_hash
from core.workspace.broker import WRITE_LIMIT, Broker

Kept = Callable[[str], bytes | None]
Action = Literal["change", "create", "remove", "same", "conflict", "lost"]
PUTS_BACK = frozenset({"change", "create", "remove"})


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What would happen to a file. `now` is what it holds, `then` what it would hold; empty means no file.

    A *conflict* holds what neither the agent nor a rewind left there; of a *lost* one the older contents were not kept.
    """

    path: str
    action: Action
    now: str = ""
    then: str = ""
    added: int = 0
    removed: int = 0
    why: str = ""
    mode_now: int = 0
    mode: int = 0  # the permission bits it would have; 0 where they are not known


@dataclass(frozen=True, slots=True)
class Plan:
    """A rewind before it is made. `commands` ran since: what they did beyond these files is not taken back.

    `unkept` are those of their files that are known and were not kept, as they are shown.
    """

    to: int
    files: tuple[FilePlan, ...]
    commands: tuple[str, ...] = ()
    undoes: int = 0
    unkept: tuple[str, ...] = ()

    @property
    def doable(self) -> tuple[FilePlan, ...]:
        return tuple(file for file in self.files if file.action in PUTS_BACK)


@dataclass(frozen=True, slots=True)
class Past:
    """The wanted contents of a file, and those that somebody known to the journal may have left there."""

    path: str
    then: str
    known: frozenset[str]
    mode: int = 0


def pasts(entries: Iterable[Entry], to: int) -> list[Past]:
    """Every file that was changed after `to`: what it held then, and what it should hold now."""
    found: dict[str, Past] = {}
    for seq, path, before, after, rewound, mode in _changes(entries):
        if seq > to:
            first = found.get(path, Past(path, before, frozenset(), mode))
            # A crash between the fact and the act leaves what was there before the rewind.
            found[path] = replace(first, known=frozenset({before, after} if rewound else {after}))
    return list(found.values())


def commands(entries: Iterable[Entry], to: int) -> tuple[str, ...]:
    """What ran after `to`, each once."""
    ran = [e.event.object for e in entries if e.seq > to and isinstance(e.event, CallStarted) and _runs(e.event)]
    return tuple(dict.fromkeys(ran))


def unkept(entries: Iterable[Entry], to: int) -> tuple[str, ...]:
    """What was changed after `to` without being kept, each once."""
    told = (e.event.unkept for e in entries if e.seq > to and isinstance(e.event, ToolReturned))
    return tuple(dict.fromkeys(name for names in told for name in names))


def last_rewind(entries: Sequence[Entry]) -> Entry | None:
    """The newest rewind that was not taken back, with the files of it that were not. Those of sub-agents are undone in
    their own sessions."""
    made: dict[int, tuple[Entry, FilesRewound]] = {}
    waiting: dict[int, set[str]] = {}
    for entry in entries:
        if not isinstance(entry.event, FilesRewound) or entry.session != entries[0].session:
            continue
        event = entry.event
        if not event.undoes and event.files:
            made[entry.seq] = (entry, event)
        elif event.undoes and event.files:
            waiting[event.undoes] = set(event.left)
        elif event.undoes in waiting:  # these were to be put back, and could not be
            waiting[event.undoes] |= set(event.left)
    for seq, (entry, event) in sorted(made.items(), reverse=True):
        files = tuple(file for file in event.files if seq not in waiting or file.path in waiting[seq])
        if files:
            return replace(entry, event=replace(event, files=files))
    return None


def plan(folder: Path, entries: list[Entry], to: int, kept: Kept, force: Iterable[str] = ()) -> Plan:
    """What a rewind to the entry would do. A file of `force` is put back whatever it holds."""
    with Broker(folder) as broker:
        files = tuple(_plan_file(broker, past, kept, set(force)) for past in pasts(entries, to))
    return Plan(to, files, commands(entries, to), unkept=unkept(entries, to))


def plan_undo(folder: Path, entries: list[Entry], kept: Kept, force: Iterable[str] = ()) -> Plan:
    """What taking back the last rewind would do."""
    found = last_rewind(entries)
    if found is None or not isinstance(found.event, FilesRewound):
        raise Problem("There is no rewind to undo.", "None was made, or each was undone.", "")
    since = {past.path: past.known for past in pasts(entries, found.seq)}
    with Broker(folder) as broker:
        files = tuple(
            _plan_file(
                broker, Past(f.path, f.before, since.get(f.path, frozenset({f.after})), f.mode), kept, set(force)
            )
            for f in found.event.files
        )
    return Plan(found.event.to, files, undoes=found.seq)


def plan_part(folder: Path, to: int, path: str, held_now: str, body: bytes) -> Plan:
    """Giving a file other contents, if it still holds what the person saw."""
    with Broker(folder) as broker:
        found = held(broker, path)
    if _hash(found) != held_now:
        raise Problem(f"{path} is not what it was.", "Somebody else changed it since.", "Look at it in an editor.")
    added, removed = lines_changed(found or b"", body)
    return Plan(to, (FilePlan(path, "change", held_now, blob_hash(body), added, removed),))


def fact(made: Plan) -> FilesRewound:
    """What is written before the act."""
    left = tuple(file.path for file in made.files if file.action in {"conflict", "lost"})
    files = tuple(Rewound(file.path, file.now, file.then, file.mode_now) for file in made.doable)
    return FilesRewound(made.to, files, left, made.undoes)


def overwritten(folder: Path, made: Plan) -> dict[str, bytes]:
    """The contents that are about to go, so that they can be put back."""
    with Broker(folder) as broker:
        bodies = (held(broker, file.path) for file in made.doable)
        return {blob_hash(body): body for body in bodies if body is not None}


def put_back(folder: Path, made: Plan, kept: Kept) -> tuple[str, ...]:
    """Do it, file by file; the names of those that stayed as they were."""
    stayed: list[str] = []
    with Broker(folder) as broker:
        for file in made.doable:
            found = _hash(held(broker, file.path))
            body = kept(file.then) if file.then else None
            if found != file.now or not _put(broker, file, body):
                stayed.append(file.path)
    return tuple(stayed)


def held(broker: Broker, path: str) -> bytes | None:
    """What a file holds; None where there is none. Raises Problem for what is no ordinary file."""
    return None if broker.look(path) is None else broker.read(path, WRITE_LIMIT)


def _put(broker: Broker, file: FilePlan, body: bytes | None) -> bool:
    """A person asked for this, so a protected name is no bar."""
    try:
        if body is None:
            broker.remove(file.path, protected=True)
        else:
            broker.write(file.path, body, protected=True, mode=file.mode)
    except Problem:
        return False
    return True


def _plan_file(broker: Broker, past: Past, kept: Kept, force: set[str]) -> FilePlan:
    try:
        body = held(broker, past.path)
        modes = (broker.mode(past.path), past.mode)
    except Problem as problem:
        return FilePlan(past.path, "conflict", then=past.then, why=str(problem))
    now = _hash(body)
    if now == past.then and (not now or not past.mode or modes[0] == past.mode):
        return FilePlan(past.path, "same", now, past.then)
    wanted = kept(past.then) if past.then else b""
    if wanted is None:
        return FilePlan(past.path, "lost", now, past.then, why="Its older contents were not kept.")
    added, removed = lines_changed(body or b"", wanted)
    if now not in past.known and past.path not in force:
        why = "Somebody else removed it since." if body is None else "Somebody else changed it since."
        return FilePlan(past.path, "conflict", now, past.then, added, removed, why, *modes)
    action: Action = "remove" if not past.then else "create" if body is None else "change"
    return FilePlan(past.path, action, now, past.then, added, removed, "", *modes)


def _changes(entries: Iterable[Entry]) -> Iterator[tuple[int, str, str, str, bool, int]]:
    """Every change of a file, by the agent or by a rewind: where, which, before, after, mode."""
    for entry in entries:
        match entry.event:
            case FileChanged(path=path, before=before, after=after, mode_before=mode):
                yield entry.seq, path, before, after, False, mode
            case FilesRewound(files=files):
                for file in files:
                    yield entry.seq, file.path, file.before, file.after, True, file.mode
            case _:
                pass


def _runs(event: CallStarted) -> bool:
    return event.step == "command"


def _hash(body: bytes | None) -> str:
    return "" if body is None else blob_hash(body)
