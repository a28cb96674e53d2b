"""Checks every page and index of the data file while it is in use, and stores the result for the next start."""

import json
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from core.domain.clock import SECOND, now
from core.domain.problems import StorageProblem
from core.store.files import replace_atomically
from core.store.health import REPAIR_ADVICE, is_corruption, open_read_only

CHECK_EVERY = 7 * 86_400 * SECOND
MAX_ERRORS = 20
INDEX_ERRORS = ("wrong # of entries in index", "missing from index", "non-unique entry in index")


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """The result of a check. `at` is its time in microseconds. `errors` is empty if the file is intact."""

    at: int
    errors: tuple[str, ...] = ()


class IntegrityCheck:
    """One check of a data file. It has a connection of its own, so that nothing else waits for it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._interrupted = False

    def run(self) -> tuple[str, ...]:
        """Read the whole file and return what is wrong. Raise sqlite3.OperationalError if interrupted."""
        try:
            with closing(open_read_only(self._path)) as db:
                self._db = db
                if self._interrupted:
                    raise sqlite3.OperationalError("interrupted")
                rows = [text for (text,) in db.execute(f"PRAGMA integrity_check({MAX_ERRORS})")]
        except sqlite3.DatabaseError as error:
            if not is_corruption(error):
                raise
            return (str(error),)
        finally:
            self._db = None
        return tuple(text for text in rows if text != "ok")

    def interrupt(self) -> None:
        """End the check early. Any thread may call it."""
        self._interrupted = True
        if db := self._db:
            with suppress(sqlite3.ProgrammingError):  # raised if the check has just closed the connection
                db.interrupt()


def report_path(path: Path) -> Path:
    return path.with_suffix(".check")


def read_report(path: Path) -> IntegrityReport | None:
    """Return the result of the last check of a data file.

    Return None if there was none or the result cannot be read.
    """
    try:
        fields = json.loads(report_path(path).read_text("utf-8"))
        return IntegrityReport(int(fields["at"]), tuple(map(str, fields["errors"])))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_report(path: Path, report: IntegrityReport) -> None:
    with replace_atomically(report_path(path)) as part:
        part.write_text(json.dumps({"at": report.at, "errors": report.errors}), "utf-8")


def damage_in(error: BaseException, path: Path) -> BaseException:
    """Return a Problem if a read or write failed because the file is damaged, and mark it for repair at the next start.

    Any other error is returned unchanged.
    """
    if not is_corruption(error):
        return error
    report = IntegrityReport(now(), (str(error),))
    with suppress(OSError):
        write_report(path, report)
    return damage(report)


def is_due(path: Path, at: int) -> bool:
    """Return whether a check is due: the last one is too long ago, found damage, or never happened."""
    report = read_report(path)
    return report is None or bool(report.errors) or not 0 <= at - report.at < CHECK_EVERY


def damage(report: IntegrityReport) -> StorageProblem:
    """Return the Problem that describes the damage found by a check."""
    more = f" And {len(report.errors) - 1} more." if len(report.errors) > 1 else ""
    return StorageProblem(
        "The data file is damaged.",
        f"{report.errors[0].removesuffix('.')}.{more}",
        REPAIR_ADVICE,
    )


def rebuild_indexes(path: Path, errors: tuple[str, ...]) -> bool:
    """Rebuild the indexes of a closed file if `errors` are about nothing else.

    Return whether the file is intact now.
    """
    if not all(any(known in text for known in INDEX_ERRORS) for text in errors):
        return False
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("REINDEX")
    except sqlite3.Error:
        return False
    return not IntegrityCheck(path).run()
