"""Rows of one session read a page at a time; only the pages used last are kept."""

from collections.abc import Callable
from typing import Any, Protocol

from core.domain.sessions import SessionRow
from core.domain.steps import Step

PAGE = 200
KEPT = 50


class Rows(Protocol):
    """Where rows and words are read from: in the app the store's reader."""

    def steps(self, session: str, first: int, count: int) -> list[Step]: ...

    def words(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str: ...

    def entry(self, session: str, seq: int) -> dict[str, Any]: ...

    def children(self, session: str) -> list[SessionRow]: ...

    def session(self, name: str) -> SessionRow | None: ...


class Pages:
    """A window of at most `KEPT` pages over the rows of a session."""

    def __init__(self, rows: Rows, session: str) -> None:
        self._rows = rows
        self._session = session
        self._pages: dict[int, list[Step]] = {}

    def page(self, number: int) -> list[Step]:
        """The rows of a page, as far as there are some."""
        self.step(number * PAGE)
        return self._pages[number]

    def step(self, row: int) -> Step | None:
        """The row, reading its page when needed; None where the store has none yet."""
        number, place = divmod(row, PAGE)
        page = self._pages.pop(number, None)
        if page is None or place >= len(page):
            page = self._rows.steps(self._session, number * PAGE, PAGE)
        self._pages[number] = page
        if len(self._pages) > KEPT:
            del self._pages[next(iter(self._pages))]
        return page[place] if place < len(page) else None

    def peek(self, row: int) -> Step | None:
        """The row, without making its page one of the kept: for searches that touch rows far apart."""
        number, place = divmod(row, PAGE)
        page = self._pages.get(number)
        if page is not None and place < len(page):
            return page[place]
        found = self._rows.steps(self._session, row, 1)
        return found[0] if found else None

    def put(self, step: Step) -> None:
        """A row as it is now."""
        number, place = divmod(step.row, PAGE)
        page = self._pages.get(number)
        if page is None:
            if place == 0:
                self._pages[number] = [step]
        elif place < len(page):
            page[place] = step
        elif place == len(page):
            page.append(step)
        else:
            del self._pages[number]


def first_row(run: int, count: int, run_of: Callable[[int], int]) -> int:
    """The first of `count` rows whose run is `run` or later: rows stand in the order of their runs."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if run_of(middle) < run:
            low = middle + 1
        else:
            high = middle
    return low
