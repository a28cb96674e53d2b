"""Reads rows directly from the pages of a database file, without its b-trees, to recover data from a corrupt file.

The layout is that of https://www.sqlite.org/fileformat2.html, which will not change.
"""

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Value = None | int | float | str | bytes

LEAF = 0x0D  # type of a page that is a leaf of a table b-tree
FILE_HEADER_SIZE = 100  # bytes before the page header of the first page
PAGE_HEADER_SIZE = 8
WAL_HEADER_SIZE = 32
FRAME_HEADER_SIZE = 24  # bytes before each page in the WAL
DEFAULT_PAGE_SIZE = 4096
INTEGER_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of an integer, by its serial type
FLOAT_TYPE = 7
CONSTANT_TYPES = (8, 9)  # the serial types of the integers 0 and 1, which are not stored


class RawRow(NamedTuple):
    """A row of any table: its rowid and the values of its columns."""

    rowid: int
    values: tuple[Value, ...]


class PageReader:
    """The pages of a database file with the changes in its WAL.

    Attributes:
        page_size: The size of a page in bytes, or SQLite's default if the header is implausible.
        count: The number of pages.
    """

    def __init__(self, main: Path, wal: Path) -> None:
        self._main = main.read_bytes() if main.exists() else b""
        self._log = wal.read_bytes() if wal.exists() else b""
        self.page_size = _page_size(self._main, self._log)
        self._wal_pages = _wal_pages(self._log, self.page_size)
        self.count = max(math.ceil(len(self._main) / self.page_size), max(self._wal_pages, default=0))

    def read(self, number: int) -> bytes:
        """Return the page with a number, which counts from 1. It is short or empty if the file ends before."""
        return self._wal_pages.get(number) or self._main[(number - 1) * self.page_size : number * self.page_size]

    def rows(self) -> Iterator[RawRow]:
        """Yield the rowid and values of every readable table row, in page order."""
        freed = self._free_pages()
        for number in range(1, self.count + 1):
            if number not in freed:
                yield from self._rows_of(self.read(number), FILE_HEADER_SIZE if number == 1 else 0)

    def _rows_of(self, body: bytes, header: int) -> Iterator[RawRow]:
        """Yield the rows of a page, whose header is at the position `header`, if it is a leaf."""
        if len(body) < header + PAGE_HEADER_SIZE or body[header] != LEAF:
            return
        (cell_count,) = struct.unpack_from(">H", body, header + 3)
        first = header + PAGE_HEADER_SIZE
        for position in range(first, min(first + 2 * cell_count, len(body) - 1), 2):
            try:
                (cell,) = struct.unpack_from(">H", body, position)
                yield self._row(body, cell)
            except (IndexError, ValueError, struct.error):
                continue  # skip a broken cell: the next one may be intact

    def _row(self, body: bytes, cell: int) -> RawRow:
        """Decode the row in the cell at a position of a page."""
        size, position = _varint(body, cell)
        rowid, start = _varint(body, position)
        max_local = self.page_size - 35
        if size <= max_local:
            payload = body[start : start + size]
        else:
            min_local = (self.page_size - 12) * 32 // 255 - 23
            local_size = min_local + (size - min_local) % (self.page_size - 4)
            if local_size > max_local:
                local_size = min_local
            end = start + local_size
            payload = body[start:end] + self._overflow(body[end : end + 4], size - local_size)
        if len(payload) != size:
            raise ValueError("truncated row")
        return RawRow(rowid, tuple(_values(payload)))

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
            parts.append(body[4 : 4 + min(size, self.page_size - 4)])
            size -= self.page_size - 4
        return b"".join(parts)

    def _free_pages(self) -> set[int]:
        """Return the numbers of the free pages, which may hold deleted rows, up to the first invalid entry."""
        pages: set[int] = set()
        header = self.read(1)
        trunk = int.from_bytes(header[32:36]) if len(header) >= 36 else 0
        while 1 < trunk <= self.count and trunk not in pages:
            pages.add(trunk)
            body = self.read(trunk)
            if len(body) < self.page_size:
                break
            trunk, count = struct.unpack_from(">II", body)
            if count > self.page_size // 4 - 2:
                break
            pages.update(struct.unpack_from(f">{count}I", body, 8))
        return pages


def _page_size(main: bytes, log: bytes) -> int:
    """Return the page size in the header of the WAL or the file, or SQLite's default if it is implausible."""
    stored = int.from_bytes(log[8:12]) if len(log) > WAL_HEADER_SIZE else int.from_bytes(main[16:18])
    size = 65536 if stored == 1 else stored
    is_plausible = 512 <= size <= 65536 and size.bit_count() == 1
    return size if is_plausible else DEFAULT_PAGE_SIZE


def _wal_pages(log: bytes, page_size: int) -> dict[int, bytes]:
    """Return the pages in the WAL up to its last commit, by page number."""
    committed: dict[int, bytes] = {}
    uncommitted: dict[int, bytes] = {}
    salts = log[16:24]
    frame_size = FRAME_HEADER_SIZE + page_size
    for frame in range(WAL_HEADER_SIZE, len(log) - frame_size + 1, frame_size):
        number, commit_size = struct.unpack_from(">II", log, frame)
        if log[frame + 8 : frame + 16] != salts:
            break  # the rest is left over from before the WAL was last restarted
        uncommitted[number] = log[frame + FRAME_HEADER_SIZE : frame + frame_size]
        if commit_size:  # set in the last frame of a transaction
            committed.update(uncommitted)
            uncommitted.clear()
    return committed


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """Decode a variable-length integer of one to nine bytes. Return it and the position after it."""
    value = 0
    for index in range(8):
        byte = body[position + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, position + index + 1
    value = value << 8 | body[position + 8]
    return value - (1 << 64) if value >> 63 else value, position + 9


def _values(payload: bytes) -> Iterator[Value]:
    """Decode a record, and yield the values of its columns."""
    header_size, position = _varint(payload, 0)
    start = header_size
    while position < header_size:
        serial_type, position = _varint(payload, position)
        size = _value_size(serial_type)
        body = payload[start : start + size]
        start += size
        if len(body) != size:
            raise ValueError("truncated value")
        yield _value(serial_type, body)


def _value_size(serial_type: int) -> int:
    """Return how many bytes a value of this type takes."""
    if serial_type >= 12:
        return (serial_type - 12) // 2
    return 8 if serial_type == FLOAT_TYPE else INTEGER_SIZES.get(serial_type, 0)


def _value(serial_type: int, body: bytes) -> Value:
    if serial_type == 0:
        return None
    if serial_type in INTEGER_SIZES:
        return int.from_bytes(body, signed=True)
    if serial_type == FLOAT_TYPE:
        number: float = struct.unpack(">d", body)[0]
        return number
    if serial_type in CONSTANT_TYPES:
        return serial_type - CONSTANT_TYPES[0]
    return body if serial_type % 2 == 0 else body.decode()
