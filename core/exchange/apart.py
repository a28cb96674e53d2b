"""A very large transcript is read in a process of its own: the window keeps the interpreter for itself meanwhile."""

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from core.domain.problems import Problem
from core.exchange.reading import Part
from core.store.bulk import Bulk, Fact
from core.store.codec import adapter, decode

LARGE = 50_000_000  # bytes from which the start of a process does not matter
AHEAD = 1 << 20  # bytes that may wait to be read
HEAD = 8  # bytes of a length
SCRIPT = Path(__file__).with_name("teller.py")


def parts_of(path: Path, database: Path, stopped: Callable[[], bool]) -> Iterator[Part]:
    """As `Reading.whole` gives them. The process ends with the iterator, and with ours."""
    words = (sys.executable, "-I", str(SCRIPT), str(path), str(database))
    with subprocess.Popen(words, AHEAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        adapter("session_opened")  # the library behind it is read while the process starts
        try:
            part = None
            while said := _heard(process.stdout):
                if isinstance(said, Problem):
                    raise said
                part = _part(*said)
                yield part
                if stopped():
                    process.stdin.close()
            if part is None or not part.last:
                why = "The process that read it has ended."
                raise Problem(f"{path.name} is imported only in part.", why, "Import it once more.")
        finally:
            process.kill()


def tell(said: Any, out: IO[bytes]) -> None:
    """In one piece, behind its length."""
    body = pickle.dumps(said, pickle.HIGHEST_PROTOCOL)
    out.write(len(body).to_bytes(HEAD, "big"))
    out.write(body)
    out.flush()


def _heard(told: IO[bytes]) -> Any:
    """None at the end, and where it ends in the middle."""
    length = int.from_bytes(told.read(HEAD), "big")
    body = told.read(length)
    return pickle.loads(body) if length and len(body) == length else None


def sent(part: Part) -> tuple[Any, ...]:
    """A part as plain values: a fact is quicker read from what is stored of it."""
    packed = {
        session: ([(fact.at, fact.kind, fact.payload) for fact in many.facts], many.contents)
        for session, many in part.facts.items()
    }
    return packed, part._replace(facts={})


def _part(packed: dict[str, Any], part: Any) -> Part:
    facts = {
        session: Bulk(tuple([Fact(at, decode(kind, text), kind, text) for at, kind, text in rows]), contents)
        for session, (rows, contents) in packed.items()
    }
    return Part(*part)._replace(facts=facts)
