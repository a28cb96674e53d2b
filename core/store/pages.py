"""Rows read straight out of the pages of a database file, without its trees: what still works when they are broken.

The layout is that of https://www.sqlite.org/fileformat2.html, which is fixed for ever.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

Value = None | int | float | str | bytes
Row = tuple[int, tuple[Value, ...]]

LEAF = 0x0D  # a page of a table that holds rows
USUAL = 4096
SIZES = {8: 1, 9: 1} | {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Pages:
    """The pages of a file as its log leaves them. `page` is the size of one; a header that lies is not believed."""

    def __init__(self, main: Path, wal: Path) -> None:
        self._main = main.read_bytes() if main.exists() else b""
        self._log = wal.read_bytes() if wal.exists() else b""
        self.page = _page_size(self._main, self._log)
        self._newer = _newer(self._log, self.page)
        self.count = max(-(-len(self._main) // self.page), max(self._newer, default=0))

    def read(self, number: int) -> bytes:
        """A page, the first one being 1; short or empty where the file ends."""
        return self._newer.get(number) or self._main[(number - 1) * self.page : number * self.page]

    def rows(self) -> Iterator[Row]:
        """Every row of every table that can be read, with its number, in the order of the pages."""
        freed = self._freed()
        for number in range(1, self.count + 1):
            if number not in freed:
                yield from self._rows_of(self.read(number), 100 if number == 1 else 0)

    def _rows_of(self, body: bytes, start: int) -> Iterator[Row]:
        if len(body) < start + 8 or body[start] != LEAF:
            return
        (cells,) = struct.unpack_from(">H", body, start + 3)
        for at in range(start + 8, min(start + 8 + 2 * cells, len(body) - 1), 2):
            try:
                yield self._row(body, struct.unpack_from(">H", body, at)[0])
            except (IndexError, ValueError, struct.error):
                continue  # a broken cell says nothing about its neighbours

    def _row(self, body: bytes, at: int) -> Row:
        size, at = _varint(body, at)
        number, at = _varint(body, at)
        most = self.page - 35
        if size <= most:
            payload = body[at : at + size]
        else:
            least = (self.page - 12) * 32 // 255 - 23
            local = least + (size - least) % (self.page - 4)
            local = local if local <= most else least
            payload = body[at : at + local] + self._overflow(body[at + local : at + local + 4], size - local)
        if len(payload) != size:
            raise ValueError("cut")
        return number, tuple(_values(payload))

    def _overflow(self, link: bytes, size: int) -> bytes:
        """The rest of a long row: a chain of pages that each name the next."""
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

    def _freed(self) -> set[int]:
        """Pages that hold what was deleted; a chain that makes no sense ends."""
        found: set[int] = set()
        head = self.read(1)
        trunk = int.from_bytes(head[32:36]) if len(head) >= 36 else 0
        while 1 < trunk <= self.count and trunk not in found:
            found.add(trunk)
            body = self.read(trunk)
            if len(body) < self.page:
                break
            trunk, count = struct.unpack_from(">II", body)
            if count > self.page // 4 - 2:
                break
            found.update(struct.unpack_from(f">{count}I", body, 8))
        return found


def _page_size(main: bytes, log: bytes) -> int:
    """As the log or the header says, else what SQLite makes."""
    said = int.from_bytes(log[8:12]) if len(log) > 32 else int.from_bytes(main[16:18])
    said = 65536 if said == 1 else said
    return said if 512 <= said <= 65536 and said & (said - 1) == 0 else USUAL


def _newer(log: bytes, page: int) -> dict[int, bytes]:
    """The pages of the log, up to its last commit."""
    found: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    salts = log[16:24]
    for at in range(32, len(log) - page - 23, 24 + page):
        number, commits = struct.unpack_from(">II", log, at)
        if log[at + 8 : at + 16] != salts:
            break  # left over from an earlier round of the log
        waiting[number] = log[at + 24 : at + 24 + page]
        if commits:
            found.update(waiting)
            waiting.clear()
    return found


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(8):
        byte = body[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    value = value << 8 | body[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9


def _values(payload: bytes) -> Iterator[Value]:
    """The columns of a record."""
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
