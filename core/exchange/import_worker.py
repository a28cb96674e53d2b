"""The worker process that reads a very large or compressed transcript and writes its batches to standard output.

It is started as a script. It exits when its standard output is closed, and soon after its standard input is closed.
"""

import os
import signal
import sys
import threading
from pathlib import Path

MAX_MEMORY = 4 << 30  # bytes of address space that the worker may use, enforced on Linux only


def main() -> None:
    """Read the transcript named by the first argument. The second argument is the database with the earlier imports."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    out = sys.stdout.buffer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is handled by the parent process
    sys.stdout = sys.stderr  # keep output of libraries out of the pipe
    from core.domain.problems import Problem
    from core.exchange.import_process import encode_batch, write_message
    from core.exchange.imported_sessions import ImportedSessions
    from core.exchange.transcript_reader import TranscriptReader, detect_importer
    from core.store.reader import Reader

    path, database = map(Path, sys.argv[1:])
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    stopped = threading.Event()
    threading.Thread(target=_wait_for_stop, args=(stopped,), daemon=True).start()
    try:
        importer = detect_importer(path)
        imported = ImportedSessions(lambda: Reader(database), importer.agent)
        reader = TranscriptReader(path, importer, imported.id_of, imported.last_import)
        for batch in reader.read_all(stopped.is_set):
            write_message(encode_batch(batch), out)
    except Problem as problem:
        write_message(problem, out)
    except MemoryError:
        cause = f"Its contents need more than {MAX_MEMORY >> 30} GB of memory."
        write_message(Problem(f"{path.name} cannot be imported.", cause, ""), out)
    except BrokenPipeError:
        os._exit(0)  # the parent process has ended


def _wait_for_stop(stopped: threading.Event) -> None:
    """Set the event when standard input is closed."""
    os.read(0, 1)
    stopped.set()


if __name__ == "__main__":
    main()
