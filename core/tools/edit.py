"""The `edit` tool: replace a text that occurs exactly once in a file, or every occurrence, or append a text."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Annotated, NamedTuple

from core.domain.problems import Problem
from core.tools.file_changes import LIMIT, read_bytes, replace_file
from core.tools.parameter_description import ParameterDescription
from core.tools.read_before_edit import content_digest, normalized_path, require_read, unread_result
from core.tools.text_files import decode_text, match_line_endings
from core.tools.tool import NOTHING_CHANGED, KnownFile, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.file_change import FileChange
from core.workspace.threads import run_to_completion

# If old_string does not occur in the file, the error quotes the most similar line.
MIN_SIMILARITY = 0.5  # ratio (0 to 1) from which a line counts as similar
MAX_COMPARED = 200  # characters of a line that are compared
MAX_COMPARED_LINES = 5_000  # lines of a file that are considered
MAX_CANDIDATES = 8  # lines with the best estimate, whose exact similarity is computed
SHORT_CHARS = 1_500  # a file up to this size is as easily rewritten as edited
MAX_OTHERS = 50  # files searched for further occurrences of a replaced identifier
ALSO_IN = re.compile(r" (\S+) is also in [^\n]+?\.(?= |$)")  # matches the note about other files in a result
_NAME = re.compile(r"\d+(?:\.\d+)+|(?=\w*[a-zA-Z])\w{3,64}", re.ASCII)  # a version or an identifier
# Less text than these numbers of characters may match by chance.
MIN_INEXACT_MATCH = 8  # for a match with other indentation
MIN_APPLIED_MATCH = 4  # for new_string to count as applied


@dataclass(frozen=True, slots=True)
class EditArguments:
    path: Annotated[str, ParameterDescription("The file.")]
    old_string: Annotated[str, ParameterDescription('The exact text to replace; "" to append.')]
    new_string: Annotated[str, ParameterDescription("The text to replace it with.")]
    replace_all: Annotated[bool, ParameterDescription("Replace every occurrence.")] = False


@dataclass(frozen=True, slots=True)
class CheckedEdit:
    """The arguments of an edit, and what the session has read.

    `digest` is that of the file's contents when the session read it, or "" if it has not. `known` are the paths of
    other files that the session has read.
    """

    edit: EditArguments
    digest: str = ""
    known: tuple[str, ...] = ()


def with_known_digest(parameters: EditArguments, digests: Mapping[str, str]) -> CheckedEdit:
    path = normalized_path(parameters.path)
    return CheckedEdit(parameters, digests.get(path, ""), tuple(name for name in digests if name != path))


async def run(parameters: EditArguments | CheckedEdit, context: ToolContext) -> ToolResult:
    checked = parameters if isinstance(parameters, CheckedEdit) else CheckedEdit(parameters)
    return await run_to_completion(_edit, checked, context)


def _edit(checked: CheckedEdit, context: ToolContext) -> ToolResult:
    parameters, digest = checked.edit, checked.digest
    before = read_bytes(context, parameters.path)
    if digest:
        require_read(parameters.path, before, digest)
    text = decode_text(before, parameters.path)
    name = _replaced_name(parameters.old_string, parameters.new_string)
    others = _others_with(name, checked.known, context) if name else []
    others_note = f" {name} is also in {', '.join(others)}." if others else ""
    if _is_applied(text, parameters):
        found = "has new_string already and no old_string" if parameters.old_string else "ends with new_string already"
        return ToolResult(f"{parameters.path} {found}.{others_note} {NOTHING_CHANGED}")
    try:
        edited = apply_edit(text, parameters)
    except Problem as problem:
        if not digest:  # No exact match: the model must read the file first.
            return unread_result(parameters.path, before, problem)
        raise
    after = edited.text.encode()
    if len(after) > LIMIT:
        raise Problem(f"{parameters.path} would be too large.", f"{len(after):,} bytes; {LIMIT:,} can be edited.")
    modes = replace_file(context, parameters.path, after)
    note = " White space of old_string did not match exactly and was adjusted." if edited.adjusted else ""
    where = f"at line {edited.line}" if edited.replaced == 1 else f"in {edited.replaced} places"
    done = f"Edited {parameters.path} {where}" if parameters.old_string else f"Appended new_string to {parameters.path}"
    return ToolResult(
        f"{done}.{note}{others_note}",
        changes=(FileChange(parameters.path, before, after, modes),),
        known_files=(KnownFile(parameters.path, content_digest(after)),) if digest else (),
    )


def _replaced_name(old: str, new: str) -> str:
    """Return the identifier or version number if replacing it is all that the edit does; otherwise ""."""
    if _NAME.fullmatch(old):
        return old
    removed = set(_NAME.findall(old)) - set(_NAME.findall(new))
    added = set(_NAME.findall(new)) - set(_NAME.findall(old))
    if len(removed) != 1 or len(added) != 1:
        return ""
    name, other = removed.pop(), added.pop()
    return name if old.replace(name, other) == new else ""


def _others_with(name: str, paths: Sequence[str], context: ToolContext) -> list[str]:
    """Return those of the files `paths` that contain `name` as a whole word."""
    whole_word = re.compile(rb"(?<!\w)%s(?!\w)" % re.escape(name).encode())
    found: list[str] = []
    for path in paths[-MAX_OTHERS:]:
        with suppress(Problem):  # The file was deleted or has become unreadable.
            if whole_word.search(context.broker.read_small(path, allow_secrets=False) or b""):
                found.append(path)
    return found


class _IndentationShift(NamedTuple):
    """White space to add before each new line, and white space to remove from it first; one of them is ""."""

    added: str
    removed: str


@dataclass(frozen=True, slots=True)
class EditedText:
    """The result of an edit.

    `line` is the number of the first replaced line, from 1, and `replaced` the number of occurrences replaced.
    `adjusted` means that the replaced lines differed from `old_string` in indentation or trailing white space.
    """

    text: str
    line: int
    replaced: int = 1
    adjusted: bool = False


def apply_edit(text: str, parameters: EditArguments) -> EditedText:
    """Apply an edit; raise a Problem unless `old_string` occurs exactly once, or at least once for `replace_all`.

    An empty `old_string` appends `new_string` as new lines.
    """
    old = match_line_endings(text, parameters.old_string)
    new = match_line_endings(text, parameters.new_string)
    if not old and new:
        return _append(text, new)
    if old == new:
        raise Problem("Nothing would change.", "old_string equals new_string.", "Give a different new_string.")
    first = text.find(old)
    if first < 0:
        if edited := _apply_without_indentation(text, old, new):
            return edited
        fix = "Copy the text exactly." if len(text) > SHORT_CHARS else "Copy the text exactly, or write the whole file."
        raise Problem(f"old_string was not found in {parameters.path}.", _nearest(text, old), fix)
    if parameters.replace_all:
        return EditedText(text.replace(old, new), _line_number(text, first), replaced=text.count(old))
    second = text.find(old, first + 1)
    if second >= 0:
        raise Problem(
            f"old_string occurs in {parameters.path} more than once.",
            f"Lines {_line_number(text, first)} and {_line_number(text, second)} contain it.",
            "Include more surrounding lines, or set replace_all.",
        )
    return EditedText(text[:first] + new + text[first + len(old) :], _line_number(text, first))


def _line_number(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _append(text: str, new: str) -> EditedText:
    """Append `new` as lines of its own."""
    newline = match_line_endings(text, "\n")
    start = text if not text or text.endswith("\n") else text + newline
    end = "" if new.endswith("\n") else newline
    return EditedText(start + new + end, _line_number(start, len(start)))


def _is_applied(text: str, parameters: EditArguments) -> bool:
    """Return whether the edit seems to be made already, because a small model repeats an edit.

    The text contains new_string and no old_string, or ends with what would be appended.
    """
    old = match_line_endings(text, parameters.old_string)
    new = match_line_endings(text, parameters.new_string)
    if len(new.strip()) < MIN_APPLIED_MATCH:
        return False
    if old:
        return old not in text and new in text
    return text.rstrip().endswith(new.strip())


def _apply_without_indentation(text: str, old: str, new: str) -> EditedText | None:
    """Replace the lines that equal `old` apart from trailing white space and a common indentation.

    The new lines are shifted by the same indentation. Return None unless exactly one place matches.
    """
    lines, old_lines = text.splitlines(keepends=True), old.strip("\r\n").splitlines()
    stripped, wanted = [line.strip() for line in lines], [line.strip() for line in old_lines]
    if sum(map(len, wanted)) < MIN_INEXACT_MATCH:
        return None
    starts = [start for start in range(len(lines) - len(wanted) + 1) if stripped[start : start + len(wanted)] == wanted]
    if len(starts) != 1:
        return None
    start, end = starts[0], starts[0] + len(wanted)
    shift = _common_shift(lines[start:end], old_lines)
    new_lines = _shifted(new.strip("\r\n").splitlines(keepends=True), shift) if shift else None
    if new_lines is None:
        return None
    last = lines[end - 1]
    ending = last[len(last.rstrip("\r\n")) :] if new_lines else ""
    return EditedText("".join([*lines[:start], *new_lines, ending, *lines[end:]]), start + 1, adjusted=True)


def _common_shift(present_lines: Sequence[str], old_lines: Sequence[str]) -> _IndentationShift | None:
    """Return how the indentation of the present lines differs from that of the same lines in `old_string`.

    Return None if it differs in more than one way.
    """
    shifts: set[_IndentationShift] = set()
    for line, old_line in zip(present_lines, old_lines, strict=True):
        present, given = _indentation(line), _indentation(old_line)
        if not line.strip():
            continue
        if present.endswith(given):
            shifts.add(_IndentationShift(added=present[: len(present) - len(given)], removed=""))
        elif given.endswith(present):
            shifts.add(_IndentationShift(added="", removed=given[: len(given) - len(present)]))
        else:
            return None
    return shifts.pop() if len(shifts) == 1 else None


def _shifted(lines: Sequence[str], shift: _IndentationShift) -> list[str] | None:
    """Return the lines with their indentation shifted; None if one lacks the white space to remove."""
    shifted: list[str] = []
    for line in lines:
        if not line.strip():
            shifted.append(line)
        elif line.startswith(shift.removed):
            shifted.append(shift.added + line.removeprefix(shift.removed))
        else:
            return None
    return shifted


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] if line.strip() else ""


def _nearest(text: str, old: str) -> str:
    """Return a sentence that quotes the line most similar to the first line of `old`; "" if none is similar."""
    first_line = next((line.strip() for line in old.splitlines() if line.strip()), "")
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(first_line[:MAX_COMPARED])
    lines = text.splitlines()
    numbers: dict[str, int] = {}  # text of a line → number of the first line with this text
    for number, line in enumerate(lines[:MAX_COMPARED_LINES], 1):
        numbers.setdefault(line.strip()[:MAX_COMPARED], number)
    estimates: dict[str, float] = {}
    for line in numbers:
        matcher.set_seq1(line)
        if min(matcher.real_quick_ratio(), estimate := matcher.quick_ratio()) > MIN_SIMILARITY:
            estimates[line] = estimate
    best_ratio, nearest = MIN_SIMILARITY, ""
    candidates = nlargest(MAX_CANDIDATES, estimates, key=lambda line: (estimates[line], line))
    for line in candidates:  # only few, because `ratio` can take a tenth of a second
        matcher.set_seq1(line)
        if (ratio := matcher.ratio()) > best_ratio:
            best_ratio, nearest = ratio, line
    if not nearest:
        return ""
    return f"The most similar text is line {numbers[nearest]}: {lines[numbers[nearest] - 1][:200]!r}."


EDIT = Tool(
    name="edit",
    description=(
        "Replace text in a file. old_string must match exactly once, unless replace_all is set. To insert a line, "
        "repeat the line before it in new_string."
    ),
    parameters=EditArguments,
    kind="edit",
    access="write",
    describe=lambda parameters: str(parameters.path),
    run=run,
    with_known_files=with_known_digest,
)
