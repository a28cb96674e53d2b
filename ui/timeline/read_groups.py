"""Groups consecutive steps that read files: three or more are shown as one row until the user expands it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from core.domain.steps import Step
from ui.base.step_presentation import translate
from ui.timeline.step_pages import PAGE_SIZE

MIN_GROUP: Final = 3
MAX_GROUP: Final = 20  # reads in a group at most, so that the rows of one screen never stand for very many steps
MAX_NAMES: Final = 2
MAX_CACHED_PAGES: Final = 50


class ReadGroup(NamedTuple):
    """A half-open range of rows, from `first` to `end`."""

    first: int
    end: int


class ShownGroup(NamedTuple):
    """A group and how it is shown: collapsed into one row or, if the user has expanded it, as all its rows."""

    rows: ReadGroup
    is_expanded: bool


class ReadGroups:
    """The groups of reads in a session, computed when a page of rows is first needed. No group spans two pages."""

    def __init__(self, page: Callable[[int], Sequence[Step]]) -> None:
        self._page = page
        self._groups_by_page: dict[int, list[ReadGroup]] = {}
        self._opened: set[int] = set()

    def group_of(self, row: int) -> ReadGroup | None:
        """Return the group that contains a row, whether expanded or collapsed; None if there is none."""
        number = row // PAGE_SIZE
        if number not in self._groups_by_page:
            self._groups_by_page[number] = _groups(self._page(number))
            if len(self._groups_by_page) > MAX_CACHED_PAGES:
                del self._groups_by_page[next(iter(self._groups_by_page))]
        groups = self._groups_by_page[number]
        index = bisect_right(groups, row, key=lambda group: group.first) - 1
        return groups[index] if index >= 0 and row < groups[index].end else None

    def collapsed_group_of(self, row: int) -> ReadGroup | None:
        """Return the collapsed group that contains a row; None if there is none."""
        group = self.group_of(row)
        return group if group and group.first not in self._opened else None

    def is_hidden(self, row: int) -> bool:
        """Return whether a row is hidden in a collapsed group, which is represented by its first row."""
        group = self.collapsed_group_of(row)
        return group is not None and row != group.first

    def expand(self, group: ReadGroup) -> None:
        self._opened.add(group.first)

    def toggle(self, group: ReadGroup) -> None:
        """Expand or collapse a group."""
        self._opened ^= {group.first}

    def invalidate(self, rows: Sequence[int]) -> None:
        """Discard the cached groups of the pages that contain these changed rows."""
        for number in {row // PAGE_SIZE for row in rows}:
            self._groups_by_page.pop(number, None)


def _groups(steps: Sequence[Step]) -> list[ReadGroup]:
    groups: list[ReadGroup] = []
    start = 0
    for end in range(1, len(steps) + 1):
        if end < len(steps) and end - start < MAX_GROUP and _belong_together(steps[end - 1], steps[end]):
            continue
        if end - start >= MIN_GROUP and _is_groupable(steps[start]):
            groups.append(ReadGroup(steps[start].row, steps[end - 1].row + 1))
        start = end
    return groups


def _belong_together(step: Step, other: Step) -> bool:
    return _is_groupable(step) and _is_groupable(other) and (step.run, step.depth) == (other.run, other.depth)


def _is_groupable(step: Step) -> bool:
    """Return whether a step can be grouped: a successful read without untrusted content."""
    return step.kind == "read" and step.status == "done" and not step.metrics.get("untrusted")


def summarize_group(steps: Sequence[Step]) -> Step:
    """Return one step that stands for a group: its first step, with the total time, size and tokens of all."""
    names = list(dict.fromkeys(step.object.rsplit("/", 1)[-1] for step in steps))
    if len(names) == 1:
        text = translate("{}, {} times").format(names[0], len(steps))
    else:
        omitted = len(names) - MAX_NAMES
        names_text = ", ".join(names[:MAX_NAMES]) + (f", +{omitted}" if omitted > 0 else "")
        text = translate("{} files: {}").format(len(names), names_text)
    total_bytes = sum(step.metrics.get("bytes", 0) for step in steps)
    return steps[0]._replace(
        object=text,
        ended_at=max(step.ended_at for step in steps),
        metrics={"bytes": total_bytes} if total_bytes else {},
        tokens=sum(step.tokens for step in steps),
    )
