"""What a command prints, wherever its terminal is."""

import dataclasses
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from core.domain.clock import SECOND
from core.domain.problems import Problem, Trouble
from core.domain.visible import visible

if TYPE_CHECKING:
    from core.domain.events import Entry


Hear = Callable[[bytes], None]
Listen = Callable[[Hear], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """`write` and `complain` take one line each. `listen` tells each line that comes, and at last an empty one."""

    write: Callable[[str], None]
    complain: Callable[[str], None]
    listen: Listen | None = None

    def json(self, plain: Any) -> None:
        """One line of ASCII, so that no terminal's or pipe's encoding can lose a sign."""
        self.write(json.dumps(plain, separators=(",", ":")))

    def trouble(self, trouble: Trouble) -> None:
        """What, why, do: a line each."""
        for name in ("what", "why", "do"):
            if text := getattr(trouble, name):
                self.complain(f"{name + ':':5} {text}")


def terminal() -> Output:
    """Our own standard streams, each line at once: a reader may be waiting for it."""

    def printer(stream: Any) -> Callable[[str], None]:
        if stream is None:
            return _closed
        below = getattr(stream, "buffer", None)
        file = getattr(below, "raw", below)

        def write(text: str) -> None:
            if stream.isatty():
                text = visible(text)  # a terminal obeys what it is told; a file or a pipe gets what there is
            if file is None:
                stream.write(f"{text}\n")
                return
            rest = memoryview(f"{text}{os.linesep}".encode(stream.encoding, "replace"))
            while rest:  # a pipe may take a part at a time
                rest = rest[file.write(rest) or 0 :]

        return write

    return Output(_heard(printer(sys.stdout), _in_words), _heard(printer(sys.stderr), _in_vain), listen)


def _closed(_text: str) -> None:
    raise OSError(errno.EBADF, "It is closed")


def _heard(write: Callable[[str], None], missed: Callable[[OSError], None]) -> Callable[[str], None]:
    """A reader that is gone has had enough; of any other end of the output `missed` is told."""

    def tell(text: str) -> None:
        try:
            write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            missed(error)

    return tell


def _in_words(error: OSError) -> None:
    do = "Send it to a place that takes it, then try again."
    raise Problem("The output cannot be written.", f"{error.strerror}.", do) from error


def _in_vain(_error: OSError) -> None:
    """Where complaints cannot be written there is nobody to be told of it."""


def listen(hear: Hear) -> None:
    """To our own standard input, in a thread of its own; `hear` is called on the loop of whoever listens."""
    import asyncio
    from threading import Thread

    loop = asyncio.get_running_loop()

    def tell(line: bytes) -> None:
        with suppress(RuntimeError):  # the loop has gone first
            loop.call_soon_threadsafe(hear, line)

    def read() -> None:
        for line in sys.stdin.buffer:
            tell(line)
        tell(b"")

    Thread(target=read, name="standard input", daemon=True).start()


@contextmanager
def beside(out: Output) -> Iterator[Output]:
    """The same, written by a thread of its own: a reader that takes nothing holds up the lines, and not the runs."""
    from queue import SimpleQueue
    from threading import Thread

    lines: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    broken: list[OSError | Problem] = []

    def work() -> None:
        while line := lines.get():
            try:
                line()
            except (OSError, Problem) as error:  # nobody reads it, or nothing takes it: the next line says so
                broken.append(error)

    def put(line: Callable[[], None]) -> None:
        if broken:
            raise broken[0]
        lines.put(line)

    thread = Thread(target=work, name="lines", daemon=True)
    thread.start()
    try:
        yield Output(
            lambda text: put(partial(out.write, text)), lambda text: put(partial(out.complain, text)), out.listen
        )
    finally:
        lines.put(None)
        thread.join()
    if broken:
        raise broken[0]


def moment(at: int) -> str:
    """A time as ISO 8601, to the microsecond."""
    return datetime.fromtimestamp(at / SECOND, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def plain_entry(entry: "Entry", whole: Callable[[str], bytes]) -> dict[str, Any]:
    """An entry as one JSON object, every text in full. `whole` reads contents that were kept apart."""
    from core.domain.events import kind_of  # most commands, and the first paint of the window, show no entry

    head = {"session": entry.session, "seq": entry.seq, "run": entry.run, "at": moment(entry.at)}
    fields = {field.name: getattr(entry.event, field.name) for field in dataclasses.fields(entry.event)}
    named = {name: _plain(value, whole) for name, value in fields.items()}
    return {**head, "kind": kind_of(type(entry.event)), **named}


def _plain(value: Any, whole: Callable[[str], bytes]) -> Any:
    from core.domain.text import Text

    if isinstance(value, Text):
        return whole(value.blob).decode("utf-8", "replace") if value.blob else value.head
    if isinstance(value, tuple):
        return [_plain(item, whole) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), whole) for field in dataclasses.fields(value)}
    return value
