"""Line diffs between two versions of a file, which are fast even for large files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from core.domain.line_matching import is_quickly_matched, match_unique_lines

CONTEXT = 3  # unchanged lines that are shown around a change
BINARY_HEAD = 8_192  # bytes at the beginning of a file in which a zero byte shows that it is binary
NOTHING_MORE: Mapping[int, int] = MappingProxyType({})
MAX_COUNTED_BYTES = 256 * 1024  # larger contents are not compared just to count changed lines


class DiffBlock(NamedTuple):
    """Says that the lines from `old` to `old_end` were replaced by those from `new` to `new_end`.

    Line numbers start at 0; the line at an end is not included.
    """

    old: int
    old_end: int
    new: int
    new_end: int


HUNK_HEADER = "head"  # value of `DiffRow.sign` for the row above a hunk


class DiffRow(NamedTuple):
    """A displayed line of a diff.

    `sign` is `+`, `-`, a space, or HUNK_HEADER for a row that stands for hidden lines, whose number is its `text`.
    `old` and `new` are line numbers from 1; 0 means that the line does not exist in that version. `hunk` is the index
    of the hunk, -1 for the lines below the last one.
    """

    sign: str
    old: int
    new: int
    text: str
    hunk: int

    @property
    def is_header(self) -> bool:
        return self.sign == HUNK_HEADER

    @property
    def hidden_lines(self) -> int:
        """The number of hidden lines that a header row stands for; 0 for any other row."""
        return int(self.text) if self.is_header else 0


@dataclass(frozen=True, slots=True)
class TextDiff:
    """Two texts, and the blocks of lines in which they differ."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    blocks: tuple[DiffBlock, ...]

    @property
    def added(self) -> int:
        return sum(block.new_end - block.new for block in self.blocks)

    @property
    def removed(self) -> int:
        return sum(block.old_end - block.old for block in self.blocks)

    def hunks(self, context: int = CONTEXT) -> list[list[DiffBlock]]:
        """Group the blocks into hunks. Blocks whose surrounding `context` lines would overlap share a hunk."""
        hunks: list[list[DiffBlock]] = []
        for block in self.blocks:
            if hunks and block.new - hunks[-1][-1].new_end <= 2 * context:
                hunks[-1].append(block)
            else:
                hunks.append([block])
        return hunks

    def rows(self, context: int = CONTEXT, more: Mapping[int, int] = NOTHING_MORE) -> Iterator[DiffRow]:
        """Yield the lines to display, from top to bottom.

        `more` maps the index of a hunk to the number of additional unchanged lines to show above it. The number of
        hunks, as an index, stands for the lines below the last hunk.
        """
        # `offset` is the number of an unchanged line in the old text minus its number in the new text.
        next_line = offset = 0
        hunks = self.hunks(context)
        for index, hunk in enumerate(hunks):
            first = max(next_line, hunk[0].new - context)
            first = max(next_line, first - more.get(index, 0))
            yield DiffRow(HUNK_HEADER, 0, 0, str(first - next_line), index)
            offset = hunk[0].old - hunk[0].new
            next_line = first
            for block in hunk:
                yield from self._unchanged(next_line, block.new, offset, index)
                yield from (
                    DiffRow("-", line + 1, 0, self.old[line], index) for line in range(block.old, block.old_end)
                )
                yield from (
                    DiffRow("+", 0, line + 1, self.new[line], index) for line in range(block.new, block.new_end)
                )
                next_line = block.new_end
                offset = block.old_end - block.new_end
            more_below = more.get(len(hunks), 0) if hunk is hunks[-1] else 0
            end = min(len(self.new), next_line + context + more_below)
            yield from self._unchanged(next_line, end, offset, index)
            next_line = end
        if self.blocks and next_line < len(self.new):
            yield DiffRow(HUNK_HEADER, 0, 0, str(len(self.new) - next_line), -1)

    def _unchanged(self, first: int, end: int, offset: int, hunk: int) -> Iterator[DiffRow]:
        return (DiffRow(" ", line + offset + 1, line + 1, self.new[line], hunk) for line in range(first, end))

    def hunk_keys(self, context: int = CONTEXT) -> list[str]:
        """Return a name for the change in each hunk. It stays the same when the file changes in other places."""
        keys: list[str] = []
        counts = Counter[str]()
        for hunk in self.hunks(context):
            digest = sha256()
            for block in hunk:
                for lines in (self.old[block.old : block.old_end], self.new[block.new : block.new_end]):
                    digest.update("".join(lines).encode("utf-8", "surrogatepass") + b"\0")
            key = digest.hexdigest()[:16]
            keys.append(f"{key}-{counts[key]}" if counts[key] else key)
            counts[key] += 1
        return keys

    def without_hunk(self, hunk_index: int, context: int = CONTEXT) -> str:
        """Return the new text with the hunk at this index reverted."""
        reverted = set(self.hunks(context)[hunk_index])
        lines: list[str] = []
        next_line = 0
        for block in self.blocks:
            lines += self.new[next_line : block.new]
            lines += self.old[block.old : block.old_end] if block in reverted else self.new[block.new : block.new_end]
            next_line = block.new_end
        return "".join([*lines, *self.new[next_line:]])


