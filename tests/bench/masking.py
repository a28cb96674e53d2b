"""Measures leaks of made keys, false matches in code, and speed: python -m tests.bench.masking --code FOLDER."""

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from core.domain.redact import Redactor
from tests.secrets import ENCODINGS, find_known_leaks, find_leaks

SUFFIXES = frozenset(
    (".py", ".js", ".ts", ".go", ".rs", ".c", ".h", ".java", ".rb", ".sh", ".md", ".rst", ".toml", ".yaml", ".yml")
) | {".json", ".txt", ".cfg", ".html", ".css"}


def false_matches(files: Iterable[Path], *, uncertain: bool, most: int) -> tuple[int, int, list[str]]:
    """Return how many lines were read, how many of them were changed, and some of those."""
    redactor = Redactor(uncertain=uncertain)
    lines = changed = 0
    shown: list[str] = []
    kinds: Counter[str] = Counter()
    for file in files:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        lines += text.count("\n") + 1
        touched: set[int] = set()
        for found in redactor.findings(text):
            touched |= set(range(text.count("\n", 0, found.start), text.count("\n", 0, found.end) + 1))
            line = text[text.rfind("\n", 0, found.start) + 1 :].split("\n", 1)[0]
            shown.append(f"{found.kind}: {file.name}: {line.strip()[:150]}")
            kinds[found.kind] += 1
        changed += len(touched)
        if lines >= most:
            break
    return lines, changed, [str(dict(kinds.most_common())), *random.Random(4).sample(shown, len(shown))]


def speed(text: str, redactor: Redactor) -> float:
    """Return the speed in MB of CPU time per second, for texts of the length of a tool result."""
    pieces = [text[at : at + 8_000] for at in range(0, len(text), 8_000)]
    best = 0.0
    for _ in range(3):
        began = time.process_time()
        for piece in pieces:
            redactor.findings(piece)
        best = max(best, len(text) / 1e6 / (time.process_time() - began))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--code", type=Path, action="append", default=[], help="a folder of source files")
    parser.add_argument("--show", type=int, default=0, help="how many leaks and false matches to print")
    args = parser.parse_args()
    found = list(find_leaks(args.keys))
    known = list(find_known_leaks(args.keys // 10))
    print(f"{args.keys:,} keys in {len(ENCODINGS)} encodings: {len(found)} leaks")
    print(f"{args.keys // 10:,} configured keys, also in base64: {len(known)} leaks")
    for each in (*found[: args.show], *known[: args.show]):
        print(*map(repr, each), sep="\n    ")
    files = sorted(file for folder in args.code for file in folder.rglob("*") if file.suffix in SUFFIXES)
    if files:
        random.Random(3).shuffle(files)
        measure_code(files, args.lines, args.show)


def measure_code(files: list[Path], most: int, show: int) -> None:
    for uncertain, what in ((False, "requests"), (True, "command output")):
        lines, changed, shown = false_matches(files, uncertain=uncertain, most=most)
        print(f"{what}: {changed:,} of {lines:,} lines changed ({changed / max(1, lines):.4%})")
        for line in shown[:show]:
            print("   ", line)
        sample = "".join(file.read_text("utf-8", "replace") for file in files[:400])[:4_000_000]
        print(f"{what}: {speed(sample, Redactor(uncertain=uncertain)):.1f} MB/s")


if __name__ == "__main__":
    main()
