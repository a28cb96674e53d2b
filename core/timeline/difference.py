"""The difference between two contents of a file, line by line, in a time that does not explode for large ones."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

CONTEXT = 3
CLOSE = 3_000  # lines that are compared closely; longer stretches are first parted at lines that occur only once
BINARY_HEAD = 8_192
LONGEST = 256 * 1024  # of contents that are compared before somebody looks at them


class Block(NamedTuple):
    """Lines `old` to `old_end` became lines `new` to `new_end`; both counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


class Row(NamedTuple):
    """A line as it is shown. `sign` is +, - or a space; `head` for the line over a part, whose `text` counts what is
    hidden.

    `old` and `new` count from 1, 0 is no line there; `part` is the part that it belongs to.
    """

    sign: str
    old: int
    new: int
    text: str
    part: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts, and the parts in which they differ, each with the lines around it."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def added(self) -> int:
        return sum(block.new_end - block.new for block in self.blocks)

    @property
    def removed(self) -> int:
        return sum(block.old_end - block.old for block in self.blocks)

    def parts(self, context: int = CONTEXT) -> list[list[Block]]:
        """Blocks so near to each other that their surroundings touch are one part."""
        found: list[list[Block]] = []
        for block in self.blocks:
            if found and block.new - found[-1][-1].new_end <= 2 * context:
                found[-1].append(block)
            else:
                found.append([block])
        return found

    def rows(self, context: int = CONTEXT) -> Iterator[Row]:
        """As it is read from top to bottom."""
        at = 0
        for number, part in enumerate(self.parts(context)):
            first = max(at, part[0].new - context)
            yield Row("head", 0, 0, str(first - at), number)
            shift = part[0].old - part[0].new
            at = first
            for block in part:
                yield from (Row(" ", n + shift + 1, n + 1, self.new[n], number) for n in range(at, block.new))
                yield from (Row("-", n + 1, 0, self.old[n], number) for n in range(block.old, block.old_end))
                yield from (Row("+", 0, n + 1, self.new[n], number) for n in range(block.new, block.new_end))
                at, shift = block.new_end, block.old_end - block.new_end
            last = min(len(self.new), at + context)
            yield from (Row(" ", n + shift + 1, n + 1, self.new[n], number) for n in range(at, last))
            at = last
        if self.blocks and at < len(self.new):
            yield Row("head", 0, 0, str(len(self.new) - at), -1)

    def without(self, part: int, context: int = CONTEXT) -> str:
        """The new text with one part as it was."""
        taken = set(self.parts(context)[part])
        lines: list[str] = []
        at = 0
        for block in self.blocks:
            lines += self.new[at : block.new]
            lines += self.old[block.old : block.old_end] if block in taken else self.new[block.new : block.new_end]
            at = block.new_end
        return "".join([*lines, *self.new[at:]])


def is_text(body: bytes) -> bool:
    return b"\0" not in body[:BINARY_HEAD]


def figures(old: bytes | None, new: bytes | None) -> tuple[int, int] | None:
    """Lines added and removed from one content to the other; None where that cannot be told, or not soon."""
    if old is None or new is None or max(len(old), len(new)) > LONGEST or not (is_text(old) and is_text(new)):
        return None
    found = difference(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    return found.added, found.removed


def difference(old: str, new: str) -> Difference:
    """What has to be done to one text to make it the other."""
    before, after = tuple(old.splitlines(keepends=True)), tuple(new.splitlines(keepends=True))
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    blocks = _compare(before[head : len(before) - tail], after[head : len(after) - tail], head)
    return Difference(before, after, tuple(blocks))


def _compare(old: Sequence[str], new: Sequence[str], shift: int) -> Iterator[Block]:
    if max(len(old), len(new)) <= CLOSE:
        yield from _closely(old, new, shift, shift)
        return
    old_at = new_at = 0
    for old_next, new_next in [*_anchors(old, new), (len(old), len(new))]:
        one, other = old[old_at:old_next], new[new_at:new_next]
        if max(len(one), len(other)) <= CLOSE:
            yield from _closely(one, other, shift + old_at, shift + new_at)
        else:
            yield Block(shift + old_at, shift + old_next, shift + new_at, shift + new_next)
        old_at, new_at = old_next + 1, new_next + 1


def _closely(old: Sequence[str], new: Sequence[str], old_shift: int, new_shift: int) -> Iterator[Block]:
    if not old and not new:
        return
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) > 500)
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag != "equal":
            yield Block(old_shift + a, old_shift + a_end, new_shift + b, new_shift + b_end)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that occur once in each and stand in the same order in both."""
    once_old, once_new = _once(old), _once(new)
    pairs = [(at, once_new[text]) for text, at in once_old.items() if text in once_new]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        place = bisect_left(ends, at)
        before.append(last[place - 1] if place else -1)
        if place == len(ends):
            ends.append(at)
            last.append(number)
        else:
            ends[place], last[place] = at, number
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _once(lines: Sequence[str]) -> dict[str, int]:
    seen: dict[str, int] = {}
    for at, text in enumerate(lines):
        seen[text] = -1 if text in seen else at
    return {text: at for text, at in seen.items() if at >= 0}
