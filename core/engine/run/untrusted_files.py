"""Finds the untrusted files that a call has read: files which an earlier run wrote after reading untrusted content.

The rest of the run then counts as having read that content. Otherwise a file would launder it: one run saves a page,
and the next run reads it as an ordinary file of the folder.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.domain.command_reads import GIT_FOLDER, printed_files
from core.domain.events import SessionEvent, ToolReturned, UntrustedContentRead
from core.domain.problems import Problem
from core.domain.untrusted_file import UntrustedFile, is_text, untrusted_file_label
from core.engine.run.run_context import RunContext
from core.store.untrusted_files import FileContent, absolute_path
from core.tools.check import CHECK
from core.tools.edit import EDIT
from core.tools.find import FIND
from core.tools.folder_walk import printable_path
from core.tools.patch import PATCH
from core.tools.read import READ
from core.tools.read_before_edit import content_digest, normalized_path
from core.tools.search import SEARCH
from core.tools.tool import Tool
from core.workspace.broker import WRITE_LIMIT
from core.workspace.git_branch import worktree_git_folders

MATCH_LINE = re.compile(r"(.+?):\d+: ")


def with_untrusted_files(run: RunContext, tool: Tool, call: str, parameters: Any, events: list[SessionEvent]) -> None:
    """Insert an UntrustedContentRead at the start of `events` if the call has read untrusted files."""
    files = _read_files(run, tool, parameters, events)
    if label := _label(run, files):  # Record it even if the run has already read them: it marks this result.
        events.insert(0, UntrustedContentRead(call, label))


def paths_label(run: RunContext, paths: Iterable[str]) -> str:
    """Return the label of the untrusted files among these paths; "" if none is, or if the run has recorded it."""
    return "" if run.is_replay else _unless_recorded(run, _label(run, matching_files(run, paths)))


def folder_label(run: RunContext) -> str:
    """Return the label of all untrusted files in the run's folder; "" if none exist, or if the run has recorded it."""
    return _unless_recorded(run, _label(run, run.reader.untrusted_files(str(run.tool_context.folder))))


def _unless_recorded(run: RunContext, label: str) -> str:
    return "" if label in run.conversation.permissions.untrusted else label


def _read_files(
    run: RunContext, tool: Tool, parameters: Any, events: Sequence[SessionEvent]
) -> Iterable[UntrustedFile]:
    """Return the untrusted files that a call has read, or whose names it has listed."""
    output = next((event.output for event in events if isinstance(event, ToolReturned)), None)
    if output is None or run.is_replay:
        return ()
    match tool.name:
        case READ.name | EDIT.name | PATCH.name:
            paths = tool.paths(parameters) if tool.paths else (parameters.path,)
            return matching_files(run, paths)
        case SEARCH.name:
            lines = run.full_text(output).splitlines()
            return _named(run, {match[1] for line in lines if (match := MATCH_LINE.match(line))})
        case FIND.name:
            return _listed(run.reader.untrusted_files(str(run.tool_context.folder)))
        case CHECK.name:
            with suppress(Problem):
                return _printable_files(run, run.tool_context.commands.get(parameters.id).command)
            return ()
        case _:
            return _printable_files(run, parameters.command) if tool.access == "execute" else ()


def matching_files(run: RunContext, paths: Iterable[str]) -> list[UntrustedFile]:
    """Return the untrusted files among these paths. Their `path` is replaced by the given path.

    A path matches if it is an untrusted file, a link to one, or a copy with the same contents.
    """
    if not run.reader.has_untrusted_files():
        return []
    matches = []
    for path in paths:
        matched = run.reader.match_untrusted_files(_possible_contents(run, path))
        matches += [replace(row, path=name) for name, row in list(matched.items())[:1]]
    return matches


def _possible_contents(run: RunContext, path: str) -> list[FileContent]:
    """Return a file by its path and its resolved path, with the contents that a call may have read from it."""
    broker = run.tool_context.broker
    paths = {path: None}
    body = b""
    with suppress(Problem, OSError, ValueError):
        paths[broker.resolve(path)] = None
        body = broker.read(path, WRITE_LIMIT)
    # The contents that the run has read, and the current contents, which a failed edit or a search reveals.
    digests = {run.read_digests.get(normalized_path(path), ""), content_digest(body) if body else ""} - {""}
    folder = str(run.tool_context.folder)
    return [
        FileContent(absolute_path(folder, name), digest, len(body))
        for name in paths
        for digest in sorted(digests or {""})
    ]


def _named(run: RunContext, names: set[str]) -> list[UntrustedFile]:
    """Return the untrusted files among the names in the output of a search or listing."""
    folder = absolute_path(str(run.tool_context.folder), "")
    rows = run.reader.untrusted_files(folder)
    if not rows or not names:
        return []
    by_name = [
        row
        for row in rows
        if any(row.covers(path, "") for path in _absolute(folder, names))
        or printable_path(tuple(posixpath.relpath(row.path, folder).split("/"))) in names
    ]
    return by_name or matching_files(run, names)


def _absolute(folder: str, names: Iterable[str]) -> list[str]:
    return [posixpath.join(folder, name) for name in names]


def _printable_files(run: RunContext, command: str) -> list[UntrustedFile]:
    folder = absolute_path(str(run.tool_context.folder), "")
    shared = _shared_history(run)
    rows = [*run.reader.untrusted_files(folder), *shared]
    printed = printed_files(command) if rows else ()
    if printed is None:
        return rows
    folders = [f"{absolute_path(folder, path)}/" for path in printed] if rows else []
    under = [row for row in rows if row.path.startswith(tuple(folders))]
    return [*matching_files(run, printed), *under, *(shared if GIT_FOLDER in printed else ()), *_listed(rows)]


def _listed(rows: Iterable[UntrustedFile]) -> list[UntrustedFile]:
    """Return the files of which even a listing shows untrusted text: their name or the target of their link."""
    return [row for row in rows if row.name_is_text or any(map(is_text, _link_target(row.path).split("/")))]


def _link_target(path: str) -> str:
    with suppress(OSError, ValueError):
        return str(Path(path).readlink())
    return ""


def _shared_history(run: RunContext) -> list[UntrustedFile]:
    """Return the row of the git repository to which the run's linked worktree belongs, if its history is untrusted."""
    if not run.reader.has_untrusted_files() or not (folders := worktree_git_folders(run.tool_context.folder)):
        return []
    return list(run.reader.match_untrusted_files([FileContent(str(folders[1]))]).values())


def _label(run: RunContext, rows: Iterable[UntrustedFile]) -> str:
    """Return the text that names untrusted files and their sources in events and questions; "" without files."""
    files = {row.path: row for row in rows}
    if not files:
        return ""
    first = next(iter(files.values()))
    folder = absolute_path(str(run.tool_context.folder), "")
    is_inside = first.path.startswith(f"{folder}/") and first.path != f"{folder}/"
    name = first.path[len(folder) + 1 :] if is_inside else first.path
    sources = [source for row in files.values() for source in row.sources]
    return untrusted_file_label(name, sources, len(files) - 1)
