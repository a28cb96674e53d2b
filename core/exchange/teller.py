"""The process that reads a very large transcript: its parts go out one after the other.

Started as a script. It ends when nobody reads them any more, and soon when nobody can say anything more to it.
"""

import os
import signal
import sys
import threading
from pathlib import Path


def main() -> None:
    """`teller.py TRANSCRIPT FILE`: what is read, and the data file that says what of it is known."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    out = sys.stdout.buffer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # in a terminal it is meant for the program
    sys.stdout = sys.stderr  # what a library prints is no part
    from core.domain.problems import Problem
    from core.exchange.apart import sent, tell
    from core.exchange.known import Known
    from core.exchange.reading import Reading, importer_of
    from core.store.reader import Reader

    path, database = map(Path, sys.argv[1:])
    stopped = threading.Event()
    threading.Thread(target=_wait, args=(stopped,), daemon=True).start()
    try:
        importer = importer_of(path)
        known = Known(lambda: Reader(database), importer.agent)
        for part in Reading(path, importer, known.id_of, known.read_before).whole(stopped.is_set):
            tell(sent(part), out)
    except Problem as problem:
        tell(problem, out)
    except BrokenPipeError:
        os._exit(0)  # our program has ended; there is nobody to tell


def _wait(stopped: threading.Event) -> None:
    os.read(0, 1)
    stopped.set()


if __name__ == "__main__":
    main()
