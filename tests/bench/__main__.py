"""Measure: python -m tests.bench [names] [--json] [--write]. Without names: all; `--write` makes the page of them."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from tests.bench.bench import Bench, Figure
from tests.bench.consents import consents
from tests.bench.editor import editing
from tests.bench.faults import faults
from tests.bench.filled import filled
from tests.bench.growth import growth
from tests.bench.kill import kills
from tests.bench.loop import rounds
from tests.bench.memory import memory
from tests.bench.page import short, write
from tests.bench.sandbox import commands, looks
from tests.bench.stop import stops
from tests.bench.window import window
from tests.bench.wire import chunks

BENCHES = (
    Bench("loop", "our own cost of a round, against the same rows written by plain sqlite3", rounds),
    Bench("filled", "the same with a context that is full, and with one that is compacted again and again", filled),
    Bench("stop", "how long a stop takes, at random moments of a run", stops),
    Bench("kill", "kill -9 at random moments and at every 7th write of a run", kills),
    Bench("wire", "our own cost of a streamed chunk, against bare httpx that splits lines and reads JSON", chunks),
    Bench("memory", "memory beside plain FTS5 at 1k, 10k and 100k: writing, asking, and what is found", memory),
    Bench("sandbox", "what the walls add to a command, side by side with a plain one", commands),
    Bench("consents", "how often forty everyday tasks ask a person, by mode, without rules and with them", consents),
    Bench("scan", "looking at a folder of 100,000 files, before and after a command", looks),
    Bench("editor", "a skill of 10,000 lines: opening it, and a key press until it is painted", editing),
    Bench("faults", "broken model servers beside eight streams: how long the window stands still for each", faults),
    Bench("growth", "eight hours of eight runs that stream, as fast as it goes: what the program grows by", growth),
    Bench("window", "first paint against an empty window, long lists and sessions, keys beside eight streams", window),
)


def main(words: list[str]) -> int:
    """0 when every goal was met."""
    plain = "--json" not in words
    names = [word for word in words if word not in ("--json", "--write")]
    known = {bench.name: bench for bench in BENCHES}
    if strange := sorted(set(names) - set(known)):
        print(f"There is no bench {', '.join(strange)}. They are:", file=sys.stderr)
        for bench in BENCHES:
            print(f"  {bench.name:8} {bench.what}", file=sys.stderr)
        return 2
    if "--write" in words and names:
        print("The page holds one run of all benches: --write takes no names.", file=sys.stderr)
        return 2
    good, found = True, dict[Bench, list[Figure]]()
    for bench in BENCHES if not names else [known[name] for name in names]:
        if plain:
            print(f"{bench.name}: {bench.what}", flush=True)
        for figure in bench.run():
            good = good and figure.good
            found.setdefault(bench, []).append(figure)
            print(line(figure) if plain else json.dumps({"bench": bench.name, **asdict(figure)}), flush=True)
    if "--write" in words:
        write(found, datetime.now(UTC).date())
    return 0 if good else 1


def line(figure: Figure) -> str:
    """As a person reads it."""
    values = "  ".join(f"{name} {short(value)}" for name, value in figure.values.items())
    goal = f"  [{figure.goal}: {'met' if figure.good else 'NOT MET'}]" if figure.goal else ""
    return f"  {figure.name:14} {values}{goal}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
