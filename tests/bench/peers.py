"""What the predecessors took for the same work, measured once beside us: by the bench they belong to."""

from collections.abc import Mapping
from typing import NamedTuple


class Peers(NamedTuple):
    """A table with its heading; the first column names who, the last rows may be floors."""

    what: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


WHEN = "August 2026"  # the versions that were the newest then, and the first ones; on a busy machine with two cores
PEERS: Mapping[str, Peers] = {
    "loop": Peers(
        "A round with a model that answers at once, one call, a result of 200 characters; milliseconds a round, in a "
        "run of 1,000 (300 where marked). The floor writes the same rows by plain SQLite.",
        ("", "in memory", "on disk", "first to last tenth"),
        (
            ("floor, each round synced", "", "0.42", ""),
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
    "kill": Peers(
        "Killed in round 40.",
        ("", "kept", "taken up again"),
        (
            ("power-loop 0.2.0", "all; two of three calls stay unanswered", "the cut call runs again, unasked"),
            ("power-loop 8.0.0", "all", "the cut call runs again, unasked"),
            ("persona, both", "nothing", "cannot"),
            ("hive", "nothing", "cannot"),
        ),
    ),
    "memory": Peers(
        "10,000 facts: rows written a second, a question in milliseconds (95th percentile), and how often the right "
        "one came first when asked in its own words, in inflected words, in other words.",
        ("", "rows/s", "ms", "own", "inflected", "other"),
        (
            ("FTS5 with stems (floor)", "323,000", "3.5 (7.2)", ".98", ".98", ".29"),
            ("ALMA 0.7.0", "722", "16 (20)", ".02", ".03", ".01"),
            ("ALMA 0.11.0", "516", "19 (24)", ".17", ".08", ".01"),
            ("ALMA 0.11.0, similarity alone", "516", "19 (24)", "1.0", ".82", ".02"),
        ),
    ),
}  # fmt: skip
