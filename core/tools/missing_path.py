"""The error for a path that does not exist, with the existing paths most like it, so that the model need not search."""

import posixpath
from difflib import SequenceMatcher
from itertools import islice

from core.domain.problems import Problem
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.tool_context import ToolContext
from core.workspace.paths import printable

MAX_WALKED_FILES = 2_000
MAX_SIMILAR_FILES = 12


def missing_path(path: str, context: ToolContext, kind: str = "file") -> Problem:
    """Return the error for a missing path. It walks the folder, so call it in a thread. `kind` is what was expected."""
    paths = ["/".join(parts) for parts in islice(FolderWalk(context.folder).files(), MAX_WALKED_FILES)]
    if kind == "folder":
        paths = list(dict.fromkeys(folder for file in paths if (folder := posixpath.dirname(file))))
    name = posixpath.basename(path)
    ranked = sorted(paths, key=lambda other: -SequenceMatcher(None, name, posixpath.basename(other)).ratio())
    similar = ", ".join(printable_path(tuple(other.split("/"))) for other in ranked[:MAX_SIMILAR_FILES])
    more = ", …" if len(paths) > MAX_SIMILAR_FILES else ""
    none = f"The folder has no {'folders' if kind == 'folder' else 'files'}."
    cause = f"The folder has: {similar}{more}." if paths else none
    return Problem(f"There is no {kind} {printable(path)}.", cause, "Use one that exists.")
