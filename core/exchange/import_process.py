"""Reads a very large or compressed transcript in a separate process, whose memory is limited.

Parsing then does not hold the GIL of the main process, and a small file with large contents cannot exhaust its memory.
"""

import contextlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from core.domain.problems import Problem
from core.exchange.transcript_reader import ImportBatch
from core.store.codec import decode_event, type_adapter
from core.store.event_batch import BulkEvent, EventBatch

LARGE_TRANSCRIPT = 50_000_000  # bytes; for larger transcripts the time to start a process is negligible
BUFFER_BYTES = 1 << 20  # buffer size of the pipe from the worker process
STOP_CHECK_S = 0.1
LENGTH_BYTES = 8  # size of the length that precedes each message in the pipe
SCRIPT = Path(__file__).with_name("import_worker.py")


def read_in_process(path: Path, database: Path, stopped: Callable[[], bool]) -> Iterator[ImportBatch]:
    """Read a transcript in a worker process and yield its batches, as `TranscriptReader.read_all` does.

    Closing the iterator kills the worker. Raise the Problem that the worker reports, or another Problem if the worker
    dies before its last batch. `stopped` returns whether the user has canceled.
    """
    command = (sys.executable, "-I", str(SCRIPT), str(path), str(database))
    with subprocess.Popen(command, BUFFER_BYTES, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        type_adapter("session_created")  # imports pydantic while the worker starts
        ended = threading.Event()
        threading.Thread(target=_forward_stop, args=(process, stopped, ended), name="import stop", daemon=True).start()
        try:
            batch = None
            while message := _read_message(process.stdout):
                if isinstance(message, Problem):
                    raise message
                batch = _decode_batch(message)
                yield batch
            if batch is None or not batch.last:
                cause = "The process that reads the file ended unexpectedly."
                raise Problem(f"{path.name} was imported only in part.", cause, "Import it again.")
        finally:
            ended.set()
            process.kill()


def _forward_stop(process: subprocess.Popen[bytes], stopped: Callable[[], bool], ended: threading.Event) -> None:
    """Close the worker's standard input when the user cancels.

    Runs in a thread of its own, because reading the next batch blocks.
    """
    while not ended.wait(STOP_CHECK_S):
        if stopped():
            with contextlib.suppress(OSError):
                if process.stdin:
                    process.stdin.close()
            return


def write_message(message: Any, out: IO[bytes]) -> None:
    """Write a message to the pipe as a length followed by a pickle."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    out.write(len(body).to_bytes(LENGTH_BYTES, "big"))
    out.write(body)
    out.flush()


def _read_message(pipe: IO[bytes]) -> Any:
    """Return the next message, or None if the pipe ends before or within a message."""
    length = int.from_bytes(pipe.read(LENGTH_BYTES), "big")
    body = pipe.read(length)
    return pickle.loads(body) if length and len(body) == length else None


def encode_batch(batch: ImportBatch) -> dict[str, Any]:
    """Return a batch as plain values, with events in their stored form, which is faster to decode than to unpickle."""
    events = {
        session: {
            "rows": [(event.at, event.kind, event.payload, event.words) for event in session_batch.events],
            "blobs": session_batch.blobs,
        }
        for session, session_batch in batch.events.items()
    }
    return {**batch._asdict(), "events": events}


def _decode_batch(message: dict[str, Any]) -> ImportBatch:
    events = {
        session: EventBatch(tuple(_decode_row(*row) for row in encoded["rows"]), encoded["blobs"])
        for session, encoded in message["events"].items()
    }
    return ImportBatch(**{**message, "events": events})


def _decode_row(at: int, kind: str, payload: str, words: str | None) -> BulkEvent:
    return BulkEvent(at=at, event=decode_event(kind, payload), kind=kind, payload=payload, words=words)
