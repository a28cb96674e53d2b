"""The process that turns sentences into vectors and looks for the nearest: one line of JSON in, one line out.

Started as a script, so that neither its weights nor its work weigh on ours; it ends when nobody asks any more.
"""

import json
import os
import sys
from base64 import b64encode
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

AROUND = 0.5  # how much what stood around a sentence counts beside it
LINES = 8  # of what stood around it that are read
REMEMBERED = 4_096  # lines whose vectors are kept: neighbours share what stands around them


class Nearest:
    """All vectors of one model, read from the data file as they come."""

    def __init__(self, file: str, model: str, size: int) -> None:
        import numpy as np

        self._file, self._model, self._last, self._count = file, model, 0, 0
        self._rows: dict[int, int] = {}
        self._keys: Any = np.zeros(1_024, np.int64)
        self._numbers: Any = np.zeros(1_024, np.int64)
        self._held: Any = np.zeros((1_024, size), np.float32)

    def find(self, asked: Any, places: list[int], most: int) -> list[tuple[int, int, float]]:
        """Key, number and likeness of those in these places, the nearest first."""
        import numpy as np

        self._read()
        held = self._held[: self._count]
        (here,) = np.nonzero(np.isin(self._keys[: self._count] >> 32, places))
        if not len(here):
            return []
        like = (held @ asked)[here] if len(here) * 4 > self._count else held[here] @ asked
        best = np.argpartition(-like, most)[:most] if len(like) > most else np.arange(len(like))
        best = best[np.argsort(-like[best])]
        chosen = here[best]
        return list(zip(self._keys[chosen].tolist(), self._numbers[chosen].tolist(), like[best].tolist(), strict=True))

    def _read(self) -> None:
        """What was written since; a key that is written again takes its old row."""
        import numpy as np

        from core.store.vectors import newer

        for some in newer(Path(self._file), self._model, self._last):
            numbers, keys, bodies = zip(*some, strict=True)
            rows = [self._rows.setdefault(key, len(self._rows)) for key in keys]
            self._count = len(self._rows)
            while self._count > len(self._held):
                size = 2 * len(self._held)
                self._keys, self._numbers = np.resize(self._keys, size), np.resize(self._numbers, size)
                self._held = np.concatenate([self._held, np.zeros_like(self._held)])
            self._keys[rows], self._numbers[rows], self._last = keys, numbers, numbers[-1]
            self._held[rows] = np.frombuffer(b"".join(bodies), np.float16).reshape(len(rows), -1)


class Embedder:
    """A model, and the vectors of lines it was asked for lately."""

    def __init__(self, folder: Path) -> None:
        from core.memory.bert import Bert

        self._model = Bert(folder)
        self._known: dict[str, Any] = {}
        self.print, self.size = self._model.print, self._model.size

    def lines(self, texts: list[str]) -> dict[str, Any]:
        """The vector of each."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if len(self._known) + len(new) > REMEMBERED:
            self._known.clear()
            new = list(dict.fromkeys(texts))
        if new:
            self._known.update(zip(new, self._model.vectors(new), strict=True))
        return {text: self._known[text] for text in texts}

    def of(self, wanted: list[tuple[str, str]]) -> Any:
        """A row for each sentence and what stood around it: the line between the two, and not shortened, so that a
        product with a question is the likeness of the sentence plus a part of that of its surroundings."""
        import numpy as np

        around = [_lines(one) for _, one in wanted]
        known = self.lines([text for text, _ in wanted] + [line for one in around for line in one])
        rows = np.stack([known[text] for text, _ in wanted])
        for row, one in zip(rows, around, strict=True):
            if one:
                near = np.sum([known[line] for line in one], 0)
                row += AROUND * near / max(float(np.linalg.norm(near)), 1e-9)
        return rows.astype(np.float16)


def _lines(around: str) -> list[str]:
    return [line.strip() for line in around.splitlines() if line.strip()][:LINES]


def answer(asked: dict[str, Any], embedder: Embedder, nearest: Nearest) -> dict[str, Any]:
    """To one line."""
    if asked["do"] == "embed":
        rows = embedder.of([(text, around) for text, around in asked["said"]])
        return {"rows": [b64encode(row.tobytes()).decode() for row in rows]}
    vector = embedder.lines([asked["text"]])[asked["text"]]
    return {"found": nearest.find(vector, asked["places"], asked["most"])}


def main() -> None:
    """`embedder.py FOLDER FILE`: a model, and the data file that holds what it has made."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    with suppress(OSError, AttributeError):  # Windows has no such thing
        os.nice(10)
    asked, told = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints is no answer

    def tell(said: dict[str, Any]) -> None:
        told.write(json.dumps(said).encode() + b"\n")
        told.flush()

    try:
        embedder = Embedder(Path(sys.argv[1]))
        nearest = Nearest(sys.argv[2], embedder.print, embedder.size)
    except ImportError as error:
        tell({"trouble": f"{error}.", "numpy": False})
        return
    except (OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        said = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        tell({"trouble": f"{said}."})
        return
    with closing(asked):
        tell({"model": embedder.print})
        for line in asked:
            tell(answer(json.loads(line), embedder, nearest))


if __name__ == "__main__":
    main()
