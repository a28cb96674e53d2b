"""Reads rows directly from the pages of a database file, without its b-trees, to recover data from a corrupt file.

The layout is that of https://www.sqlite.org/fileformat2.html, which will not change.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

Value = None | int | float | str | bytes
RawRow = tuple[int, tuple[Value, ...]]

LEAF = 0x0D  # type of a page that is a leaf of a table b-tree
DEFAULT_PAGE_SIZE = 4096
SIZES = {8: 1, 9: 1} | {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class PageReader:
    """The pages of a database file with the changes in its WAL.

    Attributes:
        page: The size of a page in bytes, or SQLite's default if the header is implausible.
        count: The number of pages.
    """

    def __init__(self, main: Path, wal: Path) -> None:
        self._main = main.read_bytes() if main.exists() else b""
        self._log = wal.read_bytes() if wal.exists() else b""
        self.page = _page_size(self._main, self._log)
        self._wal_pages = _wal_pages(self._log, self.page)
        self.count = max(-(-len(self._main) // self.page), max(self._wal_pages, default=0))

    def read(self, number: int) -> bytes:
        """Return the page with a number, which counts from 1. It is short or empty if the file ends before."""
        return self._wal_pages.get(number) or self._main[(number - 1) * self.page : number * self.page]

    def rows(self) -> Iterator[RawRow]:
        """Yield the rowid and values of every readable table row, in page order."""
        freed = self._free_pages()
        for number in range(1, self.count + 1):
            if number not in freed:
                yield from self._rows_of(self.read(number), 100 if number == 1 else 0)

    def _rows_of(self, body: bytes, start: int) -> Iterator[RawRow]:
        if len(body) < start + 8 or body[start] != LEAF:
            return
        (cells,) = struct.unpack_from(">H", body, start + 3)
        for at in range(start + 8, min(start + 8 + 2 * cells, len(body) - 1), 2):
            try:
                yield self._row(body, struct.unpack_from(">H", body, at)[0])
            except (IndexError, ValueError, struct.error):
                continue  # skip a broken cell: the next one may be intact

    def _row(self, body: bytes, at: int) -> RawRow:
        size, at = _varint(body, at)
        number, at = _varint(body, at)
        max_local = self.page - 35
        if size <= max_local:
            payload = body[at : at + size]
        else:
            min_local = (self.page - 12) * 32 // 255 - 23
            local = min_local + (size - min_local) % (self.page - 4)
            local = local if local <= max_local else min_local
            payload = body[at : at + local] + self._overflow(body[at + local : at + local + 4], size - local)
        if len(payload) != size:
            raise ValueError("cut")
        return number, tuple(_values(payload))

    def _overflow(self, link: bytes, size: int) -> bytes:
        """Return the rest of a long row, `size` bytes, from its chain of overflow pages."""
        if size > len(self._main) + len(self._log):
            raise ValueError("longer than the file")
        parts: list[bytes] = []
        while size > 0:
            (number,) = struct.unpack(">I", link)
            if not 1 < number <= self.count:
                raise ValueError("no such page")
            body = self.read(number)
            link = body[:4]
            parts.append(body[4 : 4 + min(size, self.page - 4)])
            size -= self.page - 4
        return b"".join(parts)

    def _free_pages(self) -> set[int]:
        """Return the numbers of the free pages, which may hold deleted rows, up to the first invalid entry."""
        pages: set[int] = set()
        header = self.read(1)
        trunk = int.from_bytes(header[32:36]) if len(header) >= 36 else 0
        while 1 < trunk <= self.count and trunk not in pages:
            pages.add(trunk)
            body = self.read(trunk)
            if len(body) < self.page:
                break
            trunk, count = struct.unpack_from(">II", body)
            if count > self.page // 4 - 2:
                break
            pages.update(struct.unpack_from(f">{count}I", body, 8))
        return pages


def _page_size(main: bytes, log: bytes) -> int:
    """Return the page size in the header of the WAL or the file, or SQLite's default if it is implausible."""
    page = int.from_bytes(log[8:12]) if len(log) > 32 else int.from_bytes(main[16:18])
    page = 65536 if page == 1 else page
    return page if 512 <= page <= 65536 and page & (page - 1) == 0 else DEFAULT_PAGE_SIZE


def _wal_pages(log: bytes, page: int) -> dict[int, bytes]:
    """Return the pages in the WAL up to its last commit, by page number."""
    committed: dict[int, bytes] = {}
    uncommitted: dict[int, bytes] = {}
    salts = log[16:24]
    for at in range(32, len(log) - page - 23, 24 + page):
        number, commits = struct.unpack_from(">II", log, at)
        if log[at + 8 : at + 16] != salts:
            break  # the rest is left over from before the WAL was last restarted
        uncommitted[number] = log[at + 24 : at + 24 + page]
        if commits:
            committed.update(uncommitted)
            uncommitted.clear()
    return committed


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Decode a variable-length integer of one to nine bytes. Return it and the position after it."""
    value = 0
    for index in range(8):
        byte = body[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    value = value << 8 | body[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9


def _values(payload: bytes) -> Iterator[Value]:
    """Decode a record, and yield the values of its columns."""
    end, at = _varint(payload, 0)
    body = end
    while at < end:
        kind, at = _varint(payload, at)
        size = SIZES.get(kind, 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0)
        size = 0 if kind in {8, 9} else size
        part = payload[body : body + size]
        body += size
        if len(part) != size:
            raise ValueError("cut")
        yield _value(kind, part)


def _value(kind: int, part: bytes) -> Value:
    if kind == 0:
        return None
    if kind <= 6:
        return int.from_bytes(part, signed=True)
    if kind == 7:
        number: float = struct.unpack(">d", part)[0]
        return number
    if kind in {8, 9}:
        return kind - 8
    return part if kind % 2 == 0 else part.decode()
