"""Results of predecessors for the same work, measured once on the same machine, by benchmark."""

from collections.abc import Mapping
from typing import NamedTuple


class PredecessorTable(NamedTuple):
    """A table with its caption; the first column names the program, and some rows may be floors."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


MEASURED_ON = "August 2026"  # the newest versions at that time and the first ones, on a busy machine with two cores
PREDECESSORS: Mapping[str, PredecessorTable] = {
    "loop": PredecessorTable(
        "A turn with a model that answers at once, one call, a result of 200 characters; milliseconds per turn, in a "
        "run of 1,000 turns (300 where marked). The floor writes the same rows through plain SQLite.",
        ("", "in memory", "on disk", "first to last tenth"),
        (
            ("floor, each turn synced", "", "0.42", ""),
            ("floor, not synced", "0.013", "0.029", "0.014 → 0.013"),
            ("hive (a recorder without a loop)", "0.031", "at the end", "0.017 → 0.045"),
            ("persona 0.1.0, window of 4,096", "0.47", "never", "0.44 → 0.47"),
            ("persona 1.2.1, window of 4,096", "1.04", "never", "0.94 → 1.07"),
            ("persona 0.1.0, window of 128,000 (300)", "2.2", "never", "0.30 → 4.1"),
            ("persona 1.2.1, window of 128,000 (300)", "8.6", "never", "0.82 → 20.7"),
            ("power-loop 0.2.0", "1.9", "2.2, not synced", "0.30 → 3.5"),
            ("power-loop 8.0.0", "8.0", "7.7, not synced", "4.4 → 11.6"),
        ),
    ),
    "kill": PredecessorTable(
        "Killed in turn 40.",
        ("", "preserved", "resumed"),
        (
            ("power-loop 0.2.0", "all; two of three calls stay unanswered", "the interrupted call reruns silently"),
            ("power-loop 8.0.0", "all", "the interrupted call reruns silently"),
            ("persona, both", "nothing", "not possible"),
            ("hive", "nothing", "not possible"),
        ),
    ),
    "memory": PredecessorTable(
        "10,000 facts: rows written per second, milliseconds per query (95th percentile), and how often the right "
        "fact came first for exact, inflected and paraphrased questions.",
        ("", "rows/s", "ms", "exact", "inflected", "paraphrased"),
        (
            ("FTS5 with stems (floor)", "323,000", "3.5 (7.2)", ".98", ".98", ".29"),
            ("ALMA 0.7.0", "722", "16 (20)", ".02", ".03", ".01"),
            ("ALMA 0.11.0", "516", "19 (24)", ".17", ".08", ".01"),
            ("ALMA 0.11.0, similarity alone", "516", "19 (24)", "1.0", ".82", ".02"),
        ),
    ),
}  # fmt: skip
