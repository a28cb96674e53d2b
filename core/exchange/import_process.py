"""Reads a very large or compressed transcript in a separate process, whose memory is limited.

So parsing does not hold the GIL of the main process, and a small file with large contents cannot exhaust its memory.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from core.domain.problems import Problem
from core.exchange.transcript_reader import ImportBatch
from core.store.codec import decode_event, type_adapter
from core.store.event_batch import BulkEvent, EventBatch

LARGE_TRANSCRIPT = 50_000_000  # bytes; from this size on, the time to start a process is negligible
BUFFER_BYTES = 1 << 20  # of the pipe from the worker
LENGTH_BYTES = 8  # of the length prefix of a message
SCRIPT = Path(__file__).with_name("import_worker.py")


def read_in_process(path: Path, database: Path, stopped: Callable[[], bool]) -> Iterator[ImportBatch]:
    """Yield the batches of `TranscriptReader.read_all`, read in a worker process.

    The worker is killed when the iterator is closed, and exits by itself when this process ends. Raise the Problem that
    the worker reports, or a Problem that the worker died if it ends before the last batch.
    """
    command = (sys.executable, "-I", str(SCRIPT), str(path), str(database))
    with subprocess.Popen(command, BUFFER_BYTES, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        type_adapter("session_created")  # imports pydantic while the worker starts
        try:
            part = None
            while message := _read_message(process.stdout):
                if isinstance(message, Problem):
                    raise message
                part = _decode_part(*message)
                yield part
                if stopped():
                    process.stdin.close()
            if part is None or not part.last:
                cause = "The process that reads the file ended unexpectedly."
                raise Problem(f"{path.name} was imported only in part.", cause, "Import it again.")
        finally:
            process.kill()


def write_message(message: Any, out: IO[bytes]) -> None:
    """Write a message to the pipe: its length, then its pickle."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    out.write(len(body).to_bytes(LENGTH_BYTES, "big"))
    out.write(body)
    out.flush()


def _read_message(pipe: IO[bytes]) -> Any:
    """Return the next message, or None at the end of the pipe, also if it ends within a message."""
    length = int.from_bytes(pipe.read(LENGTH_BYTES), "big")
    body = pipe.read(length)
    return pickle.loads(body) if length and len(body) == length else None


def encode_batch(part: ImportBatch) -> tuple[Any, ...]:
    """Return a batch as plain values. Decoding an event from its stored form is faster than unpickling it."""
    packed = {
        session: ([(fact.at, fact.kind, fact.payload, fact.words) for fact in events.events], events.blobs)
        for session, events in part.events.items()
    }
    return packed, part._replace(events={})


def _decode_part(packed: dict[str, Any], part: Any) -> ImportBatch:
    facts = {
        session: EventBatch(
            tuple([BulkEvent(at, decode_event(kind, text), kind, text, words) for at, kind, text, words in rows]),
            contents,
        )
        for session, (rows, contents) in packed.items()
    }
    return ImportBatch(*part)._replace(events=facts)
