"""Reverts unapproved changes by commands to files that other programs trust, such as git hooks and editor settings.

The sandbox protects such files only if they exist when a command starts. Files that a checkout brings from a commit of
the user stay: they belong to the repository, and the result of the call names them.
"""

import asyncio
import contextlib
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from core.domain.clock import now
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.tools.expected_git_files import ExpectedContents
from core.tools.tool_context import ToolContext
from core.tools.trusted_config import expected_contents, is_trusted, moved_unchanged
from core.workspace import forced_access
from core.workspace.bubblewrap import git_folders
from core.workspace.command_record import CommandRecord
from core.workspace.committed_files import FileVersion
from core.workspace.commondir_watch import CommondirWatch
from core.workspace.folder_listing import inside_git
from core.workspace.folder_scan import OriginalFile, ScannedChange, UnrecordedChanges
from core.workspace.git_branch import worktree_git_folders
from core.workspace.paths import is_in_any
from core.workspace.threads import run_in_thread
from core.workspace.unsettled import shortened

# Copies in the data folder, in case the user created such a file just then.
COPIES_FOLDER, MAX_COPIES = "taken-back", 200
MIN_INTERVAL_S = 2.0  # between two scans while a command runs
REPEATED_INTERVAL_S = 0.4  # between two scans after one that reverted something
MAX_REVERTS = 3  # of the same file; then the command is ended, because it creates the file again and again
SCAN_SHARE = 20  # a scan may take one part in this many of the time
PERSISTENT = "stopped, because it kept changing {}, which was reverted each time"
REDIRECTED = "stopped, because it created {}, which makes git follow the settings of another repository"


@dataclass(frozen=True, slots=True)
class CommandChanges:
    """The changes that a command left, and what was reverted.

    Attributes:
        changes: the changes with known contents.
        missed: the changes beyond those.
        reverted: the paths that were reverted.
        unsettled: trusted files that could not be reverted, and folders that cannot be listed, as they are displayed.
    """

    changes: tuple[ScannedChange, ...]
    missed: UnrecordedChanges
    reverted: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()


def scan_and_revert(context: ToolContext, guard: "TrustedFilesGuard | None" = None) -> CommandChanges:
    """Scan the folder after a command and revert unapproved changes to trusted files, which its guard then counts."""
    try:
        with context.scan.lock:
            result = revert_unapproved(context, *context.scan.changes_since())
            if guard:
                guard.end(result.reverted)
            return result
    except BaseException:
        context.unsettled.add((".",))  # what the command left is not known
        raise


def revert_unapproved(
    context: ToolContext, changes: Sequence[ScannedChange], missed: UnrecordedChanges
) -> CommandChanges:
    """Revert unapproved changes, unless the user let the command run on a machine without a sandbox."""
    changes = tuple(changes)
    if not _reverts_changes(context):
        return CommandChanges(changes, missed)
    reverting = _Reverting(context)
    for path in missed.privileged:
        reverting.drop_privileges(path)
    reverting.revert(changes, missed)
    reverted = {*reverting.reverted, *context.shared.revert()}
    unsettled = tuple(sorted({*reverting.stuck, *missed.closed}))
    context.unsettled.add(unsettled)
    remaining = UnrecordedChanges(
        tuple(path for path in missed.unrecorded if path not in reverted),
        tuple(path for path in missed.protected if path not in reverted),
        tuple(path for path in missed.created if path not in reverted),
        missed.originals,
        missed.privileged,
        missed.closed,
    )
    return CommandChanges(
        tuple(change for change in changes if change.path not in reverted),
        remaining,
        tuple(sorted(reverted)),
        tuple(map(shortened, unsettled)),
    )


def _reverts_changes(context: ToolContext) -> bool:
    """Return whether changes are reverted. An approval lets a command run unsandboxed only if there is no sandbox."""
    return not (context.grant.unsandboxed and context.level == "none")


