"""Run benchmarks: python -m tests.bench [NAME ...] [--json] [--write].

Without names, run all of them; `--write` also writes the results page.
"""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from tests.bench.agent_loop import measure_turns
from tests.bench.benchmark import Benchmark, Measurement
from tests.bench.changes import measure_changes
from tests.bench.full_context import measure_full_context
from tests.bench.kill import measure_kills
from tests.bench.local_model import measure_local_model
from tests.bench.memory import measure_memory
from tests.bench.memory_growth import measure_growth
from tests.bench.permissions import count_permission_requests
from tests.bench.provider_faults import measure_faults
from tests.bench.results_page import format_value, write_page
from tests.bench.sandbox import measure_commands, measure_scans
from tests.bench.skill_editor import measure_editor
from tests.bench.stop import measure_stops
from tests.bench.stream_overhead import measure_chunks
from tests.bench.transcript_import import measure_imports
from tests.bench.window import measure_window

BENCHES = (
    Benchmark(
        "loop", "our own cost of a turn, compared with writing the same rows through plain sqlite3", measure_turns
    ),
    Benchmark(
        "filled", "the same with a full context window, and with one that is compacted repeatedly", measure_full_context
    ),
    Benchmark("stop", "how long it takes to stop a run at a random moment", measure_stops),
    Benchmark("kill", "kill -9 at random moments and at every 7th write of a run", measure_kills),
    Benchmark(
        "wire",
        "our own cost of a streamed chunk, compared with bare httpx, line splitting and json.loads",
        measure_chunks,
    ),
    Benchmark(
        "import", "importing, indexing and opening a long transcript, compared with reading its lines", measure_imports
    ),
    Benchmark(
        "memory", "memory compared with plain FTS5 at 1k, 10k and 100k: writes, queries and recall", measure_memory
    ),
    Benchmark("sandbox", "what the sandbox adds to the time of a command", measure_commands),
    Benchmark(
        "permissions",
        "permission requests in forty everyday tasks, by mode, with and without saved rules",
        count_permission_requests,
    ),
    Benchmark(
        "model",
        "a real model run by Journeyman, compared with xllamacpp used directly (downloads 1.1 GB once)",
        measure_local_model,
    ),
    Benchmark("scan", "scanning a folder of 100,000 files, before and after a command", measure_scans),
    Benchmark(
        "editor", "a skill of 10,000 lines: opening it, and the time from a key press to the repaint", measure_editor
    ),
    Benchmark(
        "changes", "a change of 2,000 lines over 30 files: opening it, the next file, and scrolling", measure_changes
    ),
    Benchmark("faults", "how long the window freezes for each provider fault while eight runs stream", measure_faults),
    Benchmark(
        "growth", "memory growth over eight hours of eight streaming runs, replayed as fast as possible", measure_growth
    ),
    Benchmark(
        "window",
        "first paint compared with an empty window; long lists and sessions; typing during eight streams",
        measure_window,
    ),
)


def main(words: list[str]) -> int:
    """Return exit code 0 if every goal was met, 1 if one was missed, 2 for a usage error."""
    plain = "--json" not in words
    names = [word for word in words if word not in ("--json", "--write")]
    known = {bench.name: bench for bench in BENCHES}
    if unknown := sorted(set(names) - set(known)):
        print(f"Unknown benchmark: {', '.join(unknown)}. Available benchmarks:", file=sys.stderr)
        for bench in BENCHES:
            print(f"  {bench.name:11} {bench.description}", file=sys.stderr)
        return 2
    if "--write" in words and names:
        print("--write writes the results of all benchmarks; run it without names.", file=sys.stderr)
        return 2
    good, found = True, dict[Benchmark, list[Measurement]]()
    for bench in BENCHES if not names else [known[name] for name in names]:
        if plain:
            print(f"{bench.name}: {bench.description}", flush=True)
        for figure in bench.run():
            good = good and figure.passed
            found.setdefault(bench, []).append(figure)
            print(
                format_measurement(figure) if plain else json.dumps({"bench": bench.name, **asdict(figure)}), flush=True
            )
    if "--write" in words:
        write_page(found, datetime.now(UTC).date())
    return 0 if good else 1


def format_measurement(figure: Measurement) -> str:
    """Format a result for the terminal."""
    values = "  ".join(f"{name} {format_value(value)}" for name, value in figure.values.items())
    goal = f"  [{figure.goal}: {'met' if figure.passed else 'NOT MET'}]" if figure.goal else ""
    return f"  {figure.name:14} {values}{goal}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
