"""Reverts unapproved changes by commands to files that other programs trust, such as git hooks and editor settings.

The sandbox protects such files only if they exist when a command starts. Files that a checkout restores from the
user's commits are not reverted; the result of the call names them.
"""

import asyncio
import contextlib
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.domain.clock import now
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.tools.git_file_reverts import FileRevert
from core.tools.tool_context import ToolContext
from core.tools.trusted_config import is_trusted, moved_unchanged, required_revert
from core.workspace import forced_access
from core.workspace.command_record import CommandRecord
from core.workspace.committed_files import FileVersion
from core.workspace.file_change import (
    LINK_MODE,
    FileChange,
    FileModes,
    FolderChanges,
    OriginalFile,
    UnrecordedChanges,
)
from core.workspace.file_comparison import is_private
from core.workspace.folder_listing import inside_git
from core.workspace.git_branch import worktree_git_folders
from core.workspace.git_folders import git_folders
from core.workspace.git_settings_watch import GitSettingsWatch
from core.workspace.paths import is_in_any
from core.workspace.threads import run_in_thread, run_to_completion
from core.workspace.unsettled import shortened

# Reverted files are first copied to this folder in the data folder, because the user may have created one meanwhile.
COPIES_FOLDER = "taken-back"
MAX_COPIES = 200
MIN_INTERVAL_S = 2.0  # seconds between two scans while a command runs
REPEATED_INTERVAL_S = 0.4  # seconds to the next scan after one that reverted something
MAX_REVERTS = 3  # after reverting the same file so often, the command is killed, because it keeps creating the file
SCAN_SHARE = 20  # the pause after a scan is at least so many times longer than the scan took
PERSISTENT = "stopped, because it kept changing {}, which was reverted each time"
REDIRECTED = "stopped, because it wrote {}, which makes git follow the settings of another repository"


@dataclass(frozen=True, slots=True)
class CommandChanges:
    """The changes of a command after unapproved ones were reverted.

    Attributes:
        changes: the remaining changes whose contents are known.
        missed: the remaining changes whose contents were not recorded.
        reverted: the paths that were reverted.
        unsettled: display names of trusted files that could not be reverted, and of folders that cannot be listed.
    """

    changes: tuple[FileChange, ...]
    missed: UnrecordedChanges
    reverted: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()


def scan_and_revert(context: ToolContext, guard: "TrustedFilesGuard | None" = None) -> CommandChanges:
    """Scan the folder after a command, and revert unapproved changes to trusted files.

    Afterwards the `guard` of the command, if given, reverts nothing more and counts these reverts as its own.
    """
    try:
        with context.scan.lock:
            result = revert_unapproved(context, context.scan.changes_since())
            if guard:
                guard.end(result.reverted)
            return result
    except BaseException:
        context.unsettled.add((".",))  # The state of the whole folder is unknown.
        raise


def revert_unapproved(context: ToolContext, found: FolderChanges) -> CommandChanges:
    """Revert those of the changes to trusted files that are not approved, and return the remaining changes.

    Nothing is reverted if the user approved a command on a computer without a sandbox.
    """
    changes, missed = found
    if not _reverts_changes(context):
        return CommandChanges(changes, missed)
    reverting = _Reverting(context)
    for path in missed.privileged:
        reverting.drop_privileges(path)
    for path, mode in missed.loosened.items():
        reverting.restore_mode(path, mode)
    reverting.revert(changes, missed)
    reverted = {*reverting.reverted, *context.shared.revert()}
    removed_links = [change for change in _removed_links(context, missed) if change.path not in reverted]
    known = reverted.union(change.path for change in removed_links)
    unsettled = tuple(sorted({*reverting.stuck, *missed.closed}))
    context.unsettled.add(unsettled)
    remaining = UnrecordedChanges(
        unrecorded=tuple(path for path in missed.unrecorded if path not in known),
        protected=tuple(path for path in missed.protected if path not in reverted),
        created=tuple(path for path in missed.created if path not in reverted),
        originals=missed.originals,
        privileged=missed.privileged,
        closed=missed.closed,
    )
    return CommandChanges(
        changes=(*(change for change in changes if change.path not in reverted), *removed_links),
        missed=remaining,
        reverted=tuple(sorted(reverted)),
        unsettled=tuple(map(shortened, unsettled)),
    )


def _removed_links(context: ToolContext, missed: UnrecordedChanges) -> Iterator[FileChange]:
    """Yield the symbolic links that were removed, so that they can be restored."""
    for path in missed.unrecorded:
        original = missed.originals.get(path)
        if original and original.link and not is_private(path) and not os.path.lexists(context.folder / path):
            yield FileChange(path, original.body, None, FileModes(before=LINK_MODE))


def _reverts_changes(context: ToolContext) -> bool:
    """Return whether unapproved changes are reverted: not if the command runs without a sandbox by approval."""
    return not (context.grant.unsandboxed and context.level == "none")