class _Reverting:
    """Reverts the changes of one command. Nothing that the command did to a path or its folders prevents that."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._root = context.broker.descriptor
        self.reverted: list[str] = []
        self.stuck: list[str] = []

    def revert(self, changes: Sequence[ScannedChange], missed: UnrecordedChanges) -> None:
        moved = moved_unchanged(changes, self._context.scan.had_folder)
        candidates = {change.path: change for change in changes if change.path not in moved}
        created = set(missed.created)
        candidates |= {path: ScannedChange(path, None, None) for path in missed.unrecorded if path in created}
        replaced = [path for path in missed.unrecorded if path not in created]
        unapproved: list[tuple[ScannedChange, bytes | None]] = []
        for path, change in sorted(candidates.items(), key=lambda item: not inside_git(item[0])):
            if self._is_approved(path):
                continue
            expected = self._expected(change)
            if expected != "as it is":
                unapproved.append((change, expected))
        committed = self._brought_by_commits(change for change, _ in unapproved)
        for change, expected in unapproved:
            if change.path not in committed:
                original = None if expected is None else OriginalFile(expected, change.modes[0] or 0o644)
                self._put_back(change.path, original, change.after)
        unread = [path for path in replaced if not self._is_approved(path)]
        committed = self._committed_links(path for path in unread if path in missed.originals)
        for path in unread:  # whether a path is trusted can depend on what was reverted before it
            if path not in committed and is_trusted(self._context, path):
                self._revert_unread(path, missed.originals.get(path))

    def _expected(self, change: ScannedChange) -> ExpectedContents:
        try:
            return expected_contents(self._context, change)
        except Exception:  # It cannot be examined, whatever the command wrote there. The other paths are reverted, too.
            return change.before

    def drop_privileges(self, path: str) -> None:
        """Remove the bits by which a program runs with the rights of its owner or group."""
        try:
            status = self._context.broker.stat(path)
            if status:
                forced_access.set_mode(self._root, path, stat.S_IMODE(status.st_mode) & ~forced_access.PRIVILEGES)
        except (Problem, OSError):
            self.stuck.append(path)

    def _is_approved(self, path: str) -> bool:
        return is_in_any(path, self._context.grant.protected_paths)

    def _brought_by_commits(self, changes: Iterable[ScannedChange]) -> set[str]:
        return self._committed([version for change in changes if (version := self._version(change)) is not None])

    def _version(self, change: ScannedChange) -> FileVersion | None:
        """Return what is at the path now, if a commit can contain it."""
        if inside_git(change.path) or change.before == change.after is not None:
            return None
        if change.after is not None:
            return FileVersion(change.path, change.after, executable=bool(change.modes[1] & stat.S_IXUSR))
        with contextlib.suppress(Problem, OSError):
            return FileVersion(change.path, self._context.broker.read_link(change.path), link=True)
        return None

    def _committed_links(self, paths: Iterable[str]) -> set[str]:
        """Return those of the paths that are now trusted links which commits of the user contain."""
        links: list[FileVersion] = []
        for path in paths:
            with contextlib.suppress(Problem, OSError):
                target = self._context.broker.read_link(path)
                if is_trusted(self._context, path):
                    links.append(FileVersion(path, target, link=True))
        return self._committed(links)

    def _committed(self, versions: Sequence[FileVersion]) -> set[str]:
        try:
            return self._context.committed.find(versions) if versions else set()
        except Exception:  # A command may have written anything into the repository. Then no commit is trusted.
            return set()

    def _revert_unread(self, path: str, original: OriginalFile | None) -> None:
        """Revert a change of a trusted file whose contents are not known before or after it.

        Of a file that a link in a git folder has replaced, nothing is left; git would write through the link.
        """
        if original or (inside_git(path) and (self._context.folder / path).is_symlink()):
            self._put_back(path, original, None)
        elif os.path.lexists(self._context.folder / path):
            self.stuck.append(path)

    def _put_back(self, path: str, original: OriginalFile | None, body: bytes | None) -> None:
        try:
            if body:
                _keep_copy(self._context, path, body)
            if original is None:
                forced_access.remove(self._root, path)
                forced_access.remove_empty_folders(self._root, path, self._context.scan.had_folder)
            else:
                forced_access.replace(self._root, path, original.body, original.mode, link=original.link)
        except (OSError, ValueError, RecursionError):
            self.stuck.append(path)
        else:
            self.reverted.append(path)


class TrustedFilesGuard:
    """Reverts changes to trusted files while a command runs, and ends a command that keeps making the same change.

    New names at the top of the folder and of its repository are noticed soon; the whole folder is scanned every few
    seconds. A `commondir` in a git folder is removed at once and ends the command, because no program needs one there.
    """

    def __init__(
        self,
        context: ToolContext,
        on_revert: Callable[[tuple[str, ...]], None] | None = None,
        record: CommandRecord | None = None,
    ) -> None:
        self._context = context
        self._on_revert = on_revert
        self._record = record
        self._names = self._top()
        self._active = _reverts_changes(context)
        self._scan_job: asyncio.Future[None] | None = None
        self._next = time.monotonic() + MIN_INTERVAL_S
        self._stopped = threading.Event()
        self._has_ended = False
        self.counts: Counter[str] = Counter()  # how often each path was reverted
        self.approved: dict[str, None] = {}  # paths that other calls were allowed to change meanwhile
        self._redirections: dict[str, None] = {}  # each `commondir` that was removed
        folders = _git_folders(context) if self._active else ()
        self._watch = CommondirWatch(context.folder, folders, self._is_approved, self._note_redirection)

    @property
    def reverted(self) -> set[str]:
        """The paths that were reverted."""
        return {*self.counts, *self._redirections}

    def check(self) -> str:
        """Scan in a thread if there is a new trusted name, or if it is time to. Called several times a second.

        Return why the command has to end, or "".
        """
        if self._record:
            self._record.note_alive()
        if redirections := list(self._redirections):
            return REDIRECTED.format(visible_name(redirections[0]))
        if not self._active or (self._scan_job and not self._scan_job.done()):
            return ""
        if repeated := sorted(path for path, count in self.counts.items() if count >= MAX_REVERTS):
            return PERSISTENT.format(visible_name(repeated[0]))
        names = self._top()
        appeared = any(map(self._context.scan.is_trusted, names - self._names))
        self._names = names
        if appeared or time.monotonic() >= self._next:
            self._scan_job = run_in_thread(None, self._scan_unless_stopped)
        return ""

    def _scan_unless_stopped(self) -> None:
        if not self._stopped.is_set():
            self.scan()

    def scan(self) -> None:
        """Scan the folder and revert what is not approved. Call this in a thread."""
        if not self._active:
            return
        began = time.monotonic()
        reverted: tuple[str, ...] = ()
        grant = replace(self._context.grant, protected_paths=(*self._context.grant.protected_paths, *self.approved))
        with self._context.scan.lock, contextlib.suppress(Problem):  # the scan at the end raises it
            if self._has_ended:
                return
            result = revert_unapproved(replace(self._context, grant=grant), *self._context.scan.trusted_changes())
            reverted = result.reverted
            self.counts.update(reverted)
            if reverted and self._on_revert:
                self._on_revert(reverted)
        if reverted:
            self._names = self._top()
        ended = time.monotonic()
        interval = REPEATED_INTERVAL_S if reverted else MIN_INTERVAL_S
        self._next = ended + max(interval, SCAN_SHARE * (ended - began))

    def approve(self, paths: Iterable[str]) -> None:
        """Let another call change these paths from now on, also as far as the recovery after a crash is concerned."""
        new = dict.fromkeys(path for path in paths if path not in self.approved)
        if self._record:
            self._record.approve(new)
        self.approved |= new

    def end(self, reverted: Iterable[str]) -> None:
        """Count what the scan after the command has reverted. That scan takes the folder as the new original state.

        Another scan would therefore restore what the command had left. Call this with the lock of the scan.
        """
        self.counts.update(reverted)
        self._has_ended = True

    async def stop(self) -> None:
        """End the guard, and wait for its last scan."""
        self._stopped.set()
        self._watch.stop()
        if self._scan_job:
            await asyncio.wait({self._scan_job})

    def close(self) -> None:
        """Remove the record of the command, which was not started, or whose changes were reverted."""
        self._watch.stop()
        if self._record:
            self._record.close()

    def _is_approved(self, path: str) -> bool:
        return is_in_any(path, (*self._context.grant.protected_paths, *self.approved))

    def _note_redirection(self, path: str) -> None:
        self._redirections[path] = None
        if self._on_revert:
            self._on_revert((path,))

    def _top(self) -> frozenset[str]:
        names: list[str] = []
        with contextlib.suppress(OSError):
            names += os.listdir(self._context.folder)  # noqa: PTH208 - only the names are needed
            names += [f".git/{name}" for name in os.listdir(self._context.folder / ".git")]  # noqa: PTH208 - as above
        return frozenset(names)


def _git_folders(context: ToolContext) -> list[str]:
    """Return the git folders that commands can write to: relative to the folder, or absolute for one outside."""
    root = context.folder
    inside = [git for place in context.scan.git_places if (root / place).is_dir() for git in git_folders(root / place)]
    outside = worktree_git_folders(root)
    return [*(git.relative_to(root).as_posix() for git in inside), *([str(outside[1])] if outside else [])]


def _keep_copy(context: ToolContext, path: str, body: bytes) -> None:
    """Keep a copy for the user, and delete the oldest copies beyond the limit."""
    folder = context.data / COPIES_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in sorted(folder.iterdir())[: -MAX_COPIES + 1]:
        old.unlink(missing_ok=True)
    file = folder / os.fsdecode(os.fsencode(f"{now():020} {path.replace('/', ' ')}")[:200])
    file.touch(mode=0o600)
    file.write_bytes(body)
