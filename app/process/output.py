"""The input and output of a command: this process's standard streams, or those of another `journeyman` process.

The process that holds the data folder runs commands for the other processes; a socket carries the lines between them.
"""

import dataclasses
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from app.process.quantities import plural as plural
from app.process.quantities import token_count as token_count
from core.domain.clock import SECOND
from core.domain.problems import ErrorDetails, Problem
from core.domain.visible import visible

if TYPE_CHECKING:
    from core.domain.events import EventRecord


LineHandler = Callable[[bytes], None]
LineSource = Callable[[LineHandler], None]
NOT_ASCII = re.compile("[^\n -~]+")
MAX_WIDTH = 100  # characters; if an error and its cause are longer together, they are printed on two lines


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """The streams of a command.

    Attributes:
        write: Print a line to standard output.
        write_error: Print a line to standard error.
        read_input: Call a function with each line of standard input, then with `b""` at its end. None if the command
            has no input.
    """

    write: Callable[[str], None]
    write_error: Callable[[str], None]
    read_input: LineSource | None = None

    def write_json(self, plain: Any) -> None:
        """Print a value as one line of JSON."""
        self.write(ascii_json(json.dumps(plain, separators=(",", ":"))))

    def print_error(self, error: ErrorDetails, label: str = "error") -> None:
        """Print an error, its cause and, as a hint, its fix to standard error."""
        line = f"{label}: {error.message} {error.cause}".rstrip()
        if len(line) <= MAX_WIDTH and "\n" not in line:
            self.write_error(line)
        else:
            self.write_error(f"{label}: {error.message}")
            if error.cause:
                self.write_error(f"{' ' * len(label)}  {error.cause}")
        if error.fix:
            self.write_error(f"hint: {error.fix}")

    def print_warning(self, text: str) -> None:
        self.print_error(ErrorDetails(text), "warning")

    def print_usage_error(self, error: ErrorDetails, usage: str) -> None:
        """Print a usage error, followed by the usage line of the command."""
        self.print_error(error)
        self.write_error(usage)


def terminal() -> Output:
    """Return the standard streams of this process. Each line is flushed at once, for programs that read from a pipe."""

    def printer(stream: Any) -> Callable[[str], None]:
        if stream is None:
            return _closed
        buffer = getattr(stream, "buffer", None)
        file = getattr(buffer, "raw", buffer)

        def write(text: str) -> None:
            text = visible(text)  # escape control characters also in a pipe: its reader may write them to a terminal
            if file is None:
                stream.write(f"{text}\n")
                return
            unwritten = memoryview(f"{text}{os.linesep}".encode(stream.encoding, "replace"))
            while unwritten:  # a write to a pipe may take only the first bytes
                unwritten = unwritten[file.write(unwritten) or 0 :]

        return write

    return Output(
        _with_error_handler(printer(sys.stdout), _raise_unwritable),
        _with_error_handler(printer(sys.stderr), _ignore),
        read_stdin,
    )


def _closed(_text: str) -> None:
    raise OSError(errno.EBADF, "It is closed")


def _with_error_handler(write: Callable[[str], None], on_error: Callable[[OSError], None]) -> Callable[[str], None]:
    """Wrap `write` so that an OSError goes to `on_error`. A BrokenPipeError is raised as usual."""

    def guarded(text: str) -> None:
        try:
            write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            on_error(error)

    return guarded


def _raise_unwritable(error: OSError) -> None:
    fix = "Redirect it to a place that can be written, then try again."
    raise Problem("The output cannot be written.", f"{error.strerror}.", fix) from error


def _ignore(_error: OSError) -> None:
    """Drop the error: if standard error cannot be written, it cannot be reported."""


def read_stdin(on_line: LineHandler) -> None:
    """Read standard input in a separate thread; call `on_line` in the running event loop with each line, then `b""`."""
    import asyncio
    from threading import Thread

    loop = asyncio.get_running_loop()

    def deliver(line: bytes) -> None:
        with suppress(RuntimeError):  # the event loop was closed meanwhile
            loop.call_soon_threadsafe(on_line, line)

    def read() -> None:
        for line in sys.stdin.buffer:
            deliver(line)
        deliver(b"")

    Thread(target=read, name="standard input", daemon=True).start()


@contextmanager
def in_writer_thread(out: Output) -> Iterator[Output]:
    """Write in a separate thread, so that a stalled reader of our output does not block the runs.

    A failed write to standard output is raised at the next one, or when the context exits. Standard error still works,
    so that later errors, such as that of a run that ends, are reported.
    """
    from queue import SimpleQueue
    from threading import Thread

    writes: SimpleQueue[Callable[[], None] | None] = SimpleQueue()  # None ends the thread
    errors: list[OSError | Problem] = []

    def work() -> None:
        while write_line := writes.get():
            try:
                write_line()
            except (OSError, Problem) as error:
                errors.append(error)

    def write(text: str) -> None:
        if errors:
            raise errors[0]
        writes.put(partial(out.write, text))

    thread = Thread(target=work, name="lines", daemon=True)
    thread.start()
    try:
        yield Output(write, lambda text: writes.put(partial(out.write_error, text)), out.read_input)
    finally:
        writes.put(None)
        thread.join()
    if errors:
        raise errors[0]


def ascii_json(text: str) -> str:
    """Return JSON text in printable ASCII, which `write` prints unchanged on a stream of any encoding."""
    return NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)


def iso_time(at: int) -> str:
    """Format a time in microseconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at / SECOND, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def event_json(entry: "EventRecord", read_blob: Callable[[str], bytes]) -> dict[str, Any]:
    """Return an event as a JSON object with long texts in full, which `read_blob` reads by their hash."""
    from core.domain.events import (
        EVENT_KINDS,  # slow to import; most commands and the window's first paint need no events
    )

    return {
        "session": entry.session,
        "seq": entry.seq,
        "run": entry.run,
        "at": iso_time(entry.at),
        "kind": EVENT_KINDS[type(entry.event)],
        **_plain(entry.event, read_blob),
    }


def _plain(value: Any, read_blob: Callable[[str], bytes]) -> Any:
    """Return a value as JSON: long texts in full, records as objects."""
    from core.domain.text import Text

    if isinstance(value, Text):
        return read_blob(value.blob).decode("utf-8", "replace") if value.blob else value.head
    if isinstance(value, tuple):
        return [_plain(item, read_blob) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), read_blob) for field in dataclasses.fields(value)}
    return value
