"""Line diffs between two versions of a file, which are fast even for large files."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from core.domain.line_matching import is_quickly_matched

CONTEXT = 3
BINARY_HEAD = 8_192
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
                yield from (DiffRow("-", n + 1, 0, self.old[n], index) for n in range(block.old, block.old_end))
                yield from (DiffRow("+", 0, n + 1, self.new[n], index) for n in range(block.new, block.new_end))
                next_line, offset = block.new_end, block.old_end - block.new_end
            last = min(len(self.new), next_line + context + (more.get(len(hunks), 0) if hunk is hunks[-1] else 0))
            yield from self._unchanged(next_line, last, offset, index)
            next_line = last
        if self.blocks and next_line < len(self.new):
            yield DiffRow(HUNK_HEADER, 0, 0, str(len(self.new) - next_line), -1)

    def _unchanged(self, first: int, end: int, offset: int, hunk: int) -> Iterator[DiffRow]:
        return (DiffRow(" ", n + offset + 1, n + 1, self.new[n], hunk) for n in range(first, end))

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


def line_counts(old: bytes | None, new: bytes | None) -> tuple[int, int] | None:
    """Return the number of lines added and removed; None if it is unknown or would take long to compute."""
    if old is None or new is None or max(len(old), len(new)) > MAX_COUNTED_BYTES or not (is_text(old) and is_text(new)):
        return None
    diff = diff_texts(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    return diff.added, diff.removed


def diff_texts(old: str, new: str) -> TextDiff:
    """Return the diff of two texts."""
    before, after = tuple(old.splitlines(keepends=True)), tuple(new.splitlines(keepends=True))
    return TextDiff(before, after, changed_blocks(before, after))


def changed_blocks(before: Sequence[str], after: Sequence[str]) -> tuple[DiffBlock, ...]:
    """Return the blocks of lines in which two texts differ.

    To be fast for any text, long ranges are split at lines that occur exactly once in both texts.
    """
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return tuple(_diff(before[head : len(before) - tail], after[head : len(after) - tail], head))


def _diff(old: Sequence[str], new: Sequence[str], shift: int) -> Iterator[DiffBlock]:
    if is_quickly_matched(old, new):
        yield from _diff_exactly(old, new, shift, shift)
        return
    old_at = new_at = 0
    for old_next, new_next in [*_anchors(old, new), (len(old), len(new))]:
        old_part, new_part = old[old_at:old_next], new[new_at:new_next]
        if is_quickly_matched(old_part, new_part):
            yield from _diff_exactly(old_part, new_part, shift + old_at, shift + new_at)
        else:
            yield DiffBlock(shift + old_at, shift + old_next, shift + new_at, shift + new_next)
        old_at, new_at = old_next + 1, new_next + 1


def _diff_exactly(old: Sequence[str], new: Sequence[str], old_shift: int, new_shift: int) -> Iterator[DiffBlock]:
    if not old and not new:
        return
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag != "equal":
            yield DiffBlock(old_shift + a, old_shift + a_end, new_shift + b, new_shift + b_end)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions (in old, in new) of lines that occur exactly once in both texts and in the same order."""
    unique_old, unique_new = _unique_lines(old), _unique_lines(new)
    pairs = [(at, unique_new[text]) for text, at in unique_old.items() if text in unique_new]
    last_positions: list[int] = []
    last_pairs: list[int] = []
    predecessors: list[int] = []
    for pair_index, (_, at) in enumerate(pairs):
        index = bisect_left(last_positions, at)
        predecessors.append(last_pairs[index - 1] if index else -1)
        if index == len(last_positions):
            last_positions.append(at)
            last_pairs.append(pair_index)
        else:
            last_positions[index], last_pairs[index] = at, pair_index
    anchors: list[tuple[int, int]] = []
    pair_index = last_pairs[-1] if last_pairs else -1
    while pair_index >= 0:
        anchors.append(pairs[pair_index])
        pair_index = predecessors[pair_index]
    return anchors[::-1]


def _unique_lines(lines: Sequence[str]) -> dict[str, int]:
    positions: dict[str, int] = {}
    for line_number, text in enumerate(lines):
        positions[text] = -1 if text in positions else line_number
    return {text: line_number for text, line_number in positions.items() if line_number >= 0}
