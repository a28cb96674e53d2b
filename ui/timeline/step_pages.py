"""A cache of the steps of one session, read in pages; the least recently used pages are discarded."""

from collections.abc import Callable
from typing import Any, Protocol

from core.domain.sessions import SessionRow
from core.domain.steps import Step

PAGE_SIZE = 200
MAX_PAGES = 50


class StepSource(Protocol):
    """The read functions of the timeline; implemented by the store's reader."""

    def steps(self, session: str, first: int, count: int) -> list[Step]: ...

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str: ...

    def event(self, session: str, seq: int) -> dict[str, Any]: ...

    def children(self, session: str) -> list[SessionRow]: ...

    def session(self, name: str) -> SessionRow | None: ...


class StepPages:
    """A cache of at most `MAX_PAGES` pages of steps; the least recently used page is discarded first."""

    def __init__(self, rows: StepSource, session: str) -> None:
        self._rows = rows
        self._session = session
        self._pages: dict[int, list[Step]] = {}

    def page(self, number: int) -> list[Step]:
        """Return the rows of a page, of which the last page may have fewer."""
        self.step(number * PAGE_SIZE)
        return self._pages[number]

    def step(self, row: int) -> Step | None:
        """Return the step in a row, reading the page of the row if needed; None if the row does not exist yet."""
        number, offset = divmod(row, PAGE_SIZE)
        page = self._pages.pop(number, None)
        if page is None or offset >= len(page):
            page = self._rows.steps(self._session, number * PAGE_SIZE, PAGE_SIZE)
        self._pages[number] = page
        if len(self._pages) > MAX_PAGES:
            del self._pages[next(iter(self._pages))]
        return page[offset] if offset < len(page) else None

    def peek(self, row: int) -> Step | None:
        """Return the step in a row without caching its page, for a binary search, which reads rows far apart."""
        number, offset = divmod(row, PAGE_SIZE)
        page = self._pages.get(number)
        if page is not None and offset < len(page):
            return page[offset]
        steps = self._rows.steps(self._session, row, 1)
        return steps[0] if steps else None

    def update(self, step: Step) -> None:
        """Update the cached pages with a new or changed step."""
        number, offset = divmod(step.row, PAGE_SIZE)
        page = self._pages.get(number)
        if page is None:
            if offset == 0:
                self._pages[number] = [step]
        elif offset < len(page):
            page[offset] = step
        elif offset == len(page):
            page.append(step)
        else:
            del self._pages[number]


def first_row(run: int, count: int, run_of: Callable[[int], int]) -> int:
    """Return the first of `count` rows whose run is at least `run`, or `count` if there is none.

    Rows are ordered by run, so this is a binary search.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if run_of(middle) < run:
            low = middle + 1
        else:
            high = middle
    return low