def is_text(body: bytes) -> bool:
    return b"\0" not in body[:BINARY_HEAD]


class LineCounts(NamedTuple):
    """The number of lines that a change added and removed."""

    added: int = 0
    removed: int = 0


def line_counts(old: bytes | None, new: bytes | None) -> LineCounts | None:
    """Return the number of lines added and removed; None if it is unknown or would take long to compute."""
    if old is None or new is None or max(len(old), len(new)) > MAX_COUNTED_BYTES:
        return None
    if not is_text(old) or not is_text(new):
        return None
    diff = diff_texts(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    return LineCounts(diff.added, diff.removed)


def diff_texts(old: str, new: str) -> TextDiff:
    """Return the diff of two texts."""
    old_lines = tuple(old.splitlines(keepends=True))
    new_lines = tuple(new.splitlines(keepends=True))
    return TextDiff(old_lines, new_lines, changed_blocks(old_lines, new_lines))


def changed_blocks(before: Sequence[str], after: Sequence[str]) -> tuple[DiffBlock, ...]:
    """Return the blocks of lines in which two texts differ.

    To be fast for any text, long ranges are split at lines that occur exactly once in both texts.
    """
    shorter = min(len(before), len(after))
    prefix = 0
    while prefix < shorter and before[prefix] == after[prefix]:
        prefix += 1
    suffix = 0
    while suffix < shorter - prefix and before[-1 - suffix] == after[-1 - suffix]:
        suffix += 1
    return tuple(_diff(before[prefix : len(before) - suffix], after[prefix : len(after) - suffix], prefix))


def _diff(old: Sequence[str], new: Sequence[str], shift: int) -> Iterator[DiffBlock]:
    """Yield the blocks in which two texts differ. `shift` is added to the line numbers."""
    if is_quickly_matched(old, new):
        yield from _diff_exactly(old, new, shift, shift)
        return
    old_start = new_start = 0
    for old_end, new_end in [*match_unique_lines(old, new), (len(old), len(new))]:
        old_part, new_part = old[old_start:old_end], new[new_start:new_end]
        if is_quickly_matched(old_part, new_part):
            yield from _diff_exactly(old_part, new_part, shift + old_start, shift + new_start)
        else:
            yield DiffBlock(shift + old_start, shift + old_end, shift + new_start, shift + new_end)
        old_start, new_start = old_end + 1, new_end + 1


def _diff_exactly(old: Sequence[str], new: Sequence[str], old_shift: int, new_shift: int) -> Iterator[DiffBlock]:
    if not old and not new:
        return
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield DiffBlock(old_shift + old_start, old_shift + old_end, new_shift + new_start, new_shift + new_end)