class _Reverting:
    """Reverts the changes of one command, whatever permissions or links it left at a path or in its folders.

    `reverted` lists the reverted paths, and `stuck` those that could not be reverted.
    """

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._root = context.broker.descriptor
        self.reverted: list[str] = []
        self.stuck: list[str] = []

    def revert(self, changes: Sequence[FileChange], missed: UnrecordedChanges) -> None:
        moved = moved_unchanged(changes, self._context.scan.had_folder)
        candidates = {change.path: change for change in changes if change.path not in moved}
        created = set(missed.created)
        candidates |= {path: FileChange(path, None, None) for path in missed.unrecorded if path in created}
        replaced = [path for path in missed.unrecorded if path not in created]
        reverts: dict[str, FileRevert] = {}
        for path in sorted(candidates, key=lambda path: not inside_git(path)):  # git folders first
            if not self._is_approved(path) and (revert := self._required_revert(candidates[path])):
                reverts[path] = revert
        committed = self._in_commits(candidates[path] for path in reverts)
        for path, revert in reverts.items():
            if path not in committed:
                mode = candidates[path].modes.before or 0o644
                original = None if revert.contents is None else OriginalFile(revert.contents, mode)
                self._put_back(path, original, candidates[path].after)
        unread = [path for path in replaced if not self._is_approved(path)]
        committed = self._committed_links(path for path in unread if path in missed.originals)
        for path in unread:  # Check each path only now: earlier reverts may change whether it is trusted.
            if path not in committed and is_trusted(self._context, path):
                self._revert_unread(path, missed.originals.get(path))

    def _required_revert(self, change: FileChange) -> FileRevert | None:
        try:
            return required_revert(self._context, change)
        except Exception:  # The command may have written anything there. It must not prevent other reverts.
            return FileRevert(change.before)

    def drop_privileges(self, path: str) -> None:
        """Remove the set-user-ID and set-group-ID bits of a file."""
        try:
            status = self._context.broker.stat(path)
            if status:
                forced_access.set_mode(self._root, path, stat.S_IMODE(status.st_mode) & ~forced_access.PRIVILEGES)
        except (Problem, OSError):
            self.stuck.append(path)

    def restore_mode(self, path: str, mode: int) -> None:
        """Restore the permission bits of a trusted file or folder that a command made writable for other users."""
        if self._is_approved(path):
            return
        try:
            forced_access.set_mode(self._root, path, mode)
        except (OSError, ValueError):
            self.stuck.append(path)
        else:
            self.reverted.append(path)

    def _is_approved(self, path: str) -> bool:
        return is_in_any(path, self._context.grant.protected_paths)

    def _in_commits(self, changes: Iterable[FileChange]) -> set[str]:
        """Return the paths of the changed files that are contained in the user's commits as they are now."""
        return self._committed([version for change in changes if (version := self._version(change)) is not None])

    def _version(self, change: FileChange) -> FileVersion | None:
        """Return the file or link now at the path, to look it up in commits; None if no commit can contain it."""
        has_same_contents = change.after is not None and change.before == change.after
        if inside_git(change.path) or has_same_contents:
            return None
        if change.after is not None:
            return FileVersion(change.path, change.after, executable=bool(change.modes.after & stat.S_IXUSR))
        with contextlib.suppress(Problem, OSError):
            return FileVersion(change.path, self._context.broker.read_link(change.path), link=True)
        return None

    def _committed_links(self, paths: Iterable[str]) -> set[str]:
        """Return the paths that are now trusted symbolic links and are contained in the user's commits."""
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
        except Exception:  # A command may have corrupted the repository. Then trust no commit.
            return set()

    def _revert_unread(self, path: str, original: OriginalFile | None) -> None:
        """Restore the original of a trusted file whose changed contents were not recorded.

        Without an original, remove a new symbolic link in a git folder, because git would write through it. Anything
        else cannot be reverted.
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

    New names at the top of the folder and of `.git` are noticed at each check; the whole folder is scanned every few
    seconds. Changed git settings and hooks are reverted at once. A file `commondir` that leads git to other settings
    also ends the command.
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
        self._names = self._top_names()
        self._active = _reverts_changes(context)
        self._scan_job: asyncio.Future[None] | None = None
        self._next = time.monotonic() + MIN_INTERVAL_S
        self._earliest = 0.0  # a scan before this time would take too much of the processor
        self._stopped = threading.Event()
        self._has_ended = False
        self.counts: Counter[str] = Counter()  # how often each path was reverted
        self._redirections: dict[str, None] = {}  # paths of reverted `commondir` files, in order
        folders = _git_folders(context) if self._active else ()
        self._watch = GitSettingsWatch(
            context.folder, folders, self._is_approved, self._note_redirection, self._check_setting
        )

    @property
    def reverted(self) -> set[str]:
        """The paths that were reverted."""
        return {*self.counts, *self._redirections}

    def check(self) -> str:
        """Start a scan in a thread if a trusted name has appeared or the interval has passed.

        Called several times a second while the command runs. Return why the command has to be killed, or "".
        """
        if redirections := list(self._redirections):
            return REDIRECTED.format(visible_name(redirections[0]))
        if not self._active or (self._scan_job and not self._scan_job.done()):
            return ""
        if repeated := sorted(path for path, count in list(self.counts.items()) if count >= MAX_REVERTS):
            return PERSISTENT.format(visible_name(repeated[0]))
        names = self._top_names()
        has_trusted_name_appeared = any(map(self._context.scan.is_trusted, names - self._names))
        self._names = names
        if has_trusted_name_appeared or time.monotonic() >= self._next:
            self._scan_job = run_in_thread(None, self._scan_unless_stopped)
        return ""

    def _scan_unless_stopped(self) -> None:
        if not self._stopped.is_set():
            self.scan()

    def scan(self) -> None:
        """Scan the folder for changes to trusted files, and revert unapproved ones. Call this in a thread."""
        if not self._active:
            return
        began = time.monotonic()
        reverted: tuple[str, ...] = ()
        with self._context.scan.lock, contextlib.suppress(Problem):  # The final scan raises it again.
            if self._has_ended:
                return
            result = revert_unapproved(self._context, self._context.scan.trusted_changes())
            reverted = result.reverted
            self.counts.update(reverted)
            if reverted and self._on_revert:
                self._on_revert(reverted)
        if reverted:
            self._names = self._top_names()
        ended = time.monotonic()
        interval = REPEATED_INTERVAL_S if reverted else MIN_INTERVAL_S
        self._earliest = ended + SCAN_SHARE * (ended - began)
        self._next = max(ended + interval, self._earliest)

    def end(self, reverted: Iterable[str]) -> None:
        """Count the reverts of the final scan after the command, and scan no more.

        The final scan makes the present state the original one, so another scan of this guard would revert reverts.
        The caller must hold `scan.lock`.
        """
        self.counts.update(reverted)
        self._has_ended = True

    async def stop(self) -> None:
        """Start no more scans, and wait for the running one."""
        self._stopped.set()
        if self._scan_job:
            await asyncio.wait({self._scan_job})
        await run_to_completion(self._watch.stop)  # not in the event loop: it may wait for a scan

    def close(self) -> None:
        """Remove the record of the command on disk: its changes were reverted, or it was not started."""
        self._watch.stop()
        if self._record:
            self._record.close()

    def _is_approved(self, path: str) -> bool:
        return is_in_any(path, self._context.grant.protected_paths)

    def _check_setting(self, path: str) -> None:
        """Revert a changed git setting or hook unless the change is harmless or approved, in the thread of the watch.

        If the file cannot be checked on its own, make the next `check` scan the whole folder.
        """
        with self._context.scan.lock:
            if self._has_ended:
                return
            try:
                found = None if path.startswith("/") else self._context.scan.changes_of(path)
                result = revert_unapproved(self._context, found) if found is not None else None
            except (Problem, OSError, ValueError):
                result = None
            reverted: tuple[str, ...] = ()
            if result:
                reverted = result.reverted
            elif path.startswith("/"):  # a file of the shared repository of a linked worktree
                reverted = self._context.shared.revert()
            self.counts.update(reverted)
        if reverted and self._on_revert:
            self._on_revert(reverted)
        if not result:
            self._next = self._earliest

    def _note_redirection(self, path: str) -> None:
        self._redirections[path] = None
        if self._on_revert:
            self._on_revert((path,))

    def _top_names(self) -> frozenset[str]:
        """Return the names at the top of the folder and of its `.git`."""
        names: list[str] = []
        with contextlib.suppress(OSError):
            names += os.listdir(self._context.folder)  # noqa: PTH208 - only the names are needed
            names += [f".git/{name}" for name in os.listdir(self._context.folder / ".git")]  # noqa: PTH208 - as above
        return frozenset(names)


def _git_folders(context: ToolContext) -> list[str]:
    """Return the git folders that commands can write to: relative paths, or absolute for one outside the folder."""
    root = context.folder
    inside = [git for place in context.scan.git_places if (root / place).is_dir() for git in git_folders(root / place)]
    relative_paths = [git.relative_to(root).as_posix() for git in inside]
    outside = worktree_git_folders(root)
    return [*relative_paths, str(outside.common)] if outside else relative_paths


def _keep_copy(context: ToolContext, path: str, body: bytes) -> None:
    """Save the contents of a file that is about to be reverted, and delete all but the newest MAX_COPIES copies."""
    folder = context.data / COPIES_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for old in sorted(folder.iterdir())[: -MAX_COPIES + 1]:
        old.unlink(missing_ok=True)
    file = folder / os.fsdecode(os.fsencode(f"{now():020} {path.replace('/', ' ')}")[:200])
    file.touch(mode=0o600)
    file.write_bytes(body)
